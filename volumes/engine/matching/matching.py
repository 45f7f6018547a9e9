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
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kscope.sim.kernel.change_log import ChangeLog
from kscope.sim.objects.objects import (
    EMPTY,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    quantity,
)
from kscope.sim.objects.selectors import IN, LabelSelector, NodeSelector
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
    """What a claim asks of a volume. `wanted_of` reads it once for all who ask."""

    __slots__ = (
        "attributes_class",
        "bytes",
        "canonical_modes",
        "key",
        "mode",
        "modes",
        "selector",
        "size",
        "storage_class",
        "uid",
    )

    def __init__(self, claim: PersistentVolumeClaim) -> None:
        self.key = claim.key
        self.uid = claim.uid
        requests = (claim.spec.get("resources") or EMPTY).get("requests") or EMPTY
        self.size = quantity.parse(requests.get("storage", 0)).nanos
        self.bytes = claim.request_bytes
        self.storage_class = claim_class(claim)
        self.mode = volume_mode(claim)
        self.modes: Modes = claim.access_modes
        self.canonical_modes = canonical_modes(self.modes)
        # Since VolumeAttributesClass; absent on both sides before. An empty name counts as none.
        self.attributes_class: str = claim.spec.get("volumeAttributesClassName") or ""
        selector = claim.spec.get("selector")
        self.selector = None if selector is None else LabelSelector.parse(selector)


class Offer:
    """What a volume offers. `offer_of` reads it once for all who ask. `size` is exact, in nano-units."""

    __slots__ = (
        "affinity",
        "affinity_source",
        "attributes_class",
        "available",
        "capacity_source",
        "claim_key",
        "claim_uid",
        "deleting",
        "field_class",
        "is_free",
        "labels",
        "mode",
        "modes",
        "modes_source",
        "name",
        "phase",
        "place",
        "rank",
        "size",
        "spec",
        "storage_class",
    )

    def __init__(self, volume: PersistentVolume, before: "Offer | None" = None) -> None:
        # It does not refer to the volume, which keeps it: a circle would wait for the collector.
        self.name = volume.name
        self.labels = volume.labels
        self.spec = volume.spec
        if before is not None and before.spec is self.spec:
            self._read_spec_as(before)
        else:
            self._read_spec(self.spec, before)
            self.claim_key = None if volume.claim_ref is None else volume.claim_key
        self.storage_class = volume.storage_class_name
        self.phase = volume.phase
        self.available = self.phase == VOLUME_AVAILABLE
        self.deleting = bool(volume.deletion_timestamp)
        # Whether any claim at all may take it.
        self.is_free = self.available and self.claim_key is None and not self.deleting
        # What decides, size and access modes apart, in which lists it stands; and where in them.
        self.place = (
            self.claim_key,
            self.is_free,
            self.storage_class,
            self.field_class,
            self.mode,
        )
        self.rank = self.size, self.name

    def _read_spec(self, spec: Mapping[str, Any], before: "Offer | None") -> None:
        # An update seldom touches these; patched objects share what they do not touch.
        self.capacity_source: Mapping[str, Any] | None = spec.get("capacity")
        if before is not None and before.capacity_source is self.capacity_source:
            self.size = before.size
        else:
            self.size = quantity.parse((self.capacity_source or EMPTY).get("storage", 0)).nanos
        self.modes_source: list[str] | None = spec.get("accessModes")
        if before is not None and before.modes_source is self.modes_source:
            self.modes: Modes = before.modes
        else:
            self.modes = canonical_modes(self.modes_source or ())
        self.mode: str = spec.get("volumeMode") or "Filesystem"
        # Without regard to the annotation, which `storage_class` prefers.
        self.field_class: str = spec.get("storageClassName") or ""
        self.attributes_class: str = spec.get("volumeAttributesClassName") or ""
        self.claim_uid: str = (spec.get("claimRef") or EMPTY).get("uid") or ""
        self.affinity_source = source = _affinity_source(spec)
        if before is not None and before.affinity_source is source:
            self.affinity = before.affinity
        else:
            self.affinity = None if source is None else NodeSelector.parse(source)

    def _read_spec_as(self, before: "Offer") -> None:
        self.capacity_source, self.size = before.capacity_source, before.size
        self.modes_source, self.modes = before.modes_source, before.modes
        self.mode, self.attributes_class = before.mode, before.attributes_class
        self.field_class = before.field_class
        self.claim_key, self.claim_uid = before.claim_key, before.claim_uid
        self.affinity_source, self.affinity = before.affinity_source, before.affinity

    def is_of(self, spec: Mapping[str, Any]) -> bool:
        """Whether a volume of this spec, written since, has its size and access modes."""
        return (
            spec.get("capacity") is self.capacity_source
            and spec.get("accessModes") is self.modes_source
        )

    @property
    def capacity_bytes(self) -> int:
        """spec.capacity.storage in bytes."""
        return quantity.value((self.capacity_source or EMPTY).get("storage", 0))

    def names(self, wanted: Wanted) -> bool:
        """Whether it is bound or pre-bound to the claim. Upstream: IsVolumeBoundToClaim()."""
        return self.claim_key == wanted.key and self.claim_uid in ("", wanted.uid)


