"""The scheduling queue against the real ones: traces of v1.16, upstream's tests of v1.20."""

import re
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from typing import Any

import pytest

from engine.framework.cluster_events import WILD_CARD, Action, ClusterEvent
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import MICROSECOND, SECOND
from engine.scheduler.queue.backoff import backoff_duration
from engine.scheduler.queue.queued_pod import Place, QueuedPodInfo
from engine.scheduler.queue.scheduling_queue import SchedulingQueue
from engine.scheduler.queue.unschedulable import UnschedulablePods
from engine.versions.registry import VERSIONS
from tests.conformance.scheduler.scheduler_vectors import (
    ManualClock,
    duration,
    named,
    nanoseconds,
    pod,
    since_start,
    v1_16,
)
from tests.conformance.vectors import Json, parametrised, upstream
from tests.engine.scheduler.queue.queue_contents import (
    active_pods,
    backoff_pods,
    backoff_records,
    unschedulable_pods,
)

# -- v1.16 ---------------------------------------------------------------------------------------


def _small_pod(args: Json) -> Any:
    spec: Json = {"priority": args["priority"]}
    if labels := args.get("requiredPodAffinityMatchLabels"):
        term = {"labelSelector": {"matchLabels": labels}, "topologyKey": "zone"}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAffinity": required}
    metadata = {"name": args["pod"], "uid": args["pod"], "labels": args["labels"]}
    return pod(
        {
            "metadata": metadata,
            "spec": spec,
            "status": {"nominatedNodeName": args["nominatedNodeName"]},
        }
    )


