"""Golden stories of the scheduler: victims nobody expected, bindings that fail at the last moment,
pods that no event brings back. Each is named by the upstream thread that told it first.
"""

from typing import Any

import pytest

from engine.cluster.checks.cache import cache_differences
from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.input.scenario import Scenario, Step
from engine.kernel.units import SECOND
from tests.scenarios.cases import (
    at,
    budget,
    claim,
    csi_node,
    deployment,
    fault,
    keeps_away_from,
    labelled,
    node,
    play,
    pod,
    running,
    storage_class,
    volume,
)
from tests.scenarios.played import Played

NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."


def app(name: str, cpu: str, priority: int = 0, on: str = "", **spec: Any) -> dict[str, Any]:
    """A pod labelled app: *name*, running already if it is *on* a node."""
    made = labelled(pod(name, cpu=cpu, priority=priority, **spec), app=name)
    return running(made, on) if on else made


# (a) Victims and disruption budgets: kubernetes#129136, and #128307 before it.


def preemption(played: Played) -> dict[str, Any]:
    """What the first attempt of the pod very-high weighed."""
    first = next(one for one in played.attempts if one.pod == "default/very-high")
    assert first.evidence is not None
    found: dict[str, Any] = first.evidence["preemption"]
    return found


def without_costs(candidates: dict[str, Any]) -> dict[str, Any]:
    """Candidates with who goes and who stays; what that costs at each rung is not asked."""
    return {
        node: {name: told for name, told in one.items() if name != "costs"}
        for node, one in candidates.items()
    }


def evictions(played: Played) -> list[str]:
    return [event.object for event in played.events if event.kind == "PodEvicted"]


def very_high(cpu: str) -> Any:
    return at(2, "create", manifest=app("very-high", cpu, 10_000))


@pytest.mark.parametrize("profile", ["v1.34", "v1.20", "v1.16"])
def test_kept_budget_outweighs_a_high_priority(profile: str) -> None:
    """#129136: high (1000) has to go though mid (100) would do: only mid's budget would break.

    low's budget would break as well, but low need not go: it is given its place back first.
    """
    played = play(
        node("n1", "z1", "3"),
        node("n2", "z2", "2"),
        app("high", "2", 1000, on="n1"),
        app("low", "1", 0, on="n1"),
        app("mid", "2", 100, on="n2"),
        budget("low", maxUnavailable=0),
        budget("mid", maxUnavailable=0),
        steps=(very_high("2"),),
        profile=profile,
    )
    assert without_costs(preemption(played)["candidates"]) == {
        "n1": {"victims": ["default/high"], "reprieved": ["default/low"], "pdb_violations": 0},
        "n2": {"victims": ["default/mid"], "reprieved": [], "pdb_violations": 1},
    }
    assert preemption(played)["rungs"] == [{"rung": "fewest PDB violations", "left": ["n1"]}]
    assert evictions(played) == ["pod/default/high"]
    assert played.pods() == {
        "default/low": ("Running", "n1"),
        "default/mid": ("Running", "n2"),
        "default/very-high": ("Running", "n1"),
    }


def test_preemption_is_reported_to_victim_and_preemptor() -> None:
    played = play(node("n1", "z1", "3"), app("high", "2", 1000, on="n1"), steps=(very_high("2"),))
    uid = played.cluster.store.get("Pod", "default/very-high").uid
    kinds = ("PodEvicted", "Preempted", "FailedScheduling", "PodNominated", "PodDeleted")
    assert played.told(*kinds, "PodBound") == [
        ("scheduler", "PodEvicted", "pod/default/high", ""),
        ("scheduler", "Preempted", "pod/default/high", f"Preempted by pod {uid} on node n1"),
        (
            "scheduler",
            "FailedScheduling",
            "pod/default/very-high",
            "0/1 nodes are available: 1 Insufficient cpu.",
        ),
        ("scheduler", "PodNominated", "pod/default/very-high", ""),
        ("kubelet", "PodDeleted", "pod/default/high", ""),
        (
            "scheduler",
            "PodBound",
            "pod/default/very-high",
            "Successfully assigned default/very-high to n1",
        ),
    ]


