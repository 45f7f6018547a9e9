"""Compares the cache and the node table with the store.

Upstream: pkg/scheduler/internal/cache/debugger/comparer.go, which compares names only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kscope.sim.objects.objects import Node, Pod
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.nodes.cache import SchedulerCache
from scheduling.engine.nodes.node_info import NodeInfo
from scheduling.engine.nodes.node_table import NodeTable
from scheduling.engine.pods.pod_info import PodInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that the cache and the store disagree about."""

    subject: str
    cached: str
    stored: str

    def __str__(self) -> str:
        return f"{self.subject}: the cache has {self.cached}, the store {self.stored}"


def cache_differences(cluster: Cluster) -> list[str]:
    """Where the leading scheduler's cache and the store disagree, watches aside; [] when nowhere."""
    nodes = [obj for obj in cluster.store.objects("Node") if isinstance(obj, Node)]
    pods = [
        obj
        for obj in cluster.store.objects("Pod")
        if isinstance(obj, Pod) and not obj.is_terminated
    ]
    return [
        str(difference)
        for one in cluster._replicas
        if one.is_leading
        for difference in compare(one.scheduler.cache, one.scheduler.handle.table, nodes, pods)
    ]


def compare(
    cache: SchedulerCache, table: NodeTable, nodes: Iterable[Node], pods: Iterable[Pod]
) -> list[Difference]:
    """Every difference between the cache, the *table* it feeds and the store; none if they agree.

    *pods* are the pods of the store that have not ended. Assumed pods may be in the store without
    a node, or with it. Only meaningful when no watch event is still under way.
    """
    stored_nodes = {node.name: node for node in nodes}
    stored_pods = {pod.uid: pod for pod in pods}
    return [
        *_compare_nodes(cache, stored_nodes),
        *_compare_pods(cache, stored_pods),
        *_compare_table(cache, table),
    ]


def _compare_nodes(cache: SchedulerCache, stored: dict[str, Node]) -> Iterable[Difference]:
    cached = {info.name: info for info in cache.nodes() if info.node is not None}
    for name in sorted(cached.keys() | stored.keys()):
        here, there = cached.get(name), stored.get(name)
        if here is None or here.node is None:
            yield Difference(subject=f"node/{name}", cached="nothing", stored="the node")
        elif there is None:
            yield Difference(subject=f"node/{name}", cached="the node", stored="nothing")
        elif here.node.resource_version != there.resource_version:
            yield Difference(
                subject=f"node/{name}",
                cached=f"version {here.node.resource_version}",
                stored=f"version {there.resource_version}",
            )
    listed = sorted(name for names in cache.tree.zones().values() for name in names)
    if listed != sorted(cached):
        yield Difference(subject="node tree", cached=str(listed), stored=str(sorted(cached)))


def _compare_pods(cache: SchedulerCache, stored: dict[str, Pod]) -> Iterable[Difference]:
    states = {state.info.uid: state for state in cache.pods()}
    for uid in sorted(states.keys() | stored.keys()):
        state, pod = states.get(uid), stored.get(uid)
        if state is None:
            assert pod is not None
            if pod.node_name:
                yield Difference(
                    subject=pod.id, cached="nothing", stored=f"the pod on {pod.node_name}"
                )
        elif pod is None:
            yield Difference(
                subject=state.info.pod.id,
                cached=f"the pod on {state.info.node_name}",
                stored="nothing",
            )
        elif pod.node_name != state.info.node_name and not (state.assumed and not pod.node_name):
            yield Difference(
                subject=pod.id,
                cached=f"the pod on {state.info.node_name}",
                stored=f"the pod on {pod.node_name or 'no node'}",
            )


def _compare_table(cache: SchedulerCache, table: NodeTable) -> Iterable[Difference]:
    """Are the sums of each row those of the pods that the cache has on its node?"""
    by_node: dict[str, list[PodInfo]] = {}
    for state in cache.pods():
        by_node.setdefault(state.info.node_name, []).append(state.info)
    fresh = NodeTable()
    for info in sorted(cache.nodes(), key=_name):
        pods = by_node.pop(info.name, [])
        held = sorted(pod.key for pod in info.pods)
        yield from _different(f"pods of node/{info.name}", held, sorted(pod.key for pod in pods))
        if info.node is None:
            continue
        row = fresh.add_node(info.node)
        for pod in pods:
            fresh.add_pod(row, pod)
        if info.name not in table.rows:
            yield Difference(subject=f"node/{info.name}", cached="no row", stored="the node")
            continue
        ours, theirs = _row_sums(table, info), _row_sums(fresh, info)
        for what, amount in ours.items():
            yield from _different(f"{what} of node/{info.name}", amount, theirs[what])
        if not info.shares_ports:
            # A port that pods share is free when the first of them leaves.
            ports = (_ports(table, info), _ports(fresh, info))
            yield from _different(f"ports of node/{info.name}", *ports)
    for name in sorted(by_node):
        yield Difference(subject=f"node/{name}", cached="nothing", stored="pods of it")


def _row_sums(table: NodeTable, info: NodeInfo) -> dict[str, Any]:
    row = table.rows[info.name]
    return {
        "rows": sorted(table.pods[row]),
        "requests": table.requested_at(row),
        "non-zero requests": table.scored[:, row].tolist(),
    }


def _ports(table: NodeTable, info: NodeInfo) -> list[str]:
    return sorted(map(str, table.ports.at(table.rows[info.name])))


def _different(subject: str, cached: object, stored: object) -> Iterable[Difference]:
    if cached != stored:
        yield Difference(subject=subject, cached=str(cached), stored=str(stored))


def _name(info: NodeInfo) -> str:
    return info.name
