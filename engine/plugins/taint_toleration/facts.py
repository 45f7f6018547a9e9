"""TaintToleration: the taint, who put it there, and tolerations that nearly match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.framework.explaining.case import FEW, FEW_LEFT, Case, Refusal, listed
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.labels import RENAMED
from engine.framework.explaining.manifests import taint_of, taint_text
from engine.framework.explaining.view import View
from engine.framework.pods.pod_template import Taint, Toleration
from engine.objects.manifest_parts import items
from engine.objects.objects import OUT_OF_SERVICE_TAINT, Node, Pod

# Well-known taints: who puts them on, and when they go. Upstream: api/core/v1/well_known_taints.go
_ORIGINS: Final[Mapping[str, str]] = {
    "node.kubernetes.io/not-ready": "the node controller sets it while condition Ready is False",
    "node.kubernetes.io/unreachable": "the node controller sets it while condition Ready is Unknown: "
    "the kubelet has stopped reporting",
    "node.kubernetes.io/memory-pressure": "the node controller sets it while the kubelet reports "
    "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "the node controller sets it while the kubelet reports "
    "DiskPressure",
    "node.kubernetes.io/pid-pressure": "the node controller sets it while the kubelet reports "
    "PIDPressure",
    "node.kubernetes.io/network-unavailable": "the node controller sets it until the network plugin "
    "reports that the network is available",
    "node.kubernetes.io/unschedulable": "the node controller sets it while the node is cordoned",
    OUT_OF_SERVICE_TAINT: "an administrator sets it for a node that was shut down",
    "node.cloudprovider.kubernetes.io/uninitialized": "the kubelet sets it at registration, and the "
    "cloud-controller-manager removes it once it has initialized the node",
    "node.cloudprovider.kubernetes.io/shutdown": "the cloud-controller-manager sets it while the "
    "instance is shut down",
    "node.cilium.io/agent-not-ready": "Cilium removes it when its agent runs on the node",
    "ebs.csi.aws.com/agent-not-ready": "the EBS CSI driver removes it when it runs on the node",
    "efs.csi.aws.com/agent-not-ready": "the EFS CSI driver removes it when it runs on the node",
    "karpenter.sh/disrupted": "Karpenter sets it on a node that it is about to remove",
    "karpenter.sh/disruption": "Karpenter sets it on a node that it is about to remove",
    "karpenter.sh/unregistered": "Karpenter removes it when the node has registered",
    "nvidia.com/gpu": "it keeps GPU nodes for pods that ask for GPUs",
    "kubernetes.azure.com/scalesetpriority": "AKS sets it on spot nodes",
    "cloud.google.com/gke-spot": "GKE sets it on spot nodes",
    "eks.amazonaws.com/compute-type": "EKS sets it on Fargate nodes, for pods of a Fargate profile",
    "CriticalAddonsOnly": "it keeps the node for add-ons of the cluster",
    "ToBeDeletedByClusterAutoscaler": "the cluster autoscaler sets it before it removes the node",
    "DeletionCandidateOfClusterAutoscaler": "the cluster autoscaler sets it on a node that is hardly "
    "used",
    "node-role.kubernetes.io/control-plane": "kubeadm sets it on control-plane nodes",
    "node-role.kubernetes.io/master": "kubeadm set it on control-plane nodes before v1.24",
}
# The condition of a node that stands behind a taint.
_CONDITIONS: Final[Mapping[str, str]] = {
    "node.kubernetes.io/not-ready": "Ready",
    "node.kubernetes.io/unreachable": "Ready",
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
    "node.kubernetes.io/network-unavailable": "NetworkUnavailable",
}
_OLD_KEYS: Final[Mapping[str, str]] = {
    "node.alpha.kubernetes.io/notReady": "node.kubernetes.io/not-ready",
    "node.alpha.kubernetes.io/unreachable": "node.kubernetes.io/unreachable",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
}
_HARD: Final = ("NoSchedule", "NoExecute")


def explain_taint(case: Case) -> Explanation:
    """The untolerated taints of the closest nodes with what stands behind each of them."""
    because: list[Fact] = []
    why = ""
    seen: set[Taint] = set()
    for each in case.refused[:FEW]:
        node = case.node(each)
        for place, taint in untolerated(case.pod, node):
            origin = _ORIGINS.get(taint.key, "")
            because.append(taint_fact(node, place, taint))
            because.extend(condition_facts(node, _CONDITIONS.get(taint.key, "")))
            if taint not in seen:
                seen.add(taint)
                because.extend(_near_misses(case, taint))
            if not why and origin:
                why = f"Taint {taint.key}: {origin}."
    misses = [one for one in because if one.object == case.pod.id]
    if misses:
        why = misses[0].text
    return Explanation(why=why, because=tuple(because))


def tainted_everywhere(world: View, refused: Sequence[Refusal]) -> str:
    """That every node has a taint which the pod does not tolerate, in a sentence; "" if not.

    A taint that all of them have is named with who sets it, different ones by node.
    """
    if len(refused) < len(world.table):
        return ""
    shared: dict[str, None] | None = None
    first: dict[str, Taint] = {}
    for each in refused:
        taints = [taint for _, taint in untolerated(world.pod, world.table.node(each.row))]
        if not taints:
            return ""
        first[each.node] = taints[0]
        own = {taint.key: None for taint in taints}
        shared = own if shared is None else {key: None for key in shared if key in own}
    key = next(iter(shared or ()), "")
    if key:
        origin = _ORIGINS.get(key, "")
        return f"Every node has the taint {key}" + (f"; {origin}." if origin else ".")
    if len(first) > FEW_LEFT:
        return ""
    names = [f"{name} has {taint_text(taint)}" for name, taint in first.items()]
    return f"Every node has a taint that the pod does not tolerate: {listed(names)}."


def origin_of(taint: Taint) -> str:
    """Who sets a well-known taint, as a sentence; "" for others."""
    origin = _ORIGINS.get(taint.key, "")
    return f"{origin[:1].upper()}{origin[1:]}." if origin else ""


def untolerated(pod: Pod, node: Node) -> Iterator[tuple[int, Taint]]:
    """The hard taints of *node* that the pod does not tolerate, with their places."""
    tolerations = [_toleration(raw) for raw in items(pod.spec, "tolerations")]
    for place, raw in enumerate(node.taints):
        taint = taint_of(raw)
        if taint.effect in _HARD and not any(each.tolerates(taint) for each in tolerations):
            yield place, taint


def taint_facts(node: Node) -> Iterator[Fact]:
    """Every taint of *node* with who puts such a taint on."""
    for place, raw in enumerate(node.taints):
        yield taint_fact(node, place, taint_of(raw))


def taint_fact(node: Node, place: int, taint: Taint) -> Fact:
    """One taint of *node* with who puts such a taint on."""
    origin = _ORIGINS.get(taint.key, "")
    text = f"Node {node.name} has the taint {taint_text(taint)}" + (
        f"; {origin}." if origin else "."
    )
    return fact(node, ("spec", "taints", place), text)


def condition_facts(node: Node, kind: str) -> Iterator[Fact]:
    """The condition of that type with its reason and message."""
    for place, condition in enumerate(items(node.status, "conditions")):
        if kind and condition.get("type") == kind:
            reason = f", reason {condition['reason']}" if condition.get("reason") else ""
            message = f": {condition['message']}" if condition.get("message") else ""
            text = f"Node {node.name} has {kind}={condition.get('status')}{reason}{message}"
            yield fact(node, ("status", "conditions", place), f"{text.rstrip('.')}.")


def _toleration(raw: Mapping[str, Any]) -> Toleration:
    return Toleration(
        raw.get("key") or "",
        raw.get("operator") or "",
        raw.get("value") or "",
        raw.get("effect") or "",
    )


def _near_misses(case: Case, taint: Taint) -> Iterator[Fact]:
    """Tolerations that look as if they were meant for *taint*."""
    for place, raw in enumerate(items(case.pod.spec, "tolerations")):
        given = _toleration(raw)
        path = ("spec", "tolerations", place)
        if given.key != taint.key:
            newer = _OLD_KEYS.get(given.key) or RENAMED.get(given.key)
            if newer == taint.key:
                text = f"The pod tolerates {given.key}, which is now called {newer}."
                yield fact(case.pod, path, text, compared_with=taint.key)
            elif _OLD_KEYS.get(taint.key) == given.key:
                text = (
                    f"The pod tolerates {given.key}; {case.nearest.name} has the older {taint.key}."
                )
                yield fact(case.pod, path, text, compared_with=taint.key)
            elif given.key and given.key.lower().strip() == taint.key.lower():
                text = f"The pod tolerates {given.key}; the taint is spelt {taint.key}."
                yield fact(case.pod, path, text, compared_with=taint.key)
            continue
        if given.effect and given.effect != taint.effect:
            text = (
                f"The pod tolerates {taint.key} with effect {given.effect} only, and the taint has "
                f"effect {taint.effect}."
            )
            yield fact(case.pod, path, text, compared_with=taint.effect)
        elif given.operator in ("", "Equal") and given.value != taint.value:
            text = (
                f'The pod tolerates {taint.key} with value "{given.value}" (operator Equal), and the '
                f'taint has value "{taint.value}".'
            )
            yield fact(case.pod, path, text, compared_with=taint.value)
        elif given.operator not in ("", "Equal", "Exists"):
            text = f"The operator {given.operator} of the pod's toleration of {taint.key} matches nothing."
            yield fact(case.pod, path, text, compared_with="Exists")