@pytest.mark.parametrize(
    ("profile", "highest", "gone"),
    [
        # Victims are put in order of importance again: n1 would cost 1000, n2 costs 100.
        ("v1.34", ["n2"], ["pod/default/mid"]),
        # The first victim is taken for the highest, and low was looked at first: n1 costs 0.
        ("v1.20", ["n1"], ["pod/default/low", "pod/default/high"]),
        ("v1.16", ["n1"], ["pod/default/low", "pod/default/high"]),
    ],
)
def test_unordered_victims_cost_the_important_pod_its_place(
    profile: str, highest: list[str], gone: list[str]
) -> None:
    """#128307: as many budgets break on either node; the lower highest priority should decide."""
    played = play(
        node("n1", "z1", "3"),
        node("n2", "z2", "3"),
        app("high", "2", 1000, on="n1"),
        app("low", "1", 0, on="n1"),
        app("mid", "3", 100, on="n2"),
        budget("low", maxUnavailable=0),
        budget("mid", maxUnavailable=0),
        steps=(very_high("3"),),
        profile=profile,
    )
    assert preemption(played)["rungs"] == [
        {"rung": "fewest PDB violations", "left": ["n1", "n2"]},
        {"rung": "lowest highest priority", "left": highest},
    ]
    assert evictions(played) == gone
    assert played.pods()["default/very-high"] == ("Running", highest[0])


# (b) A bind that fails when the volume is made already: kubernetes#121436, #135771.


def first(uid: str = "uid-of-the-old-one") -> dict[str, Any]:
    made = pod("first", "data", cpu="2")
    made["metadata"]["uid"] = uid
    return made


def half_bound(*more: Any, profile: str = "v1.34") -> Played:
    """first gets n1, its disk is made for n1 alone and bound; then its binding fails."""
    return play(
        node("n1", "z1", "2"),
        node("n2", "z2", "2"),
        csi_node("n1"),
        csi_node("n2"),
        storage_class("WaitForFirstConsumer", "csi.example.com"),
        claim("data"),
        first(),
        steps=more,
        profile=profile,
    )


REFUSAL = 'Operation cannot be fulfilled on pods/binding "first": etcdserver: request timed out'
REFUSED = {
    "fail": "write",
    "by": "scheduler",
    "kind": "Pod",
    "reason": "InternalError",
    "text": REFUSAL,
}


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("v1.34", f'running Bind plugin "DefaultBinder": {REFUSAL}'),
        ("v1.20", f'binding rejected: running Bind plugin "DefaultBinder": {REFUSAL}'),
        ("v1.16", f"Binding rejected: {REFUSAL}"),
    ],
)
def test_refused_binding_has_the_words_of_its_version(profile: str, message: str) -> None:
    played = half_bound(at(1.9, "fault", patch=REFUSED), profile=profile)
    (failed,) = (event for event in played.events if event.kind == "FailedScheduling")
    assert failed.message == message
    # Nobody takes its place: it is tried again, and bound where its disk is.
    assert played.pods() == {"default/first": ("Running", "n1")}


