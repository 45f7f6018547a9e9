"""For claims with equal requests: the free volume that each node would get, kept from pod to pod.

The free volumes are sorted by preference and grouped by the rows that can reach them; for every
row the first free volume is kept. When a volume is bound, only the rows of its group change, and
only if it was the first of the group. The answers are those of VolumeIndex.find_for_node().

A tally counts which rows have a volume left; the fast path distinguishes rows by it.

Unlike what `Kept` describes, the choices follow the log of the volume index, which the index brings
up to date when it is read, and they are built anew when a change cannot be corrected.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_labels import NodeMatcher
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import Tally
from engine.objects.selectors import NodeSelector
from engine.storage.matching.offers import Offer, Wanted
from engine.storage.matching.rules import is_considered, is_plain_match

# No volume; beyond the place of any.
NONE: Final = 1 << 40

_MOST_KEPT = 64
# Bytes of all choices, roughly; more are not worth their memory.
_MAX_CELLS = 128_000_000
# A group of up to this many rows is narrow: its rows move on one by one.
_NARROW = 16


@dataclass(frozen=True, slots=True)
class _ByLabels:
    """A node selector that does not see the node's name."""

    selector: NodeSelector

    def matches(self, node_labels: Mapping[str, str], node_name: str) -> bool:
        """See NodeMatcher."""
        return self.selector.matches(node_labels, "")


def by_labels(affinity: NodeSelector) -> NodeMatcher:
    """A volume's affinity applied to labels alone, so that matchFields exclude no node.

    Upstream: component-helpers CheckNodeAffinity(), which makes a node of the labels without a name.
    """
    return _ByLabels(affinity) if any(term.fields for term in affinity.terms) else affinity


@dataclass(slots=True)
class Group:
    """Volumes that the same rows can reach, by their places in the order of preference.

    A narrow group lists its few `rows`. A wide one has None there, and `reach`, or None in both for
    all rows.
    """

    reach: BoolArray | None
    rows: list[int] | None
    places: list[int] = field(default_factory=list[int])
    # The first free volume, or NONE; and its index in `places`.
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


class VolumeChoices:
    """The first free volume of each row. Results may keep `names` and `choice`: both are replaced,
    never changed.
    """

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

        *tally* is that of earlier choices for the same claims and nodes, and is updated.
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
        self._renew_narrow(self._at_row)
        self.choice: IntArray = self._narrow
        if self._wide:
            self._apply_wide_groups()
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
        """The volume's offer as it was when the choices were built."""
        return self._offers[place]

    def take(self, places: Iterable[int], table: NodeTable) -> None:
        """These volumes were free, and are no longer."""
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
            self._renew_narrow(rows)
        if not self._wide:
            self.choice = self._narrow
            self._count_few(rows, table)
        elif rows or is_wide:
            self._apply_wide_groups()
            self._count(table)

    def _renew_narrow(self, rows: Iterable[int]) -> None:
        """The first volume of the narrow groups of each of *rows*."""
        narrow = self._narrow
        for row in rows:
            narrow[row] = min([group.first for group in self._at_row[row]])

    def _apply_wide_groups(self) -> None:
        """The better of narrow and wide groups for each row."""
        choice = self._narrow.copy()
        for group in self._wide:
            where = True if group.reach is None else group.reach
            np.minimum(choice, group.first, out=choice, where=where)
        self.choice = choice

    def _count(self, table: NodeTable) -> None:
        """Count the rows that have a volume, and note those where that changed."""
        has = (self.choice != NONE).astype(np.int32)
        for row in (self.tally.counts != has).nonzero()[0].tolist():
            # A volume that all rows reach is also the choice of rows without a node.
            if table.nodes[row] is not None:
                table.touch(row)
        self.tally.counts[:] = has

    def _count_few(self, rows: Iterable[int], table: NodeTable) -> None:
        """The same if only *rows* may have lost their volume."""
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
class KeptVolumeChoices:
    """The choices of one scheduler. A checkpoint does not contain them; they are built again."""

    table: NodeTable
    listers: Listers
    known: dict[Hashable, VolumeChoices] = field(default_factory=dict[Hashable, VolumeChoices])

    def __reduce__(self) -> tuple[Any, ...]:
        return KeptVolumeChoices, (self.table, self.listers)

    def of(self, wanted: Wanted) -> VolumeChoices | None:
        """The current choices for claims like this one; None if they would be too big."""
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
        choices = self.known.get(key)
        if choices is None or choices.generation != generation or not self._follow(choices, wanted):
            same = choices is not None and choices.generation == generation
            tally = choices.tally if choices is not None and same else None
            choices = self._build(wanted, generation, tally)
            if choices is None:
                return None
            cells = choices.cells + sum(one.cells for one in self.known.values())
            if len(self.known) >= _MOST_KEPT or cells > _MAX_CELLS:
                self.known.clear()
            self.known[key] = choices
        return choices

    def _build(
        self, wanted: Wanted, generation: tuple[int, ...], tally: Tally | None
    ) -> VolumeChoices | None:
        volumes = self.listers.volumes
        offers = volumes.free_offers(wanted)
        choices = VolumeChoices(offers, self.table, generation, volumes.log_end, tally)
        return choices if choices.cells <= _MAX_CELLS else None

    def _follow(self, choices: VolumeChoices, wanted: Wanted) -> bool:
        """Apply the volumes that were taken since; False if the choices must be built again."""
        volumes = self.listers.volumes
        changed = volumes.free_changed_since(choices.position)
        if changed is None:
            return False
        if not changed:
            return True
        taken: list[int] = []
        for name in dict.fromkeys(changed):
            offer = volumes.free_offer(name)
            usable = offer is not None and is_usable(wanted, offer)
            place = choices.place_of(name)
            if place is None:
                if usable:
                    return False
            elif not usable:
                taken.append(place)
            elif offer is not choices.offer_at(place):
                return False
        if taken:
            choices.take(taken, self.table)
        choices.position += len(changed)
        return True


def is_usable(wanted: Wanted, offer: Offer) -> bool:
    """Whether the free *offer* meets every rule of the claim except the node's."""
    return (
        is_considered(wanted, offer)
        and is_plain_match(wanted, offer, None)
        and all(mode in offer.modes for mode in wanted.modes)
    )
