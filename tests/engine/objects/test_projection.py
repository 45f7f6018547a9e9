"""What the pages are shown of claims and volumes follows every write."""

import random
from typing import Any

import pytest

from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, from_manifest
from engine.objects.projection import attributes

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


def _claim() -> ApiObject:
    return from_manifest(
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "a",
            },
        }
    )


def _volume() -> ApiObject:
    return from_manifest(
        {
            "kind": "PersistentVolume",
            "metadata": {"name": "v"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "storageClassName": "a",
            },
        }
    )


def _metadata(draw: random.Random) -> dict[str, Any]:
    annotations = {
        BETA_CLASS: draw.choice([None, "b", "c"]),
        "pv.kubernetes.io/bind-completed": draw.choice([None, "yes"]),
        "pv.kubernetes.io/bound-by-controller": draw.choice([None, "yes"]),
        "volume.kubernetes.io/selected-node": draw.choice([None, "n1", "n2"]),
    }
    chosen = draw.sample(sorted(annotations), draw.randrange(3))
    return {"annotations": {name: annotations[name] for name in chosen}}


def _claim_spec(draw: random.Random) -> dict[str, Any]:
    kind = draw.randrange(4)
    if kind == 0:
        return {"resources": {"requests": {"storage": draw.choice(["1Gi", "2Gi"])}}}
    if kind == 1:
        return {"accessModes": draw.choice([["ReadWriteOnce"], ["ReadWriteMany"]])}
    if kind == 2:
        return {"storageClassName": draw.choice(["a", "b", None])}
    return {"volumeName": draw.choice([None, "v", "w"])}


def _volume_spec(draw: random.Random) -> dict[str, Any]:
    kind = draw.randrange(6)
    if kind == 0:
        return {"capacity": {"storage": draw.choice(["1Gi", "2Gi"])}}
    if kind == 1:
        return {"accessModes": draw.choice([["ReadWriteOnce"], ["ReadWriteMany"]])}
    if kind == 2:
        return {"storageClassName": draw.choice(["a", "b", None])}
    if kind == 3:
        return {"persistentVolumeReclaimPolicy": draw.choice(["Retain", "Delete"])}
    if kind == 4:
        wanted = {"key": "zone", "operator": "In", "values": [draw.choice("ab")]}
        terms = [{"matchExpressions": [wanted]}]
        return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    return {"claimRef": draw.choice([None, {"namespace": "default", "name": draw.choice("cd")}])}


@pytest.mark.parametrize("make", [_claim, _volume])
@pytest.mark.parametrize("seed", range(5))
def test_the_view_follows_every_write(seed: int, make: Any) -> None:
    draw, loop = random.Random(seed), EventLoop()
    recorder = Recorder(loop)
    store = ObjectStore(loop, recorder)
    obj = store.create(make(), by="test")
    spec = _claim_spec if make is _claim else _volume_spec
    for _ in range(80):
        patch: dict[str, Any] = {}
        if draw.random() < 0.6:
            patch["spec"] = spec(draw)
        if draw.random() < 0.5:
            patch["status"] = {"phase": draw.choice(["Pending", "Available", "Bound"])}
        if draw.random() < 0.5:
            patch["metadata"] = _metadata(draw)
        if draw.random() < 0.5:
            obj = store.patch(obj.kind, obj.key, patch, by="test")
        else:
            obj = store.update(obj.patched(patch), by="test")
        recorder.take()
        assert recorder.view[obj.id] == attributes(obj)


def test_a_mark_for_deletion_shows_at_once() -> None:
    loop = EventLoop()
    recorder = Recorder(loop)
    store = ObjectStore(loop, recorder)
    obj = store.create(_volume().with_metadata(finalizers=["keep"]), by="test")
    store.delete(obj.kind, obj.key, by="test")
    recorder.take()
    assert recorder.view[obj.id]["deleting"] == 0


def test_what_still_holds_a_deleted_object_is_shown() -> None:
    loop = EventLoop()
    recorder = Recorder(loop)
    store = ObjectStore(loop, recorder)
    obj = store.create(_claim().with_metadata(finalizers=["a", "b"]), by="test")
    recorder.take()
    assert "finalizers" not in recorder.view[obj.id]
    store.delete(obj.kind, obj.key, by="test")
    recorder.take()
    assert recorder.view[obj.id]["finalizers"] == ["a", "b"]
    store.patch(obj.kind, obj.key, {"metadata": {"finalizers": ["b"]}}, by="test")
    recorder.take()
    assert recorder.view[obj.id]["finalizers"] == ["b"]
    store.patch(obj.kind, obj.key, {"metadata": {"finalizers": None}}, by="test")
    recorder.take()
    assert obj.id not in recorder.view


def test_quota_shows_what_is_used_of_it() -> None:
    expression = {"scopeName": "PriorityClass", "operator": "In", "values": ["high", "low"]}
    quota = {
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"scopes": ["NotTerminating"], "scopeSelector": {"matchExpressions": [expression]}},
        "status": {"hard": {"cpu": "4"}, "used": {"cpu": "1500m"}},
    }
    assert attributes(from_manifest(quota)) == {
        "hard": {"cpu": "4"},
        "used": {"cpu": "1500m"},
        "scopes": ["NotTerminating", "PriorityClass In high/low"],
    }


def test_limit_range_shows_its_items() -> None:
    items = [{"type": "Container", "max": {"cpu": "1"}}]
    metadata = {"name": "l", "namespace": "default"}
    limit_range = {"kind": "LimitRange", "metadata": metadata, "spec": {"limits": items}}
    assert attributes(from_manifest(limit_range)) == {"limits": items}
