"""What controllers find by index is what a look at all objects would find, in the same order."""

from functools import partial
from random import Random
from typing import Any

import pytest

from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Cluster
from engine.controllers.disruption.disruption import DisruptionController
from engine.controllers.shared.indexes import IndexedInformer, PodsByLabels
from engine.controllers.shared.owners import controller_of, is_controlled_by
from engine.controllers.shared.selection import selector_of
from engine.controllers.workloads import revisions
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import ApiObject, from_manifest
from engine.objects.selectors import LabelSelector
from tests.builders import budget, node, played, pod, scene

Manifest = dict[str, Any]


def replica_set(name: str, owner: str, app: str, tier: str) -> Manifest:
    metadata: Manifest = {"name": name, "namespace": "default", "labels": {"app": app}}
    if owner:
        reference = {"kind": "Deployment", "name": owner, "controller": True}
        metadata["ownerReferences"] = [{**reference, "uid": f"uid-{owner}"}]
    labels = {"app": app, "tier": tier}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": spec}


def deployment(name: str) -> ApiObject:
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return from_manifest({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})


@pytest.mark.parametrize("seed", range(20))
def test_an_informer_finds_all_that_is_asked(seed: int) -> None:
    chance, loop = Random(seed), EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    informer = IndexedInformer(store, "ReplicaSet")
    for turn in range(40):
        name = f"r{chance.randrange(6)}"
        key = f"default/{name}"
        new = replica_set(name, chance.choice(["", "a", "b"]), *chance.choices("xyz", k=2))
        if store.find("ReplicaSet", key) is None:
            store.create(from_manifest(new), by="test")
        elif chance.random() < 0.3:
            store.delete("ReplicaSet", key, by="test")
        else:
            store.update(from_manifest(new), by="test")
        loop.run(until=turn + 1)
        owner, app, tier = deployment(chance.choice("ab")), *chance.choices("xyz", k=2)
        labels = {"app": app, "tier": tier}
        owned = [one for one in informer if is_controlled_by(one, owner)]
        assert [
            one for one in informer.controlled_by(owner) if is_controlled_by(one, owner)
        ] == owned
        chosen = [one for one in informer if selector_of(one).matches(labels)]
        found = informer.selecting("default", labels)
        assert [one for one in found if selector_of(one).matches(labels)] == chosen
        selector = LabelSelector.from_labels({"app": app})
        claimable = partial(is_claimable, owner, selector)
        found = informer.claimable(owner, selector)
        assert [*filter(claimable, found)] == [*filter(claimable, informer)]


def is_claimable(owner: ApiObject, selector: LabelSelector, one: ApiObject) -> bool:
    is_free = controller_of(one) is None and selector.matches(one.labels)
    return is_free or is_controlled_by(one, owner)


@pytest.mark.parametrize("seed", range(20))
def test_pods_are_found_by_their_labels(seed: int) -> None:
    chance, pods = Random(seed), PodsByLabels()
    there: dict[str, ApiObject] = {}
    for _ in range(60):
        one = from_manifest(
            pod(f"p{chance.randrange(8)}", labels={"app": chance.choice("xy"), "tier": "web"})
        )
        if chance.random() < 0.3:
            pods.drop(one.key)
            there.pop(one.key, None)
        else:
            pods.put(one)
            there[one.key] = one
        for labels in ({"app": "x"}, {"tier": "web"}, {"app": "y", "tier": "web"}, {}):
            selector = LabelSelector.from_labels(labels)
            matching = [key for key, each in there.items() if selector.matches(each.labels)]
            assert pods.matching("default", selector) == matching


def test_pods_ask_only_budgets_that_cover_them(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, set[str]] = {}
    ask = DisruptionController._queue_if_covering

    def note(controller: DisruptionController, one: ApiObject, event: Any) -> None:
        asked.setdefault(event.new.name, set()).add(one.name)
        ask(controller, one, event)

    monkeypatch.setattr(DisruptionController, "_queue_if_covering", note)
    names = ["a", "b", "c"]
    pods = [pod(f"of-{name}", labels={"app": name}) for name in names]
    budgets = [budget(name, minAvailable=1) for name in names]
    played(Cluster.create(scene(node("n1"), *pods, *budgets), profile="v1.36"))
    assert asked == {f"of-{name}": {name} for name in names}


def test_a_set_looks_at_its_own_revisions(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[tuple[str, str]] = []

    def note(one: ApiObject, owner: ApiObject) -> bool:
        looked_at.append((owner.name, (one.controller or {}).get("name", "")))
        return is_controlled_by(one, owner)

    monkeypatch.setattr(revisions, "is_controlled_by", note)
    sets = [stateful_set(name) for name in ("a", "b", "c")]
    played(Cluster.create(scene(node("n1"), *sets), profile="v1.36"))
    assert {owner for owner, _ in looked_at} == {"a", "b", "c"}
    assert all(owner == of for owner, of in looked_at)


def stateful_set(name: str) -> Manifest:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod(name)["spec"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": template,
        },
    }
