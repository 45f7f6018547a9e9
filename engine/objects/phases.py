"""Phases of claims and volumes, the annotations of a binding, and the allowed transitions.

    claim     Pending ──bind──▶ Bound ──volume gone, or bound to another──▶ Lost
                 ▲                ▲                                          │
                 └── not matched  └──────────── volume is back, re-bound ◀───┘

    volume    Pending ──unclaimed──▶ Available ──bind──▶ Bound ──claim gone──▶ Released
                                        ▲                  │                      │
                                        │◀──── unbind ─────┘                      ├─ Retain: stays
                                        │◀────────────── Recycle ─────────────────┤
                                                              Delete: gone  ◀─────┤
                                                              Failed  ◀─ refused ─┘ (retried)

A binding is four writes: the volume (claimRef), its status, the claim (volumeName), its status.
Between them the pair is half-bound, which every component must handle.
Upstream: api/core/v1/types.go, component-helpers/storage/volume/pv_helpers.go.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeVar

from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim

Obj = TypeVar("Obj", bound=ApiObject)

CLAIM_PENDING: Final = "Pending"
CLAIM_BOUND: Final = "Bound"
CLAIM_LOST: Final = "Lost"

VOLUME_PENDING: Final = "Pending"
VOLUME_AVAILABLE: Final = "Available"
VOLUME_BOUND: Final = "Bound"
VOLUME_RELEASED: Final = "Released"
VOLUME_FAILED: Final = "Failed"

CLAIM_MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    CLAIM_PENDING: (CLAIM_BOUND, CLAIM_LOST),
    CLAIM_BOUND: (CLAIM_LOST, CLAIM_PENDING),
    CLAIM_LOST: (CLAIM_BOUND,),
}
VOLUME_MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    VOLUME_PENDING: (VOLUME_AVAILABLE, VOLUME_BOUND, VOLUME_RELEASED),
    VOLUME_AVAILABLE: (VOLUME_BOUND, VOLUME_RELEASED),
    VOLUME_BOUND: (VOLUME_RELEASED, VOLUME_AVAILABLE),
    VOLUME_RELEASED: (VOLUME_AVAILABLE, VOLUME_FAILED, VOLUME_BOUND),
    VOLUME_FAILED: (VOLUME_AVAILABLE, VOLUME_BOUND),
}

RECLAIM_RETAIN: Final = "Retain"
RECLAIM_RECYCLE: Final = "Recycle"
RECLAIM_DELETE: Final = "Delete"

IMMEDIATE: Final = "Immediate"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"

# Presence is what counts of the boolean ones; the controller writes "yes".
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY: Final = "pv.kubernetes.io/provisioned-by"
MIGRATED_TO: Final = "pv.kubernetes.io/migrated-to"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
STORAGE_PROVISIONER: Final = "volume.kubernetes.io/storage-provisioner"
BETA_STORAGE_PROVISIONER: Final = "volume.beta.kubernetes.io/storage-provisioner"
YES: Final = "yes"

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"

CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"
CLASS_PROTECTION: Final = "kubernetes.io/vac-protection"

ATTRIBUTES_CLASS: Final = "VolumeAttributesClass"


def claim_ref_of(claim: PersistentVolumeClaim) -> dict[str, Any]:
    """The reference that a volume bound to *claim* carries in spec.claimRef."""
    return {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": claim.resource_version,
    }


def is_volume_bound_to_claim(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    """Whether *volume* is bound or pre-bound to *claim*; without a uid the name is enough.

    Upstream: pv_helpers.go, IsVolumeBoundToClaim().
    """
    ref = volume.claim_ref
    if ref is None:
        return False
    if claim.name != ref.get("name", "") or claim.namespace != ref.get("namespace", ""):
        return False
    uid = ref.get("uid") or ""
    return not uid or uid == claim.uid


def is_claim_fully_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the binding is complete, as far as the claim shows it."""
    return bool(claim.volume_name) and claim.is_bind_completed


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The claim's class, "" where there is none. Upstream: GetPersistentVolumeClaimClass()."""
    return claim.storage_class_name or ""


def volume_mode(obj: PersistentVolume | PersistentVolumeClaim) -> str:
    """spec.volumeMode; Filesystem when absent."""
    return obj.spec.get("volumeMode") or "Filesystem"


_FINALIZERS: Final = {
    "PersistentVolumeClaim": CLAIM_PROTECTION,
    "PersistentVolume": VOLUME_PROTECTION,
    ATTRIBUTES_CLASS: CLASS_PROTECTION,
}


def protected(obj: Obj) -> Obj:
    """*obj* as admission would store it: what protection may hold has its finalizer."""
    finalizer = _FINALIZERS.get(obj.kind)
    if finalizer is None or finalizer in obj.finalizers:
        return obj
    return obj.patched({"metadata": {"finalizers": [*obj.finalizers, finalizer]}})


def settled(obj: ApiObject) -> ApiObject:
    """*obj* as a cluster at rest holds it: a volume without a claim is Available.

    For the objects that a cluster begins with. A file made by hand gives its volumes no status, and
    a claim that comes before the controller has seen to them waits for the next resync.
    """
    if not isinstance(obj, PersistentVolume) or obj.claim_ref is not None:
        return obj
    if obj.phase != VOLUME_PENDING or obj.deletion_timestamp:
        return obj
    return obj.patched({"status": {"phase": VOLUME_AVAILABLE}})