def offer_of(volume: PersistentVolume, before: Offer | None = None) -> Offer:
    """What *volume* offers, kept on it: several components put the same volume in their indexes.

    *before* is the offer of an earlier version, if one is at hand.
    """
    kept: Offer | None = volume.__dict__.get("offer")
    if kept is None:
        kept = volume.__dict__["offer"] = Offer(volume, before)
    return kept


def _affinity_source(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    affinity: Mapping[str, Any] | None = spec.get("nodeAffinity")
    return affinity.get("required") if affinity else None


def wanted_of(claim: PersistentVolumeClaim) -> Wanted:
    """What *claim* asks for, kept on it: it is asked for node by node."""
    kept: Wanted | None = claim.__dict__.get("wanted")
    if kept is None:
        kept = claim.__dict__["wanted"] = Wanted(claim)
    return kept


def canonical_modes(modes: Iterable[str]) -> Modes:
    """*modes* without duplicates, in upstream's order. Upstream: GetAccessModesAsString()."""
    return _in_order(tuple(modes))


@lru_cache(maxsize=1024)
def _in_order(modes: Modes) -> Modes:
    return tuple(sorted(dict.fromkeys(modes), key=_mode_rank))


def _mode_rank(mode: str) -> tuple[int, str]:
    return _MODE_ORDER.get(mode, len(_MODE_ORDER)), mode


def _asked_of_nameless(affinity: NodeSelector) -> NodeSelector:
    """*affinity* without the terms that want a node of a certain name, which no node has then.

    Upstream: v1.16's CheckNodeAffinity(), which passes no fields; later ones do not ask for any.
    """
    if not any(term.fields for term in affinity.terms):
        return affinity
    reachable = (
        term for term in affinity.terms if all(field.operator != IN for field in term.fields)
    )
    return NodeSelector(tuple(reachable))


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
    has, asks = offer.capacity_bytes, wanted.bytes
    short = asks - has
    text = f"{quantity.format_bytes(has)} is {quantity.format_bytes(short)} too small"
    return Fault("size", text, {"capacity": has, "request": asks, "short": short})


def _claimed_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    if offer.claim_key is None or offer.names(wanted):
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
    return Fault("phase", f"phase is {offer.phase}, not Available", {"phase": offer.phase})


def _selector_fault(wanted: Wanted, offer: Offer) -> Fault | None:
    selector, labels = wanted.selector, offer.labels
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
    asks, has = wanted.attributes_class, offer.attributes_class
    if asks == has:
        return None
    text = f"volumeAttributesClass is {has or 'none'}, the claim asks for {asks or 'none'}"
    return Fault("attributes-class", text, {"class": has, "asked": asks})


def is_considered(wanted: Wanted, offer: Offer, *, protect: bool = True) -> bool:
    """The rules that hold even for a volume reserved for this very claim."""
    return (
        offer.size >= wanted.size
        and offer.mode == wanted.mode
        and (offer.claim_key is None or offer.names(wanted))
        and offer.attributes_class == wanted.attributes_class
        and not (protect and offer.deleting)
    )


def is_plain_match(wanted: Wanted, offer: Offer, node: Node | None) -> bool:
    """The further rules for a volume without a claim, all of `is_considered` being met.

    The attributes' class is asked once more: the index meets the others by the order it keeps.
    """
    if not offer.available or offer.storage_class != wanted.storage_class:
        return False
    if wanted.selector is not None and not wanted.selector.matches(offer.labels):
        return False
    if wanted.attributes_class != offer.attributes_class:
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
    return _find(wanted_of(claim), volumes, node, excluded, delay_binding, protect)


def _find(
    wanted: Wanted,
    volumes: Iterable[PersistentVolume],
    node: Node | None,
    excluded: Collection[str],
    delay_binding: bool,
    protect: bool = True,
) -> PersistentVolume | None:
    smallest: PersistentVolume | None = None
    smallest_size = 0
    for volume in volumes:
        offer = offer_of(volume)
        if offer.name in excluded or not is_considered(wanted, offer, protect=protect):
            continue
        if offer.claim_key is not None:
            # It is reserved for this claim, which therefore fits nowhere else.
            return volume if node is None or fits_node(offer, node) else None
        if delay_binding and node is None:
            continue
        if not is_plain_match(wanted, offer, node):
            continue
        if smallest is None or offer.size < smallest_size:
            smallest, smallest_size = volume, offer.size
    return smallest


def check_volume_satisfies_claim(
    volume: PersistentVolume, claim: PersistentVolumeClaim, *, protect: bool = True
) -> str | None:
    """Why *claim*, which names *volume*, cannot have it; None when it can.

    The claim's selector does not count. Upstream: pv_controller.go, checkVolumeSatisfyClaim().
    """
    wanted, offer = wanted_of(claim), offer_of(volume)
    if protect and offer.deleting:
        return f'the volume is marked for deletion "{volume.name}"'
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
    wanted = wanted_of(claim)
    verdicts = [
        _verdict(wanted, offer_of(each), node, excluded, delay_binding, chosen) for each in volumes
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
    prebound = offer.names(wanted)
    found = [
        Fault("excluded", "chosen for another claim of the pod", {})
        if offer.name in excluded
        else None,
        _claimed_fault(wanted, offer),
        _size_fault(wanted, offer),
        _mode_fault(wanted, offer),
        _attributes_fault(wanted, offer),
        _deleting_fault(offer),
    ]
    if prebound:
        # The controller looks where the access modes are, the scheduler where the class is.
        listed = _access_fault(wanted, offer) if node is None else _class_fault(wanted, offer)
        found += [listed, _affinity_fault(offer, node)]
    else:
        found += [
            Fault("delayed", "left to the scheduler until a pod needs the claim", {})
            if delay_binding and node is None
            else None,
            # A volume that is another claim's is of course not Available.
            _phase_fault(offer) if offer.claim_key is None else None,
            _selector_fault(wanted, offer),
            _class_fault(wanted, offer),
            _affinity_fault(offer, node),
            _access_fault(wanted, offer),
        ]
    return CandidateVerdict(
        offer.name,
        offer.capacity_bytes,
        offer.name == chosen,
        prebound,
        tuple(fault for fault in found if fault is not None),
    )


# The index


_Ranked = list[tuple[int, str]]


class _Ranking:
    """Names of volumes by size, then by name. Additions are sorted in at the next look-up."""

    __slots__ = ("_added", "_ranked")

    def __init__(self) -> None:
        self._ranked: _Ranked = []
        self._added: _Ranked = []

    def add(self, rank: tuple[int, str]) -> None:
        """Put one in."""
        self._added.append(rank)

    def discard(self, rank: tuple[int, str]) -> bool:
        """Take one out that is there; whether none is left."""
        ranked = self.ranked()
        del ranked[bisect_left(ranked, rank)]
        return not ranked

    def ranked(self) -> _Ranked:
        """All, in order. Not to be changed."""
        if self._added:
            if len(self._added) == 1:
                insort(self._ranked, self._added[0])
            else:
                self._ranked += self._added
                self._ranked.sort()
            self._added.clear()
        return self._ranked


class VolumeIndex:
    """Volumes, so ordered that no search looks at more than it must.

    Free volumes by class and volume mode, then by set of access modes, each by capacity. Claimed
    volumes by the claim they name. What is put in is sorted in when somebody looks for something:
    most volumes are written several times before that, and in many clusters nobody ever looks.
    Upstream: index.go, persistentVolumeOrderedIndex, and the class index of
    scheduler_assume_cache.go.
    """

    __slots__ = (
        "_by_claim",
        "_by_modes",
        "_claimed",
        "_free",
        "_log",
        "_offers",
        "_possible",
        "_unsorted",
        "_volumes",
        "asks_fields",
        "lists_by_field",
    )

    def __init__(self, volumes: Iterable[PersistentVolume] = ()) -> None:
        # Whether matchFields of a volume's affinity are asked, of a node without a name.
        self.asks_fields = False
        # Whether volumes are listed by the class of their spec, though one is then asked for that
        # of the annotation. Upstream: pvStorageClassIndexFunc() until v1.19.
        self.lists_by_field = False
        self._volumes: dict[str, PersistentVolume] = {}
        # Names of volumes that were put in or removed since the rest was last brought up to date.
        self._unsorted: dict[str, None] = {}
        # As the lists below have them. What is claimed may have offered that earlier: it is looked
        # at anew at the next look-up.
        self._offers: dict[str, Offer] = {}
        # The claim under which a volume is listed.
        self._claimed: dict[str, str] = {}
        self._by_modes: dict[Modes, dict[str, None]] = {}
        self._free: dict[tuple[str, str], dict[Modes, _Ranking]] = {}
        self._by_claim: dict[str, dict[str, None]] = {}
        # Requested access modes → the indexed sets that contain them; until these sets change.
        self._possible: dict[Modes, list[Modes]] = {}
        # The names of volumes that were free and changed, or became free, in order.
        self._log: ChangeLog[str] = ChangeLog()
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
        """What the volume of that name offers, or None."""
        self._sort()
        volume = self._volumes.get(name)
        return None if volume is None else self._current(volume)

    def _current(self, volume: PersistentVolume) -> Offer:
        """What *volume*, the one of its name, offers now."""
        offer = self._offer_of(volume, self._offers.get(volume.name))
        self._offers[volume.name] = offer
        return offer

    def _offer_of(self, volume: PersistentVolume, before: Offer | None) -> Offer:
        offer = offer_of(volume, before)
        if self.asks_fields and offer.affinity is not None:
            offer.affinity = _asked_of_nameless(offer.affinity)
        return offer

    def affinity_of(self, volume: PersistentVolume) -> NodeSelector | None:
        """The node affinity of some version of a volume; as a rule the one that is known here."""
        known = self._offers.get(volume.name)
        if known is not None and known.affinity_source is _affinity_source(volume.spec):
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
            # Else it stands under its claim as before, whatever else has changed.
            self._unsorted[name] = None

    def remove(self, name: str) -> None:
        """Forget the volume of that name, if it is there."""
        if self._volumes.pop(name, None) is not None:
            self._unsorted[name] = None

    # What is free

    @property
    def log_end(self) -> int:
        """The position after the newest change of what is free."""
        self._sort()
        return self._log.end

    def free_changed_since(self, position: int) -> list[str] | None:
        """Names of volumes that came to be free, ceased to be or changed, since *position*.

        None when that is forgotten.
        """
        self._sort()
        return self._log.since(position)

    def free_offer(self, name: str) -> Offer | None:
        """What the volume of that name offers, if it is free."""
        self._sort()
        offer = self._offers.get(name)
        if offer is None or name in self._claimed:
            return None
        return offer if self._is_free(offer) else None

    def _is_free(self, offer: Offer) -> bool:
        """Whether some claim may find it."""
        return offer.is_free and self._listed_class(offer) == offer.storage_class

    def _listed_class(self, offer: Offer) -> str:
        return offer.field_class if self.lists_by_field else offer.storage_class

    # Sorting in

    def _sort(self) -> None:
        """Bring everything up to date with the volumes."""
        if self._unsorted:
            for name in self._unsorted:
                self._sort_in(name, self._offers.get(name), self._volumes.get(name))
            self._unsorted.clear()

    def _sort_in(self, name: str, before: Offer | None, volume: PersistentVolume | None) -> None:
        if volume is None:
            if before is not None:
                del self._offers[name]
                self._unlist(before)
                self._unrank(before)
            return
        if before is not None and volume.claim_ref is not None and before.is_of(volume.spec):
            # It stands under its claim, whatever its phase.
            self._claim(before, volume.claim_key)
            return
        offer = self._offers[name] = self._offer_of(volume, before)
        # Most writes move a volume in few of the lists, or in none.
        if before is None:
            self._rank(offer)
            self._list(offer)
        elif before.modes != offer.modes:
            self._unlist(before)
            self._unrank(before)
            self._rank(offer)
            self._list(offer)
        elif name in self._claimed or before.place != offer.place or before.size != offer.size:
            self._unlist(before)
            self._list(offer)
        elif self._is_free(offer):
            self._log.note(name)

    def _claim(self, offer: Offer, claim: str) -> None:
        """List the volume under its claim."""
        if self._claimed.get(offer.name) != claim:
            self._unlist(offer)
            self._claimed[offer.name] = claim
            self._by_claim.setdefault(claim, {})[offer.name] = None

    def _rank(self, offer: Offer) -> None:
        names = self._by_modes.get(offer.modes)
        if names is None:
            names = self._by_modes[offer.modes] = {}
            self._possible.clear()
        names[offer.name] = None

    def _unrank(self, offer: Offer) -> None:
        names = self._by_modes[offer.modes]
        del names[offer.name]
        if not names:
            del self._by_modes[offer.modes]
            self._possible.clear()

    def _list(self, offer: Offer) -> None:
        if offer.claim_key is not None:
            self._claimed[offer.name] = offer.claim_key
            self._by_claim.setdefault(offer.claim_key, {})[offer.name] = None
        elif self._is_free(offer):
            self._log.note(offer.name)
            of_kind = self._free.setdefault((offer.storage_class, offer.mode), {})
            ranking = of_kind.get(offer.modes)
            if ranking is None:
                ranking = of_kind[offer.modes] = _Ranking()
            ranking.add(offer.rank)

    def _unlist(self, offer: Offer) -> None:
        claim = self._claimed.pop(offer.name, None)
        if claim is not None:
            names = self._by_claim[claim]
            del names[offer.name]
            if not names:
                del self._by_claim[claim]
        elif self._is_free(offer):
            self._log.note(offer.name)
            of_kind = self._free[offer.storage_class, offer.mode]
            if of_kind[offer.modes].discard(offer.rank):
                del of_kind[offer.modes]

    def list_by_access_modes(self, modes: Iterable[str]) -> list[PersistentVolume]:
        """Volumes that offer exactly *modes*, by capacity. Upstream: listByAccessModes()."""
        self._sort()
        names = self._by_modes.get(canonical_modes(modes), ())
        # Size and name of what is claimed are as up to date as those of the rest.
        offers = sorted((self._offers[name] for name in names), key=_size_then_name)
        return [self._volumes[offer.name] for offer in offers]

    def all_possible_matching_access_modes(self, requested: Iterable[str]) -> list[Modes]:
        """Indexed sets that contain *requested*, smallest first.

        Upstream: allPossibleMatchingAccessModes().
        """
        self._sort()
        return [*self._possible_modes(canonical_modes(requested))]

    def _possible_modes(self, asked: Modes) -> list[Modes]:
        possible = self._possible.get(asked)
        if possible is None:
            possible = [modes for modes in self._by_modes if all(mode in modes for mode in asked)]
            possible.sort(key=_modes_rank)
            self._possible[asked] = possible
        return possible

    def in_matching_order(
        self, claim: PersistentVolumeClaim, node: Node | None = None
    ) -> list[PersistentVolume]:
        """All volumes in the order in which a choice for *claim* would come to them.

        For a *node* as `find_for_node` does: those that name the claim, then by size. Without one as
        `find_best_match_for_claim`: the smallest set of access modes that will do first. Last come
        those which are never looked at.
        """
        self._sort()
        wanted = wanted_of(claim)
        if node is not None:
            first = [offer.name for offer in self.reserved_in_class(wanted)]
        else:
            first = [
                volume.name
                for modes in self.all_possible_matching_access_modes(wanted.modes)
                for volume in sorted(
                    self.list_by_access_modes(modes),
                    key=lambda volume: not offer_of(volume).names(wanted),
                )
            ]
        rest = sorted(self._offers.values(), key=_size_then_name)
        names = dict.fromkeys([*first, *(offer.name for offer in rest)])
        return [self._volumes[name] for name in names]

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
        of_kind = self._free.get((wanted.storage_class, wanted.mode), {})
        for modes in self._possible_modes(wanted.canonical_modes):
            for offer in reserved:
                if offer.modes == modes and is_considered(wanted, offer):
                    return self._volumes[offer.name]
            ranking = None if delay_binding else of_kind.get(modes)
            if ranking is not None:
                found = self._smallest(wanted, ranking.ranked(), None, _NOTHING_EXCLUDED)
                if found is not None:
                    return self._volumes[found.name]
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
        self._sort()
        wanted = wanted_of(claim)
        for offer in self.reserved_in_class(wanted):
            if offer.name not in excluded:
                return self._volumes[offer.name] if fits_node(offer, node) else None
        smallest: Offer | None = None
        for modes, ranking in self._free.get((wanted.storage_class, wanted.mode), {}).items():
            if not all(mode in modes for mode in wanted.modes):
                continue
            found = self._smallest(wanted, ranking.ranked(), node, excluded)
            if found is not None and (smallest is None or found.rank < smallest.rank):
                smallest = found
        return None if smallest is None else self._volumes[smallest.name]

    def reserved_in_class(self, wanted: Wanted) -> list[Offer]:
        """Volumes that name the claim and may be given to it, of its own class, by name.

        Of several the first in the list is the claim's, be it larger. Upstream: ListPVs().
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
        """Free volumes that meet every rule but the node's, smallest first, then by name."""
        self._sort()
        found: list[Offer] = []
        of_kind = self._free.get((wanted.storage_class, wanted.mode), {})
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
        self, wanted: Wanted, ranked: _Ranked, node: Node | None, excluded: Collection[str]
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


def _modes_rank(modes: Modes) -> tuple[int, list[tuple[int, str]]]:
    return len(modes), [_mode_rank(mode) for mode in modes]
