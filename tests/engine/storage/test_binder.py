"""The scheduler's volumes with a real store: what two pods, a failure and a loss make of them.

The VolumeBinding plugin decides, and the scheduler's volume work assumes and binds, as in a run.
"""

from typing import Any

import numpy as np
import pytest

from engine.api_server.store.watches import WatchEvent
from engine.framework.framework import Code, CycleState, Detail
from engine.framework.framework import PodVolumes as Plan
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.framework.wording import WORDING_1_20, Wording
from engine.kernel.errors import Conflict
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import Pod
from engine.objects.phases import SELECTED_NODE
from engine.plugins.volume_binding.plugin import VolumeBinding
from engine.scheduler.cycle.volume_work import SchedulerLookups, VolumeWork
from engine.storage.binding.binder import PodVolumes
from engine.versions.registry import VERSIONS
from tests.builders import reachable_from
from tests.engine.storage_world import (
    Storage,
    make_claim,
    make_class,
    make_node,
    make_pod,
    make_volume,
)

HOST = "kubernetes.io/hostname"


class Scheduler:
    """The volume side of a scheduler: its caches, fed by watches, the plugin and the binder."""

    def __init__(self, version: str = "v1.34") -> None:
        self.storage = storage = Storage()
        self.handle = Handle()
        self.pods: dict[str, Pod] = {}
        store, loop = storage.store, storage.loop
        self.work = VolumeWork(
            loop,
            store,
            SchedulerLookups(self.handle, self.pods),
            VERSIONS[version],
            storage.latencies,
            {"default-scheduler": 10 * SECOND},
        )
        self.plugin = VolumeBinding({}, self.handle)
        self.ended: list[str | None] = []
        for kind in ("PersistentVolume", "PersistentVolumeClaim"):
            store.watch(kind, self.work.observe, MILLISECOND)
        for kind in ("Node", "StorageClass", "Pod"):
            store.watch(kind, self.observe, MILLISECOND)
        no_provisioner = make_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer")
        storage.create(no_provisioner, make_class("csi", "csi.example.com", "WaitForFirstConsumer"))
        storage.create(make_node("n1"), make_node("n2"))

    def observe(self, event: WatchEvent) -> None:
        if isinstance(event.new, Pod):
            if event.type == "DELETED":
                self.pods.pop(event.new.key, None)
            else:
                self.pods[event.new.key] = event.new
        elif event.new.kind == "Node" and event.type == "ADDED":
            self.handle.table.add_node(event.new)  # type: ignore[arg-type]
        elif event.new.kind == "StorageClass":
            self.handle.listers.put(event.new)

    def done(self, error: str | None) -> None:
        self.ended.append(error)

    def decide(
        self, pod: PodInfo, node: str, wording: Wording | None = None
    ) -> tuple[Plan, list[str]]:
        """What is to be bound on *node*, or why the node is refused."""
        state, code = self.filter(pod, node)
        if not code:
            return self.plugin.plan(state, self.handle.table.rows[node]), []
        status = self.plugin.explain(state, code)
        return Plan(), [*(wording or Wording()).of(status).reasons]

    def filter(self, pod: PodInfo, node: str) -> tuple[CycleState, int]:
        state = CycleState(pod, self.handle.templates.of(pod))
        assert self.plugin.pre_filter(state).status.code is Code.SUCCESS
        row = self.handle.table.rows[node]
        return state, int(self.plugin.filter(state, np.array([row]))[0])

    def explain(self, pod: PodInfo, node: str) -> Detail:
        state, code = self.filter(pod, node)
        return self.plugin.detail(state, self.handle.table.rows[node], code)

    def the_pod(self, name: str, *claims: str) -> PodInfo:
        self.storage.create(make_pod(name, *claims))
        self.storage.run(1)
        return PodInfo(self.pods[f"default/{name}"], VERSIONS["v1.34"].resources)

    def assume(self, pod: PodInfo, node: str) -> PodVolumes:
        plan, reasons = self.decide(pod, node)
        assert reasons == []
        volumes = self.work.assume(pod, node, plan)
        assert volumes is not None
        return volumes

    def bind(self, pod: PodInfo, node: str) -> PodVolumes:
        volumes = self.assume(pod, node)
        self.work.bind(pod, node, volumes, self.done)
        return volumes


def local(name: str, node: str, size: str = "1Gi", **more: Any) -> dict[str, Any]:
    affinity = reachable_from(HOST, node)
    return make_volume(name, size, storageClassName="local", nodeAffinity=affinity, **more)


