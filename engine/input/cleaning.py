"""What is left out of a manifest before anything is stored.

Secrets' data, the values of environment variables, and the commands and arguments of containers
decide nothing here, and may hold passwords. A change of them rolls out a workload all the same: so
a workload's template keeps a digest of what was left out. It has 16 bits, too few to guess values.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from operator import is_not
from typing import Any, Final, cast

from engine.api_server.validation.kinds import is_known
from engine.objects.documents import COLLECTIONS
from engine.objects.kinds import NAMESPACED

Manifest = dict[str, Any]

# The annotation of a template in which values were left out.
DIGEST: Final = "kscope.dev/left-out-digest"
_DIGITS: Final = 4
# The annotation by which `kubectl apply` knows what it has to remove.
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
# Annotations in which tools keep the whole manifest, values and all.
_COPIES: Final = frozenset(
    {
        LAST_APPLIED,
        "objectset.rio.cattle.io/applied",
        "kapp.k14s.io/original",
    }
)
_SECRET_FIELDS: Final = ("data", "stringData")
_CONTAINERS: Final = frozenset(("containers", "initContainers", "ephemeralContainers"))
_LEFT_OUT: Final = frozenset(("command", "args"))
_CONFIG_MAP_FIELDS: Final = ("data", "binaryData")
# The ConfigMap in which the cluster autoscaler says what it does. Upstream: cluster-autoscaler,
# clusterstate/utils/status.go, and the default of its flag --status-config-map-name.
_AUTOSCALER_STATUS: Final = ("kube-system", "cluster-autoscaler-status")
# Kinds that cannot hold a container; most of a large cluster's objects that are not pods.
_WITHOUT_CONTAINERS: Final = frozenset(
    ("Node", "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "PriorityClass")
    + ("CSINode", "CSIDriver", "CSIStorageCapacity", "VolumeAttachment", "Namespace", "Event")
)


def clean(
    raw: Manifest, *, keeps_copy: bool = False, nulls: Sequence[Manifest] | None = None
) -> Manifest:
    """A copy of a checked manifest without what must not be kept; with the default namespace.

    With *keeps_copy* stay the copy of the manifest that `kubectl apply` makes, likewise cleaned, and
    the managed fields, which have the names of fields and no values. *nulls* are the objects in it
    that have fields which are null, where they are known: those lose these fields in place.
    """
    for part in nulls or ():
        for name in [name for name, value in part.items() if value is None]:
            del part[name]
    metadata = raw["metadata"]
    if raw["kind"] in NAMESPACED and not metadata.get("namespace"):
        metadata = {**metadata, "namespace": "default"}
    elif is_known(raw) and raw["kind"] not in NAMESPACED and "namespace" in metadata:
        # Upstream: rest.EnsureObjectNamespaceMatchesRequestNamespace().
        metadata = {name: part for name, part in metadata.items() if name != "namespace"}
    settled = {**raw, "metadata": metadata}
    if nulls is None:
        settled = without_nulls(settled)
    return without_values(settled, raw["kind"], keeps_copy=keeps_copy)


def as_evidence(manifest: Manifest) -> Manifest:
    """A cleaned manifest that is kept for what it says: a ConfigMap by its name alone.

    Only the one in which the cluster autoscaler says what it does keeps its data.
    """
    metadata = manifest["metadata"]
    key = metadata.get("namespace"), metadata["name"]
    if manifest["kind"] != "ConfigMap" or key == _AUTOSCALER_STATUS:
        return manifest
    return {name: part for name, part in manifest.items() if name not in _CONFIG_MAP_FIELDS}


def clean_command(body: Manifest) -> Manifest:
    """A copy of a command's or a step's JSON form, of whatever shape, without such values."""
    cleaned = dict(body)
    manifest, patch = body.get("manifest"), body.get("patch")
    if isinstance(manifest, dict):
        kind = cast("Manifest", manifest).get("kind")
        cleaned["manifest"] = without_values(cast("Manifest", manifest), str(kind), keeps_copy=True)
    if isinstance(patch, dict) and body.get("verb") == "patch":
        # A kind of a definition is called by its group, too: "mysecret.example.com/a/b".
        kind = str(body.get("object")).partition("/")[0].partition(".")[0]
        cleaned["patch"] = without_values(cast("Manifest", patch), kind, keeps_copy=True)
    return cleaned


def without_values(manifest: Manifest, kind: str, *, keeps_copy: bool = False) -> Manifest:
    """*manifest*, or a patch of one, without managed fields, copies of itself, and values."""
    cleaned = {**manifest}
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        given = cast("Manifest", metadata)
        kept = _metadata_kept(given)
        if keeps_copy:
            kept = _with_copy(kept, given, kind)
            if "managedFields" in given:
                kept["managedFields"] = given["managedFields"]
        cleaned["metadata"] = kept
    # In any API group, and also in lower case, as in an entity's id.
    if kind.lower().endswith("secret"):
        for name in _SECRET_FIELDS:
            cleaned.pop(name, None)
    elif kind.lower() == "pod":
        # Its containers stand in one place, and there are many pods.
        if isinstance(cleaned.get("spec"), dict):
            cleaned["spec"] = _with_containers_cleaned(cleaned["spec"])
    elif kind not in _WITHOUT_CONTAINERS:
        cleaned = _without_values(cleaned)
    return cleaned


def _metadata_kept(metadata: Manifest) -> Manifest:
    kept = {name: part for name, part in metadata.items() if name != "managedFields"}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict) and _COPIES & cast("Manifest", annotations).keys():
        given = cast("Manifest", annotations)
        kept["annotations"] = {name: text for name, text in given.items() if name not in _COPIES}
    return kept


def _with_copy(kept: Manifest, metadata: Manifest, kind: str) -> Manifest:
    """*kept* with what `kubectl apply` noted in *metadata*, without values as well."""
    annotations = metadata.get("annotations")
    if not isinstance(annotations, dict):
        return kept
    text = cast("Manifest", annotations).get(LAST_APPLIED)
    if not isinstance(text, str):
        return kept
    try:
        copy: Any = json.loads(text)
    except (ValueError, RecursionError):
        return kept
    if not isinstance(copy, dict):
        return kept
    cleaned = without_values(cast("Manifest", copy), kind)
    noted = json.dumps(cleaned, separators=(",", ":")) + "\n"
    return {**kept, "annotations": {**kept["annotations"], LAST_APPLIED: noted}}


def _without_values(value: Any) -> Any:
    """Any part of a manifest without the values of the containers in it."""
    if isinstance(value, list):
        return _each(cast("list[Any]", value), _without_values)
    if not isinstance(value, dict):
        return value
    parts = _with_containers_cleaned(cast("Manifest", value))
    changed: Manifest = {}
    for name, part in parts.items():
        if part.__class__ not in COLLECTIONS or name in _CONTAINERS:
            continue
        new = _without_values(part)
        if name == "template" and isinstance(part, dict):
            new = _with_digest(cast("Manifest", part), new)
        if new is not part:
            changed[name] = new
    return parts | changed if changed else parts


def _with_containers_cleaned(spec: Manifest) -> Manifest:
    """*spec*, which directly holds containers, without their values."""
    changed: Manifest = {}
    for name in sorted(_CONTAINERS & spec.keys()):
        if isinstance(spec[name], list):
            containers = cast("list[Any]", spec[name])
            kept = [_container(each) for each in containers]
            if any(map(is_not, kept, containers)):
                changed[name] = kept
    return spec | changed if changed else spec


def _with_digest(template: Manifest, kept: Manifest) -> Manifest:
    """*kept*, which is *template* without values, with the digest of those that it had."""
    metadata: Any = kept.get("metadata") or {}
    if not isinstance(metadata, dict):
        return kept
    known = _metadata_kept(cast("Manifest", metadata))
    annotations: Any = known.get("annotations") or {}
    left_out = list(_left_out(template))
    if left_out and isinstance(annotations, dict):
        digest = hashlib.sha256(json.dumps(left_out, sort_keys=True).encode()).hexdigest()
        known["annotations"] = {**cast("Manifest", annotations), DIGEST: digest[:_DIGITS]}
    return {**kept, "metadata": known} if known != metadata else kept


def _container(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    parts = cast("Manifest", container)
    env = parts.get("env")
    if not isinstance(env, list):
        kept = parts
    else:
        entries = cast("list[Any]", env)
        without = [_without_value(entry) for entry in entries]
        changed = any(map(is_not, without, entries))
        kept = {**parts, "env": without} if changed else parts
    if _LEFT_OUT.isdisjoint(kept):
        return kept
    return {name: part for name, part in kept.items() if name not in _LEFT_OUT}


def _without_value(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    pair = cast("Manifest", entry)
    if "value" not in pair:
        return pair
    return {name: part for name, part in pair.items() if name != "value"}


def _left_out(template: Manifest) -> Iterator[Any]:
    """What is left out of the containers of a template, with its place."""
    spec = template.get("spec")
    parts = cast("Manifest", spec) if isinstance(spec, dict) else {}
    for field in sorted(_CONTAINERS & parts.keys()):
        found = parts[field]
        for place, each in enumerate(cast("list[Any]", found) if isinstance(found, list) else ()):
            if not isinstance(each, dict):
                continue
            container = cast("Manifest", each)
            for name in sorted(_LEFT_OUT & container.keys()):
                yield field, place, name, container[name]
            env = container.get("env")
            for entry in cast("list[Any]", env) if isinstance(env, list) else ():
                if isinstance(entry, dict) and "value" in entry:
                    pair = cast("Manifest", entry)
                    yield field, place, pair.get("name"), pair["value"]


def without_nulls(value: Any) -> Any:
    """*value* without fields that are null: to the API server they are not there.

    A value without nulls is returned as the same object.
    """
    if isinstance(value, list):
        return _each(cast("list[Any]", value), without_nulls)
    if not isinstance(value, dict):
        return value
    parts = cast("Manifest", value)
    changed: Manifest = {}
    for name, part in parts.items():
        if part is None:
            changed[name] = None
        elif part.__class__ in COLLECTIONS and (settled := without_nulls(part)) is not part:
            changed[name] = settled
    if not changed:
        return parts
    return {name: part for name, part in (parts | changed).items() if part is not None}


def _each(items: list[Any], change: Callable[[Any], Any]) -> list[Any]:
    """*items* with *change* made in each collection among them; the same list if in none."""
    kept = [change(item) if item.__class__ in COLLECTIONS else item for item in items]
    return kept if any(map(is_not, kept, items)) else items
