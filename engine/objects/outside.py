"""Objects of a cluster's files that a run does not hold, but that decide what its drivers can do.

They are Leases of nodes, VolumeSnapshots and their contents, the names (never the data) of
Secrets, ConfigMaps and ServiceAccounts, and Events that tell of a failure: which no run can play,
or which pages show until the run itself has tried. Of pods, only the names of those are among them
whose status says what is wrong with their containers. They do not change while a run goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.kernel.units import nanoseconds_of
from engine.objects.pods.told_containers import told_of_containers

Manifest = dict[str, Any]

NODE_LEASES: Final = "kube-node-lease"
# Kinds of which only names are known.
NAMED: Final = ("Secret", "ConfigMap", "ServiceAccount")
READ: Final = frozenset((*NAMED, "Lease", "VolumeSnapshot", "VolumeSnapshotContent"))
EVENT: Final = "Event"
# A pod whose status tells something of its containers: see told_containers.py.
TELLING: Final = "TellingPod"
# What a kubelet says of containers, images and sandboxes. Upstream: pkg/kubelet/events/event.go.
_OF_CONTAINERS: Final = frozenset(
    ("FailedCreatePodSandBox", "Failed", "BackOff", "InspectFailed", "ErrImageNeverPull")
    + ("FailedPostStartHook",)
)
# Of volumes only what a driver answers is outside of the model: the rest it looks up itself.
_OF_VOLUMES: Final = frozenset(("FailedAttachVolume", "FailedMount", "FailedMapVolume"))
_OF_DRIVERS: Final = "rpc error"
# A Secret or ConfigMap that is not there is looked up as well.
_LOOKED_UP: Final = ("not found", "couldn't find key")
# By the kind of the object, the reasons of Events that tell that an operation was refused.
_REFUSED_PODS: Final = frozenset(("FailedCreate",))
REFUSALS: Final[Mapping[str, frozenset[str]]] = {
    "PersistentVolumeClaim": frozenset(
        ("ProvisioningFailed", "VolumeResizeFailed", "VolumeModifyFailed")
    ),
    "PersistentVolume": frozenset(("VolumeFailedDelete", "VolumeFailedRecycle")),
    "ReplicaSet": _REFUSED_PODS,
    "ReplicationController": _REFUSED_PODS,
    "StatefulSet": _REFUSED_PODS,
    "DaemonSet": _REFUSED_PODS,
    "Job": _REFUSED_PODS,
    "Pod": _OF_CONTAINERS | _OF_VOLUMES | {"FailedPrepareDynamicResources"},
}


@dataclass(frozen=True, slots=True)
class ToldFailure:
    """What an Event tells of an object: the reason, and when it was last seen, in ns since EPOCH.

    `uid` is that of the object, "" where the Event does not say it; `count` is how often it came.
    """

    reason: str
    uid: str
    at: int
    message: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Outside:
    """The objects by kind and by key: "namespace/name", or "name" without a namespace."""

    objects: Mapping[str, Mapping[str, Manifest]] = field(
        default_factory=dict[str, dict[str, Manifest]]
    )

    @classmethod
    def of(cls, manifests: Iterable[Manifest]) -> Outside:
        """What `kept` leaves of *manifests*."""
        found: dict[str, dict[str, Manifest]] = {}
        for manifest in cls.kept(manifests):
            kind = manifest["kind"]
            found.setdefault(kind, {})[_key(kind, manifest["metadata"])] = manifest
        return cls(found)

    @staticmethod
    def kept(manifests: Iterable[Manifest]) -> list[Manifest]:
        """Those of *manifests* that decide something; of NAMED kinds, only the name."""
        return [
            _name_of(manifest) if manifest["kind"] in NAMED else manifest
            for manifest in map(_told, manifests)
            if manifest is not None and manifest["kind"] in (*READ, EVENT, TELLING)
        ]

    def failures(self) -> dict[str, ToldFailure]:
        """The newest failure that no run can play of each pod, by "namespace/name"."""
        events = filter(_is_beyond_play, self.objects.get(EVENT, {}).values())
        return {key: told for (_, key), told in _newest(events).items()}

    def refusals(self) -> dict[tuple[str, str], ToldFailure]:
        """The newest failure that an Event tells of each object, by its kind and key.

        Imports of older versions kept no count of an Event; their histories show none of these.
        """
        events = self.objects.get(EVENT, {}).values()
        return _newest(event for event in events if "count" in event)

    def find(self, kind: str, key: str) -> Manifest | None:
        """The object, or None; that is certain only if `knows` its kind."""
        return self.objects.get(kind, {}).get(key)

    def knows(self, kind: str) -> bool:
        """Whether the files say which objects of *kind* there are."""
        return kind in self.objects

    def lacks(self, kind: str, key: str) -> bool:
        """Whether the files say that there is no such object."""
        return self.knows(kind) and self.find(kind, key) is None

    def silent_nodes(self, grace: int) -> dict[str, int]:
        """By how many ns the Lease of a node is older than the newest, where more than *grace*."""
        renewed = {
            key.removeprefix(f"{NODE_LEASES}/"): _renewed(lease)
            for key, lease in self.objects.get("Lease", {}).items()
            if key.startswith(f"{NODE_LEASES}/")
        }
        known = {node: at for node, at in renewed.items() if at is not None}
        newest = max(known.values(), default=0)
        return {node: newest - at for node, at in known.items() if newest - at > grace}


def _told(manifest: Manifest) -> Manifest | None:
    """An Event, of either API group, by what it tells of an object; None where that is no failure."""
    if manifest["kind"] == "Pod":
        is_telling = told_of_containers(manifest) is not None
        return {**_name_of(manifest), "kind": TELLING} if is_telling else None
    if manifest["kind"] != EVENT:
        return manifest
    about: Manifest = manifest.get("involvedObject") or manifest.get("regarding") or {}
    reason = str(manifest.get("reason") or "")
    if not about.get("name") or reason not in REFUSALS.get(str(about.get("kind")), ()):
        return None
    series: Manifest = manifest.get("series") or {}
    last = series.get("lastObservedTime") or manifest.get("lastTimestamp")
    last = last or manifest.get("deprecatedLastTimestamp") or manifest.get("eventTime")
    count = series.get("count") or manifest.get("count") or manifest.get("deprecatedCount")
    # What was kept before has no apiVersion; without a count, an older version kept it.
    count = count or (1 if manifest.get("apiVersion") else None)
    named = {part: about[part] for part in ("kind", "namespace", "name", "uid") if about.get(part)}
    return {
        **_name_of(manifest),
        "involvedObject": named,
        "reason": reason,
        "message": str(manifest.get("message") or manifest.get("note") or ""),
        "lastTimestamp": str(last or manifest["metadata"].get("creationTimestamp") or ""),
        **({"count": count} if isinstance(count, int) else {}),
    }


def _is_beyond_play(event: Manifest) -> bool:
    """Whether an Event tells of containers, or of what a driver answered: neither can be played."""
    if event["involvedObject"]["kind"] != "Pod":
        return False
    reason, message = event["reason"], event["message"]
    if reason in _OF_VOLUMES:
        return _OF_DRIVERS in message
    return reason in _OF_CONTAINERS and not any(each in message for each in _LOOKED_UP)


def _newest(events: Iterable[Manifest]) -> dict[tuple[str, str], ToldFailure]:
    """What the newest of *events* tells of each object, by its kind and key."""
    found: dict[tuple[str, str], ToldFailure] = {}
    for event in events:
        about, at = event["involvedObject"], _time(event["lastTimestamp"])
        namespace, name = about.get("namespace"), about["name"]
        key = about["kind"], f"{namespace}/{name}" if namespace else name
        if at is None or (key in found and found[key].at > at):
            continue
        uid, count = str(about.get("uid") or ""), event.get("count", 1)
        found[key] = ToldFailure(event["reason"], uid, at, event["message"], count)
    return found


def _time(text: str) -> int | None:
    try:
        return nanoseconds_of(text)
    except ValueError:
        return None


def _name_of(manifest: Manifest) -> Manifest:
    metadata = {
        part: manifest["metadata"][part]
        for part in ("name", "namespace")
        if part in manifest["metadata"]
    }
    return {"kind": manifest["kind"], "metadata": metadata}


def _key(kind: str, metadata: Manifest) -> str:
    name = metadata.get("name", "")
    if kind == "VolumeSnapshotContent":
        return name
    return f"{metadata.get('namespace') or 'default'}/{name}"


def _renewed(lease: Manifest) -> int | None:
    """When the Lease was renewed, in ns; None if it does not say."""
    try:
        spec: Manifest = lease.get("spec") or {}
        return nanoseconds_of(str(spec.get("renewTime")))
    except (ValueError, TypeError):
        return None
