"""For claims that ask for the same: which free volume each node would give, kept from pod to pod.

A ladder holds the free volumes in order of preference, which rows can reach each, and for every row
the first that is still free. When a volume is taken, only the rows that counted on it move on. The
answers are those of VolumeIndex.find_for_node().
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kscope.sim.selectors import NodeSelector
from scheduling.engine.framework import BoolArray, IntArray
from scheduling.engine.listers import Listers
from scheduling.engine.node_table import NodeMatcher, NodeTable
from volumes.engine.matching import Offer, Wanted, is_considered, is_plain_match

NONE = -1

_MAX_LADDERS = 64
# Volumes × rows of all ladders, a byte each; beyond this they are not worth their memory.
_MAX_CELLS = 128_000_000


@dataclass(frozen=True, slots=True)
class _ByLabels:
    """A node selector that is not told the node's name."""

    selector: NodeSelector

    def matches(self, node_labels: Mapping[str, str], node_name: str) -> bool:
        """See NodeMatcher."""
        return self.selector.matches(node_labels, "")


def by_labels(affinity: NodeSelector) -> NodeMatcher:
    """A volume's affinity as it is asked: of labels alone, so that matchFields match no node.

    Upstream: component-helpers CheckNodeAffinity().
    """
    return _ByLabels(affinity) if any(term.fields for term in affinity.terms) else affinity


@dataclass(slots=True)
class Ladder:
    """See the module. `names` is never changed in place: results may keep it."""

    generation: tuple[int, ...]
    position: int
    names: list[str]
    places: dict[str, int]
    offers: list[Offer]
    free: BoolArray
    reach: NDArray[np.bool_]
    choice: IntArray


@dataclass(slots=True)
class Ladders:
    """The ladders of one scheduler."""

    table: NodeTable
    listers: Listers
    known: dict[Hashable, Ladder] = field(default_factory=dict[Hashable, Ladder])

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
        generation = (self.table.static_generation, self.table.capacity)
        ladder = self.known.get(key)
        if ladder is None or ladder.generation != generation or not self._follow(ladder, wanted):
            ladder = self._build(wanted, generation)
            if ladder is None:
                return None
            cells = ladder.reach.size + sum(one.reach.size for one in self.known.values())
            if len(self.known) >= _MAX_LADDERS or cells > _MAX_CELLS:
                self.known.clear()
            self.known[key] = ladder
        return ladder

    def _build(self, wanted: Wanted, generation: tuple[int, ...]) -> Ladder | None:
        offers = list(self.listers.volumes.free_offers(wanted))
        if len(offers) * self.table.capacity > _MAX_CELLS:
            return None
        reach = np.ones((len(offers), self.table.capacity), np.bool_)
        for place, offer in enumerate(offers):
            if offer.affinity is not None:
                reach[place] = self.table.matching(by_labels(offer.affinity))
        names = [offer.name for offer in offers]
        ladder = Ladder(
            generation=generation,
            position=self.listers.volume_log_end,
            names=names,
            places={name: place for place, name in enumerate(names)},
            offers=offers,
            free=np.ones(len(offers), np.bool_),
            reach=reach,
            choice=np.full(self.table.capacity, NONE, np.int64),
        )
        self._choose(ladder, np.arange(self.table.capacity))
        return ladder

    def _choose(self, ladder: Ladder, rows: IntArray) -> None:
        """The first free volume in reach of each of *rows*."""
        if not ladder.offers:
            return
        open_to = ladder.reach[:, rows] & ladder.free[:, None]
        ladder.choice[rows] = np.where(open_to.any(axis=0), open_to.argmax(axis=0), NONE)

    def _follow(self, ladder: Ladder, wanted: Wanted) -> bool:
        """Take over which volumes were taken since; False when it has to be built anew."""
        changed = self.listers.volumes_changed_since(ladder.position)
        if changed is None:
            return False
        for name in dict.fromkeys(changed):
            offer = self.listers.volumes.offer(name)
            usable = offer is not None and is_usable(wanted, offer)
            place = ladder.places.get(name)
            if place is None or not ladder.free[place]:
                if usable:
                    return False
            elif not usable:
                ladder.free[place] = False
                self._choose(ladder, np.flatnonzero(ladder.choice == place))
            elif offer is not ladder.offers[place]:
                return False
        ladder.position = self.listers.volume_log_end
        return True


def is_usable(wanted: Wanted, offer: Offer) -> bool:
    """Whether *offer* is nobody's and meets every rule but the node's."""
    return (
        offer.is_free
        and is_considered(wanted, offer)
        and is_plain_match(wanted, offer, None)
        and all(mode in offer.modes for mode in wanted.modes)
    )
