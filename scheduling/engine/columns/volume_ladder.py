"""For claims that ask for the same: which free volume each node would give, kept from pod to pod.

A ladder holds the free volumes in order of preference, in groups that the same rows can reach, and
for every row the first volume that is still free. When one is taken, only the rows of its group move
on, and only if it was the group's first. The answers are those of VolumeIndex.find_for_node().

Which rows have any volume left stands in a tally, by which the fast path tells rows apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from kscope.sim.objects.selectors import NodeSelector
from scheduling.engine.nodes.arrays import BoolArray, IntArray
from scheduling.engine.nodes.listers import Listers
from scheduling.engine.nodes.node_labels import NodeMatcher
from scheduling.engine.nodes.node_table import NodeTable
from scheduling.engine.nodes.pod_counts import Tally
from volumes.engine.matching.offers import Offer, Wanted
from volumes.engine.matching.rules import is_considered, is_plain_match

# No volume; beyond the place of any.
NONE: Final = 1 << 40

_MAX_LADDERS = 64
# Bytes of all ladders, roughly; beyond this they are not worth their memory.
_MAX_CELLS = 128_000_000
# A group of up to this many rows is narrow: its rows move on one by one.
_NARROW = 16


@dataclass(frozen=True, slots=True)
class _ByLabels:
    """A node selector that is not told the node's name."""

    selector: NodeSelector

    def matches(self, node_labels: Mapping[str, str], node_name: str) -> bool:
        """See NodeMatcher."""
        return self.selector.matches(node_labels, "")


def by_labels(affinity: NodeSelector) -> NodeMatcher:
    """A volume's affinity as it is asked: of labels alone, so that matchFields keep no node out.

    Upstream: component-helpers CheckNodeAffinity(), which makes a node of the labels without a name.
    """
    return _ByLabels(affinity) if any(term.fields for term in affinity.terms) else affinity


@dataclass(slots=True)
class Group:
    """Volumes that can be reached from the same rows, by their places in the ladder.

    A narrow group lists its few `rows`; a wide one has None there, and `reach`, which is None when
    all rows are meant.
    """

    reach: BoolArray | None
    rows: list[int] | None
    places: list[int] = field(default_factory=list[int])
    # The first that is free, or NONE; and where in `places` it stands.
    first: int = NONE
    head: int = 0

    def add(self, place: int) -> None:
        """A free volume, the last so far."""
        if not self.places:
            self.first = place
        self.places.append(place)

    def advance(self, free: list[bool]) -> None:
        """Go on to the next volume that is free."""
        places, head = self.places, self.head
        while head < len(places) and not free[places[head]]:
            head += 1
        self.head = head
        self.first = places[head] if head < len(places) else NONE


class Ladder:
    """See the module. `names` and `choice` are never changed in place: results may keep them."""

    __slots__ = (
        "_at_row",
        "_free",
        "_group_of",
        "_narrow",
        "_offers",
        "_places",
        "_wide",
        "choice",
        "generation",
        "names",
        "position",
        "tally",
    )

    def __init__(
        self,
        offers: list[Offer],
        table: NodeTable,
        generation: tuple[int, ...],
        position: int,
        tally: Tally | None = None,
    ) -> None:
        """*offers* are in order of preference. `choice` has a place among them for each row.

        *tally* is that of an earlier ladder for the same claims and nodes: it goes on.
        """
        self.generation = generation
        # Up to where the index's log of what is free was followed.
        self.position = position
        self.names = [offer.name for offer in offers]
        self._offers = offers
        self._places = {name: place for place, name in enumerate(self.names)}
        self._free = [True] * len(offers)
        self._group_of: list[Group] = []
        groups = self._grouped(offers, table)
        self._wide = [group for group in groups if group.rows is None]
        # The narrow groups that each row reaches, and the first volume of them all.
        self._at_row: dict[int, list[Group]] = {}
        for group in groups:
            for row in group.rows or ():
                self._at_row.setdefault(row, []).append(group)
        self._narrow: IntArray = np.full(table.capacity, NONE, np.int64)
        self._climb(self._at_row)
        self.choice: IntArray = self._narrow
        if self._wide:
            self._lay_wide()
        # 1 for the rows that have a volume.
        self.tally = tally or Tally((self.choice != NONE).astype(np.int32))
        if tally is not None:
            self._count(table)

    def _grouped(self, offers: list[Offer], table: NodeTable) -> list[Group]:
        groups: dict[NodeSelector | None, Group] = {}
        for place, offer in enumerate(offers):
            group = groups.get(offer.affinity)
            if group is None:
                group = groups[offer.affinity] = _group(offer.affinity, table)
            group.add(place)
            self._group_of.append(group)
        return [*groups.values()]

    @property
    def cells(self) -> int:
        """How much memory it takes, roughly in bytes."""
        return len(self.names) + len(self.choice) * (1 + len(self._wide))

    def place_of(self, name: str) -> int | None:
        """The place of a volume that is free here, or None."""
        place = self._places.get(name)
        return None if place is None or not self._free[place] else place

    def offer_at(self, place: int) -> Offer:
        """The volume's offer as it was when the ladder was built."""
        return self._offers[place]

    def take(self, places: Iterable[int], table: NodeTable) -> None:
        """These volumes, which were free, are free no more."""
        rows: list[int] = []
        is_wide = False
        for place in places:
            self._free[place] = False
            group = self._group_of[place]
            if group.first == place:
                group.advance(self._free)
                is_wide = is_wide or group.rows is None
                rows += group.rows or ()
        if rows:
            self._narrow = self._narrow.copy()
            self._climb(rows)
        if not self._wide:
            self.choice = self._narrow
            self._count_few(rows, table)
        elif rows or is_wide:
            self._lay_wide()
            self._count(table)

    def _climb(self, rows: Iterable[int]) -> None:
        """The first volume of the narrow groups of each of *rows*."""
        narrow = self._narrow
        for row in rows:
            narrow[row] = min([group.first for group in self._at_row[row]])

    def _lay_wide(self) -> None:
        """Lay the wide groups over the narrow ones."""
        choice = self._narrow.copy()
        for group in self._wide:
            where = True if group.reach is None else group.reach
            np.minimum(choice, group.first, out=choice, where=where)
        self.choice = choice

    def _count(self, table: NodeTable) -> None:
        """Which rows have a volume, and tell of those that had none, or have none now."""
        has = (self.choice != NONE).astype(np.int32)
        for row in (self.tally.counts != has).nonzero()[0].tolist():
            # A volume that any node reaches is the choice of rows without one, too.
            if table.nodes[row] is not None:
                table.touch(row)
        self.tally.counts[:] = has

    def _count_few(self, rows: Iterable[int], table: NodeTable) -> None:
        """The same where only *rows* may have lost theirs."""
        for row in rows:
            if self.choice.item(row) == NONE:
                self.tally.counts[row] = 0
                table.touch(row)


