"""A small scheduler outside of kscope, on the official Python client: the first node that fits.

It binds pods, chooses nodes for claims that wait for their first consumer, and evicts pods of lower
priority where nothing else helps. It knows kscope only as an API server.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from kubernetes import client

SELECTED_NODE = "volume.kubernetes.io/selected-node"


@dataclass(slots=True)
class FirstFit:
    """Schedules the pods of one cluster, a pass at a time."""

    api: client.ApiClient

    def schedule(self) -> int:
        """Do what can be done for each pod that waits; returns how many wait still."""
        core = client.CoreV1Api(self.api)
        nodes = {one.metadata.name: one for one in core.list_node().items}
        pods = core.list_pod_for_all_namespaces().items
        used: Counter[str] = Counter()
        for pod in pods:
            if pod.spec.node_name:
                used[pod.spec.node_name] += _cpu_of(pod)
        waiting = [pod for pod in pods if _is_mine(pod)]
        left = len(waiting)
        for pod in sorted(waiting, key=lambda pod: -(pod.spec.priority or 0)):
            node = next((name for name in nodes if _fits(pod, nodes[name], used[name])), None)
            if node is None:
                self._make_room(pod, pods, nodes)
            elif self._has_volumes(pod, node):
                self._bind(pod, node)
                used[node] += _cpu_of(pod)
                left -= 1
        return left

    def _has_volumes(self, pod: Any, node: str) -> bool:
        """Whether its claims are bound; those that wait for a node are told which."""
        core, place = client.CoreV1Api(self.api), pod.metadata.namespace
        names = [each.persistent_volume_claim for each in pod.spec.volumes or []]
        claims = [
            core.read_namespaced_persistent_volume_claim(each.claim_name, place)
            for each in names
            if each is not None
        ]
        for claim in claims:
            if claim.status.phase != "Bound":
                chosen = {"metadata": {"annotations": {SELECTED_NODE: node}}}
                core.patch_namespaced_persistent_volume_claim(claim.metadata.name, place, chosen)
        return all(claim.status.phase == "Bound" for claim in claims)

    def _bind(self, pod: Any, node: str) -> None:
        name, place = pod.metadata.name, pod.metadata.namespace
        target = client.V1ObjectReference(api_version="v1", kind="Node", name=node)
        metadata = client.V1ObjectMeta(name=name, namespace=place, uid=pod.metadata.uid)
        body = client.V1Binding(metadata=metadata, target=target)
        # What comes back is a Status, which the client would take for a Binding.
        client.CoreV1Api(self.api).create_namespaced_pod_binding(
            name, place, body, _preload_content=False
        )

    def _make_room(self, pod: Any, pods: list[Any], nodes: dict[str, Any]) -> None:
        """Evict the pods of lower priority of one node, or say that there is no room."""
        core, place = client.CoreV1Api(self.api), pod.metadata.namespace
        for node in nodes:
            lower = [
                each
                for each in pods
                if each.spec.node_name == node
                and (each.spec.priority or 0) < (pod.spec.priority or 0)
            ]
            if lower and not pod.status.nominated_node_name:
                nominated = {"status": {"nominatedNodeName": node}}
                core.patch_namespaced_pod_status(pod.metadata.name, place, nominated)
                for each in lower:
                    core.delete_namespaced_pod(each.metadata.name, each.metadata.namespace)
                return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": f"0/{len(nodes)} nodes are available.",
        }
        core.patch_namespaced_pod_status(
            pod.metadata.name, place, {"status": {"conditions": [condition]}}
        )


def _is_mine(pod: Any) -> bool:
    return (
        not pod.spec.node_name
        and pod.spec.scheduler_name == "default-scheduler"
        and pod.metadata.deletion_timestamp is None
    )


def _fits(pod: Any, node: Any, used: int) -> bool:
    return used + _cpu_of(pod) <= _milli(node.status.allocatable["cpu"])


def _cpu_of(pod: Any) -> int:
    requests = [(each.resources.requests or {}) for each in pod.spec.containers if each.resources]
    return sum(_milli(each.get("cpu", "0")) for each in requests)


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1_000
