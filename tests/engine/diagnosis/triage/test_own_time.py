"""A cluster that was brought has the time of its files: what is timed goes on as it would there."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.latency import Latency
from engine.kernel.units import SECOND
from tests.builders.clusters import apply_command, node_of, played, scene
from tests.builders.devices import (
    DRIVER,
    claims_in_pod,
    device,
    device_class,
    device_request,
    resource_claim,
    resource_slice,
)
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.controllers.workloads.builders import make
from tests.engine.diagnosis.triage.clusters import ELEVEN, NOON, placed

Manifest = dict[str, Any]
TAINT = {"key": "maintenance", "effect": "NoExecute"}


def ago(**parts: int) -> str:
    """A time before noon; negative numbers for one after it."""
    moment = datetime.fromisoformat(NOON) - timedelta(**parts)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def standing(*manifests: Manifest, **fields: Any) -> Cluster:
    """A cluster at noon."""
    return Cluster.create(scene(*manifests, instant=NOON, **fields))


def leaving(name: str, at: str, grace: int = 30) -> Manifest:
    """A running pod on n1 whose grace period ends at *at*."""
    made = placed(pod(name), "n1", phase="Running")
    made["metadata"] |= {"deletionTimestamp": at, "deletionGracePeriodSeconds": grace}
    return made


def loaded(*texts: str) -> Scenario:
    """The scenario of files with these texts, imported at noon."""
    found = load_files([(f"{n}.yaml", text.encode()) for n, text in enumerate(texts)])
    assert found.ok, found.problems
    return Scenario.from_load(found, name="files", at=NOON)


def namespace(**metadata: str) -> str:
    fields = "".join(f", {name}: '{value}'" for name, value in metadata.items())
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a{fields}}}\n"


HEADER = "apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {name: x}\nspec: "


def test_files_begin_at_their_newest_time() -> None:
    assert loaded(namespace(creationTimestamp=ago(hours=3))).instant == ago(hours=3)


def test_what_no_server_stored_has_no_time() -> None:
    scenario = loaded(namespace())
    assert "instant" not in scenario.to_dict()
    assert Cluster.create(scenario).store.get("Namespace", "a").creation_timestamp[:4] == "2026"


def test_stored_objects_without_times_get_the_import_time() -> None:
    assert loaded(namespace(uid="7f")).instant == NOON


def test_files_with_steps_keep_the_usual_time() -> None:
    header = HEADER + "{steps: [{at: 1s, delete: namespace/a}]}"
    assert loaded(namespace(creationTimestamp=ago(hours=3)), header).instant == ""


def test_a_scenario_may_name_its_instant() -> None:
    header = HEADER + f"{{instant: '{NOON}', steps: [{{at: 1s, delete: namespace/a}}]}}"
    scenario = loaded(namespace(creationTimestamp=ago(hours=3)), header)
    assert Scenario.from_dict(scenario.to_dict()).instant == NOON


@pytest.mark.parametrize("value", ["noon", "2026-11-20T12:00:00.5Z", "9999-01-01T00:00:00Z", 7])
def test_an_instant_must_be_a_whole_second(value: Any) -> None:
    text = HEADER + f"{{instant: {value!r}}}"
    (problem,) = load_files([("a.yaml", (namespace() + "---\n" + text).encode())]).problems
    assert (problem.field, problem.document) == ("spec.instant", 2)
    assert "expected a time in whole seconds of UTC" in problem.message


def test_new_objects_are_younger_than_those_brought() -> None:
    cluster = played(standing(node("n1"), make("Deployment", replicas=1)), 5)
    (made,) = cluster.store.objects("Pod")
    assert NOON <= made.creation_timestamp <= ago(seconds=-2)
    assert ago(seconds=-5) > made.status["startTime"] >= NOON


def test_pages_show_times_of_before_as_negative() -> None:
    brought = node("n1")
    brought["metadata"]["creationTimestamp"] = ago(hours=1)
    cluster = standing(brought)
    cluster.take()
    assert cluster.view()["node/n1"]["created"] == -3600 * SECOND
    assert cluster.held_view()["node/n1"]["created"] == -3600 * SECOND


def test_a_checkpoint_keeps_the_time() -> None:
    cluster = standing(node("n1"))
    cluster.take()
    again = Cluster.restore(cluster.checkpoint())
    apply_command(again, verb="create", manifest=pod("p"))
    assert again.store.get("Pod", "default/p").creation_timestamp == NOON


def test_pod_within_its_grace_ends_with_it() -> None:
    slow = {"stop": Latency("fixed", 600 * SECOND)}
    cluster = standing(node("n1"), leaving("p", ago(seconds=-10)), latencies=slow)
    assert played(cluster, 9).store.find("Pod", "default/p") is not None
    assert played(cluster, 2).store.find("Pod", "default/p") is None


def test_overdue_pod_is_stopped_again() -> None:
    cluster = standing(node("n1"), leaving("p", ago(minutes=40)))
    assert played(cluster).store.find("Pod", "default/p") is None


@pytest.mark.parametrize("profile", ["v1.20", "v1.34", "v1.36"])
@pytest.mark.parametrize(("deadline", "ends"), [(300, True), (630, True), (900, False)])
def test_deadline_of_a_job_counts_from_its_start(profile: str, deadline: int, ends: bool) -> None:
    job = make("Job", activeDeadlineSeconds=deadline)
    job["status"] = {"startTime": ago(minutes=10)}
    scenario = scene(node("n1"), job, instant=NOON)
    cluster = played(Cluster.create(scenario, profile=profile))
    conditions = cluster.store.get("Job", "default/web").status.get("conditions") or []
    assert any(each.get("reason") == "DeadlineExceeded" for each in conditions) is ends


@pytest.mark.parametrize("before", ["Pending", "Running"])
@pytest.mark.parametrize(("deadline", "phase"), [(300, "Failed"), (900, "Running")])
def test_deadline_of_a_pod_counts_from_its_start(before: str, deadline: int, phase: str) -> None:
    start = {"startTime": ago(minutes=10)}
    brought = placed(pod("p", activeDeadlineSeconds=deadline), "n1", phase=before, **start)
    assert (
        played(standing(node("n1"), brought)).store.get("Pod", "default/p").status["phase"] == phase
    )


@pytest.mark.parametrize("minutes", [2, 20])
def test_toleration_of_a_node_taint_counts_anew(minutes: int) -> None:
    """Upstream: tainteviction, processPodOnNode() knows only when it saw the taint itself."""
    toleration = {"key": "maintenance", "operator": "Exists", "tolerationSeconds": 300}
    taint = {**TAINT, "timeAdded": ago(minutes=minutes)}
    cluster = standing(
        node("n1", taints=[taint]),
        placed(pod("p", tolerations=[toleration]), phase="Running"),
        until=1000 * SECOND,
    )
    assert not played(cluster, 295).store.get("Pod", "default/p").deletion_timestamp
    assert played(cluster, 60).store.find("Pod", "default/p") is None


def test_ready_pod_is_available_after_long_enough() -> None:
    brought = make("Deployment", replicas=1, minReadySeconds=600)
    cluster = played(standing(node("n1"), brought), 60)
    assert not cluster.store.get("Deployment", "default/web").status.get("availableReplicas")
    (replica_set,) = cluster.store.objects("ReplicaSet")
    (running,) = cluster.store.objects("Pod")
    objects = [each.raw for each in (cluster.store.get("Deployment", "default/web"), replica_set)]
    later = {**scene(node("n1"), *objects, running.raw).to_dict(), "instant": ago(minutes=-11)}
    again = played(Cluster.create(Scenario.from_dict(later)), 5)
    assert again.store.get("Deployment", "default/web").status["availableReplicas"] == 1


def test_deletion_alone_shows_no_time() -> None:
    deleted = {"deletionTimestamp": ELEVEN}
    assert loaded(namespace(**deleted)).instant == ""
    dated = namespace(creationTimestamp=ago(hours=3)).replace("name: a", "name: b")
    assert loaded(namespace(**deleted), dated).instant == ELEVEN


def test_queue_and_cache_are_filled_when_it_opens() -> None:
    cluster = standing(
        node("n1"), placed(pod("runs"), "n1", phase="Running"), pod("giant", cpu="99")
    )
    cluster.take()
    shown = cluster.view()
    assert shown["pod/default/runs"]["cache"] == "added"
    assert shown["pod/default/giant"]["queue"] == "active"
    assert cluster.loop.steps == 0


def test_later_writes_reach_its_scheduler_late() -> None:
    cluster = standing(node("n1"), latencies={"watch": Latency("fixed", 2 * SECOND)})
    apply_command(cluster, verb="create", manifest=pod("new"))
    cluster.advance(SECOND)
    cluster.take()
    assert "queue" not in cluster.view()["pod/default/new"]


def test_nominated_pod_waits_for_the_remaining_grace() -> None:
    victim = leaving("low", ago(seconds=-10))
    victim["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "4"}}
    waiting = pod("high", cpu="4", priority=1000)
    waiting["status"] = {"phase": "Pending", "nominatedNodeName": "n1"}
    slow = {"stop": Latency("fixed", 600 * SECOND)}
    cluster = played(standing(node("n1"), victim, waiting, latencies=slow), 5)
    answer = diagnose(cluster, "default/high")
    assert answer.sentence == "Waits for low to leave n1; 5 s of grace are left."
    assert not answer.fixes
    assert node_of(played(cluster, 15), "high") == "n1"


def test_leases_of_schedulers_are_renewed_by_the_clock() -> None:
    several = ({"name": "default-scheduler", "replicas": 2},)
    cluster = standing(node("n1"), schedulers=several)
    (lease,) = cluster.store.objects("Lease")
    assert lease.spec["acquireTime"] == lease.creation_timestamp == NOON
    played(cluster, 20)
    apply_command(cluster, verb="stop_scheduler", object="scheduler/default-scheduler-0")
    (lease,) = cluster.store.objects("Lease")
    assert NOON < lease.spec["renewTime"] <= ago(seconds=-20)


@pytest.mark.parametrize(("minutes", "stays"), [(3, True), (6, False)])
def test_toleration_of_a_device_counts_from_its_taint(minutes: int, stays: bool) -> None:
    """Upstream: devicetainteviction, claimEvictionTime()."""
    bears = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    taint = {"key": "hot", "effect": "NoExecute", "timeAdded": ago(minutes=minutes)}
    claim = resource_claim("c", device_request("r", "gpu", tolerations=[bears]))
    given = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "d0"}
    claim["status"] = {
        "allocation": {"devices": {"results": [given]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid-p"}],
    }
    user = placed(pod("p", **claims_in_pod("c")), phase="Running")
    user["metadata"]["uid"] = "uid-p"
    devices = resource_slice("n1", [device("d0", taints=[taint])])
    cluster = played(standing(node("n1"), device_class("gpu"), devices, claim, user), 90)
    assert (cluster.store.find("Pod", "default/p") is not None) is stays


def test_overdue_pod_takes_nothing_of_a_quota() -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "5"}},
    }
    timely, overdue = leaving("timely", ago(seconds=-10)), leaving("overdue", ago(minutes=40))
    cluster = standing(node("n1"), quota, timely, overdue)
    assert cluster.store.get("ResourceQuota", "default/q").status["used"] == {"pods": "1"}
