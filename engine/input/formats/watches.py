"""What `kubectl get --watch` prints: versions of objects, one behind the other.

They are read in one of two ways. As a recording: the cluster begins with the objects that the watch
lists first, and what people did later becomes steps, at the times that the objects name; what
schedulers, controllers and kubelets did is left to those of the run. Or as the newest version of
each object, which is the cluster at the end of the watch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from engine.api_server.validation.kinds import is_known
from engine.input.instants import is_time, newest_time, whole_second
from engine.kernel.sentences import say
from engine.kernel.units import SECOND, nanoseconds_of
from engine.objects.documents import Document
from engine.objects.kinds import NAMESPACED, entity_id
from engine.objects.manifest_parts import section

Manifest = dict[str, Any]
# What such a file is called.
WATCH: Final = say("a watch")
Key = tuple[str, str, str]
Type = Literal["ADDED", "MODIFIED", "DELETED"]

_TYPES: Final = ("ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR")
# What the API server gives to an object when it stores it.
_STORED: Final = frozenset(
    ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink")
    + ("deletionTimestamp", "deletionGracePeriodSeconds", "generateName")
)
# Fields of specs that schedulers and controllers write.
_WRITTEN: Final = {
    "Pod": ("nodeName",),
    "PersistentVolumeClaim": ("volumeName",),
    "PersistentVolume": ("claimRef",),
    "Namespace": ("finalizers",),
    "Node": ("podCIDR", "podCIDRs", "taints"),
}
# Kinds of which only controllers and kubelets make and change objects.
_OF_CONTROLLERS: Final = frozenset(("VolumeAttachment", "CSINode", "CSIStorageCapacity"))
_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
_SELECTED: Final = "volume.kubernetes.io/selected-node"
# How long a recording goes on after its last step.
_AFTERWARDS: Final = 60 * SECOND
_SECOND: Final = len("2026-01-01T00:00:00")  # characters of a time in whole seconds


@dataclass(frozen=True, slots=True)
class Version:
    """One version of an object, and where it stands; `told` is its time, where the file says so."""

    type: Type
    manifest: Manifest
    document: int
    line: int
    told: str = ""

    @property
    def key(self) -> Key:
        """Kind, namespace and name."""
        return key_of(self.manifest)

    @property
    def time(self) -> str:
        """The time that is told of it, or the newest one that the object names; "" for none."""
        if self.told:
            return self.told.rstrip("Z")
        fields: list[Any] = self.manifest["metadata"].get("managedFields") or []
        times = [cast("Manifest", each).get("time") for each in fields if isinstance(each, dict)]
        written = [str(each) for each in times if is_time(each)]
        return max([newest_time(self.manifest), *(each.rstrip("Z") for each in written)])


@dataclass(slots=True)
class Recording:
    """What is done to the objects that watches list first; `instant` is "" where none names a time."""

    steps: list[Manifest] = field(default_factory=list[Manifest])
    instant: str = ""

    @property
    def until(self) -> int:
        """When it ends, in ns: a while after its last step."""
        return max((step["at"] for step in self.steps), default=0) + _AFTERWARDS

    @staticmethod
    def listed_of(versions: Sequence[Version]) -> Sequence[Version]:
        """The objects that a watch lists before the first change."""
        return versions[: _listed(versions)]


def key_of(manifest: Manifest) -> Key:
    """Kind, namespace and name of an object."""
    metadata = manifest["metadata"]
    default = "default" if manifest["kind"] in NAMESPACED else ""
    return manifest["kind"], metadata.get("namespace") or default, metadata["name"]


def is_event(value: Any) -> bool:
    """Whether a document is an event of a watch: {"type": "ADDED", "object": {…}}."""
    if not isinstance(value, dict):
        return False
    event = cast("Manifest", value)
    return event.get("type") in _TYPES and isinstance(event.get("object"), dict)


def versions_of(documents: Sequence[Document]) -> list[Version]:
    """The versions that the documents of a file are, if it is a watch; else none.

    Without events around them it is a watch where one object, of one uid, comes more than once.
    """
    if documents and all(is_event(each.value) for each in documents):
        found = [
            Version(each.value["type"], each.value["object"], each.index, each.line)
            for each in documents
            if each.value["type"] in ("ADDED", "MODIFIED", "DELETED")
        ]
        return found if all(is_object(each.manifest) for each in found) else []
    if len(documents) < 2 or not all(is_object(each.value) for each in documents):
        return []
    return _bare_versions(documents)


def _bare_versions(documents: Sequence[Document]) -> list[Version]:
    seen: dict[tuple[Key, str], None] = {}
    found: list[Version] = []
    for each in documents:
        uid = each.value["metadata"].get("uid")
        if not isinstance(uid, str) or not uid:
            return []
        again = (key_of(each.value), uid) in seen
        seen[key_of(each.value), uid] = None
        found.append(Version("MODIFIED" if again else "ADDED", each.value, each.index, each.line))
    return found if len(seen) < len(found) else []


def is_object(value: Any) -> bool:
    """Whether it has a kind, and a name by which its versions belong together."""
    if not isinstance(value, dict):
        return False
    manifest = cast("Manifest", value)
    metadata: Any = manifest.get("metadata")
    if not isinstance(manifest.get("kind"), str) or not isinstance(metadata, dict):
        return False
    parts = cast("Manifest", metadata)
    namespace: Any = parts.get("namespace")
    is_named = isinstance(parts.get("name"), str) and (
        namespace is None or isinstance(namespace, str)
    )
    has_specs = all(isinstance(manifest.get(part, {}), dict) for part in ("spec", "status"))
    fields: Any = parts.get("managedFields")
    return is_named and has_specs and (fields is None or isinstance(fields, list))


def newest(versions: Iterable[Version]) -> list[Version]:
    """The newest version of each object that is there at the end, in order of their first ones."""
    found: dict[Key, Version] = {}
    for each in versions:
        if each.type == "DELETED":
            found.pop(each.key, None)
        else:
            found[each.key] = each
    return list(found.values())


def recording_of(watches: Sequence[Sequence[Version]]) -> Recording:
    """What people did to the objects of some watches, which were made at the same time."""
    begins = [begin for versions in watches if (begin := _beginning(versions))]
    first = min(begins, default="")
    recording = Recording(instant=whole_second(first) if _is_instant(first) else "")
    state = {each.key: each for versions in watches for each in Recording.listed_of(versions)}
    for versions in watches:
        clock = _Clock(recording.instant)
        for each in versions[_listed(versions) :]:
            before, at = state.get(each.key), clock.at(each)
            recording.steps += [{"at": at, **step} for step in _steps(each, before, state)]
            if each.type == "DELETED":
                state.pop(each.key, None)
            else:
                state[each.key] = each
    recording.steps.sort(key=_at)
    return recording


def _beginning(versions: Sequence[Version]) -> str:
    """The newest time of what a watch lists, or else the oldest of what it tells."""
    listed = Recording.listed_of(versions)
    told = [each.time for each in listed or versions if each.time]
    return max(told, default="") if listed else min(told, default="")


def _at(step: Manifest) -> int:
    return step["at"]


def _is_instant(time: str) -> bool:
    return bool(time) and is_time(f"{time}Z")


def _listed(versions: Sequence[Version]) -> int:
    """How many versions the watch lists before the first change."""
    seen: dict[Key, None] = {}
    begin = versions[0].told if versions else ""
    for place, each in enumerate(versions):
        if each.type != "ADDED" or each.key in seen or not _was_there(each, begin):
            return place
        seen[each.key] = None
    return len(versions)


def _was_there(version: Version, begin: str) -> bool:
    """Whether an object was there when a recording with times of its own began."""
    if not begin or version.told[:_SECOND] <= begin[:_SECOND]:
        return True
    created = version.manifest["metadata"].get("creationTimestamp")
    return isinstance(created, str) and created[:_SECOND] < begin[:_SECOND]


class _Clock:
    """When each version came, in ns since the beginning; a second later where it does not say."""

    def __init__(self, instant: str) -> None:
        self._begin = nanoseconds_of(instant) if instant else None
        self._last = 0

    def at(self, version: Version) -> int:
        told = version.time
        if self._begin is None:
            self._last += SECOND
        elif _is_instant(told):
            self._last = max(self._last, nanoseconds_of(f"{told}Z") - self._begin)
        return self._last


def _steps(
    version: Version, before: Version | None, state: dict[Key, Version]
) -> Iterator[Manifest]:
    """What a person did that led to this version: nothing, where only components wrote it."""
    manifest, kind = version.manifest, version.manifest["kind"]
    if kind in _OF_CONTROLLERS or not is_known(manifest) or _is_made(manifest, state):
        return
    entity = entity_id(kind, "/".join(filter(None, version.key[1:])))
    if version.type == "DELETED" or _begins_to_go(manifest, before):
        if before is None or not before.manifest["metadata"].get("deletionTimestamp"):
            yield {"verb": "delete", "object": entity}
    elif before is None:
        yield {"verb": "create", "manifest": _as_given(manifest)}
    else:
        yield from _changes(entity, before.manifest, manifest)


def _begins_to_go(manifest: Manifest, before: Version | None) -> bool:
    return before is not None and bool(manifest["metadata"].get("deletionTimestamp"))


def _is_made(manifest: Manifest, state: dict[Key, Version]) -> bool:
    """Whether a controller of the run makes the object as well: its owner is in the watch."""
    metadata = manifest["metadata"]
    if _MADE_BY in section(metadata, "annotations"):
        return True
    owners = metadata.get("ownerReferences")
    for each in cast("list[Any]", owners) if isinstance(owners, list) else ():
        owner = cast("Manifest", each) if isinstance(each, dict) else {}
        place = metadata.get("namespace") or "default"
        keys = [
            (owner.get("kind"), place, owner.get("name")),
            (owner.get("kind"), "", owner.get("name")),
        ]
        if owner.get("controller") and any(key in state for key in keys):
            return True
    return False


def _as_given(manifest: Manifest) -> Manifest:
    """The object as its author gave it to the API server."""
    metadata = {name: part for name, part in manifest["metadata"].items() if name not in _STORED}
    annotations = section(metadata, "annotations")
    if _SELECTED in annotations:
        metadata["annotations"] = {k: v for k, v in annotations.items() if k != _SELECTED}
    kind = manifest["kind"]
    given = {name: part for name, part in manifest.items() if name != "status" or kind == "Node"}
    if "spec" in given:
        given["spec"] = _spec(kind, given["spec"])
    return {**given, "metadata": metadata}


def _spec(kind: str, spec: Manifest) -> Manifest:
    return {name: part for name, part in spec.items() if name not in _WRITTEN.get(kind, ())}


def _changes(entity: str, before: Manifest, after: Manifest) -> Iterator[Manifest]:
    """Merge patches of labels, annotations and specs, and kubelets that stop and start."""
    patch: Manifest = {}
    for part in ("labels", "annotations"):
        changed = _merge(section(before["metadata"], part), section(after["metadata"], part))
        if changed and part == "labels":
            patch["metadata"] = {part: changed}
    kind = after["kind"]
    spec = _merge(_spec(kind, section(before, "spec")), _spec(kind, section(after, "spec")))
    patch |= {"spec": spec} if spec else {}
    if patch:
        yield {"verb": "patch", "object": entity, "patch": patch}
    if kind == "Node" and _is_ready(before) != _is_ready(after):
        verb = "start_kubelet" if _is_ready(after) else "stop_kubelet"
        yield {"verb": verb, "object": entity}


def _is_ready(node: Manifest) -> bool:
    conditions: Any = section(node, "status").get("conditions")
    return any(
        cast("Manifest", each).get("type") == "Ready"
        and cast("Manifest", each).get("status") == "True"
        for each in (cast("list[Any]", conditions) if isinstance(conditions, list) else ())
        if isinstance(each, dict)
    )


def _merge(before: Manifest, after: Manifest) -> Manifest:
    """The merge patch from one mapping to the other. RFC 7386."""
    patch: Manifest = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(value, dict) and isinstance(old, dict):
            inner = _merge(cast("Manifest", old), cast("Manifest", value))
            patch |= {name: inner} if inner else {}
        elif value != old:
            patch[name] = value
    return patch
