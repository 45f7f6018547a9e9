"""Objects that are looked at and not written: those of a store, or some that were read from elsewhere."""

from collections.abc import Iterable
from typing import Protocol

from engine.api_server.store.grouped import GroupedObjects
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

    def grouped(self, kind: str) -> GroupedObjects:
        """The same by namespace, labels and node."""
        ...


class HeldObjects:
    """Some objects of a store."""

    def __init__(self, objects: Iterable[ApiObject]) -> None:
        self._of: dict[str, dict[str, ApiObject]] = {}
        for one in objects:
            self._of.setdefault(one.kind, {})[one.key] = one

    @property
    def clock(self) -> int:
        """EPOCH: nothing is written, so no time is kept."""
        return 0

    def find(self, kind: str, key: str) -> ApiObject | None:
        """See Objects."""
        return self._of.get(kind, {}).get(key)

    def objects(self, kind: str) -> list[ApiObject]:
        """See Objects."""
        return [*self._of.get(kind, {}).values()]

    def grouped(self, kind: str) -> GroupedObjects:
        """See Objects."""
        return GroupedObjects(self._of.get(kind, {}))
