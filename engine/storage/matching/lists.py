"""The lists that narrow the search for a volume: by access modes, and free volumes by size."""

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import Final

from engine.kernel.change_log import ChangeLog
from engine.storage.matching.offers import Modes, Offer, mode_rank

Ranked = list[tuple[int, str]]


class Ranking:
    """Names of volumes by size, then by name. Additions are sorted in at the next search."""

    __slots__ = ("_added", "_ranked")

    def __init__(self) -> None:
        self._ranked: Ranked = []
        self._added: Ranked = []

    def add(self, rank: tuple[int, str]) -> None:
        """Add one."""
        self._added.append(rank)

    def discard(self, rank: tuple[int, str]) -> bool:
        """Remove one that is there; returns whether none is left."""
        ranked = self.ranked()
        del ranked[bisect_left(ranked, rank)]
        return not ranked

    def ranked(self) -> Ranked:
        """All of them, in order. Not to be changed."""
        if self._added:
            if len(self._added) == 1:
                insort(self._ranked, self._added[0])
            else:
                self._ranked += self._added
                self._ranked.sort()
            self._added.clear()
        return self._ranked


class AccessModeSets:
    """Names of volumes by their exact set of access modes. Upstream: index.go, accessModesIndexFunc()."""

    __slots__ = ("_containing", "_names")

    def __init__(self) -> None:
        self._names: dict[Modes, dict[str, None]] = {}
        # Requested access modes → the sets that contain them; cleared when a set comes or goes.
        self._containing: dict[Modes, list[Modes]] = {}

    def add(self, offer: Offer) -> None:
        """Add a volume."""
        names = self._names.get(offer.modes)
        if names is None:
            names = self._names[offer.modes] = {}
            self._containing.clear()
        names[offer.name] = None

    def remove(self, offer: Offer) -> None:
        """Remove a volume that is there."""
        names = self._names[offer.modes]
        del names[offer.name]
        if not names:
            del self._names[offer.modes]
            self._containing.clear()

    def names(self, modes: Modes) -> Mapping[str, None]:
        """Names of the volumes that offer exactly *modes*."""
        return self._names.get(modes, _NO_NAMES)

    def containing(self, requested: Modes) -> list[Modes]:
        """The sets that contain *requested*, the smallest first. Not to be changed."""
        found = self._containing.get(requested)
        if found is None:
            found = [modes for modes in self._names if all(mode in modes for mode in requested)]
            found.sort(key=_size_then_modes)
            self._containing[requested] = found
        return found


_NO_NAMES: Final[Mapping[str, None]] = {}
_NO_RANKINGS: Final[Mapping[Modes, Ranking]] = {}


class FreeVolumes:
    """The volumes that any claim may take, by class and volume mode, then by access modes.

    `log` has the names of the volumes that became free, ceased to be free, or changed while free.
    """

    __slots__ = ("_by_kind", "log")

    def __init__(self) -> None:
        self._by_kind: dict[tuple[str, str], dict[Modes, Ranking]] = {}
        self.log: ChangeLog[str] = ChangeLog()

    def add(self, offer: Offer) -> None:
        """Add a volume."""
        self.log.note(offer.name)
        of_kind = self._by_kind.setdefault((offer.storage_class, offer.mode), {})
        ranking = of_kind.get(offer.modes)
        if ranking is None:
            ranking = of_kind[offer.modes] = Ranking()
        ranking.add(offer.rank)

    def remove(self, offer: Offer) -> None:
        """Remove a volume that is there."""
        self.log.note(offer.name)
        of_kind = self._by_kind[offer.storage_class, offer.mode]
        if of_kind[offer.modes].discard(offer.rank):
            del of_kind[offer.modes]

    def of_kind(self, storage_class: str, mode: str) -> Mapping[Modes, Ranking]:
        """The volumes of a class and a volume mode, by their access modes."""
        return self._by_kind.get((storage_class, mode), _NO_RANKINGS)


def _size_then_modes(modes: Modes) -> tuple[int, list[tuple[int, str]]]:
    return len(modes), [mode_rank(mode) for mode in modes]
