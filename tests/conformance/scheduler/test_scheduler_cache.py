"""The scheduler's cache against the real ones: traces of v1.16, upstream's tests of v1.20."""

from typing import Any

import pytest

from engine.framework.nodes.cache import SchedulerCache
from engine.framework.nodes.cache_rules import CacheError
from engine.framework.nodes.gauges import NodeGauges
from engine.framework.nodes.node_info import NodeInfo
from engine.framework.nodes.node_table import CPU, EPHEMERAL_STORAGE, MEMORY, NodeTable
from engine.framework.nodes.table_feed import TableFeed
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import Node
from engine.versions.registry import VERSIONS
from tests.conformance.scheduler.scheduler_vectors import (
    ManualClock,
    named,
    nanoseconds,
    pod,
    since_start,
    v1_16,
)
from tests.conformance.vectors import Json, obj, parametrised, upstream


class Driven:
    """A cache that feeds a node table, as in a run."""

    def __init__(self, version: str, ttl: int | None = None) -> None:
        self.clock = ManualClock()
        self.table = NodeTable()
        self.feed = TableFeed(
            self.table, NodeGauges(self.table), lists_anew=version in ("v1.11", "v1.16")
        )
        self.cache = SchedulerCache(
            self.clock, VERSIONS[version].cache, observer=self.feed, assume_ttl=ttl
        )
        self.feed.follow(self.cache)


class Generations:
    """What upstream's snapshot would copy: the nodes whose generation has grown since the last."""

    def __init__(self) -> None:
        self.newest = 0
        self.by_node: dict[str, int] = {}

    def update(self, cache: SchedulerCache) -> list[str]:
        entries = cache.nodes()
        changed = [
            entry.name
            for entry in entries
            if entry.generation > self.newest and entry.node is not None
        ]
        self.by_node |= {entry.name: entry.generation for entry in entries if entry.name in changed}
        known = {entry.name for entry in entries}
        self.by_node = {name: n for name, n in self.by_node.items() if name in known}
        if entries:
            self.newest = entries[0].generation
        return changed


# -- v1.16 ---------------------------------------------------------------------------------------


class V116Driver:
    """Does to our cache what a trace did to the real one."""

    def __init__(self) -> None:
        self.driven = Driven("v1.16")
        self.clock, self.cache = self.driven.clock, self.driven.cache
        self.snapshot = Generations()

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
            "nodes": {info.name: _node_state(info, self.driven.table) for info in cache.nodes()},
            "pods": {state.info.uid: _pod_state(state) for state in cache.pods()},
            "snapshotGeneration": self.snapshot.newest,
            "snapshotNodeGenerations": self.snapshot.by_node,
            "treeNodes": cache.tree.num_nodes,
        }


def _small_node(args: Json) -> Node:
    allocatable = {"cpu": f"{args['milliCPU']}m", "pods": str(args["pods"])}
    return Node({"metadata": {"name": args["node"]}, "status": {"allocatable": allocatable}})


def _node_state(info: NodeInfo, table: NodeTable) -> Json:
    shown: Json = {
        "generation": info.generation,
        "hasNode": info.node is not None,
        "pods": [pod.key for pod in info.pods] or None,
    }
    if info.node is None:
        # A ghost has no row.
        assert info.name not in table.rows
        return shown
    row = table.rows[info.name]
    return {
        **shown,
        "allocatableMilliCPU": table.allocatable.item(CPU, row),
        "allowedPods": table.allowed_pods.item(row),
        "nonzeroMemory": table.scored.item(MEMORY, row),
        "nonzeroMilliCPU": table.scored.item(CPU, row),
        "requestedMemory": table.requested.item(MEMORY, row),
        "requestedMilliCPU": table.requested.item(CPU, row),
    }