def test_pod_with_failed_binding_waits_for_its_volume() -> None:
    """#135771: while first backs off, second takes its place; n2 is empty, and out of reach."""
    played = half_bound(
        at(1.9, "fault", patch=REFUSED),
        at(2.2, "create", manifest=pod("second", cpu="2")),
        at(40, "delete", "pod/default/second"),
    )
    told = ("ClaimBound", "PodAssumed", "PodForgotten", "PodBound", "PodParked", "PodReleased")
    one, two, data = "pod/default/first", "pod/default/second", "claim/default/data"
    assert [
        (event.component, event.kind, event.object) for event in played.events if event.kind in told
    ] == [
        ("scheduler", "PodAssumed", one),
        ("pv-controller", "ClaimBound", data),
        ("scheduler", "PodForgotten", one),
        ("scheduler", "PodAssumed", two),
        ("scheduler", "PodBound", two),
        ("scheduler", "PodParked", one),
        ("scheduler", "PodReleased", two),
        ("scheduler", "PodAssumed", one),
        ("scheduler", "PodBound", one),
    ]
    messages = [event.message for event in played.events if event.kind == "FailedScheduling"]
    assert messages == [
        f'running Bind plugin "DefaultBinder": {REFUSAL}',
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match PersistentVolume's "
        "node affinity. no new claims to deallocate, preemption: 0/2 nodes are available: 1 No "
        "preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
    ]
    stuck = played.at(39)
    assert stuck["claim/default/data"]["phase"] == "Bound"
    assert stuck["claim/default/data"]["selected_node"] == "n1"
    assert played.pods(stuck) == {
        "default/first": ("Pending", ""),
        "default/second": ("Running", "n1"),
    }
    assert played.pods() == {"default/first": ("Running", "n1")}


def test_pod_remade_during_binding_inherits_the_choice() -> None:
    """#121436: the old pod's binding fails, the claim stays bound, and with it the new pod."""
    played = half_bound(
        # The scheduler hears of the new pod only after it has tried to bind the old one.
        at(0.5, "fault", patch={"lag": "Pod", "delay": "2s"}),
        at(1, "delete", "pod/default/first"),
        at(1, "create", manifest=first("uid-of-the-new-one")),
        at(2.5, "cordon", "node/n1"),
        at(30, "uncordon", "node/n1"),
    )
    messages = [event.message for event in played.events if event.kind == "FailedScheduling"]
    assert messages[:2] == [
        'running Bind plugin "DefaultBinder": Operation cannot be fulfilled on pods "first": '
        "StorageError: invalid object, Code: 4, Key: /registry/pods/default/first, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: "
        "uid-of-the-old-one, UID in object meta: uid-of-the-new-one",
        "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "1 node(s) were unschedulable. no new claims to deallocate, preemption: 0/2 nodes are "
        "available: 2 Preemption is not helpful for scheduling.",
    ]
    assert played.at(29)["claim/default/data"]["phase"] == "Bound"
    assert played.pods(played.at(29)) == {"default/first": ("Pending", "")}
    assert played.pods() == {"default/first": ("Running", "n1")}


# (c) A bind that times out while the other replica takes the node: kubernetes#129724.


def replica(name: str) -> dict[str, Any]:
    """A pod with a claim of its own that keeps away from its like."""
    made = pod(name, f"data-{name}", affinity=keeps_away_from(app="db"))
    return labelled(made, app="db")


def test_claim_with_a_chosen_node_is_asked_once() -> None:
    """one's volume takes eleven minutes to be made, the scheduler waits for ten."""
    played = play(
        node("n1", "z1"),
        node("n2", "z2"),
        csi_node("n1"),
        csi_node("n2"),
        storage_class("WaitForFirstConsumer", "csi.example.com"),
        claim("data-one"),
        claim("data-two"),
        replica("one"),
        steps=(
            fault(slow="external-provisioner", kind="PersistentVolume", delay="11m", times=1),
            at(600.5, "create", manifest=replica("two")),
        ),
        until=900 * SECOND,
    )
    told = ("PodAssumed", "ClaimNodeSelected", "PodForgotten", "PodBound", "ClaimBound")
    one, two = "pod/default/one", "pod/default/two"
    assert [(event.kind, event.object) for event in played.events if event.kind in told] == [
        ("PodAssumed", one),
        ("ClaimNodeSelected", "claim/default/data-one"),
        ("PodForgotten", one),
        # n1 is free again, and nobody asks whose volume is being made there.
        ("PodAssumed", two),
        ("ClaimNodeSelected", "claim/default/data-two"),
        ("ClaimBound", "claim/default/data-two"),
        ("PodBound", two),
        ("ClaimBound", "claim/default/data-one"),
    ]
    preempts = (
        " no new claims to deallocate, preemption: 0/2 nodes are available: 1 No preemption "
        "victims found for incoming pod, 1 Preemption is not helpful for scheduling."
    )
    messages = [event.message for event in played.events if event.kind == "FailedScheduling"]
    assert list(dict.fromkeys(messages)) == [
        'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
        # The annotation holds it on n1 …
        "0/2 nodes are available: 1 node(s) didn't find available persistent volumes to bind, "
        "1 node(s) didn't match pod anti-affinity rules." + preempts,
        # … and then the volume that was made there.
        "0/2 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity, "
        "1 node(s) didn't match pod anti-affinity rules." + preempts,
    ]
    timed_out = next(event for event in played.events if event.kind == "PodForgotten")
    assert timed_out.at // SECOND == 600
    assert played.end["claim/default/data-one"]["selected_node"] == "n1"
    assert played.pods() == {"default/one": ("Pending", ""), "default/two": ("Running", "n1")}


