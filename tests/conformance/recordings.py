"""One recording of a real control plane beside the same scenario run here, both told as facts.

A fact is what one write changed of what matters, and by whom; or a Kubernetes Event. Both sides are
reduced to facts per object in order; what the recordings themselves vary in (their README and
REPEAT.json) is taken out of both.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from kscope.sim.latency import Latency
from kscope.sim.loader import load_files
from kscope.sim.objects import ApiObject
from kscope.sim.recorder import Event
from kscope.sim.scenario import Scenario, Step
from kscope.sim.store import WatchEvent
from kscope.sim.units import MILLISECOND, SECOND
from kscope.sim.view import diff
from scheduling.engine.cluster import Cluster
from tests.conformance.vectors import VECTORS, Json

FOLDER = VECTORS / "control-plane-1.20"
# The recordings' PV controller started this long before the first step, and their scheduler a
# little earlier: the phases of the resync and of the queue's tickers.
ORIGIN = 4_120 * MILLISECOND
TICKERS = ORIGIN - 4_600 * MILLISECOND
# And the initial objects were created this long before it, one after the other.
SET_UP = ORIGIN - 2_060 * MILLISECOND
# The stand-in for the kubelet says a second late that a volume is no longer in use.
LATENCIES = {"node_status": Latency("fixed", 1_200 * MILLISECOND)}

Facts = dict[str, list[Any]]


class Recording:
    """A folder of the recordings."""

    def __init__(self, name: str) -> None:
        self.name = name
        folder = FOLDER / name
        self.timeline: Json = json.loads((folder / "timeline.json").read_text())
        lines = (folder / "recording.jsonl").read_text().splitlines()
        self.lines: list[Json] = [json.loads(line) for line in lines]
        text = (folder / "scenario.yaml").read_bytes()
        loaded = load_files([("scenario.yaml", text)])
        assert loaded.ok, loaded.problems
        self.server_side_apply = b"ServerSideApply=false" not in text
        self.scenario = Scenario.from_load(loaded, name=name)

    def shifted(self) -> Scenario:
        """The scenario as it was played: controllers first, then the objects, then the steps."""
        scenario = self.scenario
        set_up = [
            Step(at=SET_UP + place * 3 * MILLISECOND, verb="create", manifest=manifest)
            for place, manifest in enumerate(scenario.objects)
        ]
        steps = [replace(step, at=step.at + ORIGIN) for step in scenario.steps]
        return replace(
            scenario,
            objects=(),
            steps=(*set_up, *steps),
            latencies={**LATENCIES, **scenario.latencies},
            until=round(self.timeline["end"] * SECOND) + ORIGIN,
        )

    def changes(self) -> Facts:
        """What was written, per object."""
        authors = {each["rv"]: each["by"] for each in self.timeline["order"] if "by" in each}
        writes = [
            (
                line["t"],
                authors.get(line["rv"], ""),
                line["type"],
                {**line["object"], "kind": line["kind"]},
            )
            for line in self.lines
            if line["kind"] != "Event"
        ]
        return _changes(writes, self._names())

    def events(self) -> Facts:
        """The Kubernetes Events, per object; one that was only counted up is there again."""
        told: dict[str, list[tuple[float, str]]] = {}
        for each in self.timeline["order"]:
            if "event" in each and each["t"] > _START:
                kind, reason, where = each["event"].split(" ", 2)
                about, message = where.split(": ", 1)
                if each["source"].startswith("csi.example.com"):
                    about += _BY_PROVISIONER
                told.setdefault(about, []).append((each["t"], f"{kind} {reason}: {message}"))
        return _events(told, self._names())

    def _names(self) -> dict[str, str]:
        return _made_up_names({**each["object"], "kind": each["kind"]} for each in self.lines)


class Rerun:
    """The same scenario, run here."""

    def __init__(self, recording: Recording, seed: int | None = None) -> None:
        self.recording = recording
        tie_break = "name" if seed is None else "random"
        self.cluster = Cluster.create(
            recording.shifted(), profile="v1.20", seed=seed or 0, tie_break=tie_break
        )
        queue = self.cluster.scheduler.queue
        queue._started_at = TICKERS
        if not recording.server_side_apply:
            queue._rules = replace(queue._rules, status_counts=False)
        self.writes: list[tuple[float, str, str, Json]] = []
        self.recorded: list[Event] = []
        store, deliver = self.cluster.store, self.cluster.store._deliver

        def delivered(kind: str, event: WatchEvent) -> None:
            author = self.cluster.recorder.pending[-1].component
            now = (self.cluster.now - ORIGIN) / SECOND
            self.writes.append((now, author, event.type, _raw(event.new)))
            deliver(kind, event)

        store._deliver = delivered

    def run(self) -> None:
        """To the end of the recording."""
        self.cluster.advance(self.cluster.horizon, max_steps=_MANY_STEPS)
        assert self.cluster.now == self.cluster.horizon, "the run does not become quiet"
        self.recorded = self.cluster.take().events

    def changes(self) -> Facts:
        """What was written, per object."""
        return _changes(self.writes, self._names())

    def events(self) -> Facts:
        """The Kubernetes Events, per object."""
        told: dict[str, list[tuple[float, str]]] = {}
        for event in self.recorded:
            data = event.data or {}
            at = (event.at - ORIGIN) / SECOND
            if not data.get("event") or at < _START or data.get("series", 0) > 1:
                continue
            if event.component == "kubelet":
                continue
            reason = data.get("reason") or event.kind
            text = f"{data['type']} {reason}: {event.message}"
            prefix, _, key = event.object.partition("/")
            about = f"{_KINDS.get(prefix, prefix)}/{key}"
            if event.component == "external-provisioner":
                about += _BY_PROVISIONER
            told.setdefault(about, []).append((at, text))
        return _events(told, self._names())

    def _names(self) -> dict[str, str]:
        return _made_up_names(raw for _, _, _, raw in self.writes)


# Components that do not wait for each other: their Events come in any order.
_BY_PROVISIONER = " by the provisioner"

# More than any of the recordings takes by far.
_MANY_STEPS = 60_000

# What comes before the first step is set-up.
_START = -0.5

_KINDS = {
    "pod": "Pod",
    "node": "Node",
    "claim": "PersistentVolumeClaim",
    "volume": "PersistentVolume",
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "job": "Job",
    "poddisruptionbudget": "PodDisruptionBudget",
}

# The recordings' names of the components, by those here.
_AUTHORS = {
    "pv-controller": "persistent-volume-binder",
    "pvc-protection": "pvc-protection-controller",
    "pv-protection": "pv-protection-controller",
    "attach-detach": "attachdetach-controller",
    "garbage-collector": "generic-garbage-collector",
    "daemonset-controller": "daemon-set-controller",
    "taint-controller": "node-controller",
    "scenario": "user",
    "fake-kubelet": "kubelet",
    "fake-csi-provisioner": "external-provisioner",
    "fake-csi-attacher": "csi-attacher",
}

# The recording in which a namespace is deleted: whose delete of its content comes first differs,
# and the claim's is ascribed to the protection controller, which never deletes.
_DELETED_NAMESPACE = "team"
_DELETERS = {
    "generic-garbage-collector": "namespace-controller",
    "pvc-protection-controller": "namespace-controller",
}

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LEFT_OUT = frozenset({"Namespace", "ControllerRevision", "Event", "CSINode", "Lease"})


def _raw(obj: ApiObject) -> Json:
    return {**obj.raw, "kind": obj.kind}


def _changes(writes: Iterable[tuple[float, str, str, Json]], names: Mapping[str, str]) -> Facts:
    told: dict[str, list[tuple[float, str, Json]]] = {}
    states: dict[str, Json] = {}
    for at, author, watch_type, raw in writes:
        if raw["kind"] in _LEFT_OUT:
            continue
        entity = _entity(raw)
        state = {"gone": True} if watch_type == "DELETED" else _meaning(raw)
        change = diff(states.get(entity, {}), state)
        deleted = change == {"deleting": True}
        if watch_type == "DELETED":
            change = {"gone": True}
            states.pop(entity, None)
        else:
            states[entity] = state
        author = author.rpartition("/")[2]
        author = _AUTHORS.get(author, author)
        if raw["metadata"].get("namespace") == _DELETED_NAMESPACE:
            author = _DELETERS.get(author, author) if "gone" in change or deleted else author
        if at > _START and change and not _is_stand_ins(author, raw):
            told.setdefault(entity, []).append((at, author, change))
    return _grouped({entity: _tidied(facts) for entity, facts in told.items()}, names)


def _is_stand_ins(author: str, raw: Json) -> bool:
    """The stand-in kubelet reports volumes in use at times of its own."""
    return author == "kubelet" and raw["kind"] == "Node"


def _tidied(facts: list[tuple[float, str, Json]]) -> list[Any]:
    kept: list[Any] = []
    for place, (at, author, change) in enumerate(facts):
        following = facts[place + 1] if place + 1 < len(facts) else None
        gone_at_once = following is not None and "gone" in following[2]
        if "deleting" in change and following is not None and gone_at_once:
            soon = following[0] - at < 0.1 or author == "kubelet"
        else:
            soon = False
        if soon and following is not None and following[1] == author:
            continue
        if author == "kubelet" and "gone" not in change:
            change = {name: value for name, value in change.items() if name in ("phase",)}
        if change:
            kept.append([author, change])
    return kept


def _meaning(raw: Json) -> Json:
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    ref = spec.get("claimRef") or {}
    kind = raw["kind"]
    meaning: Json = {
        "annotations": {
            name: value
            for name, value in (metadata.get("annotations") or {}).items()
            if name not in _CLERICAL
        },
        "finalizers": sorted(metadata.get("finalizers") or []),
        "deleting": bool(metadata.get("deletionTimestamp")),
        "phase": status.get("phase") or ("Pending" if kind in _WITH_PHASE else None),
    }
    if kind in ("PersistentVolume", "PersistentVolumeClaim"):
        meaning |= {
            "message": status.get("message"),
            "claim": {k: ref.get(k) for k in ("namespace", "name")} if ref else None,
            "reserved": bool(ref) and not ref.get("uid"),
            "volume": spec.get("volumeName"),
            "capacity": status.get("capacity"),
            "modes": status.get("accessModes"),
            "class": spec.get("storageClassName"),
            "conditions": _conditions(status, ()),
        }
    elif kind == "Pod":
        meaning |= {
            "node": spec.get("nodeName"),
            "nominated": status.get("nominatedNodeName"),
            "scheduled": _conditions(status, ("PodScheduled",)),
        }
    elif kind == "Node":
        taints = sorted(f"{t['key']}:{t['effect']}" for t in spec.get("taints") or [])
        meaning |= {
            "taints": taints,
            "unschedulable": bool(spec.get("unschedulable")),
            "attached": sorted(each["name"] for each in status.get("volumesAttached") or []),
        }
        del meaning["annotations"]
    elif kind == "VolumeAttachment":
        meaning |= {"attached": bool(status.get("attached"))}
    elif kind in ("Deployment", "ReplicaSet", "StatefulSet"):
        meaning = {"replicas": spec.get("replicas"), "deleting": meaning["deleting"]}
        meaning |= {"finalizers": sorted(metadata.get("finalizers") or [])}
    elif kind in ("DaemonSet", "PodDisruptionBudget"):
        meaning = {"deleting": meaning["deleting"]}
    return {
        name: value for name, value in meaning.items() if value not in (None, {}, [], "", False)
    }


_WITH_PHASE = ("PersistentVolume", "PersistentVolumeClaim", "Pod")
_CLERICAL = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "volumes.kubernetes.io/controller-managed-attach-detach",
        "csi.alpha.kubernetes.io/node-id",
        "volume.kubernetes.io/storage-provisioner",
    }
)


def _conditions(status: Json, types: tuple[str, ...]) -> Json:
    return {
        each["type"]: [each.get("status"), each.get("reason"), each.get("message")]
        for each in status.get("conditions") or []
        if not types or each["type"] in types
    }


def _entity(raw: Json) -> str:
    metadata = raw["metadata"]
    if raw["kind"] == "VolumeAttachment":
        spec = raw["spec"]
        return f"VolumeAttachment/{spec['source']['persistentVolumeName']}@{spec['nodeName']}"
    namespace = metadata.get("namespace")
    key = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
    return f"{raw['kind']}/{key}"


def _made_up_names(objects: Iterable[Json]) -> dict[str, str]:
    """Names with a hash or random letters in them, and how both sides are made to call them."""
    named: dict[str, str] = {}
    for raw in objects:
        metadata = raw["metadata"]
        for ref in metadata.get("ownerReferences") or []:
            if ref["kind"] in ("ReplicaSet", "DaemonSet", "Job", "Deployment"):
                owner = named.get(ref["name"], ref["name"])
                named[metadata["name"]] = f"{owner}-<r>"
        if not metadata.get("ownerReferences") and metadata.get("generateName"):
            named.setdefault(metadata["name"], metadata["generateName"] + "<r>")
    return named


def _events(told: Mapping[str, list[tuple[float, str]]], names: Mapping[str, str]) -> Facts:
    """How often ExternalProvisioning comes varies in the recordings themselves: once is enough."""
    kept: Facts = {}
    for entity, events in told.items():
        texts: list[str] = []
        for _, text in events:
            again = "ExternalProvisioning" in text and text in texts
            if not again and "RegisteredNode" not in text:
                texts.append(text)
        if texts:
            kept[entity] = texts
    return _grouped(kept, names)


def _grouped(facts: Facts, names: Mapping[str, str]) -> Facts:
    """Objects with made-up names are told apart by what happened to them only."""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    pattern = re.compile(rf"(?<![0-9a-z])(?:{known})(?![0-9a-z])") if known else None

    def plain(text: str) -> str:
        text = re.sub(r"\^vol-[^\"]+", "^<handle>", _UID.sub("<uid>", text))
        return text if pattern is None else pattern.sub(lambda found: names[found[0]], text)

    grouped: dict[str, list[list[Any]]] = {}
    for entity, told in facts.items():
        if told:
            grouped.setdefault(plain(entity), []).append(json.loads(plain(json.dumps(told))))
    return {
        entity: sorted(lists, key=json.dumps) if len(lists) > 1 else lists[0]
        for entity, lists in sorted(grouped.items())
    }
