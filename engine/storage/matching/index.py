"""The index of volumes: the same choices as upstream's loops, without the loops.

The index narrows the search to the volumes that name the claim and to the free volumes of the claim's
class and volume mode that are large enough, and applies the rules of rules.py to those.

Upstream: pkg/controller/volume/persistentvolume/index.go. Where upstream leaves the choice among equal
volumes to the order of a Go map, the smaller name wins here.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator

from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim
from engine.objects.selectors import NodeSelector
from engine.storage.matching.lists import AccessModeSets, FreeVolumes, Ranked
from engine.storage.matching.offers import (
    Modes,
    Offer,
    Wanted,
    affinity_source_of,
    canonical_modes,
    fits_node,
    offer_of,
    wanted_of,
    without_name_terms,
)
from engine.storage.matching.rules import NOTHING_EXCLUDED, is_considered, is_plain_match


class VolumeIndex:
    """Volumes, listed so that a search for a claim looks at few of them.

    Free volumes are listed by class, volume mode and access modes, and then by capacity; claimed
    volumes by the claim they name. The lists are brought up to date by the next search: most volumes
    are written several times before that, and many clusters never search.
    Upstream: index.go, persistentVolumeOrderedIndex, and the class index of
    scheduler_assume_cache.go.
    """

    __slots__ = (
        "_by_claim",
        "_claimed",
        "_free",
        "_mode_sets",
        "_offers",
        "_unsorted",
        "_volumes",
        "applies_match_fields",
        "lists_by_spec_class",
    )

    def __init__(self, volumes: Iterable[PersistentVolume] = ()) -> None:
        # Whether matchFields of a volume's affinity count; they see a node without a name.
        self.applies_match_fields = False
        # Whether volumes are listed by spec.storageClassName, although the rules compare the class of
        # the annotation. Upstream: pvStorageClassIndexFunc() until v1.19.
        self.lists_by_spec_class = False
        self._volumes: dict[str, PersistentVolume] = {}
        # Names of volumes that were put in or removed since the lists were brought up to date.
        self._unsorted: dict[str, None] = {}
        # The offers by which volumes are listed below. That of a claimed volume may be outdated; it is
        # read again when a search returns the volume.
        self._offers: dict[str, Offer] = {}
        # The claim under which a volume is listed.
        self._claimed: dict[str, str] = {}
        self._by_claim: dict[str, dict[str, None]] = {}
        self._mode_sets = AccessModeSets()
        self._free = FreeVolumes()
        for volume in volumes:
            self.put(volume)

    def __len__(self) -> int:
        return len(self._volumes)

    def __iter__(self) -> Iterator[PersistentVolume]:
        return iter([*self._volumes.values()])

    def get(self, name: str) -> PersistentVolume | None:
        """The volume of that name, or None."""
        return self._volumes.get(name)

    def offer(self, name: str) -> Offer | None:
        """The offer of the volume of that name, or None."""
        self._sort()
        volume = self._volumes.get(name)
        return None if volume is None else self._current(volume)

    def _current(self, volume: PersistentVolume) -> Offer:
        """The offer of *volume*, which is the indexed version of its name."""
        offer = self._offer_of(volume, self._offers.get(volume.name))
        self._offers[volume.name] = offer
        return offer

    def _offer_of(self, volume: PersistentVolume, before: Offer | None) -> Offer:
        offer = offer_of(volume, before)
        if self.applies_match_fields and offer.affinity is not None:
            offer.affinity = without_name_terms(offer.affinity)
        return offer

    def affinity_of(self, volume: PersistentVolume) -> NodeSelector | None:
        """The node affinity of any version of a volume; usually it is the indexed one."""
        known = self._offers.get(volume.name)
        if known is not None and known.affinity_source is affinity_source_of(volume.spec):
            return known.affinity
        return self._offer_of(volume, known).affinity

    def put(self, volume: PersistentVolume) -> None:
        """Add *volume*, or replace the one of its name."""
        name = volume.name
        known = self._volumes.get(name)
        if known is volume:
            return
        self._volumes[name] = volume
        if known is None or known.spec is not volume.spec or name not in self._claimed:
            # Else it stays listed under its claim, whatever else has changed.
            self._unsorted[name] = None

    def remove(self, name: str) -> None:
        """Remove the volume of that name, if it is there."""
        if self._volumes.pop(name, None) is not None:
            self._unsorted[name] = None

    # Free volumes

    @property
    def log_end(self) -> int:
        """The position after the newest change of the free volumes."""
        self._sort()
        return self._free.log.end

    def free_changed_since(self, position: int) -> list[str] | None:
        """Names of volumes that became free, ceased to be free or changed since *position*.

        None if the log does not reach back to *position*.
        """
        self._sort()
        return self._free.log.since(position)

    def free_offer(self, name: str) -> Offer | None:
        """The offer of the volume of that name if it is free, else None."""
        self._sort()
        offer = self._offers.get(name)
        if offer is None or name in self._claimed:
            return None
        return offer if self._is_free(offer) else None

    def _is_free(self, offer: Offer) -> bool:
        """Whether a search for a claim may find it among the free volumes."""
        return offer.is_free and self._listed_class(offer) == offer.storage_class

    def _listed_class(self, offer: Offer) -> str:
        return offer.field_class if self.lists_by_spec_class else offer.storage_class

    # Upkeep of the lists

    def _sort(self) -> None:
        """Bring the lists up to date with the volumes."""
        if self._unsorted:
            for name in self._unsorted:
                self._sort_in(name, self._offers.get(name), self._volumes.get(name))
            self._unsorted.clear()

    def _sort_in(self, name: str, before: Offer | None, volume: PersistentVolume | None) -> None:
        if volume is None:
            if before is not None:
                del self._offers[name]
                self._unlist(before)
                self._mode_sets.remove(before)
            return
        if before is not None and volume.claim_ref is not None and before.is_of(volume.spec):
            # It is listed under its claim, whatever its phase.
            self._claim(before, volume.claim_key)
            return
        offer = self._offers[name] = self._offer_of(volume, before)
        # Most writes move a volume in few of the lists or in none.
        if before is None:
            self._mode_sets.add(offer)
            self._list(offer)
        elif before.modes != offer.modes:
            self._unlist(before)
            self._mode_sets.remove(before)
            self._mode_sets.add(offer)
            self._list(offer)
        elif name in self._claimed or before.place != offer.place or before.size != offer.size:
            self._unlist(before)
            self._list(offer)
        elif self._is_free(offer):
            self._free.log.note(name)

    def _claim(self, offer: Offer, claim: str) -> None:
        """List the volume under its claim."""
        if self._claimed.get(offer.name) != claim:
            self._unlist(offer)
            self._claimed[offer.name] = claim
            self._by_claim.setdefault(claim, {})[offer.name] = None

    def _list(self, offer: Offer) -> None:
        if offer.claim_key is not None:
            self._claimed[offer.name] = offer.claim_key
            self._by_claim.setdefault(offer.claim_key, {})[offer.name] = None
        elif self._is_free(offer):
            self._free.add(offer)

    def _unlist(self, offer: Offer) -> None:
        claim = self._claimed.pop(offer.name, None)
        if claim is not None:
            names = self._by_claim[claim]
            del names[offer.name]
            if not names:
                del self._by_claim[claim]
        elif self._is_free(offer):
            self._free.remove(offer)

    # Searches

    def list_by_access_modes(self, modes: Iterable[str]) -> list[PersistentVolume]:
        """Volumes that offer exactly *modes*, by capacity. Upstream: listByAccessModes()."""
        self._sort()
        names = self._mode_sets.names(canonical_modes(modes))
        # The sizes of claimed volumes are up to date: a new size lists a volume again.
        offers = sorted((self._offers[name] for name in names), key=_size_then_name)
        return [self._volumes[offer.name] for offer in offers]

    def all_possible_matching_access_modes(self, requested: Iterable[str]) -> list[Modes]:
        """Indexed sets that contain *requested*, smallest first.

        Upstream: allPossibleMatchingAccessModes().
        """
        self._sort()
        return [*self._mode_sets.containing(canonical_modes(requested))]

    def find_best_match_for_claim(
        self, claim: PersistentVolumeClaim, delay_binding: bool
    ) -> PersistentVolume | None:
        """The PV controller's choice for *claim*, or None. Upstream: findBestMatchForClaim().

        Sets of access modes are tried smallest first, and the first one with a match wins; even a
        volume reserved for the claim loses to a plain match in a smaller set.
        """
        self._sort()
        wanted = wanted_of(claim)
        reserved = self._reserved(wanted)
        of_kind = self._free.of_kind(wanted.storage_class, wanted.mode)
        for modes in self._mode_sets.containing(wanted.canonical_modes):
            for offer in reserved:
                if offer.modes == modes and is_considered(wanted, offer):
                    return self._volumes[offer.name]
            ranking = None if delay_binding else of_kind.get(modes)
            if ranking is not None:
                found = self._smallest(wanted, ranking.ranked(), None, NOTHING_EXCLUDED)
                if found is not None:
                    return self._volumes[found.name]
        return None

    def find_for_node(
        self,
        claim: PersistentVolumeClaim,
        node: Node,
        excluded: Collection[str] = NOTHING_EXCLUDED,
    ) -> PersistentVolume | None:
        """The scheduler's choice for *claim* on *node*, or None.

        Only volumes of the claim's class count, even among those reserved for it.
        Upstream: scheduler_binder.go, findMatchingVolumes(), one claim of it.
        """
        self._sort()
        wanted = wanted_of(claim)
        for offer in self.reserved_in_class(wanted):
            if offer.name not in excluded:
                return self._volumes[offer.name] if fits_node(offer, node) else None
        smallest: Offer | None = None
        for modes, ranking in self._free.of_kind(wanted.storage_class, wanted.mode).items():
            if not all(mode in modes for mode in wanted.modes):
                continue
            found = self._smallest(wanted, ranking.ranked(), node, excluded)
            if found is not None and (smallest is None or found.rank < smallest.rank):
                smallest = found
        return None if smallest is None else self._volumes[smallest.name]

    def reserved_in_class(self, wanted: Wanted) -> list[Offer]:
        """Volumes of the claim's class that name the claim and may be bound to it, by name.

        The first one is the claim's, even if it is larger. Upstream: ListPVs().
        """
        self._sort()
        if wanted.key not in self._by_claim:
            return []
        found = [
            offer
            for offer in self._reserved(wanted)
            if self._listed_class(offer) == wanted.storage_class and is_considered(wanted, offer)
        ]
        found.sort(key=_name_of)
        return found

    def free_offers(self, wanted: Wanted) -> list[Offer]:
        """Free volumes that meet every rule except the node's, by size, then by name."""
        self._sort()
        found: list[Offer] = []
        of_kind = self._free.of_kind(wanted.storage_class, wanted.mode)
        for modes, ranking in of_kind.items():
            if all(mode in modes for mode in wanted.modes):
                ranked = ranking.ranked()
                place = bisect_left(ranked, (wanted.size, ""))
                offers = [self._offers[name] for _, name in ranked[place:]]
                found += [offer for offer in offers if is_plain_match(wanted, offer, None)]
        if len(of_kind) > 1:
            found.sort(key=_size_then_name)
        return found

    def _reserved(self, wanted: Wanted) -> list[Offer]:
        names = self._by_claim.get(wanted.key)
        if names is None:
            return []
        offers = [self._current(self._volumes[name]) for name in names]
        offers.sort(key=_size_then_name)
        return offers

    def _smallest(
        self, wanted: Wanted, ranked: Ranked, node: Node | None, excluded: Collection[str]
    ) -> Offer | None:
        for place in range(bisect_left(ranked, (wanted.size, "")), len(ranked)):
            offer = self._offers[ranked[place][1]]
            if offer.name not in excluded and is_plain_match(wanted, offer, node):
                return offer
        return None


def _name_of(offer: Offer) -> str:
    return offer.name


def _size_then_name(offer: Offer) -> tuple[int, str]:
    return offer.rank