# (d) A claim that is not waited for, though its class says so: kubernetes#79888.


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            "v1.34",
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
        ),
        (
            "v1.20",
            "0/1 nodes are available: 1 pod has unbound immediate PersistentVolumeClaims.",
        ),
    ],
)
def test_delayed_claim_naming_its_volume_counts_as_immediate(profile: str, message: str) -> None:
    """Nobody provisions for it, and the scheduler leaves it to the controller."""
    named = claim("data")
    named["spec"]["volumeName"] = "pv"
    played = play(
        node("n1", "z1"),
        storage_class("WaitForFirstConsumer"),
        named,
        pod("web", "data"),
        steps=(at(10, "create", manifest=volume("pv")),),
        profile=profile,
    )
    told = [event.message for event in played.events if event.kind == "FailedScheduling"]
    assert set(told) == {message}
    assert "WaitForFirstConsumer" not in {event.kind for event in played.events}
    # The volume wakes the pod, the controller's resync at 15 s binds the claim.
    assert played.story("VolumePreBound", "VolumeBound", "ClaimBindCompleted", "ClaimBound") == [
        "15 VolumePreBound volume/pv",
        "15 VolumeBound volume/pv",
        "15 ClaimBindCompleted claim/default/data",
        "15 ClaimBound claim/default/data",
    ]
    assert played.pods() == {"default/web": ("Running", "n1")}


# (e) An event that moves nobody, and the flush that does: kubernetes#72122.


def lane(played: Played, seconds: float) -> tuple[str, str]:
    """The lane of the pod late, and what moved it there."""
    shown = played.at(seconds)["pod/default/late"]
    return shown.get("queue", ""), shown.get("mover", "")


def label_removed(profile: str) -> Played:
    """late keeps away from app: early; at 5 s early is that no longer. The node has not changed."""
    return play(
        node("n1", "z1"),
        app("early", "100m", on="n1"),
        app("late", "100m", affinity=keeps_away_from(app="early")),
        steps=(
            at(5, "patch", "pod/default/early", patch={"metadata": {"labels": {"app": "other"}}}),
        ),
        until=400 * SECOND,
        profile=profile,
    )


@pytest.mark.parametrize("profile", ["v1.20", "v1.16"])
def test_unmoved_pod_is_tried_again_after_a_minute(profile: str) -> None:
    """Only who has *affinity* to the changed pod is moved; the rest waits for the flush.

    Each 30 s whoever has waited for more than 60 s is moved: 90 s is the first such tick.
    """
    played = label_removed(profile)
    told = {event.message for event in played.events if event.kind == "FailedScheduling"}
    assert told == {
        "0/1 nodes are available: 1 node(s) didn't match pod affinity/anti-affinity, "
        "1 node(s) didn't match pod anti-affinity rules."
    }
    assert played.at(5.1)["pod/default/early"]["phase"] == "Running"
    assert lane(played, 89) == ("unschedulable", "ScheduleAttemptFailure")
    queued = [event for event in played.events if event.kind == "PodQueued"][-1]
    assert (queued.at, queued.message) == (90 * SECOND, "UnschedulableTimeout")
    assert ((queued.changes or {})["pod/default/late"] or {})["flushed"] is True
    # Nothing of the cluster led here.
    assert queued.cause is None
    assert lane(played, 90.001) == ("in_flight", "UnschedulableTimeout")
    assert played.story("PodBound") == ["90 PodBound pod/default/late"]


