"""Which volume a claim gets: one set of rules for the PV controller and for the scheduler.

`find_matching_volume` is upstream's loop over a list. `VolumeIndex` gives the same answers without
the loop: it narrows the search to the volumes that name the claim and to the free volumes of the
claim's class and volume mode that are large enough, and puts the same rules to those.
`explain_candidates` says of every volume what the rules say, with the evidence.

Upstream: pkg/controller/volume/persistentvolume/index.go and
component-helpers/storage/volume/pv_helpers.go, FindMatchingVolume(). Where upstream leaves equal
volumes to the order of a Go map, the smaller name wins here.
"""

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from kscope.sim import quantity
from kscope.sim.objects import EMPTY, Node, PersistentVolume, PersistentVolumeClaim
from kscope.sim.selectors import LabelSelector, NodeSelector
from volumes.engine.phases import VOLUME_AVAILABLE, claim_class, volume_mode

# The order in which upstream writes a set of access modes down.
_MODE_ORDER: Final = {
    "ReadWriteOnce": 0,
    "ReadOnlyMany": 1,
    "ReadWriteMany": 2,
    "ReadWriteOncePod": 3,
}
_NOTHING_EXCLUDED: Final[frozenset[str]] = frozenset()

Modes = tuple[str, ...]


class Fault(NamedTuple):
    """One rule that a volume breaks for a claim: the rule's name, a sentence, and the numbers."""

    rule: str
    text: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CandidateVerdict:
    """What the rules say of one volume for one claim.

    `faults` holds every rule it breaks, in the order in which the rules are applied; the first one
    is why it was passed over. A volume without faults that is not `chosen` was simply not the best.
    """

    volume: str
    capacity: int
    chosen: bool
    prebound: bool
    faults: tuple[Fault, ...]

    @property
    def rule(self) -> str:
        """The deciding rule: "chosen", "larger" (fits, but another fits better) or a fault's."""
        if self.faults:
            return self.faults[0].rule
        return "chosen" if self.chosen else "larger"

    def to_dict(self) -> dict[str, Any]:
        """As evidence in an event."""
        return {
            "volume": self.volume,
            "capacity": self.capacity,
            "verdict": self.rule,
            "prebound": self.prebound,
            "faults": [
                {"rule": fault.rule, "text": fault.text, **fault.detail} for fault in self.faults
            ],
        }


class Wanted:
    """What a claim asks of a volume, read once."""

    __slots__ = ("bytes", "claim", "key", "mode", "modes", "selector", "size", "storage_class")

    def __init__(self, claim: PersistentVolumeClaim) -> None:
        self.claim = claim
        self.key = claim.key
        requests = (claim.spec.get("resources") or EMPTY).get("requests") or EMPTY
        self.size = quantity.parse(requests.get("storage", 0)).nanos
        self.bytes = claim.request_bytes
        self.storage_class = claim_class(claim)
        self.mode = volume_mode(claim)
        self.modes: Modes = claim.access_modes
        selector = claim.spec.get("selector")
        self.selector = None if selector is None else LabelSelector.parse(selector)


class Offer:
    """What a volume offers, read once. `size` is exact, in nano-units."""

    __slots__ = (
        "affinity",
        "affinity_source",
        "available",
        "capacity_source",
        "claim_key",
        "claim_uid",
        "deleting",
        "mode",
        "modes",
        "modes_source",
        "name",
        "size",
        "storage_class",
        "volume",
    )

    def __init__(self, volume: PersistentVolume, before: "Offer | None" = None) -> None:
        spec = volume.spec
        self.volume = volume
        self.name = volume.name
        self.modes: Modes
        self.capacity_source: Mapping[str, Any] | None
        self.modes_source: list[str] | None
        self.capacity_source = spec.get("capacity")
        self.modes_source = spec.get("accessModes")
        # An update seldom touches these; patched objects share what they do not touch.
        if before is not None and before.capacity_source is self.capacity_source:
            self.size = before.size
        else:
            self.size = quantity.parse((self.capacity_source or EMPTY).get("storage", 0)).nanos
        if before is not None and before.modes_source is self.modes_source:
            self.modes = before.modes
        else:
            self.modes = canonical_modes(volume.access_modes)
        self.storage_class = volume.storage_class_name
        self.mode = volume_mode(volume)
        self.available = volume.phase == VOLUME_AVAILABLE
        self.deleting = bool(volume.deletion_timestamp)
        ref = volume.claim_ref
        self.claim_key: str | None = None if ref is None else volume.claim_key
        self.claim_uid: str = "" if ref is None else ref.get("uid") or ""
        source = (spec.get("nodeAffinity") or EMPTY).get("required")
        self.affinity_source = source
        if before is not None and before.affinity_source is source:
            self.affinity = before.affinity
        else:
            self.affinity = None if source is None else NodeSelector.parse(source)

    @property
    def is_free(self) -> bool:
        """Whether any claim at all may take it."""
        return self.available and self.claim_key is None and not self.deleting

    @property
    def place(self) -> tuple[str | None, bool, str, str]:
        """What decides, size and access modes apart, in which lists it stands."""
        return self.claim_key, self.is_free, self.storage_class, self.mode

    def names(self, claim: PersistentVolumeClaim) -> bool:
        """Whether it is bound or pre-bound to *claim*. Upstream: IsVolumeBoundToClaim()."""
        return self.claim_key == claim.key and self.claim_uid in ("", claim.uid)


