"""The volume binder with a real store behind it: what two pods, a failure, a loss make of it."""

from typing import Any

import pytest

from kscope.sim.errors import Conflict
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import ApiObject, Node, Pod, StorageClass
from tests.volumes_engine.storage import (
    Storage,
    make_claim,
    make_class,
    make_node,
    make_pod,
    make_volume,
    reachable_from,
)
from volumes.engine.binding.assume_cache import ClaimAssumeCache, VolumeAssumeCache
from volumes.engine.binding.binder import V1_16, V1_34, BinderRules, PodVolumes, VolumeBinder
from volumes.engine.phases import SELECTED_NODE
from volumes.engine.ports import StoreVolumeApi

HOST = "kubernetes.io/hostname"


class Scheduler:
    """The volume side of a scheduler: caches fed by watches, and the binder."""

    def __init__(self, rules: BinderRules = V1_34) -> None:
        self.storage = storage = Storage()
        self.volumes, self.claims = VolumeAssumeCache(), ClaimAssumeCache()
        storage.listers.volume_informer.on_event(self.volumes.observe)
        storage.listers.claim_informer.on_event(self.claims.observe)
        api = StoreVolumeApi(storage.store, "scheduler")
        self.binder = VolumeBinder(self.volumes, self.claims, self, api, rules=rules)
        self.ended: list[str | None] = []
        no_provisioner = make_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
        storage.create(no_provisioner, make_class("csi", "csi.example.com", "WaitForFirstConsumer"))
        storage.create(make_node("n1"), make_node("n2"))

    def storage_class(self, name: str) -> StorageClass | None:
        return self.storage.listers.storage_class(name)

    def node(self, name: str) -> Node | None:
        return self.storage.listers.node(name)

    def pod(self, key: str) -> Pod | None:
        return self.storage.listers.pod_informer.get(key)

    def csi_node(self, name: str) -> ApiObject | None:
        return None

    def csi_driver(self, name: str) -> ApiObject | None:
        return None

    def storage_capacities(self) -> list[ApiObject]:
        return []

    def done(self, error: str | None) -> None:
        self.ended.append(error)

    def decide(self, pod: Pod, node: str) -> tuple[PodVolumes, list[str]]:
        found = self.node(node)
        assert found is not None
        claims = self.binder.get_pod_claims(pod)
        return self.binder.find_pod_volumes(pod, claims, found)

    def the_pod(self, name: str, *claims: str) -> Pod:
        self.storage.create(make_pod(name, *claims))
        self.storage.run(1)
        pod = self.pod(f"default/{name}")
        assert pod is not None
        return pod

    def bind(self, pod: Pod, node: str) -> PodVolumes:
        volumes, reasons = self.decide(pod, node)
        assert reasons == []
        self.binder.assume_pod_volumes(pod, node, volumes)
        loop: EventLoop = self.storage.loop
        self.binder.bind_pod_volumes(loop, pod, node, volumes, self.done, 10 * SECOND)
        return volumes


def local(name: str, node: str, size: str = "1Gi", **more: Any) -> dict[str, Any]:
    affinity = reachable_from(HOST, node)
    return make_volume(name, size, storageClassName="local", nodeAffinity=affinity, **more)


def local_claim(name: str, size: str = "1Gi") -> dict[str, Any]:
    return make_claim(name, size, storageClassName="local")


def test_a_delayed_claim_is_bound_where_the_pod_goes() -> None:
    scheduler = Scheduler()
    scheduler.storage.create(local("v1", "n1"), local("v2", "n2"), local_claim("c"))
    pod = scheduler.the_pod("p", "c")
    scheduler.bind(pod, "n2")
    scheduler.storage.run(0.5)
    # The claim is bound within milliseconds; the scheduler looks once a second.
    assert scheduler.storage.claim("c").volume_name == "v2"
    assert scheduler.ended == []
    scheduler.storage.run(0.6)
    assert scheduler.ended == [None]
    author = dict(scheduler.storage.facts("volume/v2"))
    assert author["VolumePreBound"] == "scheduler"


def test_what_is_assumed_for_one_pod_is_not_found_for_the_next() -> None:
    scheduler = Scheduler()
    scheduler.storage.create(local("v", "n1"), local_claim("a"), local_claim("b"))
    first, second = scheduler.the_pod("a", "a"), scheduler.the_pod("b", "b")
    volumes, _ = scheduler.decide(first, "n1")
    scheduler.binder.assume_pod_volumes(first, "n1", volumes)
    _, reasons = scheduler.decide(second, "n1")
    assert reasons == ["node(s) didn't find available persistent volumes to bind"]
    scheduler.binder.revert_assumed_pod_volumes(volumes)
    _, reasons = scheduler.decide(second, "n1")
    assert reasons == []


