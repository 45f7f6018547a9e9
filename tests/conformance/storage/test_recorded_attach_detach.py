"""The attach/detach controller against recordings of a real control plane.

What everyone else wrote in a recording (users, the scheduler, kubelets, CSI sidecars) is written into
the store at its time; which VolumeAttachments the controller then makes and deletes, what it writes
to the nodes' status, and its Events, must be what the real one did, object by object and in order.
"""

import json
from typing import Any

import pytest

from engine.api_server.store.store import ObjectStore
from engine.controllers.attach_detach.context import Context
from engine.controllers.attach_detach.controller import AttachDetachController
from engine.controllers.attach_detach.names import COMPONENT
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import ApiObject, from_manifest
from engine.storage.plugins.latencies import FixedLatencies
from engine.storage.plugins.simulated import SimulatedPlugins
from tests.conformance.vectors import Json, parametrised
from tests.vectors import vector_set

FOLDER = vector_set("control-plane-1.20")
ORIGIN = 100 * SECOND
CONTROLLER = "controller-manager/attachdetach-controller"
REPLAYED = (
    "Node",
    "Pod",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "VolumeAttachment",
    "CSIDriver",
)

Fact = tuple[str, str]


def scenarios() -> list[Any]:
    if not FOLDER.exists():
        return parametrised(None, absent="control-plane-1.20")
    return parametrised((p.name, p.name) for p in sorted(FOLDER.iterdir()) if p.is_dir())


class Events:
    """Keeps the controller's Events."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        self.facts.append((f"Pod/{obj.key}", f"{type} {reason}: {message}"))


class Replay:
    """One recording, its writes by others done again."""

    def __init__(self, name: str) -> None:
        folder = FOLDER / name
        self.timeline: Json = json.loads((folder / "timeline.json").read_text())
        lines = (folder / "recording.jsonl").read_text().splitlines()
        self.recording: list[Json] = [json.loads(line) for line in lines]
        self.by = {each["rv"]: each["by"] for each in self.timeline["order"] if "by" in each}
        self.loop = EventLoop()
        self.recorder = Recorder(self.loop)
        self.store = ObjectStore(self.loop, self.recorder)
        self.events = Events()
        plugins = SimulatedPlugins(FixedLatencies(), self.store)
        self.controller = AttachDetachController(
            Context(self.loop, self.store, self.recorder, plugins, self.events)
        )

    def run(self) -> None:
        for line in self.recording:
            if line["kind"] in REPLAYED and self.by.get(int(line["rv"])) != CONTROLLER:
                self.loop.run(ORIGIN + round(line["t"] * 1000) * MILLISECOND)
                self._write(line)
        self.loop.run(self.loop.now + SECOND)

    def _write(self, line: Json) -> None:
        written = {**line["object"], "kind": line["kind"]}
        metadata = {k: v for k, v in written["metadata"].items() if k != "managedFields"}
        written["metadata"] = {**metadata, "resourceVersion": ""}
        found = from_manifest(written)
        known = self.store.find(found.kind, found.key)
        if line["type"] == "DELETED":
            if known is not None:
                cleared = known.with_metadata(finalizers=[], deletionGracePeriodSeconds=0)
                if known.finalizers:
                    self.store.update(cleared, by="recording")
                if self.store.find(found.kind, found.key) is not None:
                    self.store.delete(found.kind, found.key, by="recording")
        elif known is None:
            if found.kind != "VolumeAttachment":
                self.store.create(found, by="recording")
        else:
            self.store.update(self._merged(found, known), by="recording")

    def _merged(self, found: ApiObject, known: ApiObject) -> ApiObject:
        """The recorded write on top of what the controller here has written."""
        if found.kind == "Node":
            attached = known.status.get("volumesAttached")
            return found.patched({"status": {"volumesAttached": attached}})
        if found.kind == "VolumeAttachment" and known.deletion_timestamp:
            return found.with_metadata(deletionTimestamp=known.deletion_timestamp)
        return found

    # What the controller did, here and there

    def done_here(self) -> list[Fact]:
        facts: list[Fact] = []
        for event in self.recorder.pending:
            if event.component != COMPONENT:
                continue
            if event.kind == "VolumeAttachmentCreated":
                assert event.data is not None
                facts.append((f"VolumeAttachment/{event.object.split('/')[1]}", "created"))
            elif event.kind == "VolumeAttachmentTerminating":
                facts.append((f"VolumeAttachment/{event.object.split('/')[1]}", "deleted"))
            elif event.kind == "NodeVolumesAttachedReported":
                count = event.message.split()[0]
                facts.append((f"Node/{event.object.split('/')[1]}", f"{count} attached"))
        return facts + self.events.facts

    def done_there(self) -> list[Fact]:
        facts: list[Fact] = []
        for each in self.timeline["order"]:
            if each.get("source") == "attachdetach-controller":
                kind, reason, rest = each["event"].split(" ", 2)
                about, message = rest.split(": ", 1)
                facts.append((about, f"{kind} {reason}: {message}"))
            elif each.get("by") == CONTROLLER:
                facts += self._recorded(each)
        return facts

    def _recorded(self, each: Json) -> list[Fact]:
        about = each["object"]
        if each["verb"] == "create":
            return [(about, "created")]
        if each["verb"] == "delete":
            return [(about, "deleted")]
        attached = each["changes"]["status.volumesAttached"]["to"] or []
        return [(about, f"{len(attached)} attached")]


def by_object(facts: list[Fact]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for about, fact in facts:
        if not found.get(about) or found[about][-1] != fact:
            found.setdefault(about, []).append(fact)
    return found


@pytest.mark.parametrize("name", scenarios())
def test_the_controller_does_what_the_recorded_one_did(name: str) -> None:
    replay = Replay(name)
    replay.run()
    assert by_object(replay.done_here()) == by_object(replay.done_there())
