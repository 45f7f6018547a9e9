"""The PV controller and the protection controllers against recordings of a real control plane.

What everyone else wrote in a recording (users, the scheduler, the kubelet, CSI sidecars) is written
into the store at its time; what the controllers then write, and the Events they emit, must be what
the real ones did: per object the same changes in the same order by the same authors.
"""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from engine.api_server.store.watches import WatchEvent
from engine.csi_sidecars.driver_faults import DriverFaults
from engine.kernel.units import SECOND
from engine.kernel.view import diff
from engine.objects.objects import ApiObject, from_manifest
from engine.versions.registry import VERSIONS
from tests.conformance.vectors import Json, parametrised
from tests.engine.storage_world import Storage
from tests.vectors import vector_set

FOLDER = vector_set("control-plane-1.20")
# Time 0 of the recordings, and the phase of the controller's resync in all of them.
ORIGIN = 100 * SECOND
RESYNC = ORIGIN - 4_120_000_000

# The stand-in for the kubelet lets a recycler pod run so long.
RECYCLING = 3_100_000_000

REPLAYED = ("StorageClass", "Node", "Pod", "PersistentVolume", "PersistentVolumeClaim")
SHOWN = ("PersistentVolume", "PersistentVolumeClaim")
OURS = {
    "controller-manager/persistent-volume-binder": "pv-controller",
    "controller-manager/pvc-protection-controller": "pvc-protection",
    "controller-manager/pv-protection-controller": "pv-protection",
}


def scenarios() -> list[Any]:
    if not FOLDER.exists():
        return parametrised(None, absent="control-plane-1.20")
    return parametrised((p.name, p.name) for p in sorted(FOLDER.iterdir()) if p.is_dir())


class Replay:
    """One recording, its writes by others done again."""

    def __init__(self, name: str) -> None:
        folder = FOLDER / name
        self.timeline: Json = json.loads((folder / "timeline.json").read_text())
        lines = (folder / "recording.jsonl").read_text().splitlines()
        self.recording: list[Json] = [json.loads(line) for line in lines]
        self.by = {each["rv"]: each["by"] for each in self.timeline["order"] if "by" in each}
        drivers = {
            line["object"]["provisioner"]
            for line in self.recording
            if line["kind"] == "StorageClass"
        }
        # The recorded provisioner is among those whose writes are replayed.
        faults = DriverFaults(absent=tuple(sorted(drivers)))
        self.storage = Storage(rules=VERSIONS["v1.20"].controller, recycle=RECYCLING, faults=faults)
        self.storage.controller.resync.start_at(RESYNC)
        self.states: list[tuple[str, ApiObject]] = []
        for kind in SHOWN:
            self.storage.store.watch(kind, self.seen)

    def seen(self, event: WatchEvent) -> None:
        self.states.append((event.type, event.new))

    def run(self) -> None:
        before: dict[tuple[str, str], Json] = {}
        for line in self.recording:
            if line["kind"] not in REPLAYED:
                continue
            raw = _without_clerical(line["object"])
            key = line["kind"], _key(raw)
            old = before.get(key)
            before[key] = raw
            if self.author(line, old) == "other":
                at = max(ORIGIN + round(line["t"] * SECOND), self.storage.loop.now)
                self.storage.loop.call_at(at, self.write, line["type"], raw, old)
        end = self.timeline["end"]
        self.storage.loop.run(ORIGIN + round(end * SECOND))

    def author(self, line: Json, old: Json | None) -> str:
        """Who wrote it. No controller of ours deletes claims; the recordings take the namespace
        controller's deletions for the protection controller's.
        """
        metadata = line["object"]["metadata"]
        marked = "deletionTimestamp" in metadata and old is not None
        if line["kind"] == "PersistentVolumeClaim" and marked:
            assert old is not None
            if "deletionTimestamp" not in old["metadata"]:
                return "other"
        return OURS.get(self.by.get(line["rv"], ""), "other")

    def write(self, watch_type: str, raw: Json, old: Json | None) -> None:
        store = self.storage.store
        obj = from_manifest(raw)
        if watch_type == "ADDED":
            store.create(obj, by="other")
        elif watch_type == "MODIFIED" and old is not None:
            if store.find(obj.kind, obj.key) is not None:
                store.patch(obj.kind, obj.key, diff(old, raw), by="other")
        elif store.find(obj.kind, obj.key) is not None:
            store.patch(obj.kind, obj.key, {"metadata": {"finalizers": None}}, by="other")
            if store.find(obj.kind, obj.key) is not None:
                store.delete(obj.kind, obj.key, by="other")

    # What happened, per object

    def recorded_changes(self) -> dict[str, list[Json]]:
        writes: list[tuple[str, str, Json]] = []
        before: dict[str, Json] = {}
        for line in self.recording:
            if line["kind"] not in SHOWN:
                continue
            raw = {**_without_clerical(line["object"]), "kind": line["kind"]}
            key = f"{line['kind']}/{_key(raw)}"
            writes.append((self.author(line, before.get(key)), line["type"], raw))
            before[key] = raw
        return _changes(writes)

    def simulated_changes(self) -> dict[str, list[Json]]:
        prefixes = ("volume/", "claim/")
        authors = [
            event.component
            for event in self.storage.recorder.pending
            if event.object.startswith(prefixes)
        ]
        # Every write is one event; the watches tell of them kind by kind, in their order.
        ordered: dict[str, list[tuple[str, ApiObject]]] = {}
        for watch_type, obj in self.states:
            ordered.setdefault(obj.id, []).append((watch_type, obj))
        written: dict[str, list[str]] = {}
        events = [e for e in self.storage.recorder.pending if e.object.startswith(prefixes)]
        for author, event in zip(authors, events, strict=True):
            written.setdefault(event.object, []).append(author)
        return _changes(
            (author, watch_type, obj.raw)
            for entity, states in ordered.items()
            for author, (watch_type, obj) in zip(written[entity], states, strict=False)
        )

    def recorded_events(self) -> dict[str, list[str]]:
        told: dict[str, list[tuple[float, str]]] = {}
        for each in self.timeline["order"]:
            if each.get("source") in ("persistentvolume-controller", "volume_expand"):
                _, reason, where = each["event"].split(" ", 2)
                if reason == "RecyclerPod":
                    # Copied from a pod, and there are none here; test_recordings.py has them.
                    continue
                obj, message = where.split(": ", 1)
                told.setdefault(obj, []).append((each["t"], f"{reason} {message}"))
        return _once(told)

    def simulated_events(self) -> dict[str, list[str]]:
        kinds = {"claim": "PersistentVolumeClaim", "volume": "PersistentVolume"}
        told: dict[str, list[tuple[float, str]]] = {}
        for at, entity, reason, message in self.storage.events.seen:
            kind, _, key = entity.partition("/")
            told.setdefault(f"{kinds[kind]}/{key}", []).append((at / SECOND, f"{reason} {message}"))
        return _once(told)