def canonical_modes(modes: Iterable[str]) -> Modes:
    """*modes* without duplicates, in upstream's order. Upstream: GetAccessModesAsString()."""
    return tuple(sorted(dict.fromkeys(modes), key=_mode_rank))


def _mode_rank(mode: str) -> tuple[int, str]:
    return _MODE_ORDER.get(mode, len(_MODE_ORDER)), mode


def fits_node(offer: Offer, node: Node) -> bool:
    """Whether a volume can be reached from *node*. Upstream: CheckNodeAffinity(), labels only."""
    return offer.affinity is None or offer.affinity.matches(node.labels, "")


def check_node_affinity(volume: PersistentVolume, node_labels: Mapping[str, str]) -> str | None:
    """Why *volume* cannot be reached from a node with these labels, or None."""
    source = (volume.spec.get("nodeAffinity") or EMPTY).get("required")
    if source is None or NodeSelector.parse(source).matches(node_labels, ""):
        return None
    return "no matching NodeSelectorTerms"


# The rules


def _size_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.size >= wanted.size:
        return None
    has, asks = offer.volume.capacity_bytes, wanted.bytes
    short = asks - has
    text = f"{quantity.format_bytes(has)} is {quantity.format_bytes(short)} too small"
    return Fault("size", text, {"capacity": has, "request": asks, "short": short})


def _claimed_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.claim_key is None or offer.names(wanted.claim):
        return None
    if offer.claim_key == wanted.key:
        text = f"reserved for an earlier claim {offer.claim_key} (uid {offer.claim_uid})"
    else:
        text = f"{'bound to' if offer.claim_uid else 'reserved for'} claim {offer.claim_key}"
    return Fault("claimed", text, {"claim": offer.claim_key, "uid": offer.claim_uid})


def _mode_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.mode == wanted.mode:
        return None
    text = f"volumeMode is {offer.mode}, the claim asks for {wanted.mode}"
    return Fault("volume-mode", text, {"volumeMode": offer.mode, "asked": wanted.mode})


def _deleting_fault(offer: Offer) -> Fault | None:
    return Fault("deleting", "it is being deleted", {}) if offer.deleting else None


def _phase_fault(offer: Offer) -> Fault | None:
    if offer.available:
        return None
    phase = offer.volume.phase
    return Fault("phase", f"phase is {phase}, not Available", {"phase": phase})


def _selector_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    selector, labels = wanted.selector, offer.volume.labels
    if selector is None or selector.matches(labels):
        return None
    broken = next((r for r in selector.requirements if not r.matches(labels)), None)
    if broken is None:
        return Fault("selector", "the claim's selector matches nothing", {})
    has = labels.get(broken.key)
    text = f"label {broken} is not met: {broken.key}={has}" if has else f"label {broken} is missing"
    return Fault("selector", text, {"requirement": str(broken), "label": has})


def _class_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.storage_class == wanted.storage_class:
        return None
    has, asks = offer.storage_class or "none", wanted.storage_class or "none"
    detail = {"class": offer.storage_class, "asked": wanted.storage_class}
    return Fault("class", f"class is {has}, the claim asks for {asks}", detail)


def _affinity_fault(offer: Offer, node: Node | None) -> Fault | None:
    if node is None or fits_node(offer, node):
        return None
    text = f"not reachable from {node.name}: needs {offer.affinity}"
    return Fault("node-affinity", text, {"node": node.name, "needs": str(offer.affinity)})


def _access_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    missing = [mode for mode in wanted.modes if mode not in offer.modes]
    if not missing:
        return None
    text = f"does not offer {', '.join(missing)}"
    return Fault("access-modes", text, {"missing": missing, "offers": list(offer.modes)})


