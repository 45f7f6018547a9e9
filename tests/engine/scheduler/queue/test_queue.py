import pickle
from typing import Any, ClassVar

import pytest

from engine.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    VOLUME_ADD,
    Action,
    ClusterEvent,
)
from engine.framework.framework import SUCCESS, Code, Status
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import Pod
from engine.scheduler.queue.queued_pod import Place, QueuedPodInfo
from engine.scheduler.queue.requeueing import QueueProfile
from engine.scheduler.queue.scheduling_queue import SchedulingQueue
from engine.versions.registry import VERSIONS
from tests.engine.scheduler.queue.hints import hints_of
from tests.engine.scheduler.queue.queue_contents import active_pods, counts, place_of
from tests.engine.scheduler_builders import ManualClock, make_node, make_pod

MODERN, CLASSIC = "v1.34", "v1.16"


class Gate:
    """Lets through the pods that carry no gates."""

    name: ClassVar[str] = "SchedulingGates"

    def pre_enqueue(self, pod: PodInfo) -> Status:
        gates = pod.pod.spec.get("schedulingGates")
        return Status(Code.UNRESOLVABLE, ("waiting for scheduling gates",)) if gates else SUCCESS


class Moves:
    """Remembers every move that the queue tells."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Place, Place, str, bool]] = []

    def queue_moved(
        self, info: QueuedPodInfo, place_from: Place, event_name: str, *, flushed: bool
    ) -> None:
        name = info.key.split("/")[1]
        self.seen.append((name, place_from, info.place, event_name, flushed))


def make_queue(version: str = MODERN) -> tuple[SchedulingQueue, ManualClock, Moves]:
    clock, moves = ManualClock(), Moves()
    profiles = {
        "": QueueProfile(pre_enqueue=(Gate(),), hints=hints_of())
        if version == MODERN
        else QueueProfile()
    }
    queue = SchedulingQueue(VERSIONS[version].queue, clock, profiles=profiles, listener=moves)
    return queue, clock, moves


def fail(queue: SchedulingQueue, *plugins: str) -> QueuedPodInfo:
    """Pop a pod and send it back, rejected by these plugins."""
    info = queue.pop()
    assert info is not None
    info.rejected_by(*plugins)
    assert queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle) is None
    return info


def with_gate(name: str) -> Pod:
    return make_pod(name, spec={"schedulingGates": [{"name": "wait"}]})


def test_higher_priority_leads_and_equals_come_in_order() -> None:
    queue, clock, _ = make_queue()
    for name, priority in (("low", 0), ("b", 5), ("a", 5), ("high", 9)):
        queue.add(make_pod(name, priority=priority))
    clock.now = 1
    queue.add(make_pod("late", priority=5))
    popped = [info.pod.name for info in iter(queue.pop, None)]
    assert popped == ["high", "b", "a", "late", "low"]


def test_popping_an_empty_queue_gives_nothing() -> None:
    queue, _, _ = make_queue()
    assert queue.pop() is None
    assert not queue.ready


def test_each_move_names_its_cause() -> None:
    queue, clock, moves = make_queue(CLASSIC)
    queue.add(make_pod("a"))
    fail(queue)
    clock.now = 1
    queue.move_all_to_active_or_backoff(NODE_ADD, None, make_node("n1"))
    clock.now = SECOND
    queue.flush_backoff_completed()
    assert moves.seen == [
        ("a", "", "active", "PodAdd", False),
        ("a", "active", "in_flight", "Pop", False),
        ("a", "in_flight", "unschedulable", "ScheduleAttemptFailure", False),
        ("a", "unschedulable", "backoff", "NodeAdd", False),
        ("a", "backoff", "active", "BackoffComplete", False),
    ]


@pytest.mark.parametrize(("version", "age"), [(CLASSIC, 60 * SECOND), (MODERN, 5 * MINUTE)])
def test_pod_rescued_by_the_periodic_flush_is_flagged(version: str, age: int) -> None:
    queue, clock, moves = make_queue(version)
    queue.add(make_pod("a"))
    fail(queue, "NodeAffinity")
    assert queue.flush_times.next_leftover_due() == age + 30 * SECOND
    clock.now = age
    queue.flush_unschedulable_leftover()
    assert place_of(queue, "default/a") == "unschedulable"
    clock.now = age + 30 * SECOND
    queue.flush_unschedulable_leftover()
    assert moves.seen[-1] == ("a", "unschedulable", "active", "UnschedulableTimeout", True)
    assert queue.flush_times.next_leftover_due() is None


def test_modern_backoff_doubles_up_to_ten_seconds() -> None:
    queue, clock, _ = make_queue()
    queue.add(make_pod("a"))
    waits: list[int] = []
    for _ in range(6):
        info = fail(queue, "NodeResourcesFit")
        over_at = queue.backoff_until(info)
        assert over_at is not None
        waits.append((over_at - clock.now) // SECOND)
        clock.now = over_at
        queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
        assert place_of(queue, info.key) == "active"
    # Whole windows of a second: a pod backs off until the window after its expiry begins.
    assert waits == [2, 3, 5, 9, 11, 11]


def test_errors_in_a_row_have_their_own_backoff() -> None:
    queue, clock, _ = make_queue()
    queue.add(make_pod("a"))
    info = fail(queue, "NodeResourcesFit")
    clock.now = 10 * SECOND
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    fail(queue)
    assert (info.unschedulable_count, info.consecutive_errors_count) == (1, 1)
    assert place_of(queue, info.key) == "backoff"


def test_idle_modern_scheduler_takes_pods_from_backoff() -> None:
    queue, clock, moves = make_queue()
    queue.add(make_pod("a"))
    fail(queue, "NodeResourcesFit")
    clock.now = 1
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    assert place_of(queue, "default/a") == "backoff"
    assert queue.ready
    assert queue.pop() is not None
    assert moves.seen[-1] == ("a", "backoff", "in_flight", "PopFromBackoffQ", False)


def test_pod_failed_by_error_stays_in_backoff() -> None:
    queue, _, _ = make_queue()
    queue.add(make_pod("a"))
    fail(queue)
    assert place_of(queue, "default/a") == "backoff"
    assert not queue.ready
    assert queue.pop() is None


def test_backoff_is_flushed_at_the_foretold_tick() -> None:
    for version in (CLASSIC, MODERN):
        queue, clock, _ = make_queue(version)
        clock.now = SECOND // 2
        queue.add(make_pod("a"))
        fail(queue)
        clock.now += 1
        queue.move_all_to_active_or_backoff(NODE_ADD, None, make_node("n1"))
        due = queue.flush_times.next_backoff_expiry()
        assert due == 2 * SECOND
        clock.now = due - SECOND
        queue.flush_backoff_completed()
        assert place_of(queue, "default/a") == "backoff"
        clock.now = due
        queue.flush_backoff_completed()
        assert place_of(queue, "default/a") == "active"


def test_event_that_helps_no_rejecting_plugin_moves_nothing() -> None:
    queue, clock, _ = make_queue()
    queue.add(make_pod("a", cpu="2"))
    fail(queue, "NodeResourcesFit")
    clock.now = MINUTE
    queue.move_all_to_active_or_backoff(VOLUME_ADD, None, None)
    queue.move_all_to_active_or_backoff(NODE_ADD, None, make_node("small", cpu="1"))
    assert place_of(queue, "default/a") == "unschedulable"
    queue.move_all_to_active_or_backoff(NODE_ADD, None, make_node("big", cpu="2"))
    assert place_of(queue, "default/a") == "active"


def test_event_missed_in_flight_sends_pods_to_backoff() -> None:
    queue, _, _ = make_queue()
    queue.add(make_pod("a"))
    info = queue.pop()
    assert info is not None
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    info.rejected_by("NodeResourcesFit")
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    assert place_of(queue, info.key) == "backoff"


def test_useless_event_missed_in_flight_is_forgotten() -> None:
    queue, _, _ = make_queue()
    queue.add(make_pod("a"))
    info = queue.pop()
    assert info is not None
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    info.rejected_by("TaintToleration")
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    assert place_of(queue, info.key) == "unschedulable"


def test_only_events_since_its_pop_count_for_pods() -> None:
    queue, _, _ = make_queue()
    queue.add(make_pod("a"))
    queue.add(make_pod("b"))
    first = queue.pop()
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    second = queue.pop()
    assert first is not None
    assert second is not None
    for info in (first, second):
        info.rejected_by("NodeResourcesFit")
        queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    assert place_of(queue, first.key) == "backoff"
    assert place_of(queue, second.key) == "unschedulable"
    assert counts(queue)["in_flight"] == 0


def test_pending_plugin_that_says_queue_skips_the_backoff() -> None:
    queue, _, _ = make_queue()
    queue.add(make_pod("a"))
    info = queue.pop()
    assert info is not None
    info.rejected_by(pending=("NodeResourcesFit",))
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    assert place_of(queue, info.key) == "active"


def test_gated_pod_waits_until_its_gates_are_gone() -> None:
    queue, _, moves = make_queue()
    gated = with_gate("a")
    queue.add(gated)
    assert place_of(queue, gated.key) == "gated"
    assert counts(queue)["gated"] == 1
    assert not queue.ready
    queue.move_all_to_active_or_backoff(NODE_ADD, None, make_node("n1"))
    assert place_of(queue, gated.key) == "gated"
    queue.update(gated, make_pod("a"))
    assert place_of(queue, gated.key) == "active"
    assert counts(queue)["gated"] == 0
    assert [(event, place) for _, _, place, event, _ in moves.seen] == [
        ("UnschedulablePodAdd", "gated"),
        ("UnschedulablePodUpdatePodSchedulingGatesEliminated", "active"),
    ]


def test_the_leftover_flush_opens_no_gate() -> None:
    queue, clock, _ = make_queue()
    queue.add(with_gate("a"))
    assert queue.flush_times.next_leftover_due() is None
    clock.now = 10 * MINUTE
    queue.flush_unschedulable_leftover()
    assert place_of(queue, "default/a") == "gated"


def test_status_update_leaves_unschedulable_pods_alone() -> None:
    for version in (CLASSIC, MODERN):
        queue, clock, _ = make_queue(version)
        pod = make_pod("a")
        queue.add(pod)
        fail(queue, "TaintToleration")
        clock.now = MINUTE
        queue.update(pod, make_pod("a", version="2", status={"conditions": [{"type": "x"}]}))
        assert place_of(queue, pod.key) == "unschedulable"


def test_new_toleration_returns_a_pod_rejected_by_taints() -> None:
    queue, clock, _ = make_queue()
    pod = make_pod("a")
    queue.add(pod)
    fail(queue, "TaintToleration")
    clock.now = MINUTE
    queue.update(pod, make_pod("a", spec={"tolerations": [{"operator": "Exists"}]}))
    assert place_of(queue, pod.key) == "active"


def test_update_in_flight_is_an_event_to_consider() -> None:
    queue, _, _ = make_queue()
    pod = make_pod("a")
    queue.add(pod)
    info = queue.pop()
    assert info is not None
    queue.update(pod, make_pod("a", spec={"tolerations": [{"operator": "Exists"}]}))
    assert place_of(queue, pod.key) == "in_flight"
    info.rejected_by("TaintToleration")
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    assert place_of(queue, pod.key) == "backoff"


def test_a_modern_update_leaves_a_pod_in_backoff() -> None:
    for version, place in ((CLASSIC, "active"), (MODERN, "backoff")):
        queue, _, _ = make_queue(version)
        pod = make_pod("a")
        queue.add(pod)
        info = queue.pop()
        assert info is not None
        queue.move_request_cycle = queue.scheduling_cycle
        queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
        queue.update(pod, make_pod("a", labels={"x": "y"}))
        assert place_of(queue, pod.key) == place


def test_activation_moves_a_pod_immediately_or_after_flight() -> None:
    queue, _, moves = make_queue()
    pod = make_pod("a")
    queue.add(pod)
    fail(queue, "DefaultPreemption")
    queue.activate([pod])
    assert moves.seen[-1] == ("a", "unschedulable", "active", "ForceActivate", False)
    info = queue.pop()
    assert info is not None
    queue.activate([pod, make_pod("unknown")])
    info.rejected_by("DefaultPreemption")
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    assert place_of(queue, pod.key) == "backoff"


def test_closed_gate_holds_activated_pods_out_of_backoff() -> None:
    """Only who sat its backoff out is not asked again. Upstream: moveToActiveQ()."""
    queue, _, moves = make_queue()
    pod = make_pod("a")
    queue.add(pod)
    fail(queue)
    queue.update(pod, gated := with_gate("a"))
    assert place_of(queue, pod.key) == "backoff"
    queue.activate([gated])
    assert moves.seen[-1] == ("a", "backoff", "gated", "ForceActivate", False)


def test_pod_already_waiting_is_refused_with_upstreams_words() -> None:
    for version, text in (
        (CLASSIC, "pod is already present in the activeQ"),
        (MODERN, "Pod default/a is already present in the active queue"),
    ):
        queue, _, _ = make_queue(version)
        queue.add(make_pod("a"))
        info = queue.pop()
        assert info is not None
        queue.add(make_pod("a"))
        assert queue.add_unschedulable_if_not_present(info, 1) == text


def test_done_ends_the_attempt_and_is_harmless_twice() -> None:
    queue, _, moves = make_queue()
    queue.add(make_pod("a"))
    assert queue.pop() is not None
    queue.done("a")
    queue.done("a")
    assert place_of(queue, "default/a") == ""
    assert [move[3] for move in moves.seen] == ["UnschedulablePodAdd", "Pop", "Done"]


def test_a_deleted_pod_is_nowhere_and_not_nominated() -> None:
    queue, _, _ = make_queue()
    pod = make_pod("a", status={"nominatedNodeName": "n1"})
    queue.add(pod)
    assert [info.key for info in queue.nominator.pods_for_node("n1")] == [pod.key]
    queue.delete(pod)
    assert place_of(queue, pod.key) == ""
    assert queue.nominator.pods_for_node("n1") == []


def test_old_versions_lack_handlers_for_removed_nodes() -> None:
    for version, place in ((CLASSIC, "unschedulable"), (MODERN, "active")):
        queue, clock, _ = make_queue(version)
        constraint = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        queue.add(make_pod("a", spec={"topologySpreadConstraints": [constraint]}))
        fail(queue, "PodTopologySpread")
        clock.now = MINUTE
        node = make_node("n1", labels={"zone": "a"})
        queue.move_all_to_active_or_backoff(NODE_DELETE, node, None)
        assert place_of(queue, "default/a") == place


def test_old_idle_version_takes_node_updates_for_moves() -> None:
    queue, _, _ = make_queue(CLASSIC)
    node = make_node("n1")
    queue.add(make_pod("a"))
    info = queue.pop()
    assert info is not None
    queue.node_updated(node, node)
    queue.add_unschedulable_if_not_present(info, queue.scheduling_cycle)
    assert place_of(queue, info.key) == "backoff"


def test_node_update_moves_pods_only_by_what_changed() -> None:
    for version in (CLASSIC, MODERN):
        queue, clock, moves = make_queue(version)
        queue.add(make_pod("a", cpu="4"))
        fail(queue, "NodeResourcesFit")
        clock.now = MINUTE
        small = make_node("n1", cpu="2")
        queue.node_updated(small, small)
        assert place_of(queue, "default/a") == "unschedulable"
        queue.node_updated(small, make_node("n1"))
        assert place_of(queue, "default/a") == "active"
        named = {CLASSIC: "NodeAllocatableChange", MODERN: "NodeUpdateNodeAllocatable"}
        assert moves.seen[-1][3] == named[version]


def test_an_event_may_concern_only_the_less_important() -> None:
    queue, clock, _ = make_queue()
    for name, priority in (("a", 5), ("b", 6)):
        queue.add(make_pod(name, priority=priority))
        fail(queue, "NodeResourcesFit")
    clock.now = MINUTE
    gone = make_pod("x", status={"nominatedNodeName": "n"})
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, gone, None, at_most=5)
    assert (place_of(queue, "default/a"), place_of(queue, "default/b")) == (
        "active",
        "unschedulable",
    )


def test_plugin_of_ones_own_says_which_events_help() -> None:
    clock = ManualClock()
    listens = Registration(ClusterEvent("example.com/Widget", Action.ADD), is_named_after_pod)
    hints = hints_of(Widgets=listens)
    queue = SchedulingQueue(VERSIONS[MODERN].queue, clock, profiles={"": QueueProfile(hints=hints)})
    queue.add(make_pod("a"))
    fail(queue, "Widgets")
    clock.now = MINUTE
    for widget, place in (("b", "unschedulable"), ("a", "active")):
        event = ClusterEvent("example.com/Widget", Action.ADD)
        queue.move_all_to_active_or_backoff(event, None, make_node(widget))
        assert place_of(queue, "default/a") == place


def is_named_after_pod(pod: PodInfo, old: Any, new: Any) -> bool:
    return new.name == pod.pod.name


def test_lanes_are_listed_by_their_sort_keys() -> None:
    queue, clock, _ = make_queue(CLASSIC)
    for number, name in enumerate(("a", "b", "c")):
        clock.now = number
        queue.add(make_pod(name, priority=number))
    listed = [(info.pod.name, key) for info, key in active_pods(queue)]
    assert listed == [("c", (-2, 2)), ("b", (-1, 1)), ("a", (0, 0))]


def test_a_pickled_queue_goes_on_where_it_was() -> None:
    queue, clock, _ = make_queue()
    for name in ("a", "b", "c", "d"):
        queue.add(make_pod(name))
    fail(queue, "NodeResourcesFit")
    assert queue.pop() is not None
    queue.move_all_to_active_or_backoff(ASSIGNED_POD_DELETE, make_pod("x", node="n"), None)
    copy: SchedulingQueue = pickle.loads(pickle.dumps(queue))
    assert counts(copy) == counts(queue)
    clock.now = MINUTE
    assert _rest(copy) == _rest(queue)


def _rest(queue: SchedulingQueue) -> list[Any]:
    return [(info.key, info.attempts) for info in iter(queue.pop, None)]
