"""Store against cache: does the scheduler's cache have the nodes and pods of the store?

Upstream: pkg/scheduler/backend/cache/debugger/comparer.go, which compares names only.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.cluster.checks.finding import Finding, difference
from engine.cluster.cluster import Cluster
from engine.framework.nodes.cache import SchedulerCache
from engine.objects.objects import Node, Pod


def cache_differences(cluster: Cluster) -> list[Finding]:
    """Where the cache of a leading scheduler and the store disagree; [] when nowhere.

    The scheduler has not heard of what is still under way.
    """
    nodes = [obj for obj in cluster.store.objects("Node") if isinstance(obj, Node)]
    pods = [
        obj
        for obj in cluster.store.objects("Pod")
        if isinstance(obj, Pod) and not obj.is_terminated
    ]
    return [
        found
        for one in cluster.replicas
        if one.is_leading
        for found in compare(one.scheduler.cache, nodes, pods)
    ]


def compare(cache: SchedulerCache, nodes: Iterable[Node], pods: Iterable[Pod]) -> list[Finding]:
    """Every difference between the cache and the store; none if they agree.

    *pods* are the pods of the store that have not ended. Assumed pods may be in the store without
    a node, or with it. Only meaningful when no watch event is still under way.
    """
    stored_nodes = {node.name: node for node in nodes}
    stored_pods = {pod.uid: pod for pod in pods}
    return [*_compare_nodes(cache, stored_nodes), *_compare_pods(cache, stored_pods)]


def _compare_nodes(cache: SchedulerCache, stored: dict[str, Node]) -> Iterable[Finding]:
    cached = {info.name: info for info in cache.nodes() if info.node is not None}
    for name in sorted(cached.keys() | stored.keys()):
        here, there = cached.get(name), stored.get(name)
        if here is None or here.node is None:
            yield difference(f"node/{name}", cached="nothing", stored="the node")
        elif there is None:
            yield difference(f"node/{name}", cached="the node", stored="nothing")
        elif here.node.resource_version != there.resource_version:
            yield difference(
                f"node/{name}",
                cached=f"version {here.node.resource_version}",
                stored=f"version {there.resource_version}",
            )
    listed = sorted(name for names in cache.tree.zones().values() for name in names)
    if listed != sorted(cached):
        yield difference("node tree", cached=str(listed), stored=str(sorted(cached)))


def _compare_pods(cache: SchedulerCache, stored: dict[str, Pod]) -> Iterable[Finding]:
    states = {state.info.uid: state for state in cache.pods()}
    for uid in sorted(states.keys() | stored.keys()):
        state, pod = states.get(uid), stored.get(uid)
        if state is None:
            assert pod is not None
            if pod.node_name:
                yield difference(pod.id, cached="nothing", stored=f"the pod on {pod.node_name}")
        elif pod is None:
            yield difference(
                state.info.pod.id,
                cached=f"the pod on {state.info.node_name}",
                stored="nothing",
            )
        elif pod.node_name != state.info.node_name and not (state.assumed and not pod.node_name):
            yield difference(
                pod.id,
                cached=f"the pod on {state.info.node_name}",
                stored=f"the pod on {pod.node_name or 'no node'}",
            )
