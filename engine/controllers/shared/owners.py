"""Owner references: who controls what. Upstream: apimachinery/pkg/apis/meta/v1/controller_ref.go."""

from typing import Final

from engine.objects.objects import ApiObject, Manifest

FOREGROUND_FINALIZER: Final = "foregroundDeletion"
ORPHAN_FINALIZER: Final = "orphan"

API_VERSIONS: Final = {
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ControllerRevision": "apps/v1",
    "CronJob": "batch/v1",
    "Job": "batch/v1",
    "Pod": "v1",
}


def controller_ref(owner: ApiObject) -> Manifest:
    """The reference that what *owner* makes carries."""
    return {
        "apiVersion": owner.raw.get("apiVersion") or API_VERSIONS.get(owner.kind, "v1"),
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def controller_of(obj: ApiObject) -> Manifest | None:
    """The reference to the one owner that controls *obj*, or None."""
    return obj.controller


def refers_to(ref: Manifest, owner: ApiObject) -> bool:
    """Whether *ref* means *owner*; a hand-written reference without a uid goes by its name."""
    uid = ref.get("uid")
    if uid:
        return uid == owner.uid
    return ref.get("kind") == owner.kind and ref.get("name") == owner.name


def is_controlled_by(obj: ApiObject, owner: ApiObject) -> bool:
    """Whether *owner* controls *obj*."""
    ref = controller_of(obj)
    return ref is not None and refers_to(ref, owner)


def ref_key(ref: Manifest, namespace: str) -> str:
    """What owners are indexed by."""
    return ref.get("uid") or f"{ref.get('kind', '')}/{namespace}/{ref.get('name', '')}"


def owner_keys(owner: ApiObject) -> tuple[str, str]:
    """Every key under which references may mean *owner*."""
    return owner.uid, f"{owner.kind}/{owner.namespace}/{owner.name}"


def without_owner(obj: ApiObject, owner: ApiObject) -> list[Manifest] | None:
    """The references of *obj* but for those to *owner*; None when none are left."""
    return [ref for ref in obj.owner_references if not refers_to(ref, owner)] or None