class V116Driver:
    """Does to our queue what a trace did to the real one."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.queue = SchedulingQueue(VERSIONS["v1.16"].queue, self.clock)
        self.popped: dict[str, QueuedPodInfo] = {}

    def run(self, step: Json) -> Any:
        queue, args = self.queue, step["args"] or {}
        match step["op"]:
            case "AdvanceClock":
                self.clock.now += nanoseconds(args["seconds"])
            case "Pop":
                info = queue.pop()
                if info is None:
                    return "would block"
                self.popped[info.key] = info
                return {"pod": info.key}
            case "Add":
                queue.add(_small_pod(args))
            case "AddIfNotPresent":
                if queue.get(_small_pod(args).key) is None:
                    queue.add(_small_pod(args))
            case "AddUnschedulableIfNotPresent":
                info = self.popped.get(args["pod"])
                if info is None or info is queue.get(info.key):
                    rules = VERSIONS["v1.16"].resources
                    info = QueuedPodInfo(PodInfo(_small_pod(args), rules), self.clock.now)
                else:
                    info.update(_small_pod(args))
                error = queue.add_unschedulable_if_not_present(info, args["podSchedulingCycle"])
                return None if error is None else {"error": error}
            case "MoveAllToActiveQueue":
                queue.move_all_to_active_or_backoff(ClusterEvent(WILD_CARD, Action.ALL, "test"))
            case "flushBackoffQCompleted":
                queue.flush_backoff_completed()
            case "flushUnschedulableQLeftover":
                queue.flush_unschedulable_leftover()
            case "Update":
                queue.update(*self._old_and_new(args))
            case "Delete":
                queue.delete(_small_pod(args))
            case "UpdateNominatedPodForNode":
                info = PodInfo(_small_pod(args), VERSIONS["v1.16"].resources)
                queue.nominator.add(info, args["node"])
            case "DeleteNominatedPodIfExists":
                queue.nominator.delete(args["pod"])
            case "AssignedPodAdded":
                queue.assigned_pod_added(_small_pod(args))
            case "AssignedPodUpdated":
                queue.assigned_pod_updated(_small_pod(args), _small_pod(args))
            case op:
                raise NotImplementedError(op)
        return None

    @staticmethod
    def _old_and_new(args: Json) -> tuple[Any, Any]:
        old = None if args["old"] is None else _small_pod(args["old"])
        new = _small_pod(args["new"])
        if "resourceVersion" in args["change"]:
            new = new.with_metadata(resourceVersion="2")
        return old, new

    def state(self) -> Json:
        queue = self.queue
        return {
            "activeQ": [self._punished(info) for info, _ in active_pods(queue)],
            "backoffQ": [self._punished(info) for info, _ in backoff_pods(queue)],
            "moveRequestCycle": queue.move_request_cycle,
            "nominated": {
                node: [info.key for info in queue.nominator.pods_for_node(node)]
                for node in queue.nominator.nodes()
            },
            "podBackoff": {
                key: {
                    "attempts": failures,
                    "lastUpdate": last,
                    "duration": backoff_duration(failures, queue.rules),
                    "expiry": last + backoff_duration(failures, queue.rules),
                }
                for key, (failures, last) in backoff_records(queue).items()
            },
            "schedulingCycle": queue.scheduling_cycle,
            # The real one is a map, recorded by name.
            "unschedulableQ": sorted(
                (self._punished(info) for info, _ in unschedulable_pods(queue)), key=_name
            ),
        }

    def _punished(self, info: QueuedPodInfo) -> Json:
        expiry = self.queue.backoff_until(info)
        return _waiting(info) if expiry is None else {**_waiting(info), "backoffExpiry": expiry}


def _name(entry: Json) -> str:
    return entry["pod"]


def _waiting(info: QueuedPodInfo) -> Json:
    return {"pod": info.key, "priority": info.pod_info.priority, "timestamp": info.timestamp}


def _trace_state(state: Json) -> Json:
    """A recorded state with its seconds made nanoseconds and its sets sorted."""

    def exact(entry: Json) -> Json:
        times = ("timestamp", "expiry", "lastUpdate", "backoffExpiry", "duration")
        return {k: nanoseconds(v) if k in times else v for k, v in entry.items()}

    return {
        **state,
        "activeQ": [exact(entry) for entry in state["activeQ"]],
        "backoffQ": [exact(entry) for entry in state["backoffQ"]],
        "unschedulableQ": [exact(entry) for entry in state["unschedulableQ"]],
        "podBackoff": {key: exact(entry) for key, entry in state["podBackoff"].items()},
    }


@pytest.mark.parametrize(
    "trace", [pytest.param(trace, id=trace["name"]) for trace in v1_16("queue-traces.json")]
)
def test_v1_16_queue_follows_the_trace(trace: Json) -> None:
    driver = V116Driver()
    for number, step in enumerate(trace["steps"]):
        assert driver.run(step) == step["result"], (number, step["op"])
        assert driver.state() == _trace_state(step["state"]), (number, step["op"])


# -- v1.20 ---------------------------------------------------------------------------------------


class CountingListener:
    """Counts moves as scheduler_queue_incoming_pods_total does."""

    def __init__(self) -> None:
        self.incoming: Counter[tuple[str, str]] = Counter()

    def queue_moved(
        self, info: QueuedPodInfo, place_from: Place, event_name: str, *, flushed: bool
    ) -> None:
        self.incoming[event_name, info.place] += 1


class V120Driver:
    """Does to our queue what an upstream test did to the real one."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.listener = CountingListener()
        self.queue = SchedulingQueue(VERSIONS["v1.20"].queue, self.clock, listener=self.listener)
        self.infos: dict[str, QueuedPodInfo] = {}

    def run(self, step: Json) -> None:
        if "clockStep" in step:
            self.clock.now += duration(step["clockStep"])
        elif "directEdit" in step:
            if step["directEdit"] == "schedulingCycle += 1":
                self.queue.scheduling_cycle += 1
            else:
                assert step["directEdit"] == "backoffQ head popped"
                self.queue._backoff.pop_early()
        elif step.get("by") == "test":
            if step["call"] == "queue.Pop":
                self._prefer(_key(step["results"][0]["Pod"]))
            results = self._call(step["call"], step.get("args") or {})
            if "results" in step and results is not NotImplemented:
                assert results == _comparable(step["call"], step["results"]), step["call"]
            if isinstance(step.get("stateAfter"), dict):
                assert self._has(step["stateAfter"]), (step["call"], step["stateAfter"])

    def _prefer(self, key: str) -> None:
        """Go's heap leaves open which of two equal pods goes first: let *key*, if it is equal."""
        active = active_pods(self.queue)
        for info, sort_key in active:
            if info.key == key:
                return
            if sort_key == active[0][1]:
                self.queue._active.remove(info.key)
                self.queue._active.put(info)

    def _call(self, call: str, args: Json) -> Any:
        queue = self.queue
        match call:
            case "queue.Add":
                queue.add(pod(args["pod"]))
            case "queue.Update":
                old = None if args["oldPod"] is None else pod(args["oldPod"])
                queue.update(old, pod(args["newPod"]))
                return NotImplemented
            case "queue.Delete":
                queue.delete(pod(args["pod"]))
            case "queue.Pop":
                info = queue.pop()
                assert info is not None
                self.infos[info.key] = info
                return [info.key, info.attempts]
            case "queue.SchedulingCycle":
                return [queue.scheduling_cycle]
            case "queue.AddUnschedulableIfNotPresent":
                info = self.info(args["pInfo"])
                return [queue.add_unschedulable_if_not_present(info, args["podSchedulingCycle"])]
            case "queue.MoveAllToActiveOrBackoffQueue":
                event = ClusterEvent(WILD_CARD, Action.ALL, args["event"])
                queue.move_all_to_active_or_backoff(event)
            case "queue.AssignedPodAdded":
                queue.assigned_pod_added(pod(args["pod"]))
            case "queue.flushBackoffQCompleted":
                queue.flush_backoff_completed()
            case "queue.flushUnschedulableQLeftover":
                queue.flush_unschedulable_leftover()
            case "queue.getBackoffTime":
                return [queue.backoff_until(self.infos[_key(args["podInfo"]["Pod"])])]
            case "queue.PendingPods":
                lanes = (active_pods(queue), backoff_pods(queue), unschedulable_pods(queue))
                return [sorted(info.key for lane in lanes for info, _ in lane)]
            case "queue.Close":
                pass
            case "nominator.AddNominatedPod":
                queue.nominator.add(
                    PodInfo(pod(args["pod"]), VERSIONS["v1.20"].resources), args["nodeName"]
                )
            case "nominator.DeleteNominatedPodIfExists":
                queue.nominator.delete(args["pod"]["metadata"]["uid"])
            case "nominator.NominatedPodsForNode":
                return [[info.key for info in queue.nominator.pods_for_node(args["nodeName"])]]
            case "unschedulablePodsMap.addOrUpdate":
                info = self.info(args["pInfo"])
                queue._unschedulable.put(info)
                info.place = "unschedulable"
            case _:
                raise NotImplementedError(call)
        return [None]

    def info(self, recorded: Json) -> QueuedPodInfo:
        key = _key(recorded["Pod"])
        known = self.infos.get(key)
        if known is not None and self.queue.get(key) is not known:
            known.attempts = recorded["Attempts"]
            return known
        pod_info = PodInfo(pod(recorded["Pod"]), VERSIONS["v1.20"].resources)
        info = self.infos[key] = QueuedPodInfo(pod_info, since_start(recorded["Timestamp"]))
        info.attempts = recorded["Attempts"]
        return info

    def _has(self, state: Json) -> bool:
        queue = self.queue
        ours: Json = {
            "activeQ": sorted(info.key for info, _ in active_pods(queue)),
            "backoffQ": sorted(info.key for info, _ in backoff_pods(queue)),
            "unschedulableQ": sorted(info.key for info, _ in unschedulable_pods(queue)),
            "moveRequestCycle": queue.move_request_cycle,
            "schedulingCycle": queue.scheduling_cycle,
            "nominatedPods": {
                node: [info.key for info in queue.nominator.pods_for_node(node)]
                for node in queue.nominator.nodes()
            },
        }
        ours["nominatedPodToNode"] = {
            info.uid: node
            for node in queue.nominator.nodes()
            for info in queue.nominator.pods_for_node(node)
        }
        assert {name: ours[name] for name in state} == state
        return True


