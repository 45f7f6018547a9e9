"""Preemption in a whole cluster that runs."""

from typing import Any

import pytest

from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.errors import Conflict
from engine.kernel.latency import Latency
from engine.kernel.units import SECOND
from tests.builders import apply_command, node, node_of, played, pod, scene


def _started(cluster: Cluster, name: str, at: str) -> None:
    status = {"phase": "Running", "startTime": at}
    command = Command(verb="patch", object=f"pod/default/{name}", patch={"status": status})
    outcome = cluster.apply(command)
    assert outcome.applied, outcome.reason


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
@pytest.mark.parametrize(("first", "second", "spared"), [("01", "02", "a"), ("02", "01", "b")])
def test_who_has_run_for_longer_is_spared(
    profile: str, first: str, second: str, spared: str
) -> None:
    """However it was when they were bound. Upstream: util.MoreImportantPod()."""
    low: dict[str, Any] = {"nodeName": "n", "terminationGracePeriodSeconds": 0}
    objects = [node("n", cpu="2"), pod("a", **low), pod("b", **low)]
    cluster = Cluster.create(scene(*objects, until=100 * SECOND), profile=profile)
    cluster.advance(5 * SECOND)
    _started(cluster, "a", f"2026-01-01T00:00:{first}Z")
    _started(cluster, "b", f"2026-01-01T00:00:{second}Z")
    cluster.advance(10 * SECOND)
    created = cluster.apply(Command(verb="create", manifest=pod("high", priority=10)))
    assert created.applied, created.reason
    played(cluster, 30)
    assert node_of(cluster, "high") == "n"
    left = [one.name for one in cluster.store.objects("Pod")]
    assert sorted(left) == sorted(["high", spared])


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
@pytest.mark.parametrize(("renewed", "gone"), [("", "c"), ("a", "a"), ("b", "b")])
def test_of_equal_pods_the_last_changed_is_evicted(profile: str, renewed: str, gone: str) -> None:
    """Every change puts a pod at the end of its node's list. Upstream: cache.go updatePod()."""
    low: dict[str, Any] = {"nodeName": "n", "terminationGracePeriodSeconds": 0}
    names = ("a", "b", "c")
    objects = [node("n", cpu="3"), *(pod(name, **low) for name in names)]
    cluster = Cluster.create(scene(*objects, until=100 * SECOND), profile=profile)
    cluster.advance(5 * SECOND)
    for name in names:
        _started(cluster, name, "2026-01-01T00:00:01Z")
    if renewed:
        patch = {"status": {"message": "still here"}}
        apply_command(cluster, verb="patch", object=f"pod/default/{renewed}", patch=patch)
    cluster.advance(10 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", priority=10))
    played(cluster, 30)
    left = [one.name for one in cluster.store.objects("Pod")]
    assert sorted(left) == sorted({"high", *names} - {gone})


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_victim_says_for_whom_it_had_to_go(profile: str) -> None:
    """Since 1.26, while it terminates. Upstream: preemption.go PreemptPod()."""
    low = pod("low", cpu="2", nodeName="n")
    steps = ((5, "create", {"manifest": pod("high", cpu="2", priority=10)}),)
    cluster = Cluster.create(scene(node("n", cpu="2"), low, steps=steps), profile=profile)
    cluster.advance(5 * SECOND + SECOND // 2)
    victim = cluster.store.get("Pod", "default/low")
    assert victim.deletion_timestamp
    told = [
        each["message"]
        for each in victim.status["conditions"]
        if each["type"] == "DisruptionTarget" and each["reason"] == "PreemptionByScheduler"
    ]
    expected = "default-scheduler: preempting to accommodate a higher priority pod"
    assert told == ([expected] if profile == "v1.34" else [])


def _facts(cluster: Cluster, name: str) -> list[str]:
    return [one.kind for one in cluster.take().events if one.object == f"pod/default/{name}"]


@pytest.mark.parametrize(("profile", "told"), [("v1.34", 0), ("v1.20", 1), ("v1.16", 1)])
def test_pod_that_terminates_already_is_not_evicted_again(profile: str, told: int) -> None:
    """Upstream: preemption.go prepareCandidateAsync() of 1.34.1 (#133213)."""
    low = pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=60)
    cluster = Cluster.create(scene(node("n", cpu="2"), low), profile=profile)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="delete", object="pod/default/low")
    cluster.advance(5 * SECOND + SECOND // 10)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(5 * SECOND + SECOND // 2)
    assert cluster.store.get("Pod", "default/high").status["nominatedNodeName"] == "n"
    facts = _facts(cluster, "low")
    assert facts.count("Preempted") == told
    assert "PodDisrupted" not in facts


def _with_a_hope(profile: str) -> Cluster:
    """Pod middle is nominated for the only node, which two pods leave slowly."""
    low = {"cpu": "2", "nodeName": "n", "terminationGracePeriodSeconds": 60}
    objects = (node("n"), pod("a", **low), pod("b", **low))
    cluster = Cluster.create(scene(*objects), profile=profile)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("middle", cpu="2", priority=5))
    cluster.advance(5 * SECOND + SECOND // 4)
    cluster.take()
    return cluster


@pytest.mark.parametrize(("profile", "first"), [("v1.34", True), ("v1.20", False)])
def test_nominations_of_others_are_cleared_before_evictions(profile: str, first: bool) -> None:
    """Since 1.32. Upstream: preemption.go prepareCandidateAsync()."""
    cluster = _with_a_hope(profile)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="3", priority=10))
    cluster.advance(5 * SECOND + SECOND // 2)
    told = [one.kind for one in cluster.take().events]
    assert (told.index("NominationCleared") < told.index("Preempted")) == first


@pytest.mark.parametrize("profile", ["v1.34", "v1.16"])
def test_cleared_nomination_counts_until_the_watch_shows_it(profile: str) -> None:
    """Upstream: clearNominatedNodeName() and v1.16 RemoveNominatedNodeName() only write."""
    cluster = _with_a_hope(profile)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="3", priority=10))
    nominator = cluster.schedulers[0].queue.nominator
    while "nominatedNodeName" in cluster.store.get("Pod", "default/middle").status:
        cluster.advance(cluster.next_at or 0, max_steps=1)
    assert "middle" in [one.pod.name for one in nominator.pods_for_node("n")]
    cluster.advance(cluster.now + SECOND // 100)
    assert [one.pod.name for one in nominator.pods_for_node("n")] == ["high"]


@pytest.mark.parametrize(
    ("profile", "order", "text"),
    [
        ("v1.34", ["Preempted", "FailedScheduling"], "Preempted by pod {uid} on node n"),
        ("v1.20", ["Preempted", "FailedScheduling"], "Preempted by default/high on node n"),
        ("v1.16", ["FailedScheduling", "Preempted"], "Preempted by default/high on node n"),
        ("v1.11", ["FailedScheduling", "Preempted"], "by default/high on node n"),
    ],
)
def test_preempted_events_have_the_text_of_the_version(
    profile: str, order: list[str], text: str
) -> None:
    """Upstream: v1.16 scheduler.go scheduleOne(), preempt()."""
    low = pod("low", cpu="2", nodeName="n")
    cluster = Cluster.create(scene(node("n", cpu="2"), low), profile=profile)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(5 * SECOND + SECOND // 10)
    told = [one for one in cluster.take().events if one.kind in order][:2]
    assert [one.kind for one in told] == order
    (preempted,) = (one for one in told if one.kind == "Preempted")
    uid = cluster.store.get("Pod", "default/high").uid
    assert preempted.message == text.format(uid=uid)


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_long_event_messages_are_truncated(profile: str) -> None:
    """Upstream: schedule_one.go truncateMessage(); the condition says all of it."""
    objects: list[Any] = []
    for number in range(40):
        taint = {"key": f"example.com/some-rather-long-key-{number:02d}", "effect": "NoSchedule"}
        objects.append({**node(f"n{number:02d}"), "spec": {"taints": [taint]}})
    cluster = Cluster.create(scene(*objects, pod("p")), profile=profile)
    cluster.advance(SECOND)
    message = cluster.store.get("Pod", "default/p").status["conditions"][0]["message"]
    told = next(one.message for one in cluster.take().events if one.kind == "FailedScheduling")
    # In v1.16 the taints are not named.
    assert (len(message) > 1024) == (profile != "v1.16")
    assert told == (message if len(message) <= 1024 else message[:1020] + " ...")


def test_a_failed_eviction_retries_the_preemptor_at_once() -> None:
    """Since 1.32. Upstream: preemption.go prepareCandidateAsync()."""
    low = pod("low", cpu="2", nodeName="n", terminationGracePeriodSeconds=0)
    cluster = Cluster.create(scene(node("n", cpu="2"), low))
    cluster.advance(5 * SECOND)
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    played(cluster, 10)
    assert node_of(cluster, "high") == "n"
    queued = [one.message for one in cluster.take().events if one.kind == "PodQueued"]
    assert "ForceActivate" in queued


def test_v1_16_shows_the_failure_then_nominates_then_evicts() -> None:
    """Upstream: v1.16 scheduleOne(), preempt()."""
    low = pod("low", cpu="2", nodeName="n")
    cluster = Cluster.create(scene(node("n", cpu="2"), low), profile="v1.16")
    cluster.advance(5 * SECOND)
    cluster.take()
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(5 * SECOND + SECOND // 2)
    told = [event.kind for event in cluster.take().events]
    wanted = ["FailedScheduling", "PodConditionUpdated", "PodNominated", "PodEvicted", "Preempted"]
    assert [kind for kind in told if kind in wanted][:5] == wanted


def test_v1_16_evicts_only_after_writing_the_nomination() -> None:
    """Upstream: v1.16 preempt(), SetNominatedNodeName()."""
    low = pod("low", cpu="2", nodeName="n")
    cluster = Cluster.create(scene(node("n", cpu="2"), low), profile="v1.16")
    cluster.advance(5 * SECOND)
    # Of the scheduler's two writes of this attempt the condition is the first.
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 2}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(5 * SECOND + SECOND // 2)
    assert not cluster.store.get("Pod", "default/low").deletion_timestamp
    assert len(cluster.scheduler.queue.nominator) == 0


@pytest.mark.parametrize(
    ("profile", "evicted", "hopes"), [("v1.34", 0, True), ("v1.20", 0, False), ("v1.16", 0, True)]
)
def test_old_versions_stop_at_the_first_failed_eviction(
    profile: str, evicted: int, hopes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream: v1.16 preempt(), v1.20 PrepareCandidate()."""
    objects = [pod(name, cpu="1", nodeName="n") for name in ("one", "two")]
    cluster = Cluster.create(scene(node("n", cpu="2"), *objects), profile=profile)
    cluster.advance(5 * SECOND)
    cluster.take()
    refused: list[str] = []
    delete = ObjectStore.delete

    def refuse_one(store: ObjectStore, kind: str, key: str, **fields: Any) -> Any:
        if not refused:
            refused.append(key)
            raise Conflict("not now")
        return delete(store, kind, key, **fields)

    monkeypatch.setattr(ObjectStore, "delete", refuse_one)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(5 * SECOND + SECOND // 10)
    told = [event.kind for event in cluster.take().events]
    first, *again = (at for at, kind in enumerate(told) if kind == "AttemptStarted")
    told = told[first : again[0] if again else None]
    assert refused
    assert told.count("Preempted") == evicted
    assert ("PodNominated" in told) == hopes


def test_last_victim_stays_when_another_eviction_failed() -> None:
    """Its context is cancelled. Upstream: preemption.go prepareCandidateAsync()."""
    lows = [pod(f"low-{i}", cpu="1", nodeName="n", priority=2 - i) for i in range(2)]
    cluster = Cluster.create(scene(node("n", cpu="2"), *lows))
    cluster.advance(5 * SECOND)
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    cluster.take()
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(6 * SECOND)
    order = [one.kind for one in cluster.take().events]
    assert order.count("Preempted") == 2
    assert order.index("FailedScheduling") < order.index("Preempted")


def test_missing_victims_retry_the_preemptor_at_once() -> None:
    """Upstream: preemption.go prepareCandidateAsync(), allPodsAlreadyDeleted."""
    low = pod("low", cpu="2", nodeName="n")
    cluster = Cluster.create(scene(node("n", cpu="2"), low))
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    apply_command(cluster, verb="fault", patch={"lag": "Pod", "delay": "3s"})
    apply_command(cluster, verb="delete", object="pod/default/low", grace_seconds=0)
    cluster.advance(6 * SECOND)
    queued = [one.message for one in cluster.take().events if one.kind == "PodQueued"]
    assert "ForceActivate" in queued


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_a_recreated_victim_of_that_name_is_evicted(profile: str) -> None:
    """Pods are deleted by name alone. Upstream: util.DeletePod(), v1.16 podPreemptor."""
    low = pod("low", cpu="2", nodeName="n")
    cluster = Cluster.create(scene(node("n", cpu="2"), low), profile=profile)
    cluster.advance(5 * SECOND)
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    apply_command(cluster, verb="fault", patch={"lag": "Pod", "delay": "3s"})
    apply_command(cluster, verb="delete", object="pod/default/low", grace_seconds=0)
    apply_command(cluster, verb="create", manifest=low)
    cluster.advance(6 * SECOND)
    assert cluster.store.get("Pod", "default/low").deletion_timestamp


@pytest.mark.parametrize(("times", "evicted"), [(3, True), (4, False)])
def test_patch_is_sent_again_when_the_server_fails(times: int, evicted: bool) -> None:
    """Upstream: util.PatchPodStatus(), which marks the victim; its deletion is sent but once."""
    low = pod("low", cpu="2", nodeName="n")
    cluster = Cluster.create(scene(node("n", cpu="2"), low))
    cluster.advance(5 * SECOND)
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "reason": "InternalError"}
    apply_command(cluster, verb="fault", patch={**fault, "times": times})
    cluster.take()
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(6 * SECOND)
    told = [one.kind for one in cluster.take().events]
    assert (told.index("Preempted") < told.index("FailedScheduling")) == evicted


def test_gate_holds_the_preemptor_until_the_last_eviction() -> None:
    """Upstream: DefaultPreemption PreEnqueue() (v1.36)."""
    lows = [
        pod(f"low-{i}", cpu="1", nodeName="n", priority=2 - i, terminationGracePeriodSeconds=0)
        for i in range(2)
    ]
    slow = {"api_write": Latency("fixed", SECOND)}
    cluster = Cluster.create(scene(node("n", cpu="2"), *lows, latencies=slow), profile="v1.36")
    cluster.advance(5 * SECOND)
    cluster.take()
    apply_command(cluster, verb="create", manifest=pod("high", cpu="2", priority=10))
    cluster.advance(30 * SECOND)
    events = cluster.take().events
    order = [one.kind for one in events if one.kind in ("Preempted", "PodGated", "AttemptStarted")]
    assert order == ["AttemptStarted", "Preempted", "PodGated", "Preempted", "AttemptStarted"]
    (gated,) = (one for one in events if one.kind == "PodGated")
    assert gated.data["plugin"] == "DefaultPreemption"
    assert node_of(cluster, "high") == "n"
