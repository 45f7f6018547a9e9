"""Recordings of a real control plane, and runs of the same scenario, in one shape to compare.

An object's history is, per field, the values it took and who wrote them. Whether two counts of a
status were written at once or one after the other is a race in the real system and is not compared.
"""

import json
from collections.abc import Iterable
from typing import Any

import yaml

from engine.api_server.store.watches import WatchEvent
from engine.api_server.validation.report import Report
from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario, parse_recording
from engine.kernel.units import MILLISECOND
from engine.objects.objects import ApiObject, from_manifest
from tests.vectors import vector_set

Json = dict[str, Any]
History = dict[str, list[tuple[Any, str]]]

FOLDER = vector_set("control-plane-1.20")
KINDS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "PodDisruptionBudget",
    "Pod",
    "Node",
)
AUTHORS = {
    "controller-manager/daemon-set-controller": "daemonset-controller",
    "controller-manager/generic-garbage-collector": "garbage-collector",
    "fake-kubelet": "kubelet",
    "user": "scenario",
}
SOURCES = (
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "taint-controller",
    "node-controller",
    "controllermanager",
)
COUNTS = (
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
    "updatedReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "observedGeneration",
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
    "numberAvailable",
    "numberUnavailable",
    "updatedNumberScheduled",
    "currentRevision",
    "active",
    "succeeded",
    "failed",
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
)


CONDITIONS = ("Available", "Progressing")


