"""How many objects there are, and how many there may be."""

from collections.abc import Callable
from typing import NamedTuple

from engine.kernel.loop import EventLoop
from engine.objects.objects import ApiObject

# A count of objects or events that is not limited.
UNLIMITED = 1 << 62


class Excess(NamedTuple):
    """An object, as of one generation, for which more objects are missing than there may be."""

    kind: str
    key: str
    uid: str
    generation: int
    missing: int


class ObjectLimit:
    """Counts the objects, and halts the run at the step that makes one more than `most`."""

    __slots__ = ("_find", "_loop", "_made_by", "_missing", "count", "most")

    def __init__(self, loop: EventLoop, find: Callable[[str, str], ApiObject | None]) -> None:
        self._loop = loop
        self._find = find
        self.count = 0
        self.most = UNLIMITED
        self._made_by: dict[str, int] = {}
        # The objects for which controllers still have to make others, by id.
        self._missing: dict[str, Excess] = {}

    def created(self, by: str) -> None:
        """The author *by* has created an object."""
        self.count += 1
        self._made_by[by] = self._made_by.get(by, 0) + 1
        if self.count > self.most:
            self._loop.halted = True

    def removed(self) -> None:
        """An object is gone."""
        self.count -= 1

    def still_to_make(self, owner: ApiObject, missing: int) -> None:
        """A controller is going to make *missing* more objects for *owner*, as it is now.

        When there may never be so many, this step is the last for now: its outcome is known.
        """
        if missing <= 0:
            self._missing.pop(owner.id, None)
            return
        generation = owner.metadata.get("generation") or 0
        self._missing[owner.id] = Excess(owner.kind, owner.key, owner.uid, generation, missing)
        if self.count + missing > self.most:
            self._loop.halted = True

    @property
    def excess(self) -> Excess | None:
        """An object that asks for more than there may be, and was not changed since."""
        return next((each for each in self._missing.values() if self._is_excess(each)), None)

    def _is_excess(self, asked: Excess) -> bool:
        owner = self._find(asked.kind, asked.key)
        if owner is None or owner.deletion_timestamp or self.count + asked.missing <= self.most:
            return False
        generation = owner.metadata.get("generation") or 0
        return (owner.uid, generation) == (asked.uid, asked.generation)

    @property
    def busiest(self) -> tuple[str, int]:
        """The author that has created the most objects so far, and how many."""
        return max(self._made_by.items(), key=_made, default=("", 0))


def _made(entry: tuple[str, int]) -> int:
    return entry[1]
