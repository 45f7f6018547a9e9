"""What becomes of a binding whose pod is deleted, and of threads that overtake each other."""

import itertools
from collections.abc import Mapping
from typing import Any

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND, SECOND
from tests.builders import claim, storage_class, user_of, volume
from tests.engine.controllers.workloads.builders import Json, make_node

NODES = (make_node("n1"), make_node("n2"))
NEVER = storage_class("never", "csi.example.com")
ABSENT = Command(verb="fault", patch={"absent": "csi.example.com"})


def make_claim(name: str = "data", storage_class: str = "never", **spec: Any) -> Json:
    return claim(name, storage_class, **spec)


def make_volume(name: str = "pv") -> Json:
    return volume(name, "manual", hostPath={"path": "/data"})


def make_pod(name: str = "p", claim: str = "data") -> Json:
    return user_of(claim, name, cpu="")


def made(
    *objects: Json, latencies: Mapping[str, Latency] | None = None, profile: str = "v1.20"
) -> Cluster:
    scenario = Scenario(name="x", objects=objects, latencies=latencies or {})
    return Cluster.create(scenario, profile=profile, tie_break="name")


def said(cluster: Cluster, entity: str) -> list[tuple[float, str]]:
    return [
        (event.at / SECOND, event.message)
        for event in cluster.recorder.pending
        if event.object == entity and (event.data or {}).get("event")
    ]


def with_a_binding_that_waits() -> Cluster:
    cluster = made(*NODES, NEVER, make_claim(), make_pod())
    cluster.apply(ABSENT)
    cluster.advance(SECOND // 2)
    assert cluster.scheduler.cache.is_assumed("default/p")
    return cluster


def test_pod_deleted_during_volume_binding_is_forgotten_later() -> None:
    cluster = with_a_binding_that_waits()
    cluster.apply(Command(verb="delete", object="pod/default/p"))
    cluster.advance(SECOND)
    assert cluster.scheduler.cache.is_assumed("default/p")
    cluster.advance(2 * SECOND)
    assert not cluster.scheduler.cache.is_assumed("default/p")
    assert [message for _, message in said(cluster, "pod/default/p")] == [
        "skip schedule deleting pod: default/p",
        'running PreBind plugin "VolumeBinding": binding volumes: pod does not exist any more: '
        'pod "p" not found',
    ]
    assert cluster_findings(cluster) == []


def test_namesake_does_not_wait_for_its_deleted_pod() -> None:
    cluster = with_a_binding_that_waits()
    cluster.apply(Command(verb="delete", object="pod/default/p"))
    bare = make_pod()
    del bare["spec"]["volumes"]
    cluster.apply(Command(verb="create", manifest=bare))
    cluster.advance(SECOND)
    assert cluster.store.get("Pod", "default/p").spec.get("nodeName")
    assert cluster_findings(cluster) == []


def test_pod_woken_before_the_caches_sees_old_facts() -> None:
    lag = {"assume_cache": Latency("fixed", 5 * MILLISECOND)}
    bare = make_claim(storage_class="manual")
    outcomes: list[str] = []
    for latencies in ({}, lag):
        cluster = made(*NODES, make_pod(), latencies=latencies)
        cluster.advance(10 * SECOND)
        cluster.apply(Command(verb="create", manifest=bare))
        cluster.advance(10 * SECOND + 4 * MILLISECOND)
        conditions = cluster.store.get("Pod", "default/p").status["conditions"]
        outcomes.append(conditions[0]["message"].partition(": ")[2])
    assert outcomes == [
        "2 pod has unbound immediate PersistentVolumeClaims.",
        '2 persistentvolumeclaim "data" not found.',
    ]


def test_overtaken_claim_naming_its_volume_awaits_the_resync() -> None:
    for overtaken, bound_at, profile in ((0, 0, "v1.20"), (1, 15, "v1.20"), (1, 0, "v1.36")):
        race = {"bind_race": Latency("fixed", overtaken)}
        named = make_claim(storage_class="manual", volumeName="pv")
        cluster = made(make_volume(), named, latencies=race, profile=profile)
        cluster.advance(20 * SECOND)
        phases = [
            (round(event.at / SECOND), event.kind)
            for event in cluster.recorder.pending
            if event.kind in ("VolumeBound", "ClaimBound")
        ]
        assert phases == [(0, "VolumeBound"), (bound_at, "ClaimBound")]


def test_failed_syncs_are_repeated_after_doubling_delays() -> None:
    """Since v1.36. Upstream: pv_controller_base.go, AddRateLimited()."""
    tries = made(*NODES, profile="v1.36")
    fault = {"fail": "write", "kind": "PersistentVolumeClaim", "by": "pv-controller", "times": 5}
    assert tries.apply(Command(verb="fault", patch=fault)).applied
    tries.apply(Command(verb="create", manifest=make_volume()))
    tries.apply(Command(verb="create", manifest=make_claim(storage_class="manual")))
    tries.advance(SECOND)
    kinds = ("WriteRefused", "ClaimBound")
    pending = tries.recorder.pending
    at = [event.at // MILLISECOND for event in pending if event.kind in kinds]
    # The second attempt is that of the bound volume. The failures cost 5, 10, 20 and 40 ms.
    assert at == [1, 2, 1 + 5, 2 + 10, 6 + 20, 12 + 40]


def test_pod_woken_before_its_claim_awaits_its_backoff() -> None:
    for delay, bound_at in ((0, 10), (8 * MILLISECOND, 15)):
        cluster = made(
            *NODES,
            make_volume(),
            make_pod(),
            latencies={"claim_sync": Latency("fixed", delay)},
        )
        cluster.advance(10 * SECOND)
        cluster.apply(Command(verb="create", manifest=make_claim(storage_class="manual")))
        cluster.advance(20 * SECOND)
        assert [round(at) for at, text in said(cluster, "pod/default/p") if "assigned" in text] == [
            bound_at
        ]


def test_pod_released_at_a_tick_awaits_another_tick() -> None:
    large = make_pod()
    large["spec"] = {
        "containers": [
            {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "99"}}},
        ]
    }
    cluster = made(*NODES, large)
    for tick in range(60):
        labels = {"metadata": {"labels": {"tick": str(tick)}}}
        cluster.apply(Command(verb="patch", object="node/n1", patch=labels))
        cluster.advance(cluster.now + SECOND)
    tried = [round(each.at / SECOND) for each in cluster.take().attempts]
    waits = [later - sooner for sooner, later in itertools.pairwise(tried)]
    assert waits[2:] == [4, 8, 10, 10, 10, 10]


