"""What a controller would write after one look, and what of it a client has not written yet."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

from engine.cluster.shadow.planned import Difference, Write, differences


class Plan:
    """The writes that are left of a plan, in their order.

    `seen` is the newest change in its namespace that it knows of, or has made itself; `at` is when
    it was made, or a write of it came, in virtual time.
    """

    __slots__ = (
        "_by_name",
        "_by_namespace",
        "_left",
        "_names",
        "_renamed",
        "_telling",
        "at",
        "seen",
    )

    def __init__(self, writes: Sequence[Write], seen: int, at: int) -> None:
        self.seen = seen
        self.at = at
        # By their places, as everything below.
        self._left = dict(enumerate(writes))
        self._by_name: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._by_namespace: defaultdict[Hashable, list[int]] = defaultdict(list)
        self._names: set[str] = set()
        # The names and uids that objects of this plan were given by the client.
        self._renamed: dict[str, str] = {}
        # The fields of a write in which names stand that the client may give otherwise.
        self._telling: dict[int, list[str]] = {}
        for place, write in self._left.items():
            self._by_name[write.by_name].append(place)
            if write.has_free_name:
                self._by_namespace[write.by_namespace].append(place)
                self._names |= {write.object.name, write.object.uid}
        self._names.discard("")

    @property
    def left(self) -> list[Write]:
        """What the client has not written yet."""
        return list(self._left.values())

    def may_have(self, write: Write) -> bool:
        """Whether *write* may be one of those left, with other values."""
        return next(self._alike(write), None) is not None

    def take(self, write: Write) -> bool:
        """Whether *write* is one of them, exactly; it is left no more."""
        for place in self._alike(write):
            if self._left[place].discriminators != write.discriminators:
                continue
            if not self._differences(write, place):
                self._forget(place, write)
                return True
        return False

    def take_nearest(self, write: Write) -> list[Difference] | None:
        """In what *write* differs from what is most like it, which is left no more; None without."""
        found = [(self._differences(write, place), place) for place in self._alike(write)]
        if not found:
            return None
        fields, place = min(found, key=_extent)
        self._forget(place, write)
        return fields

    def _alike(self, write: Write) -> Iterator[int]:
        """The places of those that may be *write*."""
        places = self._by_name.get(write.by_name, [])
        if write.has_free_name:
            places = sorted({*places, *self._by_namespace.get(write.by_namespace, ())})
        return (place for place in places if place in self._left)

    def _differences(self, write: Write, place: int) -> list[Difference]:
        planned = self._left[place]
        return differences(write, planned, self._expected(place, planned))

    def _expected(self, place: int, planned: Write) -> Mapping[str, Any]:
        if not self._renamed or planned.verb == "delete":
            return planned.after
        if place not in self._telling:
            self._telling[place] = list(_telling(planned, self._names))
        renamed = {name: self._with_names(planned.after[name]) for name in self._telling[place]}
        return {**planned.after, **renamed} if renamed else planned.after

    def _with_names(self, text: str) -> str:
        for planned, actual in self._renamed.items():
            text = text.replace(planned, actual)
        return text

    def _forget(self, place: int, write: Write) -> None:
        planned = self._left.pop(place)
        if write.has_free_name:
            made, meant = write.object, planned.object
            self._renamed[meant.name] = made.name
            if meant.uid:
                self._renamed[meant.uid] = made.uid


def _telling(planned: Write, names: set[str]) -> Iterator[str]:
    """The fields in whose texts one of *names* stands; a free name is not compared."""
    lengths = sorted({len(name) for name in names})
    for field, text in planned.after.items():
        if not isinstance(text, str) or (planned.has_free_name and field == "metadata.name"):
            continue
        starts = ((at, size) for size in lengths for at in range(len(text) - size + 1))
        if any(text[at : at + size] in names for at, size in starts):
            yield field


def _extent(found: tuple[list[Difference], int]) -> int:
    return len(found[0])