def _attributes_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    # Since VolumeAttributesClass; absent on both sides before. An empty name counts as none.
    asks = wanted.claim.spec.get("volumeAttributesClassName") or ""
    has = offer.volume.spec.get("volumeAttributesClassName") or ""
    if asks == has:
        return None
    text = f"volumeAttributesClass is {has or 'none'}, the claim asks for {asks or 'none'}"
    return Fault("attributes-class", text, {"class": has, "asked": asks})


def is_considered(wanted: Wanted, offer: Offer, *, protect: bool = True) -> bool:
    """The rules that hold even for a volume reserved for this very claim."""
    return (
        offer.size >= wanted.size
        and offer.mode == wanted.mode
        and (offer.claim_key is None or offer.names(wanted.claim))
        and not (protect and offer.deleting)
    )


def is_plain_match(wanted: Wanted, offer: Offer, node: Node | None) -> bool:
    """The further rules for a volume that is nobody's yet, all of `is_considered` being met."""
    if not offer.available or offer.storage_class != wanted.storage_class:
        return False
    if wanted.selector is not None and not wanted.selector.matches(offer.volume.labels):
        return False
    if _attributes_fault(wanted, offer) is not None:
        return False
    if node is None:
        return True
    return fits_node(offer, node) and all(mode in offer.modes for mode in wanted.modes)


def find_matching_volume(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    node: Node | None = None,
    excluded: Collection[str] = _NOTHING_EXCLUDED,
    delay_binding: bool = False,
    *,
    protect: bool = True,
) -> PersistentVolume | None:
    """The best of *volumes* for *claim*: one that names it, else the smallest that fits.

    With a *node* this is the scheduler's question (node affinity and access modes count); without
    one the PV controller's, where *delay_binding* leaves unreserved volumes to the scheduler.
    *excluded* volumes are spoken for. *protect* is the StorageObjectInUseProtection gate. Equal
    sizes: the earlier one in *volumes*. Upstream: FindMatchingVolume().
    """
    wanted = Wanted(claim)
    return _find(wanted, map(Offer, volumes), node, excluded, delay_binding, protect)


def _find(
    wanted: Wanted,
    offers: Iterable[Offer],
    node: Node | None,
    excluded: Collection[str],
    delay_binding: bool,
    protect: bool = True,
) -> PersistentVolume | None:
    smallest: Offer | None = None
    for offer in offers:
        if offer.name in excluded or not is_considered(wanted, offer, protect=protect):
            continue
        if offer.claim_key is not None:
            # It is reserved for this claim, which therefore fits nowhere else.
            return offer.volume if node is None or fits_node(offer, node) else None
        if delay_binding and node is None:
            continue
        if not is_plain_match(wanted, offer, node):
            continue
        if smallest is None or offer.size < smallest.size:
            smallest = offer
    return None if smallest is None else smallest.volume


def check_volume_satisfies_claim(
    volume: PersistentVolume, claim: PersistentVolumeClaim, *, protect: bool = True
) -> str | None:
    """Why *claim*, which names *volume*, cannot have it; None when it can.

    The claim's selector does not count. Upstream: pv_controller.go, checkVolumeSatisfyClaim().
    """
    wanted, offer = Wanted(claim), Offer(volume)
    if protect and offer.deleting:
        return "the volume is marked for deletion"
    if volume.capacity_bytes < claim.request_bytes:
        return "requested PV is too small"
    if offer.storage_class != wanted.storage_class:
        return "storageClassName does not match"
    if _attributes_fault(wanted, offer) is not None:
        return "volumeAttributesClassName does not match"
    if offer.mode != wanted.mode:
        return "incompatible volumeMode"
    if _access_fault(wanted, offer) is not None:
        return "incompatible accessMode"
    return None


def explain_candidates(
    claim: PersistentVolumeClaim,
    volumes: Iterable[PersistentVolume],
    node: Node | None = None,
    excluded: Collection[str] = _NOTHING_EXCLUDED,
    delay_binding: bool = False,
    chosen: str = "",
) -> list[CandidateVerdict]:
    """What the rules say of every one of *volumes*: the chosen, those that fit, the nearest misses.

    *chosen* names the volume that was taken, if one was.
    """
    wanted = Wanted(claim)
    verdicts = [
        _verdict(wanted, Offer(volume), node, excluded, delay_binding, chosen) for volume in volumes
    ]
    blocking = next((v for v in verdicts if v.prebound and v.rule == "node-affinity"), None)
    if blocking is not None and not chosen:
        # A claim with a volume reserved for it takes no other, even on nodes out of its reach.
        fault = Fault("reserved", f"the claim has volume {blocking.volume} reserved for it", {})
        verdicts = [v if v.faults else replace(v, faults=(fault,)) for v in verdicts]
    verdicts.sort(key=_nearness)
    return verdicts