def _once(told: dict[str, list[tuple[float, str]]]) -> dict[str, list[str]]:
    """The texts, an Event that comes again within a tenth of a second counted once.

    Whether the controller's own write of the annotation wakes the claim in time for a second
    ExternalProvisioning differs from run to run of the real thing.
    """
    return {
        entity: [
            text
            for place, (at, text) in enumerate(events)
            if place == 0 or events[place - 1][1] != text or at - events[place - 1][0] > 0.1
        ]
        for entity, events in told.items()
    }


def _key(raw: Json) -> str:
    metadata = raw["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else metadata["name"]


def _without_clerical(raw: Json) -> Json:
    dropped = ("managedFields", "resourceVersion", "selfLink")
    metadata = {k: v for k, v in raw["metadata"].items() if k not in dropped}
    return {**raw, "metadata": metadata}


def _changes(writes: Iterable[tuple[str, str, Json]]) -> dict[str, list[Json]]:
    """Per object what changed of what matters, by whom; writes that change none of it left out."""
    told: dict[str, list[Json]] = {}
    states: dict[str, Json] = {}
    for author, watch_type, raw in writes:
        entity = f"{raw['kind']}/{_key(raw)}"
        state = {} if watch_type == "DELETED" else _meaning(raw)
        change = diff(states.get(entity, {}), state)
        states[entity] = state
        if watch_type == "DELETED":
            change = {"gone": True}
        # What the others do is given; only where it comes in the order matters.
        if change and author != "other":
            told.setdefault(entity, []).append({"by": author, **change})
    return told


def _meaning(raw: Json) -> Json:
    metadata, spec, status = raw["metadata"], raw.get("spec") or {}, raw.get("status") or {}
    ref = spec.get("claimRef") or {}
    meaning = {
        "phase": status.get("phase") or "Pending",
        "message": status.get("message"),
        "claim": {k: ref.get(k) for k in ("namespace", "name", "uid")} if ref else None,
        "volume": spec.get("volumeName"),
        "annotations": metadata.get("annotations") or {},
        "finalizers": metadata.get("finalizers") or [],
        "deleting": bool(metadata.get("deletionTimestamp")),
        "capacity": status.get("capacity"),
        "modes": status.get("accessModes"),
        "class": spec.get("storageClassName"),
    }
    return {name: value for name, value in meaning.items() if value not in (None, {}, [], "")}


@pytest.mark.parametrize("name", scenarios())
def test_the_controller_repeats_the_recorded_writes(name: str) -> None:
    replay = Replay(name)
    replay.run()
    assert replay.simulated_changes() == replay.recorded_changes()
    assert replay.simulated_events() == replay.recorded_events()
