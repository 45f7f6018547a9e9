"""The simulated API server: versions, conflicts, finalizers, watches and their record."""

import pickle

import pytest

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.kernel.errors import AlreadyExists, Conflict, NotFound
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.view import fold
from engine.objects.objects import from_manifest


class Api:
    """A store with its loop and recorder, and a log of what a watch delivered."""

    def __init__(self, seed: int = 0) -> None:
        self.loop = EventLoop()
        self.recorder = Recorder(self.loop)
        self.store = ObjectStore(self.loop, self.recorder, seed)
        self.delivered: list[tuple[str, str, int]] = []

    def saw(self, event: WatchEvent) -> None:
        self.delivered.append((event.type, event.new.id, self.loop.now))


@pytest.fixture
def api() -> Api:
    return Api()


def pod(name: str = "web", **spec: object) -> dict:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_a_created_object_gets_its_metadata(api: Api) -> None:
    stored = api.store.create(from_manifest(pod()), by="user")
    assert stored.key == "default/web"
    assert stored.uid
    assert stored.resource_version == "1"
    assert stored.creation_timestamp == "2026-01-01T00:00:00Z"


def test_uids_follow_from_the_seed(api: Api) -> None:
    uid = api.store.create(from_manifest(pod()), by="user").uid
    assert uid == Api().store.create(from_manifest(pod()), by="user").uid
    assert uid != Api(seed=1).store.create(from_manifest(pod()), by="user").uid


def test_a_second_object_of_one_name_is_refused(api: Api) -> None:
    api.store.create(from_manifest(pod()), by="user")
    with pytest.raises(AlreadyExists):
        api.store.create(from_manifest(pod()), by="user")


def test_a_write_made_from_an_old_version_conflicts(api: Api) -> None:
    first = api.store.create(from_manifest(pod()), by="user")
    api.store.update(first.patched({"spec": {"nodeName": "n1"}}), by="scheduler")
    with pytest.raises(Conflict, match="modified"):
        api.store.update(first.patched({"spec": {"nodeName": "n2"}}), by="scheduler")


def test_unknown_fields_are_kept_and_given_back(api: Api) -> None:
    api.store.create(from_manifest(pod(futureField={"x": [1]})), by="user")
    api.store.patch("Pod", "default/web", {"spec": {"nodeName": "n1"}}, by="scheduler")
    assert api.store.get("Pod", "default/web").spec["futureField"] == {"x": [1]}


def test_a_finalizer_holds_a_deleted_object(api: Api) -> None:
    manifest = {"kind": "PersistentVolume", "metadata": {"name": "pv", "finalizers": ["protect"]}}
    api.store.create(from_manifest(manifest), by="user")
    held = api.store.delete("PersistentVolume", "pv", by="user")
    assert held.deletion_timestamp
    assert api.store.find("PersistentVolume", "pv") is not None
    api.store.update(held.patched({"metadata": {"finalizers": None}}), by="pv-protection")
    assert api.store.find("PersistentVolume", "pv") is None


def test_a_grace_period_delays_the_removal(api: Api) -> None:
    api.store.create(from_manifest(pod(nodeName="n1")), by="user")
    api.store.delete("Pod", "default/web", by="user", grace_seconds=30)
    assert api.store.get("Pod", "default/web").deletion_timestamp == "2026-01-01T00:00:30Z"
    api.store.delete("Pod", "default/web", by="kubelet")
    with pytest.raises(NotFound):
        api.store.get("Pod", "default/web")


def test_a_watch_delivers_existing_objects_then_writes(api: Api) -> None:
    api.store.create(from_manifest(pod("old")), by="user")
    api.store.watch("Pod", api.saw, latency=5)
    api.loop.run(until=10)
    api.store.create(from_manifest(pod("new")), by="user")
    api.store.delete("Pod", "default/old", by="user")
    api.loop.run(until=20)
    assert api.delivered == [
        ("ADDED", "pod/default/old", 5),
        ("ADDED", "pod/default/new", 15),
        ("DELETED", "pod/default/old", 15),
    ]


def test_event_changes_fold_to_the_objects_view(api: Api) -> None:
    api.store.create(from_manifest(pod()), by="user")
    api.store.patch(
        "Pod", "default/web", {"spec": {"nodeName": "n1"}}, by="scheduler", event="PodBound"
    )
    api.store.create(from_manifest(pod("gone")), by="user")
    api.store.delete("Pod", "default/gone", by="user")
    events, _ = api.recorder.take()
    assert [(event.kind, event.component) for event in events] == [
        ("PodCreated", "user"),
        ("PodBound", "scheduler"),
        ("PodCreated", "user"),
        ("PodDeleted", "user"),
    ]
    state: dict = {}
    for event in events:
        fold(state, event.changes or {})
    assert state == api.recorder.view
    assert state == {
        "pod/default/web": {"phase": "Pending", "node": "n1", "priority": 0, "created": 0}
    }


def test_an_unchanged_restore_continues_with_the_same_digest(api: Api) -> None:
    api.store.create(from_manifest(pod()), by="user")
    api.recorder.take()
    copy: Api = pickle.loads(pickle.dumps(api))
    for each in (api, copy):
        each.store.patch("Pod", "default/web", {"spec": {"nodeName": "n1"}}, by="scheduler")
        each.recorder.take()
    assert copy.recorder.digest == api.recorder.digest
