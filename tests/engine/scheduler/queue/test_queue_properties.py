"""A naive model beside the queue: each pod is in exactly one place, and nothing is lost."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from engine.framework.cluster_events import ASSIGNED_POD_DELETE, NODE_ADD, ClusterEvent
from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from engine.scheduler.queue.queued_pod import Place, QueuedPodInfo
from engine.scheduler.queue.requeueing import QueueProfile
from engine.scheduler.queue.scheduling_queue import SchedulingQueue
from engine.versions.registry import VERSIONS
from tests.engine.scheduler.queue.hints import hints_of
from tests.engine.scheduler.queue.queue_contents import (
    active_pods,
    backoff_pods,
    counts,
    gated_pods,
    in_flight_pods,
    place_of,
    unschedulable_pods,
)
from tests.engine.scheduler.queue.test_queue import Gate
from tests.engine.scheduler_builders import ManualClock, make_node, make_pod

_NAMES = st.sampled_from([f"p{number}" for number in range(8)])
_PLUGINS = st.lists(st.sampled_from(["NodeResourcesFit", "TaintToleration"]), max_size=2)


class QueueMachine(RuleBasedStateMachine):
    """Does what a scheduler may do to its queue, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.versions = 0
        self.pods: dict[str, Pod] = {}
        self.in_flight: dict[str, tuple[QueuedPodInfo, int]] = {}
        self.places: dict[str, Place] = {}
        self.waited: dict[str, int] = {}

    @initialize(version=st.sampled_from(["v1.16", "v1.20", "v1.34"]))
    def start(self, version: str) -> None:
        profiles = {
            "": QueueProfile(pre_enqueue=(Gate(),), hints=hints_of())
            if version == "v1.34"
            else QueueProfile()
        }
        self.queue = SchedulingQueue(
            VERSIONS[version].queue, self.clock, profiles=profiles, listener=self
        )
        self.modern = version == "v1.34"

    def queue_moved(
        self, info: QueuedPodInfo, place_from: Place, event_name: str, *, flushed: bool
    ) -> None:
        assert self.places.get(info.key, "") == place_from, (info.key, place_from, event_name)
        assert info.since == self.clock.now
        assert event_name
        self.places[info.key] = info.place

    def _pod(self, name: str, priority: int, gated: bool) -> Pod:
        self.versions += 1
        spec: dict[str, Any] = {"tolerations": [{"operator": "Exists"}] * (self.versions % 2)}
        if gated and self.modern:
            spec["schedulingGates"] = [{"name": "wait"}]
        version = str(self.versions)
        return make_pod(name, priority=priority, spec=spec, version=version)

    @rule(name=_NAMES, priority=st.integers(0, 2), gated=st.booleans())
    def add_or_update(self, name: str, priority: int, gated: bool) -> None:
        old = self.pods.get(name)
        new = self.pods[name] = self._pod(name, priority, gated)
        if old is None:
            self.queue.add(new)
        elif self.modern or name not in self.in_flight:
            self.queue.update(old, new)

    @rule(name=_NAMES)
    def delete(self, name: str) -> None:
        pod = self.pods.get(name)
        if pod is not None and name not in self.in_flight:
            self.queue.delete(self.pods.pop(name))

    @rule()
    def pop(self) -> None:
        waiting = active_pods(self.queue)
        info = self.queue.pop()
        if waiting:
            assert info is waiting[0][0]
        if info is not None:
            self.in_flight[info.pod.name] = (info, self.queue.scheduling_cycle)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), plugins=_PLUGINS)
    def fail(self, data: st.DataObject, plugins: list[str]) -> None:
        name = data.draw(st.sampled_from(sorted(self.in_flight)))
        info, cycle = self.in_flight.pop(name)
        info.update(self.pods[name])
        info.rejected_by(*plugins)
        assert self.queue.add_unschedulable_if_not_present(info, cycle) is None

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.in_flight)))
        del self.in_flight[name]
        self.queue.done(self.pods.pop(name).uid)

    @rule(event=st.sampled_from([NODE_ADD, ASSIGNED_POD_DELETE]))
    def something_happens(self, event: ClusterEvent) -> None:
        if event is NODE_ADD:
            self.queue.move_all_to_active_or_backoff(event, None, make_node("n1"))
        else:
            self.queue.move_all_to_active_or_backoff(event, make_pod("x", node="n1"), None)

    @rule(seconds=st.sampled_from([0.001, 0.5, 1, 7, 40, 400]))
    def time_passes(self, seconds: float) -> None:
        """The flushes run at the ticks that the queue foretells, and at no other."""
        until = self.clock.now + int(seconds * SECOND)
        while True:
            backoff, leftover = (
                self.queue.flush_times.next_backoff_expiry(),
                self.queue.flush_times.next_leftover_due(),
            )
            due = min((at for at in (backoff, leftover) if at is not None), default=until + 1)
            if due > until:
                break
            assert due >= self.clock.now
            self.clock.now = due
            before = counts(self.queue)
            if due == backoff:
                self.queue.flush_backoff_completed()
                assert counts(self.queue)["backoff"] < before["backoff"]
            else:
                self.queue.flush_unschedulable_leftover()
                after = counts(self.queue)
                assert after["unschedulable"] < before["unschedulable"]
        self.clock.now = until
        before = counts(self.queue)
        if until % SECOND == 0:
            self.queue.flush_backoff_completed()
        assert counts(self.queue) == before

    @invariant()
    def each_pod_is_in_exactly_one_place(self) -> None:
        lanes: dict[str, list[QueuedPodInfo]] = {
            "active": [info for info, _ in active_pods(self.queue)],
            "backoff": [info for info, _ in backoff_pods(self.queue)],
            "unschedulable": [info for info, _ in unschedulable_pods(self.queue)],
            "gated": [info for info, _ in gated_pods(self.queue)],
            "in_flight": in_flight_pods(self.queue),
        }
        found = [info.key for infos in lanes.values() for info in infos]
        assert sorted(found) == sorted(pod.key for pod in self.pods.values())
        for lane, infos in lanes.items():
            for info in infos:
                assert (info.place, place_of(self.queue, info.key)) == (lane, lane)
                assert self.places[info.key] == lane
        assert counts(self.queue) == {lane: len(infos) for lane, infos in lanes.items()}

    @invariant()
    def active_is_in_order(self) -> None:
        keys = [sort_key for _, sort_key in active_pods(self.queue)]
        assert keys == sorted(keys)
        assert self.queue.ready == bool(keys) or self.modern

    @invariant()
    def nobody_is_gated_who_has_no_gate(self) -> None:
        for info, _ in gated_pods(self.queue):
            assert info.pod.spec.get("schedulingGates")


QueueMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestQueue = QueueMachine.TestCase