def _nearness(verdict: CandidateVerdict) -> tuple[bool, int, int, str]:
    return not verdict.chosen, len(verdict.faults), verdict.capacity, verdict.volume


def _verdict(
    wanted: Wanted,
    offer: Offer,
    node: Node | None,
    excluded: Collection[str],
    delay_binding: bool,
    chosen: str,
) -> CandidateVerdict:
    prebound = offer.names(wanted.claim)
    found = [
        Fault("excluded", "chosen for another claim of the pod", {})
        if offer.name in excluded
        else None,
        _claimed_fault(wanted, offer),
        _size_fault(wanted, offer),
        _mode_fault(wanted, offer),
        _deleting_fault(offer),
    ]
    if prebound:
        found.append(_affinity_fault(offer, node))
    else:
        found += [
            Fault("delayed", "left to the scheduler until a pod needs the claim", {})
            if delay_binding and node is None
            else None,
            # A volume that is another claim's is of course not Available.
            _phase_fault(offer) if offer.claim_key is None else None,
            _selector_fault(wanted, offer),
            _class_fault(wanted, offer),
            _attributes_fault(wanted, offer),
            _affinity_fault(offer, node),
            _access_fault(wanted, offer),
        ]
    return CandidateVerdict(
        offer.name,
        offer.volume.capacity_bytes,
        offer.name == chosen,
        prebound,
        tuple(fault for fault in found if fault is not None),
    )


# The index

_Ranked = list[tuple[int, str]]


