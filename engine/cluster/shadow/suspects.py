"""Which controllers that are left to a client may have made a write, by what it writes."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from engine.controllers.shared.controller import only_status_changed
from engine.objects.objects import ApiObject, Manifest

_OWNERS: Final = {
    "CronJob": "cronjob",
    "DaemonSet": "daemonset",
    "Deployment": "deployment",
    "Job": "job",
    "ReplicaSet": "replicaset",
    "ReplicationController": "replicationcontroller",
    "StatefulSet": "statefulset",
}
# Those whose status one controller alone writes.
_STATUS: Final = {**_OWNERS, "Namespace": "namespace", "ResourceQuota": "resourcequota"}


class Suspect(NamedTuple):
    """A controller, by the name of EXTERNAL_CONTROLLERS, and the key that it would sync.

    `is_sure`: nobody else writes such a thing. Otherwise it may be a user, who deletes a pod.
    """

    controller: str
    key: str
    is_sure: bool


def suspects_of(old: ApiObject | None, new: ApiObject | None) -> Iterator[Suspect]:
    """Whose write it may be that makes *new* of *old*; None for what is not there."""
    if old is None and new is not None:
        yield from _of_creation(new)
    elif new is None and old is not None:
        yield from _of_deletion(old)
    elif old is not None and new is not None:
        yield from _of_update(old, new)


def _of_creation(new: ApiObject) -> Iterator[Suspect]:
    ref = new.controller
    if ref is None:
        yield from _of_template(new)
        return
    key = f"{new.namespace}/{ref.get('name')}"
    if ref.get("kind") in _OWNERS:
        yield Suspect(_OWNERS[ref["kind"]], key, is_sure=True)
    elif ref.get("kind") == "Pod" and new.kind == "PersistentVolumeClaim":
        yield Suspect("ephemeral-volume", key, is_sure=True)
    elif ref.get("kind") == "Pod" and new.kind == "ResourceClaim":
        yield Suspect("resourceclaim", f"pod:{key}", is_sure=True)


def _of_template(claim: ApiObject) -> Iterator[Suspect]:
    """A StatefulSet's claim bears its name, DATA-SET-0, and has no owner."""
    if claim.kind == "PersistentVolumeClaim":
        parts = claim.name.split("-")[:-1]
        for place in range(1, len(parts)):
            name = "-".join(parts[place:])
            yield Suspect("statefulset", f"{claim.namespace}/{name}", is_sure=False)


def _of_update(old: ApiObject, new: ApiObject) -> Iterator[Suspect]:
    if only_status_changed(old, new):
        yield from _of_status(old, new)
        return
    before, after = old.controller, new.controller
    for ref in (before, after):
        if ref is not None and ref.get("kind") in _OWNERS:
            is_adopted = before is None
            key = f"{new.namespace}/{ref.get('name')}"
            yield Suspect(_OWNERS[ref["kind"]], key, is_sure=is_adopted)
        if before is not None and before == after:
            break
    if new.kind in _OWNERS:
        yield Suspect(_OWNERS[new.kind], new.key, is_sure=False)
    if new.kind == "Namespace" and old.spec.get("finalizers") != new.spec.get("finalizers"):
        yield Suspect("namespace", new.key, is_sure=True)
    if new.kind == "PersistentVolumeClaim":
        yield from _of_template(new)


def _of_status(old: ApiObject, new: ApiObject) -> Iterator[Suspect]:
    if new.kind in _STATUS:
        yield Suspect(_STATUS[new.kind], new.key, is_sure=True)
    elif new.kind == "ResourceClaim":
        yield Suspect("resourceclaim", f"claim:{new.key}", is_sure=False)
    elif new.kind == "Pod" and _claims(old) != _claims(new):
        yield Suspect("resourceclaim", f"pod:{new.key}", is_sure=True)


def _claims(pod: ApiObject) -> list[Manifest]:
    return pod.status.get("resourceClaimStatuses") or []


def _of_deletion(old: ApiObject) -> Iterator[Suspect]:
    ref = old.controller
    if ref is not None and ref.get("kind") in _OWNERS:
        key = f"{old.namespace}/{ref.get('name')}"
        yield Suspect(_OWNERS[ref["kind"]], key, is_sure=False)
    if old.kind == "Job":
        yield Suspect("ttl-after-finished", old.key, is_sure=False)
    if old.kind == "ResourceClaim":
        yield Suspect("resourceclaim", f"claim:{old.key}", is_sure=False)
    if old.namespace:
        yield Suspect("namespace", old.namespace, is_sure=False)