def test_small_claims_leave_the_large_volumes_to_large_ones() -> None:
    scheduler = Scheduler()
    storage = scheduler.storage
    storage.create(local("small", "n1"), local("large", "n1", "5Gi"))
    storage.create(local_claim("big", "5Gi"), local_claim("little"))
    pod = scheduler.the_pod("p", "big", "little")
    volumes, reasons = scheduler.decide(pod, "n1")
    assert reasons == []
    assert volumes.to_dict("n1")["bind"] == {"default/little": "small", "default/big": "large"}


def test_a_write_that_fails_keeps_what_was_written_and_reverts_the_rest() -> None:
    scheduler = Scheduler()
    storage = scheduler.storage
    storage.create(local("v1", "n1"), local("v2", "n1", "5Gi"))
    storage.create(local_claim("a"), local_claim("b", "5Gi"))
    pod = scheduler.the_pod("p", "a", "b")
    volumes, _ = scheduler.decide(pod, "n1")
    scheduler.binder.assume_pod_volumes(pod, "n1", volumes)
    # Someone else is faster with the second volume.
    storage.store.patch("PersistentVolume", "v2", {"metadata": {"labels": {"a": "b"}}}, by="user")
    with pytest.raises(Conflict):
        scheduler.binder.bind_api_update(pod, volumes)
    assert storage.volume("v1").claim_key == "default/a"
    assert scheduler.volumes.is_assumed("v1")
    assert not scheduler.volumes.is_assumed("v2")


def test_a_provisioner_that_gives_the_node_back_ends_the_wait() -> None:
    scheduler = Scheduler()
    scheduler.storage.provisioners.faults.full_nodes = ("n1",)
    scheduler.storage.create(make_claim("c", storageClassName="csi"))
    pod = scheduler.the_pod("p", "c")
    volumes = scheduler.bind(pod, "n1")
    assert volumes.to_dict("n1")["provision"] == {"default/c": "n1"}
    assert scheduler.storage.claim("c").selected_node == "n1"
    # Meanwhile every other node is out of the question.
    _, reasons = scheduler.decide(pod, "n2")
    assert reasons == ["node(s) didn't find available persistent volumes to bind"]
    scheduler.storage.run(3)
    assert scheduler.ended == ['binding volumes: provisioning failed for PVC "c"'] or (
        scheduler.ended == ['binding volumes: selectedNode annotation reset for PVC "c"']
    )
    scheduler.storage.run(1)
    _, reasons = scheduler.decide(pod, "n2")
    assert reasons == []


def test_a_provisioner_that_never_answers_times_the_wait_out() -> None:
    scheduler = Scheduler()
    scheduler.storage.provisioners.faults.absent = ("csi.example.com",)
    scheduler.storage.create(make_claim("c", storageClassName="csi"))
    scheduler.bind(scheduler.the_pod("p", "c"), "n1")
    scheduler.storage.run(9.9)
    assert scheduler.ended == []
    scheduler.storage.run(0.2)
    assert scheduler.ended == ["binding volumes: context deadline exceeded"]
    assert SELECTED_NODE in scheduler.storage.claim("c").annotations


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (V1_16, 'pod "default/p" does not exist any more'),
        (V1_34, 'binding volumes: pod does not exist any more: pod "p" not found'),
    ],
)
def test_a_pod_that_is_deleted_ends_the_wait(rules: BinderRules, text: str) -> None:
    scheduler = Scheduler(rules)
    scheduler.storage.provisioners.faults.absent = ("csi.example.com",)
    scheduler.storage.create(make_claim("c", storageClassName="csi"))
    scheduler.bind(scheduler.the_pod("p", "c"), "n1")
    scheduler.storage.store.delete("Pod", "default/p", by="user")
    scheduler.storage.run(2)
    assert scheduler.ended == [text]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        (V1_16, "node(s) had volume node affinity conflict"),
        (V1_34, "node(s) didn't match PersistentVolume's node affinity"),
    ],
)
def test_a_bound_volume_out_of_reach_is_named(rules: BinderRules, reason: str) -> None:
    scheduler = Scheduler(rules)
    bound = make_volume("v", nodeAffinity=reachable_from(HOST, "n1"))
    scheduler.storage.create(bound, make_claim("c"))
    scheduler.storage.run(20)
    pod = scheduler.the_pod("p", "c")
    _, reasons = scheduler.decide(pod, "n2")
    assert reasons == [reason]
    node = scheduler.node("n2")
    assert node is not None
    told = scheduler.binder.explain(scheduler.binder.get_pod_claims(pod), node)
    assert told == [
        {
            "claim": "default/c",
            "volume": "v",
            "why": "affinity",
            "needs": "kubernetes.io/hostname in (n1)",
        }
    ]