def test_a_queueing_hint_hears_of_the_label() -> None:
    played = label_removed("v1.34")
    assert [event.message for event in played.events if event.kind == "PodQueued"] == [
        "UnschedulablePodAdd",
        "AssignedPodUpdatePodLabel",
    ]
    assert played.story("PodBound") == ["5 PodBound pod/default/late"]


def repeller_deleted(profile: str) -> Played:
    """early keeps app: late away, and goes at 5 s."""
    return play(
        node("n1", "z1"),
        app("early", "100m", on="n1", affinity=keeps_away_from(app="late")),
        app("late", "100m"),
        steps=(at(5, "delete", "pod/default/early"),),
        until=400 * SECOND,
        profile=profile,
    )


def test_wrong_hint_leaves_the_pod_to_the_flush() -> None:
    """kubernetes#134393: v1.34 does not ask whether the deleted pod had kept this one out."""
    played = repeller_deleted("v1.34")
    assert played.story("PodReleased", "PodQueued", "PodBound") == [
        "0 PodQueued pod/default/late",
        "6 PodReleased pod/default/early",
        "330 PodQueued pod/default/late",
        "330 PodBound pod/default/late",
    ]
    assert lane(played, 329) == ("unschedulable", "ScheduleAttemptFailure")
    assert [event.message for event in played.events if event.kind == "FailedScheduling"] == [
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules. "
        "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption "
        "victims found for incoming pod."
    ]


@pytest.mark.parametrize("profile", ["v1.20", "v1.16"])
def test_without_hints_every_deletion_moves_every_pod(profile: str) -> None:
    played = repeller_deleted(profile)
    assert [event.message for event in played.events if event.kind == "PodQueued"][-1] == (
        "AssignedPodDelete"
    )
    assert played.story("PodBound") == ["6 PodBound pod/default/late"]


# (j) One preemption leads to the next: kubernetes/community#1228.