def test_cordoned_node_is_tainted_some_milliseconds_later() -> None:
    cluster = made(*NODES)
    cluster.advance(SECOND)
    cluster.apply(Command(verb="cordon", object="node/n1"))
    cluster.advance(2 * SECOND)
    (tainted,) = [e.at for e in cluster.recorder.pending if e.kind == "NodeTainted"]
    assert tainted == SECOND + (1 + 8) * MILLISECOND


def test_event_series_keeps_the_text_of_its_first() -> None:
    cluster = made(*NODES, make_pod())
    cluster.advance(10 * SECOND)
    cluster.apply(Command(verb="create", manifest=make_claim(storage_class="manual")))
    cluster.advance(11 * SECOND)
    data = [
        (event.data or {}, event.message)
        for event in cluster.recorder.pending
        if event.kind == "FailedScheduling"
    ]
    told, message = data[2]
    assert message == "0/2 nodes are available: 2 pod has unbound immediate PersistentVolumeClaims."
    assert told["series"] == 1
    assert told["note"] == '0/2 nodes are available: 2 persistentvolumeclaim "data" not found.'


def test_pod_deleted_before_binding_is_reported_not_found() -> None:
    bare = make_pod()
    del bare["spec"]["volumes"]
    cluster = made(*NODES, bare)
    cluster.advance(5 * MILLISECOND)
    cluster.apply(Command(verb="delete", object="pod/default/p"))
    cluster.advance(SECOND)
    assert said(cluster, "pod/default/p")[-1][1] == (
        'binding rejected: running Bind plugin "DefaultBinder": pods "p" not found'
    )


def test_pod_that_is_being_deleted_gets_no_node() -> None:
    held = make_pod()
    del held["spec"]["volumes"]
    held["metadata"]["finalizers"] = ["example.com/held"]
    cluster = made(*NODES, held)
    cluster.advance(5 * MILLISECOND)
    cluster.apply(Command(verb="delete", object="pod/default/p"))
    cluster.advance(SECOND)
    assert "nodeName" not in cluster.store.get("Pod", "default/p").spec
    assert said(cluster, "pod/default/p")[0][1].endswith(
        "pod p is being deleted, cannot be assigned to a host"
    )


def test_deleted_waiting_pod_held_by_finalizers_is_skipped() -> None:
    held = make_pod()
    held["metadata"]["finalizers"] = ["example.com/held"]
    cluster = made(*NODES, held)
    cluster.advance(SECOND)
    cluster.apply(Command(verb="delete", object="pod/default/p"))
    cluster.advance(20 * SECOND)
    assert [text for _, text in said(cluster, "pod/default/p")][2:] == [
        "skip schedule deleting pod: default/p"
    ]
