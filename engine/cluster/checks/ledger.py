"""Ledger against nodes: are the sums that filters read those of the pods on each node?

The node table is updated by differences, one for each pod that comes or goes. Here its sums are
added up anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.cluster.checks.finding import Finding, difference
from engine.cluster.cluster import Cluster
from engine.framework.nodes.cache import SchedulerCache
from engine.framework.nodes.node_info import NodeInfo
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo


def ledger_differences(cluster: Cluster) -> list[Finding]:
    """Where the sums of a leading scheduler are not those of its pods; [] when nowhere."""
    return [
        found
        for one in cluster.replicas
        if one.is_leading
        for found in compare_table(one.scheduler.cache, one.scheduler.handle.table)
    ]


def compare_table(cache: SchedulerCache, table: NodeTable) -> Iterable[Finding]:
    """Where a row of *table* has other sums than the pods that the cache has on its node."""
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
            yield difference(f"node/{info.name}", cached="no row", stored="the node")
            continue
        ours, theirs = _row_sums(table, info), _row_sums(fresh, info)
        for what, amount in ours.items():
            yield from _different(f"{what} of node/{info.name}", amount, theirs[what])
        if not info.shares_ports:
            # A port that pods share is free when the first of them leaves.
            ports = (_ports(table, info), _ports(fresh, info))
            yield from _different(f"ports of node/{info.name}", *ports)
    for name in sorted(by_node):
        yield difference(f"node/{name}", cached="nothing", stored="pods of it")


def _row_sums(table: NodeTable, info: NodeInfo) -> dict[str, Any]:
    row = table.rows[info.name]
    return {
        "rows": sorted(table.pods[row]),
        "requests": table.requested_at(row),
        "non-zero requests": table.scored[:, row].tolist(),
    }


def _ports(table: NodeTable, info: NodeInfo) -> list[str]:
    return sorted(map(str, table.ports.at(table.rows[info.name])))


def _different(subject: str, cached: object, stored: object) -> Iterable[Finding]:
    if cached != stored:
        yield difference(subject, cached=str(cached), stored=str(stored))


def _name(info: NodeInfo) -> str:
    return info.name
