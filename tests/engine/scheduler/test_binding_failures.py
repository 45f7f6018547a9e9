"""What a binding that fails leaves behind."""

from dataclasses import replace
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND, SECOND
from engine.scheduler.cycle.decision.result import ERROR, ScheduleResult
from engine.storage.binding.assume_cache import AssumeError
from tests.builders import host, local_disk, node, node_of, played, pod, scene, user_of


def test_a_failed_binding_wakes_pods_that_need_room() -> None:
    objects = (node("a", cpu="1"), pod("first"), pod("second"))
    cluster = Cluster.create(scene(*objects), tie_break="name")
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    # The condition of the second pod is written, the binding of the first is not yet.
    cluster.advance(6 * MILLISECOND)
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    played(cluster, 30)
    events = cluster.take().events
    forgotten = [one.seq for one in events if one.kind == "PodForgotten"]
    assert len(forgotten) == 1
    woken = [
        one.seq
        for one in events
        if one.object == "pod/default/second" and one.message == "AssignedPodDelete"
    ]
    assert woken
    assert woken[0] > forgotten[0]
    assert sorted((node_of(cluster, "first"), node_of(cluster, "second"))) == ["", "a"]


@pytest.mark.parametrize(("profile", "expected"), [("v1.34", ""), ("v1.20", "n"), ("v1.16", "n")])
def test_a_failed_binding_clears_the_nomination(profile: str, expected: str) -> None:
    """Since 1.22. Upstream: handleBindingCycleError(), clearNominatedNode."""
    hopeful = {**pod("p"), "status": {"nominatedNodeName": "n"}}
    cluster = Cluster.create(scene(node("n")), profile=profile)
    cluster.advance(SECOND)
    cluster.apply(Command(verb="create", manifest=hopeful))
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    cluster.advance(SECOND + 8 * MILLISECOND)
    stored = cluster.store.get("Pod", "default/p")
    condition = stored.status["conditions"][0]
    assert (condition["reason"], condition["message"][-14:]) == ("SchedulerError", "injected fault")
    assert (stored.status.get("nominatedNodeName") or "") == expected
    # In v1.16 nothing but the flush brings it back.
    played(cluster, 30 if profile != "v1.16" else 120)
    assert node_of(cluster, "p") == "n"


@pytest.mark.parametrize(
    ("profile", "doing"),
    [
        ("v1.34", 'running Reserve plugin "VolumeBinding": '),
        ("v1.20", 'running Reserve plugin "VolumeBinding": '),
        ("v1.16", ""),
    ],
)
def test_a_changed_volume_fails_reserve(
    profile: str, doing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream: framework.go RunReservePluginsReserve()."""

    def late(*_: object) -> None:
        raise AssumeError("out of sync")

    cluster = Cluster.create(scene(host("a"), *local_disk("data", "a")), profile=profile)
    monkeypatch.setattr(cluster.scheduler.volume_work, "assume", late)
    cluster.advance(SECOND)
    cluster.apply(Command(verb="create", manifest=user_of("data")))
    cluster.advance(SECOND + SECOND // 2)
    told = cluster.store.get("Pod", "default/p").status["conditions"][0]
    assert told["message"] == f"{doing}out of sync"


def test_a_changed_volume_fails_the_binding() -> None:
    objects, slow = (host("a"), *local_disk("data", "a")), {"schedule": Latency("fixed", SECOND)}
    cluster = Cluster.create(scene(*objects, latencies=slow))
    cluster.advance(SECOND)
    cluster.apply(Command(verb="create", manifest=user_of("data")))
    cluster.advance(2 * SECOND)
    cluster.apply(Command(verb="delete", object="persistentvolume/data-disk"))
    cluster.advance(2 * SECOND + SECOND // 2)
    told = cluster.store.get("Pod", "default/p").status["conditions"][0]
    assert told["message"] == (
        'running PreBind plugin "VolumeBinding": Operation cannot be fulfilled on '
        'persistentvolumes "data-disk": the object has been modified; please apply your changes to '
        "the latest version and try again"
    )


@pytest.mark.parametrize(
    ("profile", "event", "reason", "condition"),
    [
        (
            "v1.34",
            'running Bind plugin "DefaultBinder": injected fault',
            "SchedulerError",
            'running Bind plugin "DefaultBinder": injected fault',
        ),
        ("v1.16", "Binding rejected: injected fault", "SchedulerError", "injected fault"),
        ("v1.11", "Binding rejected: injected fault", "BindingRejected", ""),
    ],
)
def test_a_rejected_binding_has_two_texts(
    profile: str, event: str, reason: str, condition: str
) -> None:
    """Upstream: v1.16 scheduler.go recordSchedulingFailure(), v1.11 bind()."""
    cluster = Cluster.create(scene(node("n"), pod("p")), profile=profile)
    fault = {"fail": "write", "kind": "Pod", "by": "scheduler", "times": 1}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    # v1.11 tries the pod again as soon as it hears of its condition.
    while "conditions" not in cluster.store.get("Pod", "default/p").status:
        cluster.advance(cluster.now + MILLISECOND)
    told = next(one for one in cluster.take().events if one.kind == "FailedScheduling")
    assert told.message == event
    stored = cluster.store.get("Pod", "default/p").status["conditions"][0]
    assert (stored["reason"], stored["message"]) == (reason, condition)


@pytest.mark.parametrize(
    ("profile", "reason"),
    [("v1.34", "SchedulerError"), ("v1.20", "SchedulerError"), ("v1.16", "VolumeBindingFailed")],
)
def test_v1_16_has_a_reason_for_failed_volume_binding(profile: str, reason: str) -> None:
    """Upstream: v1.16 scheduler.go bindVolumes()."""
    cluster = Cluster.create(scene(host("a"), *local_disk("data", "a")), profile=profile)
    cluster.advance(SECOND)
    cluster.apply(Command(verb="create", manifest=user_of("data")))
    fault = {"fail": "write", "kind": "PersistentVolume", "by": "scheduler", "times": 1}
    assert cluster.apply(Command(verb="fault", patch=fault)).applied
    cluster.advance(SECOND + 200 * MILLISECOND)
    assert cluster.store.get("Pod", "default/p").status["conditions"][0]["reason"] == reason


@pytest.mark.parametrize(
    ("profile", "reason"),
    [("v1.34", "SchedulerError"), ("v1.20", "Unschedulable"), ("v1.16", "Unschedulable")],
)
def test_cycle_errors_have_their_own_reason_since_v1_25(profile: str, reason: str) -> None:
    """Upstream: scheduler.go scheduleOne(), recordSchedulingFailure()."""
    cluster = Cluster.create(scene(node("n"), pod("p")), profile=profile)
    decided = cluster.scheduler.algorithm.schedule

    def failing(*arguments: Any, **named: Any) -> ScheduleResult:
        return replace(decided(*arguments, **named), result=ERROR, node=None, message="no luck")

    cluster.scheduler.algorithm.schedule = failing  # type: ignore[method-assign]
    cluster.advance(100 * MILLISECOND)
    told = cluster.store.get("Pod", "default/p").status["conditions"][0]
    assert (told["reason"], told["message"]) == (reason, "no luck")
