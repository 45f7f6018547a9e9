"""The scheduler's cache against the real ones: traces of v1.16, upstream's tests of v1.20."""

from typing import Any

import pytest

from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import Node
from scheduling.engine.nodes.cache import CACHE_RULES, CacheError, SchedulerCache
from scheduling.engine.nodes.node_info import NodeInfo
from scheduling.engine.nodes.snapshot import Snapshot
from scheduling.engine.pods.pod_info import PodInfo
from tests.conformance.scheduler_vectors import (
    ManualClock,
    named,
    nanoseconds,
    pod,
    since_start,
    v1_16,
)
from tests.conformance.vectors import Json, obj, parametrised, upstream

# -- v1.16 ---------------------------------------------------------------------------------------


class V116Driver:
    """Does to our cache what a trace did to the real one."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.cache = SchedulerCache(self.clock, CACHE_RULES["v1.16"])
        self.snapshot = Snapshot()

    def run(self, step: Json) -> Json:
        try:
            return {"error": None, **(self._call(step["op"], step["args"]) or {})}
        except CacheError as error:
            if error.fatal:
                return {"error": None, "fatal": f"FATAL: {error}"}
            return {"error": str(error)}

    def _call(self, op: str, args: Json) -> Json | None:
        cache = self.cache
        match op:
            case "AdvanceClock":
                self.clock.now += nanoseconds(args["seconds"])
            case "AddNode":
                cache.add_node(_small_node(args))
            case "UpdateNode":
                cache.update_node(_small_node(args["new"]), _small_node(args["old"]))
            case "RemoveNode":
                cache.remove_node(_small_node(args))
            case "AssumePod":
                cache.assume_pod(self._pod(args))
            case "FinishBinding":
                cache.finish_binding(self._pod(args))
            case "ForgetPod":
                cache.forget_pod(self._pod(args))
            case "AddPod":
                cache.add_pod(self._pod(args))
            case "UpdatePod":
                cache.update_pod(self._pod(args["old"]), self._pod(args["new"]))
            case "RemovePod":
                cache.remove_pod(self._pod(args))
            case "IsAssumedPod":
                return {"value": cache.place_of(args["pod"]) == "assumed"}
            case "cleanupAssumedPods":
                cache.cleanup_assumed_pods()
            case "UpdateNodeInfoSnapshot":
                return {"recloned": sorted(self.snapshot.update(cache))}
            case _:
                raise NotImplementedError(op)
        return None

    def _pod(self, args: Json) -> PodInfo:
        requests = {"cpu": f"{args['milliCPU']}m", "memory": str(args["memory"])}
        requests = {name: amount for name, amount in requests.items() if amount not in ("0m", "0")}
        spec = {"nodeName": args["node"], "containers": [{"resources": {"requests": requests}}]}
        metadata = {"name": args["name"], "uid": args["pod"]}
        return PodInfo(pod({"metadata": metadata, "spec": spec}), self.cache.resource_rules)

    def state(self) -> Json:
        cache = self.cache
        return {
            "listFromHead": [info.name for info in cache.nodes()],
            "nodes": {info.name: _node_state(info) for info in cache.nodes()},
            "pods": {state.info.uid: _pod_state(state) for state in cache.pods()},
            "snapshotGeneration": self.snapshot.generation,
            "snapshotNodeGenerations": {
                name: info.generation for name, info in self.snapshot.node_infos.items()
            },
            "treeNodes": cache.tree.num_nodes,
        }


def _small_node(args: Json) -> Node:
    allocatable = {"cpu": f"{args['milliCPU']}m", "pods": str(args["pods"])}
    return Node({"metadata": {"name": args["node"]}, "status": {"allocatable": allocatable}})


def _node_state(info: NodeInfo) -> Json:
    return {
        "allocatableMilliCPU": info.allocatable_milli_cpu,
        "allowedPods": info.allowed_pods,
        "generation": info.generation,
        "hasNode": info.node is not None,
        "nonzeroMemory": info.non_zero_memory,
        "nonzeroMilliCPU": info.non_zero_milli_cpu,
        "pods": [pod.key for pod in info.pods] or None,
        "requestedMemory": info.requested_memory,
        "requestedMilliCPU": info.requested_milli_cpu,
    }


def _pod_state(state: Any) -> Json:
    shown = {
        "bindingFinished": state.binding_finished,
        "node": state.info.node_name,
        "state": "assumed" if state.assumed else "added",
    }
    return shown if state.deadline is None else {**shown, "deadline": state.deadline}


def _trace_state(state: Json) -> Json:
    pods = {
        uid: {k: nanoseconds(v) if k == "deadline" else v for k, v in entry.items()}
        for uid, entry in state["pods"].items()
    }
    return {**state, "pods": pods}


@pytest.mark.parametrize(
    "trace", [pytest.param(trace, id=trace["name"]) for trace in v1_16("cache-traces.json")]
)
def test_v1_16_cache_follows_the_trace(trace: Json) -> None:
    driver = V116Driver()
    for number, step in enumerate(trace["steps"]):
        assert driver.run(step) == step["result"], (number, step["op"])
        assert driver.state() == _trace_state(step["state"]), (number, step["op"])


# -- v1.20 ---------------------------------------------------------------------------------------


class V120Driver:
    """Does to our cache what an upstream test did to the real one."""

    def __init__(self, ttl: int) -> None:
        self.clock = ManualClock()
        self.cache = SchedulerCache(self.clock, CACHE_RULES["v1.20"], assume_ttl=ttl)
        self.snapshot = Snapshot()

    def run(self, step: Json) -> None:
        if step.get("by") != "test":
            return
        args = step.get("args") or {}
        try:
            results: Any = self._call(step["call"], args)
        except CacheError as error:
            results = [{"error": str(error)}]
        if step["call"] == "cache.GetPod" and len(results) == 1:
            results = [None, *results]
        if "results" in step:
            assert results == step["results"], step["call"]
        if "stateAfter" in step:
            assert _without_unknown(self.state(), step["stateAfter"]) == step["stateAfter"], step

    def _call(self, call: str, args: Json) -> list[Any]:
        cache = self.cache
        match call:
            case "cache.AssumePod":
                cache.assume_pod(self._info(args["pod"]))
            case "cache.ForgetPod":
                cache.forget_pod(self._info(args["pod"]))
            case "cache.AddPod":
                cache.add_pod(self._info(args["pod"]))
            case "cache.UpdatePod":
                cache.update_pod(self._info(args["oldPod"]), self._info(args["newPod"]))
            case "cache.RemovePod":
                cache.remove_pod(self._info(args["pod"]))
            case "cache.IsAssumedPod":
                return [cache.is_assumed(pod(args["pod"]).key), None]
            case "cache.GetPod":
                return [cache.get_pod(args["pod"]["metadata"]["uid"]).pod.raw, None]
            case "cache.finishBinding":
                self.clock.now = since_start(args["now"])
                cache.finish_binding(self._info(args["pod"]))
            case "cache.cleanupAssumedPods":
                self.clock.now = since_start(args["now"])
                cache.cleanup_assumed_pods()
            case "cache.AddNode":
                cache.add_node(obj(Node, args["node"]))
            case "cache.UpdateNode":
                old = args.get("oldNode")
                cache.update_node(obj(Node, args["newNode"]), old and obj(Node, old))
            case "cache.RemoveNode":
                cache.remove_node(obj(Node, args["node"]))
            case "cache.UpdateSnapshot":
                self.snapshot.update(cache)
                self._check_snapshot(args["snapshotAfter"])
            case "nodeTree.list":
                return [cache.tree.list() or None, None]
            case _:
                raise NotImplementedError(call)
        return [None]

    def _info(self, manifest: Json) -> PodInfo:
        return PodInfo(pod(manifest), self.cache.resource_rules)

    def _check_snapshot(self, wanted: Json) -> None:
        snapshot = self.snapshot
        assert [info.name for info in snapshot.node_list] == wanted["nodeInfoList"]
        assert [info.name for info in snapshot.have_affinity] == wanted["havePodsWithAffinity"]
        ours = {name: _node_sums(info) for name, info in snapshot.node_infos.items()}
        assert ours == wanted["nodeInfoMap"]

    def state(self) -> Json:
        cache = self.cache
        return {
            "assumedPods": sorted(info.uid for info in cache.assumed_pods()),
            "mostRecentlyUpdatedFirst": [
                "(no node object)" if info.node is None else info.name for info in cache.nodes()
            ],
            "nodeTree": cache.tree.zones(),
            "nodes": {info.name: _node_sums(info) for info in cache.nodes()},
            "podStates": {
                state.info.uid: {
                    "bindingFinished": state.binding_finished,
                    "hasDeadline": state.deadline is not None,
                    "node": state.info.node_name,
                    "pod": _slashed(state.info),
                }
                for state in cache.pods()
            },
        }


def _node_sums(info: NodeInfo) -> Json:
    return {
        "allocatableMemory": info.allocatable_memory,
        "allocatableMilliCPU": info.allocatable_milli_cpu,
        "hasNodeObject": info.node is not None,
        "pods": [_slashed(pod) for pod in info.pods],
        "requestedEphemeralStorage": info.requested_ephemeral_storage,
        "requestedMemory": info.requested_memory,
        "requestedMilliCPU": info.requested_milli_cpu,
        "requestedScalar": {k: v for k, v in info.requested_scalars.items() if v} or None,
    }


def _slashed(info: PodInfo) -> str:
    return f"{info.pod.namespace}/{info.pod.name}"


def _without_unknown(ours: Json, wanted: Json) -> Json:
    return {name: ours[name] for name in wanted}


def _cases() -> Any:
    tests = upstream("scheduler_cache_test.json")
    return None if tests is None else named(tests)


@pytest.mark.parametrize("case", parametrised(_cases()))
def test_v1_20_cache_passes_the_upstream_test(case: Json) -> None:
    driver = V120Driver(ttl=10 * SECOND)
    for step in case["steps"]:
        driver.run(step)
    _check_table(driver, case.get("table") or {}, case.get("before", {}).get("upstreamTest"))


def _check_table(driver: V120Driver, table: Json, test: str | None) -> None:
    """What the table tests assert at their end."""
    if test == "TestSchedulerCache_updateNodeInfoSnapshotList":
        fresh = Snapshot()
        fresh.update(driver.cache)
        assert [info.name for info in fresh.node_list] == table["expected"]
    elif test == "TestSchedulerCache_UpdateSnapshot":
        names = [info.name for info in driver.cache.nodes() if info.node is not None]
        assert names == [node["metadata"]["name"] for node in table["expected"]]
        driver.snapshot.update(driver.cache)
        assert len(driver.snapshot.have_affinity) == table["expectedHavePodsWithAffinity"]
        known = {info.name: info for info in driver.cache.nodes() if info.node is not None}
        assert driver.snapshot.node_infos.keys() == known.keys()
        for name, info in driver.snapshot.node_infos.items():
            assert _node_sums(info) == _node_sums(known[name])
            assert info.generation == known[name].generation
