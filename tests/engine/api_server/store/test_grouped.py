"""Objects that are found by namespace, labels and node, as a look at all of them would find them."""

import pickle
from random import Random
from typing import Any

import pytest

from engine.api_server.store.store import ObjectStore
from engine.api_server.webhooks.servers import Servers
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, from_manifest
from engine.objects.scripts.script import Script
from engine.storage.plugins.attach_limits import CODES, is_exhausted
from tests.builders import pod

Manifest = dict[str, Any]


def store_of(*objects: Manifest) -> ObjectStore:
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    for one in objects:
        store.create(from_manifest(one), by="test")
    return store


def attachment(name: str, node: str, volume: str, code: str = "") -> Manifest:
    error = {"attachError": {"errorCode": CODES[code]}} if code else {}
    spec = {"attacher": "d", "nodeName": node, "source": {"persistentVolumeName": volume}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"}
    return {**kind, "metadata": {"name": name}, "spec": spec, "status": error}


@pytest.mark.parametrize("seed", range(20))
def test_objects_are_found_in_their_order(seed: int) -> None:
    chance, store = Random(seed), store_of()
    for turn in range(60):
        namespace = chance.choice("ab")
        labels = {"app": chance.choice("xy"), "tier": "web"}
        one = pod(f"p{chance.randrange(6)}", namespace=namespace, labels=labels)
        key = f"{namespace}/{one['metadata']['name']}"
        if store.find("Pod", key) is None:
            store.create(from_manifest(one), by="test")
        elif chance.random() < 0.4:
            store.delete("Pod", key, by="test")
        else:
            store.patch("Pod", key, {"metadata": {"labels": labels}}, by="test")
        if turn == 30:
            store = pickle.loads(pickle.dumps(store))
        pods = store.objects("Pod")
        found = store.grouped("Pod")
        assert found.in_namespace("a") == [each for each in pods if each.namespace == "a"]
        wanted = {"app": "x", "tier": "web"}
        has_them = [each for each in pods if wanted.items() <= each.labels.items()]
        assert found.labelled("a", wanted) == [each for each in has_them if each.namespace == "a"]


def read_nothing(store: ObjectStore, kind: str) -> list[ApiObject]:
    raise AssertionError(f"all objects of kind {kind} are looked at")


def test_attachments_of_other_nodes_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(
        attachment("a1", "n1", "v", "ResourceExhausted"),
        attachment("a2", "n2", "v"),
        attachment("a3", "n2", "w", "ResourceExhausted"),
    )
    monkeypatch.setattr(ObjectStore, "objects", read_nothing)
    assert is_exhausted(store, "v", "n1")
    assert not is_exhausted(store, "v", "n2")
    assert is_exhausted(store, "w", "n2")
    store.delete("VolumeAttachment", "a3", by="test")
    assert not is_exhausted(store, "w", "n2")


def test_servers_are_looked_for_by_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = {"name": "hook", "namespace": "default"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    service["spec"] = {"selector": {"app": "hook"}, "ports": [{"port": 443}]}
    apps = ("hook", "web", "hook")
    pods = [pod(f"p{place}", labels={"app": app}) for place, app in enumerate(apps)]
    template = {"metadata": {"labels": {"app": "hook"}}, "spec": pod("p")["spec"]}
    workload = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {**metadata, "name": "d"},
    }
    other = {**workload, "metadata": {**metadata, "name": "e"}, "spec": {"template": {}}}
    store = store_of(service, *pods, {**workload, "spec": {"template": template}}, other)
    asked: list[str] = []

    def note(_servers: Servers, one: ApiObject) -> None:
        asked.append(one.name)

    monkeypatch.setattr(Servers, "_answers_of", note)
    monkeypatch.setattr(ObjectStore, "objects", read_nothing)
    no_scripts: tuple[Script, ...] = ()
    assert Servers(store, no_scripts).behind(metadata) is None
    assert asked == ["p0", "p2", "d-0"]