def _key(manifest: Json) -> str:
    return pod(manifest).key


def _comparable(call: str, results: list[Any]) -> list[Any]:
    if call == "queue.Pop":
        return [_key(results[0]["Pod"]), results[0]["Attempts"]]
    if call in ("queue.PendingPods", "nominator.NominatedPodsForNode"):
        keys = [_key(manifest) for manifest in results[0] or ()]
        return [sorted(keys) if call == "queue.PendingPods" else keys]
    if call == "queue.getBackoffTime":
        return [since_start(results[0])]
    return [result["error"] if isinstance(result, dict) else result for result in results]


_TABLE_TESTS = ("TestPodTimestamp", "TestPendingPodsMetric", "TestIncomingPodsMetrics")
# Two threads, of which one waits in Pop: what is left of them is below.
_BLOCKING = ("TestPriorityQueue_Pop", "TestSchedulingQueue_Close")
# Three queues, one after the other, in one list of steps.
_SEVERAL_QUEUES = "TestPerPodSchedulingMetrics"
_MAP_TEST = "TestUnschedulablePodsMap"
_FLOW_TEST = "TestBackOffFlow"


def _cases(*, table: bool) -> Any:
    tests = upstream("scheduler_queue_test.json")
    if tests is None:
        return None
    kept: list[tuple[str, Any]] = []
    for name, case in named(tests):
        test = name.split("/")[0]
        apart = (*_BLOCKING, _SEVERAL_QUEUES, _MAP_TEST, _FLOW_TEST)
        if test not in apart and (test in _TABLE_TESTS) == table:
            kept.append((name, case))
    return kept


