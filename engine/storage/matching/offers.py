"""What a claim wants of a volume, and what a volume offers; each is read once and kept.

Upstream: component-helpers/storage/volume/pv_helpers.go.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from engine.objects.objects import EMPTY, Node, PersistentVolume, PersistentVolumeClaim, quantity
from engine.objects.phases import VOLUME_AVAILABLE, claim_class, volume_mode
from engine.objects.selectors import IN, LabelSelector, NodeSelector

# The order in which upstream writes a set of access modes down.
_MODE_ORDER: Final = {
    "ReadWriteOnce": 0,
    "ReadOnlyMany": 1,
    "ReadWriteMany": 2,
    "ReadWriteOncePod": 3,
}

Modes = tuple[str, ...]


class Wanted:
    """What a claim wants of a volume. `wanted_of` reads it once and keeps it on the claim."""

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
        # Absent on both sides before VolumeAttributesClass. An empty name counts as no class.
        self.attributes_class: str = claim.spec.get("volumeAttributesClassName") or ""
        selector = claim.spec.get("selector")
        self.selector = None if selector is None else LabelSelector.parse(selector)


class Offer:
    """What a volume offers. `offer_of` reads it once and keeps it on the volume.

    `size` is exact, in nano-units.
    """

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
        # No reference back to the volume, which would be a cycle for the garbage collector.
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
        # What decides in which lists of the index it is, apart from access modes; its rank there.
        self.place = (
            self.claim_key,
            self.is_free,
            self.storage_class,
            self.field_class,
            self.mode,
        )
        self.rank = self.size, self.name

    def _read_spec(self, spec: Mapping[str, Any], before: "Offer | None") -> None:
        # An update seldom changes these; patched objects share what they do not change.
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
        # `storage_class` prefers the annotation to this.
        self.field_class: str = spec.get("storageClassName") or ""
        self.attributes_class: str = spec.get("volumeAttributesClassName") or ""
        self.claim_uid: str = (spec.get("claimRef") or EMPTY).get("uid") or ""
        self.affinity_source = source = affinity_source_of(spec)
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
        """Whether a newer *spec* of the volume has the same size and access modes."""
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
    """What *volume* offers, kept on it: several components have the same volume in their indexes.

    *before* is the offer of an earlier version, if there is one.
    """
    kept: Offer | None = volume.__dict__.get("offer")
    if kept is None:
        kept = volume.__dict__["offer"] = Offer(volume, before)
    return kept


def affinity_source_of(spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    affinity: Mapping[str, Any] | None = spec.get("nodeAffinity")
    return affinity.get("required") if affinity else None


def wanted_of(claim: PersistentVolumeClaim) -> Wanted:
    """What *claim* wants, kept on it: it is needed for every node."""
    kept: Wanted | None = claim.__dict__.get("wanted")
    if kept is None:
        kept = claim.__dict__["wanted"] = Wanted(claim)
    return kept


def canonical_modes(modes: Iterable[str]) -> Modes:
    """*modes* without duplicates, in upstream's order. Upstream: GetAccessModesAsString()."""
    return _in_order(tuple(modes))


@lru_cache(maxsize=1024)
def _in_order(modes: Modes) -> Modes:
    return tuple(sorted(dict.fromkeys(modes), key=mode_rank))


def mode_rank(mode: str) -> tuple[int, str]:
    return _MODE_ORDER.get(mode, len(_MODE_ORDER)), mode


def without_name_terms(affinity: NodeSelector) -> NodeSelector:
    """*affinity* without the terms that require a node name, which no node meets.

    Upstream: CheckNodeAffinity() of v1.16, which passes no fields; later versions ignore fields.
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
