"""The events of a run, as the path asks for them."""

from typing import Protocol

from engine.kernel.recorder import Event


class Record(Protocol):
    """Events up to an instant. All answers are in order of seq; *after* is exclusive, *to* is not."""

    def of_object(self, entity: str) -> list[Event]:
        """Every event whose object is *entity*."""
        ...

    def of_kind(self, kind: str, message: str, *, after: int, to: int) -> list[Event]:
        """Events of *kind* whose message begins with *message*."""
        ...

    def causes(self, seq: int, *, after: int) -> list[Event]:
        """The event *seq* and what led to it, as long as it comes after the event *after*."""
        ...
