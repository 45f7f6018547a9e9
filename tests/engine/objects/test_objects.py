"""Pods made alike share what follows from their specs, and nothing else."""

import pickle
from typing import Any

import pytest

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import Pod, from_manifest
from engine.objects.projection import attributes


def make(
    store: ObjectStore, name: str, *, labels: dict[str, str] | None = None, **spec: Any
) -> Pod:
    metadata = {"name": name, "labels": labels or {}}
    raw = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    stored = store.create(from_manifest(raw), by="user")
    assert isinstance(stored, Pod)
    return stored


@pytest.fixture
def store() -> ObjectStore:
    loop = EventLoop()
    return ObjectStore(loop, Recorder(loop))


def test_equal_pods_share_a_template(store: ObjectStore) -> None:
    one, two = (make(store, name, priority=7, schedulerName="mine") for name in ("one", "two"))
    assert one.template is two.template
    assert (two.priority, two.scheduler_name, two.volumes) == (7, "mine", [])


@pytest.mark.parametrize(
    "unlike", [{"labels": {"app": "b"}}, {"priority": 1}, {"nodeName": "n"}, {"volumes": []}]
)
def test_pods_that_differ_do_not(store: ObjectStore, unlike: dict[str, Any]) -> None:
    assert make(store, "one").template is not make(store, "two", **unlike).template


def test_ephemeral_volumes_have_claims_of_their_own(store: ObjectStore) -> None:
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]
    one, two = (make(store, name, volumes=volumes) for name in ("one", "two"))
    assert (one.claim_names, two.claim_names) == (("one-scratch",), ("two-scratch",))


def test_numbers_outside_json_are_no_obstacle(store: ObjectStore) -> None:
    assert make(store, "one", priority=1 << 70).priority == 1 << 70


def test_a_changed_pod_leaves_its_template(store: ObjectStore) -> None:
    one, two = make(store, "one"), make(store, "two")
    patched = store.patch("Pod", two.key, {"metadata": {"labels": {"app": "b"}}}, by="user")
    assert isinstance(patched, Pod)
    assert patched.template is not one.template
    assert two.template is one.template


def test_an_adopted_pod_shows_its_owner(store: ObjectStore) -> None:
    orphan = make(store, "orphan")
    assert "owner" not in attributes(orphan)
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    adopted = store.patch(
        "Pod", orphan.key, {"metadata": {"ownerReferences": [owner]}}, by="replicaset-controller"
    )
    assert attributes(adopted)["owner"] == "web"
    assert adopted.controller == owner


def test_a_checkpoint_keeps_who_is_alike(store: ObjectStore) -> None:
    pods = make(store, "one"), make(store, "two"), make(store, "other", priority=1)
    one, two, other = pickle.loads(pickle.dumps(pods))
    assert one.template is two.template
    assert one.template is not other.template
    assert other.priority == 1


class Watch:
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[WatchEvent] = []

    def hear(self, event: WatchEvent) -> None:
        self.heard.append(event)


def test_a_status_patch_keeps_what_else_was_read() -> None:
    pod = Pod({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {}})
    labels, ended = pod.labels, pod.is_terminated
    new = pod.patched({"status": {"phase": "Failed"}})
    assert (ended, new.is_terminated) == (False, True)
    assert new.labels is labels
    assert new.template is pod.template


def test_binding_records_the_same_as_a_patch() -> None:
    tales: list[Any] = []
    for way in ("bind", "patch"):
        loop = EventLoop()
        recorder = Recorder(loop)
        store, watch = ObjectStore(loop, recorder), Watch()
        pod = make(store, "web")
        store.watch("Pod", watch.hear)
        conditions = [{"type": "PodScheduled", "status": "True"}]
        if way == "bind":
            status = {**pod.status, "conditions": conditions}
            store.bind(pod, "n", status, by="scheduler", event="PodBound", message="to n")
        else:
            patch = {"spec": {"nodeName": "n"}, "status": {"conditions": conditions}}
            store.patch("Pod", pod.key, patch, by="scheduler", event="PodBound", message="to n")
        loop.run(0)
        _, heard = watch.heard
        assert heard.old is pod
        assert heard.plain
        assert isinstance(heard.new, Pod)
        assert heard.new.template is pod.template
        rows = recorder.take()[1]
        tales.append((heard.new.raw, store.record.touched, rows, recorder.view))
    assert tales[0] == tales[1]
    assert tales[0][3]["pod/default/web"]["node"] == "n"