class Names:
    """Names with letters drawn or hashed, as the how-many-eth of their parent they are."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def learn(self, kind: str, raw: Json) -> None:
        name = raw["metadata"]["name"]
        owners = raw["metadata"].get("ownerReferences") or []
        if name in self._known or not owners or kind not in ("Pod", "ReplicaSet"):
            return
        if owners[0]["kind"] == "StatefulSet":
            return
        parent = self.of(owners[0]["name"])
        number = self._counts[parent] = self._counts.get(parent, 0) + 1
        # The order in which one daemon's pods are made is that of a map, which is none.
        self._known[name] = f"{parent}/{number}"

    def of(self, name: str) -> str:
        return self._known.get(name, name)

    def within(self, text: str) -> str:
        for name in sorted(self._known, key=len, reverse=True):
            text = text.replace(name, self._known[name])
        return text


def fields(kind: str, raw: Json, names: Names) -> Json:
    """What is compared of an object."""
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    found: Json = {
        "deleting": bool(metadata.get("deletionTimestamp")),
        "finalizers": metadata.get("finalizers"),
        "owners": [names.of(ref["name"]) for ref in metadata.get("ownerReferences") or ()],
    }
    if kind == "Pod":
        found |= {"phase": status.get("phase"), "has node": bool(spec.get("nodeName"))}
    elif kind == "Node":
        taints = spec.get("taints") or ()
        found["taints"] = sorted(f"{each['key']}:{each['effect']}" for each in taints)
    else:
        found["wanted"] = spec.get("replicas")
        found |= {name: status.get(name) for name in COUNTS}
        revision = "deployment.kubernetes.io/revision"
        found["revision"] = (metadata.get("annotations") or {}).get(revision)
        for each in status.get("conditions") or ():
            told = each["status"], each.get("reason"), names.within(each.get("message") or "")
            found[each["type"]] = told
    if kind == "StatefulSet":
        # The hash of a template with and without the API's defaults is not the same.
        found["currentRevision"] = bool(found["currentRevision"])
    return {name: value for name, value in found.items() if value}


def histories(writes: Iterable[tuple[str, str, str, Json]]) -> dict[str, History]:
    """Per object its history, of (type, kind, author, manifest) in order."""
    names = Names()
    before: dict[str, Json] = {}
    told: dict[str, History] = {}
    last: dict[str, str] = {}
    for watch_type, kind, author, raw in writes:
        names.learn(kind, raw)
        key = f"{kind}/{names.of(raw['metadata']['name'])}"
        shown = {} if watch_type == "DELETED" else fields(kind, raw, names)
        shown["there"] = watch_type != "DELETED"
        old = before.get(key, {})
        before[key] = shown
        history = told.setdefault(key, {})
        in_one = watch_type == "DELETED" and last.get(key) == author
        if in_one and history.get("deleting", [])[-1:] == [(True, author)]:
            # The API server marks an object and deletes it, both in one request.
            del history["deleting"]
        last[key] = author
        for name in {**old, **shown}:
            gone = watch_type == "DELETED" and name != "there"
            if old.get(name) != shown.get(name) and not gone:
                history.setdefault(name, []).append((shown.get(name), author))
    return told


def differences(recorded: dict[str, History], simulated: dict[str, History]) -> list[str]:
    """Where they differ; [] when nowhere."""
    found: list[str] = []
    for key in sorted({**recorded, **simulated}):
        real, ours = recorded.get(key, {}), simulated.get(key, {})
        for name in sorted({**real, **ours}):
            there, here = real.get(name, []), ours.get(name, [])
            merged = name in (*COUNTS, *CONDITIONS) and _is_merged(here, there)
            if here != there and not merged:
                found.append(f"{key} {name}: recorded {there}, simulated {here}")
    return found


def _is_merged(here: list[Any], there: list[Any]) -> bool:
    """Whether one only lacks what the other says on the way from one write to the next."""
    if not here or not there or here[-1] != there[-1]:
        return False
    few, many = sorted((here, there), key=len)
    rest = iter(many)
    return all(each in rest for each in few)


class Recording:
    """One recorded scenario."""

    def __init__(self, name: str) -> None:
        folder = FOLDER / name
        self.timeline: Json = json.loads((folder / "timeline.json").read_text())
        self._lines = [json.loads(t) for t in (folder / "recording.jsonl").read_text().splitlines()]
        self.raw: Json = yaml.safe_load((folder / "scenario.yaml").read_text())

    def histories(self) -> dict[str, History]:
        by = {each["rv"]: each["by"] for each in self.timeline["order"] if "by" in each}
        return histories(
            (line["type"], line["kind"], _author(by.get(line["rv"], "")), line["object"])
            for line in self._from_zero()
            if line["kind"] in KINDS
        )

    def _from_zero(self) -> list[Json]:
        """The writes; of those before time 0 only the last of each object."""
        last: dict[tuple[str, str], Json] = {}
        later: list[Json] = []
        for line in self._lines:
            if line["t"] < 0:
                last[line["kind"], line["object"]["metadata"]["name"]] = line
            else:
                later.append(line)
        return [{**line, "type": "ADDED", "rv": ""} for line in last.values()] + later

    def events(self) -> dict[str, list[str]]:
        names = Names()
        for line in self._lines:
            names.learn(line["kind"], line["object"])
        told: dict[str, list[str]] = {}
        for each in self.timeline["order"]:
            if each.get("source") in SOURCES:
                type_, reason, where = each["event"].split(" ", 2)
                entity, message = where.split(": ", 1)
                kind, _, key = entity.partition("/")
                name = key.rpartition("/")[2]
                said = told.setdefault(f"{kind}/{names.of(name)}", [])
                said.append(f"{type_} {reason} {names.within(message)}")
        return told


def _author(by: str) -> str:
    return AUTHORS.get(by, by.removeprefix("controller-manager/"))


class Simulated:
    """The same scenario, run."""

    def __init__(self, recording: Recording, profile: str) -> None:
        report = Report()
        header = parse_recording(recording.raw, report)
        assert not report.problems
        scenario = Scenario.from_dict(
            {**header, "name": recording.raw["name"], "objects": recording.raw["initial"]}
        )
        self._first = {from_manifest(raw).id for raw in scenario.objects}
        self.cluster = Cluster.create(scenario, profile=profile)
        # The phase of the real controllers' periods: 0.9 s and 15.9 s after time 0.
        self.cluster.workloads.start_periods_from(-4_100_000_000)
        self._seen: list[tuple[str, ApiObject, int]] = []
        for kind in KINDS:
            self.cluster.store.watch(kind, self._take)
        self.cluster.advance(scenario.until)
        self._events = {event.seq: event for event in self.cluster.take().events}

    def _take(self, event: WatchEvent) -> None:
        # What a watch delivers was caused by the write.
        self._seen.append((event.type, event.new, self.cluster.loop.cause))

    def histories(self) -> dict[str, History]:
        return histories(
            (
                watch_type,
                obj.kind,
                self._author(obj, seq),
                obj.raw,
            )
            for watch_type, obj, seq in self._seen
        )

    def _author(self, obj: ApiObject, seq: int) -> str:
        # What is there at first has no author; the node controller may still have to see to it.
        event = self._events[seq]
        first = obj.id in self._first and event.at < MILLISECOND * 10
        return "" if first else event.component

    def events(self) -> dict[str, list[str]]:
        names = Names()
        for _, obj, _ in self._seen:
            names.learn(obj.kind, obj.raw)
        kinds = {kind.lower(): kind for kind in KINDS}
        told: dict[str, list[str]] = {}
        for event in self._events.values():
            if event.component in SOURCES and (event.data or {}).get("event"):
                prefix, _, key = event.object.partition("/")
                name = f"{kinds[prefix]}/{names.of(key.rpartition('/')[2])}"
                said = f"{(event.data or {})['type']} {event.kind} {names.within(event.message)}"
                told.setdefault(name, []).append(said)
        return told
