"""The objects that clients write: put in their place, and reduced to what may be changed there."""

from collections.abc import Mapping
from typing import Any

from kscope.runs.engine import Manifest
from kscope.sim.objects.kinds import entity_id
from kube.addresses import Target
from kube.server.objects.versions import Version
from kube.status import bad_request

# Characters, as upstream.
LONGEST_NOTE = 1_024


def part_of(manifest: Any, name: str) -> Mapping[str, Any]:
    """The object at *name*, empty when it is absent. Raises ApiError when it is none."""
    found = manifest.get(name) if isinstance(manifest, Mapping) else None
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise bad_request(f"{name} must be an object")
    return found


def placed(manifest: Manifest, target: Target) -> Manifest:
    """The manifest with the kind and namespace of its address. Raises ApiError when it has others."""
    resource = target.resource
    kind = manifest.get("kind") or resource.kind
    version = manifest.get("apiVersion") or resource.api_version
    if (kind, version) != (resource.kind, resource.api_version):
        raise bad_request(
            f"{version}, Kind={kind} in the body does not match the expected "
            f"{resource.api_version}, Kind={resource.kind}"
        )
    metadata = manifest.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise bad_request("metadata must be an object")
    given = metadata.get("namespace")
    if resource.namespaced and given and target.namespace and given != target.namespace:
        raise bad_request(
            f"the namespace of the provided object does not match the namespace sent on the "
            f"request ({given} and {target.namespace})"
        )
    place = {"namespace": target.namespace or given or "default"} if resource.namespaced else {}
    return {**manifest, "kind": kind, "apiVersion": version, "metadata": {**metadata, **place}}


# Kinds whose generation begins with 1. Upstream: PrepareForCreate() of their strategies.
_BEGIN_WITH_1 = frozenset(
    ("DaemonSet", "Deployment", "DeviceClass", "Job", "Pod", "PodDisruptionBudget")
    + ("PriorityClass", "ReplicaSet", "ReplicationController", "ResourceSlice", "StatefulSet")
)
# Upstream: apiserver/pkg/registry/rest/meta.go, WipeObjectMetaSystemFields().
_OF_THE_SERVER = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp") + (
    "resourceVersion",
    "selfLink",
    "uid",
)


def begun(manifest: Manifest) -> Manifest:
    """What of a manifest a new object begins with: nothing that the server itself gives it."""
    dropped = {*_OF_THE_SERVER}
    if manifest["kind"] in _BEGIN_WITH_1:
        dropped.add("generation")
    given = manifest["metadata"].items()
    metadata = {name: part for name, part in given if name not in dropped}
    kept = {name: part for name, part in manifest.items() if name != "status"}
    return {**kept, "metadata": metadata}


def check_place(manifest: Manifest, target: Target) -> None:
    """Raises ApiError where the object is not the one on the URL.

    Upstream: apiserver/pkg/endpoints/handlers/rest.go, checkName().
    """
    metadata = part_of(manifest, "metadata")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not name:
        raise bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    if target.namespace and namespace and namespace != target.namespace:
        raise bad_request(
            f"the namespace of the object ({namespace}) does not match the namespace on the "
            f"request ({target.namespace})"
        )


def changeable(patch: Manifest, subresource: str) -> Manifest:
    """The part of a patch that this address may change; an object's status has one of its own."""
    kept = {**patch}
    if subresource == "status":
        return {"status": kept["status"]} if kept.get("status") else {}
    if subresource == "resize":
        return {"spec": kept["spec"]} if kept.get("spec") else {}
    for name in ("status", "kind", "apiVersion"):
        kept.pop(name, None)
    metadata = kept.get("metadata")
    if isinstance(metadata, dict):
        ours = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")
        metadata = {
            name: part for name, part in metadata.items() if name not in (*ours, "selfLink")
        }
        kept["metadata"] = metadata
        if not metadata:
            del kept["metadata"]
    return kept


def scale_of(one: Manifest) -> Manifest:
    """The subresource scale of a workload."""
    metadata = one["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = (one.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": (one.get("spec") or {}).get("replicas", 0)},
        "status": {
            "replicas": (one.get("status") or {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def entity_of(target: Target) -> str:
    namespaced = target.resource.namespaced
    key = f"{target.namespace}/{target.name}" if namespaced else target.name
    return entity_id(target.resource.kind, key)


def version_in(body: Any) -> str:
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    return (
        str((metadata or {}).get("resourceVersion") or "") if isinstance(metadata, Mapping) else ""
    )


def uid_of(version: Version) -> str:
    return str(version.manifest["metadata"].get("uid") or "")


def seq_of(version: Any) -> int:
    text = str(version)
    if not text.isdecimal() or len(text) > 18:
        raise bad_request(f"invalid resource version {text!r}")
    return int(text)


def note_of(manifest: Manifest) -> tuple[str, Manifest]:
    """The object that an Event is about, and the note of it that a run keeps."""
    about = part_of(manifest, "involvedObject") or part_of(manifest, "regarding")
    key = "/".join(str(part) for part in (about.get("namespace"), about.get("name")) if part)
    source = part_of(manifest, "source") or part_of(manifest, "deprecatedSource")
    reporter = manifest.get("reportingController") or manifest.get("reportingComponent")
    note = {
        "reason": str(manifest.get("reason") or ""),
        "message": str(manifest.get("message") or manifest.get("note") or "")[:LONGEST_NOTE],
        "type": manifest.get("type") or "Normal",
        "component": str(reporter or source.get("component") or "client"),
    }
    return entity_id(str(about.get("kind", "")), key), note
