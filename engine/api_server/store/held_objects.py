"""Objects that are looked at and not written: those of a store, or some that were read from elsewhere."""

from collections.abc import Iterable
from typing import Protocol

from engine.objects.objects import ApiObject


class Objects(Protocol):
    """Finds objects by kind."""

    @property
    def clock(self) -> int:
        """What clocks show, in ns since EPOCH."""
        ...

    def find(self, kind: str, key: str) -> ApiObject | None:
        """The object, or None."""
        ...

    def objects(self, kind: str) -> list[ApiObject]:
        """Every object of *kind*."""
        ...


class HeldObjects:
    """Some objects of a store, as they were at *clock*."""

    def __init__(self, objects: Iterable[ApiObject], clock: int = 0) -> None:
        self._of: dict[str, dict[str, ApiObject]] = {}
        for one in objects:
            self._of.setdefault(one.kind, {})[one.key] = one
        self._clock = clock

    @property
    def clock(self) -> int:
        """See Objects."""
        return self._clock

    def find(self, kind: str, key: str) -> ApiObject | None:
        """See Objects."""
        return self._of.get(kind, {}).get(key)

    def objects(self, kind: str) -> list[ApiObject]:
        """See Objects."""
        return [*self._of.get(kind, {}).values()]