@pytest.mark.parametrize("case", parametrised(_cases(table=False)))
def test_v1_20_queue_passes_the_upstream_test(case: Json) -> None:
    driver = V120Driver()
    real_clock = not any("clockStep" in step for step in case["steps"])
    for step in case["steps"]:
        if real_clock:
            driver.clock.now += MICROSECOND
        driver.run(step)


def test_v1_20_pop_returns_an_added_pod_at_once() -> None:
    """TestPriorityQueue_Pop and TestSchedulingQueue_Close, without the second thread."""
    queue = V120Driver().queue
    assert queue.pop() is None
    info = queue.add(pod({"metadata": {"name": "mpp", "namespace": "ns2", "uid": "mppns2"}}))
    assert queue.pop() is info
    assert (info.attempts, queue.scheduling_cycle) == (1, 1)
    assert queue.pop() is None


def test_v1_20_backoff_comes_from_the_configuration() -> None:
    """TestPriorityQueue_NewWithOptions: an initial backoff of 2 s, at most 20 s."""
    rules = replace(VERSIONS["v1.20"].queue, initial_backoff=2 * SECOND, max_backoff=20 * SECOND)
    durations = [backoff_duration(failures, rules) // SECOND for failures in range(1, 7)]
    assert durations == [2, 4, 8, 16, 20, 20]


def _rounds() -> Any:
    """The rounds of the backoff test as one case; they stand in two entries of the file."""
    tests = upstream("scheduler_queue_test.json")
    if tests is None:
        return None
    flows = [test for test in tests["tests"] if test["upstreamTest"] == _FLOW_TEST]
    rounds = sorted((one for test in flows for one in test["cases"]), key=itemgetter("name"))
    return [(_FLOW_TEST, [{"steps": flows[0]["steps"]}, *rounds])]


@pytest.mark.parametrize("rounds", parametrised(_rounds()))
def test_v1_20_backoff_flows_as_upstream(rounds: list[Json]) -> None:
    driver = V120Driver()
    for each in rounds:
        for step in each["steps"]:
            driver.run(step)


def _queues_of_several() -> Any:
    """The steps of each queue: a queue ends where its pod is about to be added to the next one."""
    tests = upstream("scheduler_queue_test.json")
    if tests is None:
        return None
    test = next(test for test in tests["tests"] if test["upstreamTest"] == _SEVERAL_QUEUES)
    queues: list[list[Json]] = []
    for step in test["steps"]:
        if step.get("call") == "queue.Add":
            queues.append([])
        queues[-1].append(step)
    return [(f"queue {number}", steps) for number, steps in enumerate(queues, start=1)]


@pytest.mark.parametrize("steps", parametrised(_queues_of_several()))
def test_v1_20_attempts_survive_requeueing(steps: list[Json]) -> None:
    driver = V120Driver()
    for step in steps:
        if step.get("call") == "queue.flushUnschedulableQLeftover":
            # The recording does not show that the test sets its clock here.
            driver.clock.now += VERSIONS["v1.20"].queue.leftover_age + 1
        driver.run(step)


@pytest.mark.parametrize("case", parametrised(_cases(table=True)))
def test_v1_20_queue_passes_the_upstream_table(case: Json) -> None:
    driver = V120Driver()
    table = case["table"]
    operands = table.get("operands")
    if operands is None:
        three = [driver.info(_recorded(number)) for number in range(1, 4)]
        operands = [three] * len(table["operations"])
    for operation, operand in zip(table["operations"], operands, strict=True):
        _operate(driver, operation, operand)
    if expected := table.get("expected"):
        popped = [driver.queue.pop() for _ in expected]
        assert [info and info.key for info in popped] == [_key(e["Pod"]) for e in expected]
    elif wanted := table.get("want"):
        counted = re.findall(r'event="(\w+)",queue="(\w+)"} (\d+)', wanted)
        assert driver.listener.incoming == {
            (event, place): int(number) for event, place, number in counted
        }
    else:
        last = case["steps"][-1]["stateAfter"]
        if isinstance(last, dict):
            assert driver._has(last)
        else:
            waiting = [info for info, _ in unschedulable_pods(driver.queue)]
            assert sorted(f"{i.pod.name}_{i.pod.namespace}" for i in waiting) == last


def _recorded(number: int) -> Json:
    metadata = {
        "name": f"test-pod-{number}",
        "namespace": f"ns{number}",
        "uid": f"tp-{number}",
    }
    return {"Pod": {"metadata": metadata}, "Attempts": 0, "Timestamp": None}


def _operate(driver: V120Driver, operation: str, operand: Any) -> None:
    queue = driver.queue
    many: list[Any] = operand if isinstance(operand, list) else [operand]
    infos = [
        info if isinstance(info, QueuedPodInfo) else driver.info(info)
        for info in many
        if info is not None
    ]
    match operation:
        case "add":
            for info in infos:
                queue.add(info.pod)
        # The heap's update adds what it does not have.
        case "addPodActiveQ" | "updatePodActiveQ":
            for info in infos:
                queue._active.put(info)
        case "addPodUnschedulableQ":
            for info in infos:
                queue._unschedulable.put(info)
                info.place = "unschedulable"
        case "addPodBackoffQ":
            for info in infos:
                queue._backoff.put(info)
        case "moveAllToActiveOrBackoffQ":
            queue.move_all_to_active_or_backoff(ClusterEvent(WILD_CARD, Action.ALL, "test"))
        case "flushBackoffQ":
            driver.clock.now += 2 * SECOND
            queue.flush_backoff_completed()
        case "moveClockForward":
            driver.clock.now += 2 * SECOND
        case "addUnschedulablePodBackToUnschedulableQ":
            for info in infos:
                assert queue.add_unschedulable_if_not_present(info, 0) is None
        case "addUnschedulablePodBackToBackoffQ":
            for info in infos:
                assert queue.add_unschedulable_if_not_present(info, -1) is None
        case _:
            raise NotImplementedError(operation)


def _map_cases() -> Any:
    tests = upstream("scheduler_queue_test.json")
    if tests is None:
        return None
    return [entry for entry in named(tests) if entry[0].startswith(_MAP_TEST)]


@pytest.mark.parametrize("case", parametrised(_map_cases()))
def test_v1_20_unschedulable_pods_pass_the_upstream_table(case: Json) -> None:
    pods = UnschedulablePods()
    for step in case["steps"]:
        if step["call"] == "unschedulablePodsMap.addOrUpdate":
            recorded = step["args"]["pInfo"]
            pod_info = PodInfo(pod(recorded["Pod"]), VERSIONS["v1.20"].resources)
            pods.put(QueuedPodInfo(pod_info, since_start(recorded["Timestamp"])))
        elif step["call"] == "unschedulablePodsMap.delete":
            pods.remove(_key(step["args"]["pod"]))
        else:
            raise NotImplementedError(step["call"])
        kept = sorted(f"{info.pod.name}_{info.pod.namespace}" for info in pods.infos())
        assert kept == step["stateAfter"]