def local_claim(name: str, size: str = "1Gi") -> dict[str, Any]:
    return make_claim(name, size, storageClassName="local")


def test_a_delayed_claim_binds_where_the_pod_goes() -> None:
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


def test_assumed_volumes_are_not_found_again() -> None:
    scheduler = Scheduler()
    scheduler.storage.create(local("v", "n1"), local_claim("a"), local_claim("b"))
    first, second = scheduler.the_pod("a", "a"), scheduler.the_pod("b", "b")
    volumes = scheduler.assume(first, "n1")
    _, reasons = scheduler.decide(second, "n1")
    assert reasons == ["node(s) didn't find available persistent volumes to bind"]
    scheduler.work.revert(volumes)
    _, reasons = scheduler.decide(second, "n1")
    assert reasons == []


def test_small_claims_take_small_volumes() -> None:
    scheduler = Scheduler()
    storage = scheduler.storage
    storage.create(local("small", "n1"), local("large", "n1", "5Gi"))
    storage.create(local_claim("big", "5Gi"), local_claim("little"))
    pod = scheduler.the_pod("p", "big", "little")
    plan, reasons = scheduler.decide(pod, "n1")
    assert reasons == []
    assert plan.bind == {"default/little": "small", "default/big": "large"}


def test_a_failed_write_reverts_only_later_assumptions() -> None:
    scheduler = Scheduler()
    storage = scheduler.storage
    storage.create(local("v1", "n1"), local("v2", "n1", "5Gi"))
    storage.create(local_claim("a"), local_claim("b", "5Gi"))
    pod = scheduler.the_pod("p", "a", "b")
    volumes = scheduler.assume(pod, "n1")
    # Someone else is faster with the second volume.
    storage.store.patch("PersistentVolume", "v2", {"metadata": {"labels": {"a": "b"}}}, by="user")
    with pytest.raises(Conflict):
        scheduler.work.bind_round(pod, volumes)
    assert storage.volume("v1").claim_key == "default/a"
    volumes_seen = scheduler.work.binder.volumes
    assert volumes_seen.get("v1") is not volumes_seen.get_api("v1")
    assert volumes_seen.get("v2") is volumes_seen.get_api("v2")


def test_removing_the_selected_node_ends_the_wait() -> None:
    scheduler = Scheduler()
    scheduler.storage.provisioners.faults.full_nodes = ("n1",)
    scheduler.storage.create(make_claim("c", storageClassName="csi"))
    pod = scheduler.the_pod("p", "c")
    volumes = scheduler.bind(pod, "n1")
    assert [claim.key for claim in volumes.dynamic_provisions or ()] == ["default/c"]
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


def test_a_silent_provisioner_times_the_wait_out() -> None:
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
    ("version", "text"),
    [
        ("v1.16", 'pod "default/p" does not exist any more'),
        ("v1.34", 'binding volumes: pod does not exist any more: pod "p" not found'),
    ],
)
def test_a_pod_that_is_deleted_ends_the_wait(version: str, text: str) -> None:
    scheduler = Scheduler(version)
    scheduler.storage.provisioners.faults.absent = ("csi.example.com",)
    scheduler.storage.create(make_claim("c", storageClassName="csi"))
    scheduler.bind(scheduler.the_pod("p", "c"), "n1")
    scheduler.storage.store.delete("Pod", "default/p", by="user")
    scheduler.storage.run(2)
    assert scheduler.ended == [text]


@pytest.mark.parametrize(
    ("wording", "reason"),
    [
        (WORDING_1_20, "node(s) had volume node affinity conflict"),
        (Wording(), "node(s) didn't match PersistentVolume's node affinity"),
    ],
)
def test_a_bound_volume_out_of_reach_is_named(wording: Wording, reason: str) -> None:
    scheduler = Scheduler()
    bound = make_volume("v", nodeAffinity=reachable_from(HOST, "n1"))
    scheduler.storage.create(bound, make_claim("c"))
    scheduler.storage.run(20)
    pod = scheduler.the_pod("p", "c")
    _, reasons = scheduler.decide(pod, "n2", wording)
    assert reasons == [reason]
    detail = scheduler.explain(pod, "n2")
    assert detail.text == "volume v of c is out of reach"
    assert detail.numbers == {"volume": "v", "needs": "kubernetes.io/hostname in (n1)"}