class VolumeIndex:
    """Volumes, so ordered that no search looks at more than it must.

    Per set of access modes: all volumes by capacity. Free volumes once more by class and volume
    mode, within each set of access modes and over all of them. Claimed volumes by the claim they
    name. Upstream: index.go, persistentVolumeOrderedIndex, and the class index of
    scheduler_assume_cache.go.
    """

    __slots__ = ("_by_claim", "_by_modes", "_free", "_free_by_modes", "_offers")

    def __init__(self, volumes: Iterable[PersistentVolume] = ()) -> None:
        self._offers: dict[str, Offer] = {}
        self._by_modes: dict[Modes, _Ranked] = {}
        self._free_by_modes: dict[tuple[Modes, str, str], _Ranked] = {}
        self._free: dict[tuple[str, str], _Ranked] = {}
        self._by_claim: dict[str, dict[str, None]] = {}
        for volume in volumes:
            self.put(volume)

    def __len__(self) -> int:
        return len(self._offers)

    def __iter__(self) -> Iterator[PersistentVolume]:
        return iter([offer.volume for offer in self._offers.values()])

    def get(self, name: str) -> PersistentVolume | None:
        """The volume of that name, or None."""
        offer = self._offers.get(name)
        return None if offer is None else offer.volume

    def offer(self, name: str) -> Offer | None:
        """What the volume of that name offers, or None."""
        return self._offers.get(name)

    def put(self, volume: PersistentVolume) -> None:
        """Add *volume*, or replace the one of its name."""
        before = self._offers.get(volume.name)
        if before is not None and before.volume is volume:
            return
        offer = self._offers[volume.name] = Offer(volume, before)
        # A bind writes a volume twice; most writes move it in few of the lists, or in none.
        if before is None:
            self._rank(offer)
            self._list(offer)
            return
        if before.size != offer.size or before.modes != offer.modes:
            self._unlist(before)
            self._unrank(before)
            self._rank(offer)
            self._list(offer)
        elif before.place != offer.place:
            self._unlist(before)
            self._list(offer)

    def remove(self, name: str) -> None:
        """Forget the volume of that name, if it is there."""
        offer = self._offers.pop(name, None)
        if offer is not None:
            self._unlist(offer)
            self._unrank(offer)

    def _rank(self, offer: Offer) -> None:
        insort(self._by_modes.setdefault(offer.modes, []), (offer.size, offer.name))

    def _unrank(self, offer: Offer) -> None:
        _discard(self._by_modes, offer.modes, (offer.size, offer.name))

    def _list(self, offer: Offer) -> None:
        if offer.claim_key is not None:
            self._by_claim.setdefault(offer.claim_key, {})[offer.name] = None
        elif offer.is_free:
            kind, rank = (offer.storage_class, offer.mode), (offer.size, offer.name)
            insort(self._free.setdefault(kind, []), rank)
            insort(self._free_by_modes.setdefault((offer.modes, *kind), []), rank)

    def _unlist(self, offer: Offer) -> None:
        if offer.claim_key is not None:
            names = self._by_claim[offer.claim_key]
            del names[offer.name]
            if not names:
                del self._by_claim[offer.claim_key]
        elif offer.is_free:
            kind, rank = (offer.storage_class, offer.mode), (offer.size, offer.name)
            _discard(self._free, kind, rank)
            _discard(self._free_by_modes, (offer.modes, *kind), rank)

    def list_by_access_modes(self, modes: Iterable[str]) -> list[PersistentVolume]:
        """Volumes that offer exactly *modes*, by capacity. Upstream: listByAccessModes()."""
        ranked = self._by_modes.get(canonical_modes(modes), ())
        return [self._offers[name].volume for _, name in ranked]

    def all_possible_matching_access_modes(self, requested: Iterable[str]) -> list[Modes]:
        """Indexed sets that contain *requested*, smallest first.

        Upstream: allPossibleMatchingAccessModes().
        """
        asked = canonical_modes(requested)
        possible = [modes for modes in self._by_modes if all(mode in modes for mode in asked)]
        possible.sort(key=_modes_rank)
        return possible

    def find_best_match_for_claim(
        self, claim: PersistentVolumeClaim, delay_binding: bool
    ) -> PersistentVolume | None:
        """The PV controller's choice for *claim*, or None. Upstream: findBestMatchForClaim().

        Sets of access modes are tried smallest first, and the first one with a match wins; even a
        volume reserved for the claim loses to a plain match in a smaller set.
        """
        wanted = Wanted(claim)
        reserved = self._reserved(wanted)
        for modes in self.all_possible_matching_access_modes(wanted.modes):
            for offer in reserved:
                if offer.modes == modes and is_considered(wanted, offer):
                    return offer.volume
            if delay_binding:
                continue
            ranked = self._free_by_modes.get((modes, wanted.storage_class, wanted.mode))
            found = self._smallest(wanted, ranked, None, _NOTHING_EXCLUDED)
            if found is not None:
                return found
        return None

    def find_for_node(
        self,
        claim: PersistentVolumeClaim,
        node: Node,
        excluded: Collection[str] = _NOTHING_EXCLUDED,
    ) -> PersistentVolume | None:
        """The scheduler's choice for *claim* on *node*, or None.

        Only volumes of the claim's class are looked at, also among those reserved for it.
        Upstream: scheduler_binder.go, findMatchingVolumes(), one claim of it.
        """
        wanted = Wanted(claim)
        for offer in self.reserved_in_class(wanted):
            if offer.name not in excluded:
                return offer.volume if fits_node(offer, node) else None
        ranked = self._free.get((wanted.storage_class, wanted.mode))
        return self._smallest(wanted, ranked, node, excluded)

    def reserved_in_class(self, wanted: Wanted) -> list[Offer]:
        """Volumes that name the claim and may be given to it, of its own class."""
        return [
            offer
            for offer in self._reserved(wanted)
            if offer.storage_class == wanted.storage_class and is_considered(wanted, offer)
        ]

    def free_offers(self, wanted: Wanted) -> Iterator[Offer]:
        """Free volumes that meet every rule but the node's, smallest first, then by name."""
        ranked = self._free.get((wanted.storage_class, wanted.mode), [])
        for place in range(bisect_left(ranked, (wanted.size, "")), len(ranked)):
            offer = self._offers[ranked[place][1]]
            if is_plain_match(wanted, offer, None) and all(m in offer.modes for m in wanted.modes):
                yield offer

    def _reserved(self, wanted: Wanted) -> list[Offer]:
        offers = [self._offers[name] for name in self._by_claim.get(wanted.key, ())]
        offers.sort(key=_size_then_name)
        return offers

    def _smallest(
        self,
        wanted: Wanted,
        ranked: _Ranked | None,
        node: Node | None,
        excluded: Collection[str],
    ) -> PersistentVolume | None:
        if not ranked:
            return None
        for place in range(bisect_left(ranked, (wanted.size, "")), len(ranked)):
            offer = self._offers[ranked[place][1]]
            if offer.name not in excluded and is_plain_match(wanted, offer, node):
                return offer.volume
        return None


def _size_then_name(offer: Offer) -> tuple[int, str]:
    return offer.size, offer.name


def _modes_rank(modes: Modes) -> tuple[int, list[tuple[int, str]]]:
    return len(modes), [_mode_rank(mode) for mode in modes]


def _discard(lists: dict[Any, _Ranked], key: Any, rank: tuple[int, str]) -> None:
    ranked = lists[key]
    del ranked[bisect_left(ranked, rank)]
    if not ranked:
        del lists[key]
