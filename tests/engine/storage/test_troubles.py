"""What fails and is tried again: pages see how often, why and when next, in the Event's own event."""

import pytest

from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import SECOND
from engine.kernel.view import State, fold
from engine.objects.objects import ApiObject, from_manifest
from engine.storage.kubernetes_events import BURST, RecordedEvents, SpamFilter

_FAILURES = {
    "PersistentVolumeClaim": ("ProvisioningFailed", "ProvisioningSucceeded"),
    "PersistentVolume": ("VolumeFailedRecycle", "VolumeRecycled"),
    "ReplicaSet": ("FailedCreate", "SuccessfulCreate"),
}


class World:
    """One object, and the Events about it."""

    def __init__(self, kind: str) -> None:
        self.loop = EventLoop()
        self.recorder = Recorder(self.loop)
        self.store = ObjectStore(self.loop, self.recorder)
        manifest = {"kind": kind, "metadata": {"name": "one", "namespace": "default"}, "spec": {}}
        self.object: ApiObject = self.store.create(from_manifest(manifest), by="test")
        self.events = RecordedEvents(self.recorder, "test", self.loop, self.store)

    @property
    def shown(self) -> State:
        view: State = {}
        for event in self.recorder.pending:
            fold(view, event.changes or {})
        return view


@pytest.mark.parametrize("kind", _FAILURES)
def test_failures_are_counted_until_one_succeeds(kind: str) -> None:
    world, (failed, ended) = World(kind), _FAILURES[kind]
    world.events.event(world.object, "Warning", failed, "no")
    world.loop.rest_at(2 * SECOND)
    world.events.event(world.object, "Warning", failed, "no space", 9 * SECOND)
    assert world.shown[world.object.id]["trouble"] == {
        "name": failed,
        "failures": 2,
        "error": "no space",
        "failed": 2 * SECOND,
        "retry_at": 9 * SECOND,
    }
    world.events.event(world.object, "Normal", ended, "done")
    assert "trouble" not in world.shown[world.object.id]


def test_another_try_takes_the_place_of_its_time() -> None:
    world = World("PersistentVolumeClaim")
    world.events.event(world.object, "Warning", "ProvisioningFailed", "no", 3 * SECOND)
    world.events.event(world.object, "Normal", "Provisioning", "again")
    trouble = world.shown[world.object.id]["trouble"]
    assert (trouble["failures"], trouble["started"]) == (1, 0)
    assert "retry_at" not in trouble


def test_dropped_events_count_with_the_next() -> None:
    world = World("PersistentVolumeClaim")
    events = SpamFilter(world.loop, world.events)
    for _ in range(BURST + 4):
        events.event(world.object, "Warning", "ProvisioningFailed", "no")
    world.loop.rest_at(301 * SECOND)
    events.event(world.object, "Warning", "ProvisioningFailed", "no")
    assert world.shown[world.object.id]["trouble"]["failures"] == BURST + 5


def test_event_of_a_deleted_object_shows_nothing() -> None:
    world = World("PersistentVolumeClaim")
    world.events.event(world.object, "Warning", "ProvisioningFailed", "no")
    world.store.delete(world.object.kind, world.object.key, by="test")
    world.events.event(world.object, "Warning", "ProvisioningFailed", "no")
    assert world.object.id not in world.shown
    assert world.recorder.troubles == {}
