"""Proves that the cache holds what the store holds, no more and no less.

Upstream: pkg/scheduler/internal/cache/debugger/comparer.go, which compares names only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduling.engine.nodes.cache import SchedulerCache
from scheduling.engine.nodes.node_info import NodeInfo
from scheduling.engine.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Node, Pod


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing that the cache and the store disagree about."""

    subject: str
    cached: str
    stored: str

    def __str__(self) -> str:
        return f"{self.subject}: the cache has {self.cached}, the store {self.stored}"


def compare(cache: SchedulerCache, nodes: Iterable[Node], pods: Iterable[Pod]) -> list[Difference]:
    """Every difference between the cache and the store; none means that they agree.

    *pods* are the pods of the store that have not ended. Assumed pods may be in the store without
    a node, or with it. Only meaningful when no watch event is still under way.
    """
    stored_nodes = {node.name: node for node in nodes}
    stored_pods = {pod.uid: pod for pod in pods}
    return [
        *_compare_nodes(cache, stored_nodes),
        *_compare_pods(cache, stored_pods),
        *_compare_sums(cache),
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


def _compare_sums(cache: SchedulerCache) -> Iterable[Difference]:
    """Are the sums of each node those of the pods that are in the cache for it?"""
    by_node: dict[str, list[PodInfo]] = {}
    for state in cache.pods():
        by_node.setdefault(state.info.node_name, []).append(state.info)
    for info in sorted(cache.nodes(), key=_name):
        fresh = NodeInfo(info.name, 0)
        for pod in by_node.pop(info.name, ()):
            fresh.add_pod(pod)
        for what, held, summed in (
            ("pods", sorted(p.key for p in info.pods), sorted(p.key for p in fresh.pods)),
            ("requests", info.requested(), fresh.requested()),
            (
                "non-zero requests",
                (info.non_zero_milli_cpu, info.non_zero_memory),
                (fresh.non_zero_milli_cpu, fresh.non_zero_memory),
            ),
            ("ports", *_ports(info, fresh)),
        ):
            if held != summed:
                yield Difference(
                    subject=f"{what} of node/{info.name}", cached=str(held), stored=str(summed)
                )
    for name in sorted(by_node):
        yield Difference(subject=f"node/{name}", cached="nothing", stored="pods of it")


def _ports(info: NodeInfo, fresh: NodeInfo) -> tuple[list[str], list[str]]:
    """The ports taken; of those that pods share the cache rightly knows no more once one has left."""
    held, claimed = (
        {(ip, *entry): None for ip, taken in each.used_ports.items() for entry in taken}
        for each in (info, fresh)
    )
    forgotten = info.shared_ports.keys() - held.keys()
    return sorted(map(str, held)), sorted(str(port) for port in claimed if port not in forgotten)


def _name(info: NodeInfo) -> str:
    return info.name