_OF_GHOSTS_TOO = ("generation", "hasNode", "pods")


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
    nodes = {
        name: entry if entry["hasNode"] else {k: entry[k] for k in _OF_GHOSTS_TOO}
        for name, entry in state["nodes"].items()
    }
    return {**state, "pods": pods, "nodes": nodes}


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
        self.driven = Driven("v1.20", ttl)
        self.clock, self.cache, self.table = (
            self.driven.clock,
            self.driven.cache,
            self.driven.table,
        )

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
            wanted = _known_of_ghosts(step["stateAfter"])
            assert _without_unknown(self.state(), wanted) == wanted, step

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
                return self._get_pod(args["pod"]["metadata"]["uid"])
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
                self._check_snapshot(args["snapshotAfter"])
            case "nodeTree.list":
                return [cache.tree.list() or None, None]
            case _:
                raise NotImplementedError(call)
        return [None]

    def _info(self, manifest: Json) -> PodInfo:
        return PodInfo(pod(manifest), self.cache.resource_rules)

    def _get_pod(self, uid: str) -> list[Any]:
        state = self.cache.pod(uid)
        if state is None:
            return [{"error": f"pod {uid} does not exist in scheduler cache"}]
        return [state.info.pod.raw, None]

    def listed(self) -> list[str]:
        """The nodes in the order in which a scheduling cycle looks at them."""
        return self.table.names(self.driven.feed.order().tolist())

    def with_affinity(self) -> list[str]:
        """Those of them with pods that have affinity."""
        rows = self.table.rows
        return [
            name
            for name in self.listed()
            if any(pod.affinity.present for pod in self.table.pods[rows[name]].values())
        ]

    def _check_snapshot(self, wanted: Json) -> None:
        assert self.listed() == wanted["nodeInfoList"]
        assert self.with_affinity() == wanted["havePodsWithAffinity"]
        entries = [info for info in self.cache.nodes() if info.node is not None]
        assert self.table.rows.keys() == {info.name for info in entries}
        ours = {info.name: _node_sums(info, self.table) for info in entries}
        assert ours == wanted["nodeInfoMap"]

    def state(self) -> Json:
        cache = self.cache
        return {
            "assumedPods": sorted(cache.assumed.values()),
            "mostRecentlyUpdatedFirst": [
                "(no node object)" if info.node is None else info.name for info in cache.nodes()
            ],
            "nodeTree": cache.tree.zones(),
            "nodes": {info.name: _node_sums(info, self.table) for info in cache.nodes()},
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


def _node_sums(info: NodeInfo, table: NodeTable) -> Json:
    shown: Json = {
        "hasNodeObject": info.node is not None,
        "pods": [_slashed(pod) for pod in info.pods],
    }
    if info.node is None:
        # A ghost has no row.
        assert info.name not in table.rows
        return shown
    row = table.rows[info.name]
    assert sorted(table.pods[row]) == sorted(pod.key for pod in info.pods)
    first = EPHEMERAL_STORAGE + 1
    scalars = zip(table.resource_names[first:], table.requested[first:, row].tolist(), strict=True)
    return {
        **shown,
        "allocatableMemory": table.allocatable.item(MEMORY, row),
        "allocatableMilliCPU": table.allocatable.item(CPU, row),
        "requestedEphemeralStorage": table.requested.item(EPHEMERAL_STORAGE, row),
        "requestedMemory": table.requested.item(MEMORY, row),
        "requestedMilliCPU": table.requested.item(CPU, row),
        "requestedScalar": {name: amount for name, amount in scalars if amount} or None,
    }


def _known_of_ghosts(state: Json) -> Json:
    nodes = {
        name: entry
        if entry["hasNodeObject"]
        else {known: entry[known] for known in ("hasNodeObject", "pods")}
        for name, entry in state.get("nodes", {}).items()
    }
    return {**state, "nodes": nodes} if "nodes" in state else state


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
        assert driver.listed() == table["expected"]
    elif test == "TestSchedulerCache_UpdateSnapshot":
        known = [info for info in driver.cache.nodes() if info.node is not None]
        wanted = [node["metadata"]["name"] for node in table["expected"]]
        assert [info.name for info in known] == wanted
        assert len(driver.with_affinity()) == table["expectedHavePodsWithAffinity"]
        assert sorted(driver.listed()) == sorted(wanted)