def workload(name: str, priority: int) -> dict[str, Any]:
    container = {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": "2"}}}
    return deployment(name, {"priority": priority, "containers": [container]})


def test_returning_victim_breaks_a_budget_that_was_spared() -> None:
    """C may not evict B (1), whose budget would break, and evicts A (10); A comes back for B."""
    played = play(
        node("n1", "z1", "4"),
        workload("a", 10),
        workload("b", 1),
        budget("b", minAvailable=1),
        steps=(at(10, "create", manifest=app("c", "2", 100)),),
    )
    evicted = [event for event in played.events if event.kind == "Preempted"]
    uids = {pod.key: pod.uid for pod in played.cluster.store.objects("Pod")}
    new_a, new_b = (next(key for key in uids if f"/{name}-" in key) for name in "ab")
    old_a, old_b = (event.object.removeprefix("pod/") for event in evicted)
    assert [event.message for event in evicted] == [
        f"Preempted by pod {uids['default/c']} on node n1",
        f"Preempted by pod {uids[new_a]} on node n1",
    ]
    kinds = ("PodEvicted", "PodCreated", "PodNominated", "PodBound", "PodDeleted")
    assert [
        (event.component, event.kind, event.object.removeprefix("pod/"))
        for event in played.events
        if event.at >= 10 * SECOND and event.kind in kinds
    ] == [
        ("scenario", "PodCreated", "default/c"),
        ("scheduler", "PodEvicted", old_a),
        ("scheduler", "PodNominated", "default/c"),
        ("replicaset-controller", "PodCreated", new_a),
        ("kubelet", "PodDeleted", old_a),
        ("scheduler", "PodEvicted", old_b),
        ("scheduler", "PodNominated", new_a),
        ("replicaset-controller", "PodCreated", new_b),
        ("scheduler", "PodBound", "default/c"),
        ("kubelet", "PodDeleted", old_b),
        ("scheduler", "PodBound", new_a),
    ]
    first = next(one for one in played.attempts if one.pod == "default/c")
    assert first.evidence is not None
    assert without_costs(first.evidence["preemption"]["candidates"])["n1"] == {
        "victims": [old_a],
        "reprieved": [old_b],
        "pdb_violations": 0,
    }
    second = [one for one in played.attempts if one.pod == new_a and one.evidence][1]
    assert second.evidence is not None
    assert without_costs(second.evidence["preemption"]["candidates"])["n1"] == {
        "victims": [old_b],
        "reprieved": [],
        "pdb_violations": 1,
    }
    assert played.pods() == {
        "default/c": ("Running", "n1"),
        new_a: ("Running", "n1"),
        new_b: ("Pending", ""),
    }
    status = played.cluster.store.get("PodDisruptionBudget", "default/b").status
    assert (status["currentHealthy"], status["desiredHealthy"]) == (0, 1)


def test_returning_victim_evicts_no_equally_important_pod() -> None:
    """The cascade ends where nobody is less important: here at once."""
    played = play(
        node("n1", "z1", "4"),
        workload("a", 10),
        workload("b", 10),
        steps=(at(10, "create", manifest=app("c", "2", 100)),),
    )
    assert len(played.story("PodEvicted")) == 1
    phases = sorted(phase for phase, _ in played.pods().values())
    assert phases == ["Pending", "Running", "Running"]


# (f) A cache that missed a deletion: kubernetes#55587.


FULL = (
    "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: "
    "0/1 nodes are available: 1 No preemption victims found for incoming pod."
)
MORE_PODS = {"status": {"allocatable": {"pods": "11"}}}


def missed_deletion(*more: Step) -> Scenario:
    """old fills the node, new waits. The scheduler does not hear that old is gone."""
    steps = (
        at(5, "fault", patch={"cut": "Pod", "of": "scheduler"}),
        at(6, "delete", "pod/default/old", grace_seconds=0),
        # The node is still watched: new is tried again, against what the cache has.
        at(20, "patch", "node/n1", patch=MORE_PODS),
        *more,
    )
    objects = (node("n1", "z1", "1"), app("old", "1", on="n1"), app("new", "1"))
    return Scenario(name="golden", objects=objects, steps=steps, until=60 * SECOND)


def test_deleted_pod_stays_in_caches_that_missed_it() -> None:
    cluster = Cluster.create(missed_deletion(), tie_break="name")
    cluster.advance(25 * SECOND)
    assert cluster.store.find("Pod", "default/old") is None
    assert [str(found) for found in cache_differences(cluster)] == [
        "pod/default/old: the cache has the pod on n1, the store nothing"
    ]
    events = cluster.take().events
    failed = [e for e in events if e.kind == "FailedScheduling"]
    assert [(e.at // SECOND, e.message) for e in failed] == [(0, FULL), (20, FULL)]
    # What the scheduler counts with is what is shown of the node.
    assert cluster.view()["node/n1"]["requested"]["cpu"] == 1000


@pytest.mark.parametrize(
    ("cure", "told"),
    [
        # The watch lists anew: what is missing is deleted, with the last state that was known.
        ({"mend": "Pod"}, ["PodReleased", "PodQueued", "AttemptStarted", "PodAssumed"]),
        # Upstream's cure at the time.
        (
            {"restart": "scheduler/default-scheduler"},
            ["SchedulerStopped", "SchedulerStarted", "PodQueued", "AttemptStarted", "PodAssumed"],
        ),
    ],
)
def test_a_new_list_frees_the_place(cure: dict[str, str], told: list[str]) -> None:
    played = Played(missed_deletion(at(30, "fault", patch=cure)), tie_break="name")
    kinds = {*told, "PodReleased"}
    later = [event.kind for event in played.events if event.at >= 30 * SECOND]
    assert [kind for kind in later if kind in kinds] == told
    assert played.pods() == {"default/new": ("Running", "n1")}
    assert cluster_findings(played.cluster) == []


@pytest.mark.parametrize(
    ("profile", "freed", "told"),
    [
        # What is not known to have had no node leaves the cache, too.
        ("v1.34", "5 PodForgotten pod/default/brief", "6 PodBound pod/default/next"),
        # Else the assumption runs out after 30 s, which moves nobody: next waits for the flush.
        ("v1.20", "33 AssumptionExpired pod/default/brief", "90 PodBound pod/default/next"),
        ("v1.16", "33 AssumptionExpired pod/default/brief", "90 PodBound pod/default/next"),
    ],
)
def test_pod_deleted_unseen_stays_in_old_versions_caches(
    profile: str, freed: str, told: str
) -> None:
    """#106102: the last that the scheduler knew of brief was that it had no node."""
    played = play(
        node("n1", "z1", "1"),
        steps=(
            at(2, "create", manifest=app("brief", "1")),
            at(2.005, "fault", patch={"cut": "Pod", "of": "scheduler"}),
            at(3, "delete", "pod/default/brief", grace_seconds=0),
            at(5, "fault", patch={"mend": "Pod"}),
            at(6, "create", manifest=app("next", "1")),
        ),
        until=120 * SECOND,
        profile=profile,
    )
    assert played.story("PodForgotten", "AssumptionExpired") == [freed]
    assert played.story("PodBound") == ["2 PodBound pod/default/brief", told]
    assert cluster_findings(played.cluster) == []


@pytest.mark.parametrize("profile", ["v1.11", "v1.16", "v1.20"])
def test_an_assumption_expires_where_nothing_wakes_the_scheduler(profile: str) -> None:
    played = play(
        node("n1", "z1", "1"),
        steps=(
            at(2, "create", manifest=app("brief", "1")),
            at(2.005, "fault", patch={"cut": "Pod", "of": "scheduler"}),
            at(3, "delete", "pod/default/brief", grace_seconds=0),
        ),
        until=120 * SECOND,
        profile=profile,
    )
    assert played.story("AssumptionExpired") == ["33 AssumptionExpired pod/default/brief"]
    assert cluster_findings(played.cluster) == []


def test_objects_gone_during_a_cut_watch_never_existed() -> None:
    played = play(
        node("n1", "z1"),
        steps=(
            at(1, "fault", patch={"cut": "Pod", "of": "scheduler"}),
            at(2, "create", manifest=app("brief", "1")),
            at(2, "create", manifest=app("lasting", "1")),
            at(3, "delete", "pod/default/brief", grace_seconds=0),
            at(10, "fault", patch={"mend": "Pod"}),
        ),
    )
    assert played.story("PodQueued", "PodBound") == [
        "10 PodQueued pod/default/lasting",
        "10 PodBound pod/default/lasting",
    ]


def test_all_catch_up_after_a_cut_watch() -> None:
    played = play(
        node("n1", "z1"),
        workload("a", 0),
        steps=(
            at(5, "fault", patch={"cut": "Pod"}),
            at(6, "patch", "deployment/default/a", patch={"spec": {"replicas": 2}}),
            at(20, "fault", patch={"mend": "Pod"}),
        ),
    )
    # The ReplicaSet's controller waits to see what it made before it makes more.
    assert played.story("PodCreated") == [
        f"0 PodCreated {pods_of(played)[0]}",
        f"6 PodCreated {pods_of(played)[1]}",
    ]
    assert [line.split()[0] for line in played.story("PodRunning")] == ["1", "21"]


def pods_of(played: Played) -> list[str]:
    return [entity for entity in played.end if entity.startswith("pod/")]


def test_cut_watch_resumes_identically_from_a_checkpoint() -> None:
    scenario = missed_deletion(at(30, "fault", patch={"mend": "Pod"}))
    straight, broken = (Cluster.create(scenario, tie_break="name") for _ in range(2))
    broken.advance(10 * SECOND)
    broken.take()
    broken = Cluster.restore(broken.checkpoint())
    for cluster in (straight, broken):
        cluster.advance(scenario.until)
        cluster.take()
    assert straight.digest() == broken.digest()
