"""The rules for every write of an object, whoever writes: HTTP, a page, a command or an import.

What a write may do beyond an API server comes with it (`permissions`). Upstream calls this the
strategy of a resource: pkg/registry/*/strategy.go, PrepareForCreate(), PrepareForUpdate() and
ValidateUpdate(); apiserver/pkg/registry/rest, BeforeCreate() and BeforeUpdate().
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from engine.api_server.admission.defaults import with_defaults
from engine.api_server.admission.permissions import Permission
from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.store.metadata_update import (
    MetadataFault,
    metadata_faults,
    with_deletion_kept,
)
from engine.api_server.validation import pod_updates, updates
from engine.api_server.validation.report import aggregate, field_error
from engine.api_server.validation.volumes import check_update as check_storage_update
from engine.kernel.errors import Invalid
from engine.objects.custom.definition import DEFINITION, written_kind
from engine.objects.custom.objects import CustomObject
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest, Pod, StorageClass
from engine.objects.values.shown import shown

# Kinds whose generation begins with 1. Upstream: PrepareForCreate() of their strategies.
_BEGIN_WITH_1: Final = frozenset(
    (
        DEFINITION,
        "CronJob",
        "DaemonSet",
        "Deployment",
        "DeviceClass",
        "Job",
        "Pod",
        "PodDisruptionBudget",
    )
    + ("DeviceTaintRule", "FlowSchema", "Ingress", "IngressClass", "NetworkPolicy")
    + ("EndpointSlice", "PodTemplate", "PriorityLevelConfiguration")
    + ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    + ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    + ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    + ("PriorityClass", "ReplicaSet", "ReplicationController", "ResourceSlice", "StatefulSet")
)
# Upstream: apiserver/pkg/registry/rest/meta.go, WipeObjectMetaSystemFields().
_WIPED: Final = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp") + (
    "resourceVersion",
    "selfLink",
    "uid",
)
_KEPT: Final = ("resourceVersion", "uid", "creationTimestamp", "generation", "selfLink")
_TYPE: Final = ("apiVersion", "kind")
# Kinds of which a write of the status leaves the metadata alone.
# Upstream: ResetObjectMetaForStatus(), which the strategies of these call.
_STATUS_ALONE: Final = frozenset(
    ("DeviceTaintRule", "PodGroup", "ResourceClaim", "VolumeAttachment")
)
# What it leaves alone of others. Upstream: PrepareForUpdate() of their status strategies.
_NOT_WITH_STATUS: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": ("labels",),
    "Pod": ("ownerReferences", "deletionTimestamp"),
}
# What of a pod's spec a write with the permission for it may change.
_OF_PODS: Final = frozenset(
    ("containers", "initContainers", "activeDeadlineSeconds", "tolerations")
    + ("terminationGracePeriodSeconds", "schedulingGates")
)


def prepare_for_create(manifest: Manifest, permission: Permission) -> Manifest:
    """What of a manifest a new object begins with: nothing that the server itself gives it."""
    metadata: Any = manifest.get("metadata")
    if permission.system or not isinstance(metadata, dict):
        return manifest
    dropped = {*_WIPED}
    if manifest.get("kind") in _BEGIN_WITH_1:
        dropped.add("generation")
    kept = {name: part for name, part in manifest.items() if permission.status or name != "status"}
    return {**kept, "metadata": _without(cast("Manifest", metadata), dropped)}


def permitted(kind: str, patch: Manifest, permission: Permission) -> Manifest:
    """The part of a merge patch of a *kind* that its writer may change; the rest stays as it is.

    Upstream: PrepareForUpdate(), such as that of podStatusStrategy.
    """
    if permission.system:
        return patch
    kept = {
        name: part for name, part in patch.items() if name != "metadata" and permission.covers(name)
    }
    if not permission.rest:
        kept = {name: part for name, part in kept.items() if part}
    given: Any = patch.get("metadata")
    if not isinstance(given, dict):
        return {**kept, "metadata": given} if "metadata" in patch and permission.rest else kept
    metadata = _without(cast("Manifest", given), _KEPT)
    if not permission.rest:
        metadata = _beside_the_status(kind, metadata) if permission.status else {}
    return {**kept, "metadata": metadata} if metadata else kept


def _beside_the_status(kind: str, metadata: Manifest) -> Manifest:
    """What a write of a status may change of the metadata: of most kinds, as much as any write."""
    if kind in _STATUS_ALONE or written_kind(kind) != kind:
        # Who manages the fields of a status, too, is noted in the metadata.
        return {name: part for name, part in metadata.items() if name == "managedFields"}
    return _without(metadata, _NOT_WITH_STATUS.get(kind, ()))


def prepare_for_update(old: Manifest, new: Manifest) -> Manifest:
    """*new* as it is to be written over *old*: a deletion that has begun goes on."""
    return {**new, "metadata": with_deletion_kept(old["metadata"], new["metadata"])}


def admitted(old: Manifest, new: Manifest, permission: Permission) -> Manifest:
    """*new* with what admission fills in again of a pod: its priority, and the usual tolerations."""
    spec: Any = new.get("spec")
    if old.get("kind") != Pod.KIND or permission.pods or not permission.rest:
        return new
    if not isinstance(spec, dict):
        return new
    if not isinstance(cast("Manifest", spec).get("tolerations") or [], list):
        return new
    return {**new, "spec": pod_updates.with_admitted(section(old, "spec"), cast("Manifest", spec))}


def update_faults(old: Manifest, new: Manifest, permission: Permission) -> list[MetadataFault]:
    """What is wrong with the metadata of *new*, which is prepared to be written over *old*."""
    before, after = old["metadata"], new["metadata"]
    return [*_uid_faults(before, after, permission), *metadata_faults(before, after)]


def _uid_faults(old: Manifest, new: Manifest, permission: Permission) -> list[MetadataFault]:
    """Upstream: ValidateObjectMetaAccessorUpdate(); without a uid, that of *old* is meant."""
    uid = new.get("uid")
    if permission.system or not uid or uid == old.get("uid"):
        return []
    message = field_error(uid, "field is immutable")
    return [MetadataFault("FieldValueInvalid", message, "metadata.uid")]


def check_patch(old: ApiObject, patch: Manifest, permission: Permission) -> None:
    """Raises Invalid for a merge patch that would make another object of *old*."""
    metadata: Any = patch.get("metadata", {})
    if isinstance(metadata, dict):
        given = cast("Manifest", metadata)
        _raise_faults(old, _uid_faults({"uid": old.uid}, given, permission))
        names = ("name", "namespace", "uid") if permission.system else ("name", "namespace")
        metadata = None if any(name in given for name in names) else given
    if not isinstance(metadata, dict):
        raise Invalid(
            "metadata: Forbidden: metadata.name, metadata.namespace and metadata.uid cannot be "
            "changed"
        )
    if any(name in patch and patch[name] != old.raw.get(name) for name in _TYPE):
        raise Invalid("kind: Forbidden: apiVersion and kind cannot be changed")
    spec = patch.get("spec")
    if spec is not None and not isinstance(spec, dict):
        raise Invalid(f"spec: {field_error(spec, f'expected a mapping, found {shown(spec)}')}")


def with_checked_metadata(old: ApiObject, new: ApiObject, permission: Permission) -> ApiObject:
    """*new* with what no update changes of the metadata. Raises Invalid for other changes of it."""
    raw = prepare_for_update(old.raw, new.raw)
    _raise_faults(old, update_faults(old.raw, raw, permission))
    metadata: Manifest = raw["metadata"]
    kept = {name: part for name, part in metadata.items() if new.metadata.get(name) != part}
    return new.with_metadata(**kept) if kept else new


def _raise_faults(old: ApiObject, faults: list[MetadataFault]) -> None:
    if faults:
        why = aggregate([f"{one.field}: {one.message}" for one in faults])
        raise Invalid(f'{old.kind} "{old.name}" is invalid: {why}')


def with_admission(old: ApiObject, new: ApiObject, permission: Permission) -> ApiObject:
    """See `admitted`; *new* is well formed."""
    raw = admitted(old.raw, new.raw, permission)
    return new if raw is new.raw else new.patched({"spec": raw["spec"]})


def check_update(
    old: ApiObject,
    new: ApiObject,
    permission: Permission,
    rules: AdmissionRules,
    storage_class: StorageClass | None = None,
) -> None:
    """Raises Invalid or Forbidden where *new*, which is well formed, may not take *old*'s place.

    *storage_class* is a claim's.
    """
    if isinstance(old, Pod):
        errors = pod_errors(old.raw, new.raw, permission)
    elif isinstance(old, CustomObject):
        errors = []
    else:
        check_storage_update(
            old,
            new,
            storage_class,
            changes_attributes=rules.changes_attributes_class,
            lowers_requests=rules.lowers_storage_requests,
        )
        unknown = () if rules.immutable_data else ("immutable",)
        errors = updates.update_errors(
            _without(old.raw, unknown),
            _without(new.raw, unknown),
            job_resources=rules.mutable_job_resources,
        )
    if errors:
        raise Invalid(f'{old.kind} "{old.name}" is invalid: {aggregate(errors)}')


def pod_errors(old: Manifest, new: Manifest, permission: Permission) -> list[str]:
    """What is wrong when a pod becomes *new*, which is well formed: each as "field: message"."""
    if permission.pods:
        error = _pod_error(section(old, "spec"), section(new, "spec"))
        return [error] if error else []
    if not permission.rest:
        return []
    # As a server does before it compares: what is absent, or written in another way, is no change.
    before, after = (section(with_defaults(one), "spec") for one in (old, new))
    return pod_updates.update_errors(before, after)


def _pod_error(old: Manifest, new: Manifest) -> str:
    changed = [
        field
        for field in {**old, **new}
        if field not in _OF_PODS and old.get(field) != new.get(field)
    ]
    if changed:
        return (
            f"spec.{changed[0]}: Forbidden: pod updates may not change "
            "fields other than image, tolerations, gates and grace period"
        )
    return pod_updates.added_gate_error(old, new)


def _without(manifest: Manifest, names: Any) -> Manifest:
    return {name: part for name, part in manifest.items() if name not in names}