def _group(affinity: NodeSelector | None, table: NodeTable) -> Group:
    if affinity is None:
        return Group(None, None)
    reach = table.matching(by_labels(affinity))
    rows = reach.nonzero()[0]
    return Group(None, rows.tolist()) if len(rows) <= _NARROW else Group(reach, None)


@dataclass(slots=True)
class Ladders:
    """The ladders of one scheduler. A checkpoint goes without them: they are soon built anew."""

    table: NodeTable
    listers: Listers
    known: dict[Hashable, Ladder] = field(default_factory=dict[Hashable, Ladder])

    def __reduce__(self) -> tuple[Any, ...]:
        return Ladders, (self.table, self.listers)

    def of(self, wanted: Wanted) -> Ladder | None:
        """The ladder for claims like this one, brought up to date; None when it would be too big."""
        key = (
            wanted.storage_class,
            wanted.mode,
            wanted.modes,
            wanted.size,
            wanted.selector,
            wanted.attributes_class,
        )
        table = self.table
        generation = (table.static_generation, table.capacity)
        ladder = self.known.get(key)
        if ladder is None or ladder.generation != generation or not self._follow(ladder, wanted):
            same = ladder is not None and ladder.generation == generation
            tally = ladder.tally if ladder is not None and same else None
            ladder = self._build(wanted, generation, tally)
            if ladder is None:
                return None
            cells = ladder.cells + sum(one.cells for one in self.known.values())
            if len(self.known) >= _MAX_LADDERS or cells > _MAX_CELLS:
                self.known.clear()
            self.known[key] = ladder
        return ladder

    def _build(
        self, wanted: Wanted, generation: tuple[int, ...], tally: Tally | None
    ) -> Ladder | None:
        volumes = self.listers.volumes
        offers = volumes.free_offers(wanted)
        ladder = Ladder(offers, self.table, generation, volumes.log_end, tally)
        return ladder if ladder.cells <= _MAX_CELLS else None

    def _follow(self, ladder: Ladder, wanted: Wanted) -> bool:
        """Take over which volumes were taken since; False when it has to be built anew."""
        volumes = self.listers.volumes
        changed = volumes.free_changed_since(ladder.position)
        if changed is None:
            return False
        if not changed:
            return True
        taken: list[int] = []
        for name in dict.fromkeys(changed):
            offer = volumes.free_offer(name)
            usable = offer is not None and is_usable(wanted, offer)
            place = ladder.place_of(name)
            if place is None:
                if usable:
                    return False
            elif not usable:
                taken.append(place)
            elif offer is not ladder.offer_at(place):
                return False
        if taken:
            ladder.take(taken, self.table)
        ladder.position += len(changed)
        return True


def is_usable(wanted: Wanted, offer: Offer) -> bool:
    """Whether *offer*, which is nobody's, meets every rule but the node's."""
    return (
        is_considered(wanted, offer)
        and is_plain_match(wanted, offer, None)
        and all(mode in offer.modes for mode in wanted.modes)
    )
