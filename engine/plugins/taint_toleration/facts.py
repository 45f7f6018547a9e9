"""TaintToleration: the taint, who put it there, and tolerations that nearly match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.framework.explaining.case import FEW, FEW_LEFT, Case, Refusal, listed
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.labels import RENAMED
from engine.framework.explaining.manifests import taint_of, taint_text
from engine.framework.explaining.view import View
from engine.kernel.sentences import NOTHING, Sentence, clause, say
from engine.objects.manifest_parts import items
from engine.objects.objects import OUT_OF_SERVICE_TAINT, Node, Pod
from engine.objects.pods.tolerations import Taint, Toleration

# Well-known taints: who puts them on, and when they go. Upstream: api/core/v1/well_known_taints.go
_ORIGINS: Final[Mapping[str, Sentence]] = {
    "node.kubernetes.io/not-ready": say(
        "The node controller sets it while condition Ready is False."
    ),
    "node.kubernetes.io/unreachable": say(
        "The node controller sets it while condition Ready is Unknown: the kubelet has stopped reporting."
    ),
    "node.kubernetes.io/memory-pressure": say(
        "The node controller sets it while the kubelet reports MemoryPressure."
    ),
    "node.kubernetes.io/disk-pressure": say(
        "The node controller sets it while the kubelet reports DiskPressure."
    ),
    "node.kubernetes.io/pid-pressure": say(
        "The node controller sets it while the kubelet reports PIDPressure."
    ),
    "node.kubernetes.io/network-unavailable": say(
        "The node controller sets it until the network plugin reports that the network is available."
    ),
    "node.kubernetes.io/unschedulable": say(
        "The node controller sets it while the node is cordoned."
    ),
    OUT_OF_SERVICE_TAINT: say("An administrator sets it for a node that was shut down."),
    "node.cloudprovider.kubernetes.io/uninitialized": say(
        "The kubelet sets it at registration, and the cloud-controller-manager removes it once it has initialized the node."
    ),
    "node.cloudprovider.kubernetes.io/shutdown": say(
        "The cloud-controller-manager sets it while the instance is shut down."
    ),
    "node.cilium.io/agent-not-ready": say(
        "{component} removes it when its agent runs on the node.", component="Cilium"
    ),
    "ebs.csi.aws.com/agent-not-ready": say(
        "The EBS CSI driver removes it when it runs on the node."
    ),
    "efs.csi.aws.com/agent-not-ready": say(
        "The EFS CSI driver removes it when it runs on the node."
    ),
    "karpenter.sh/disrupted": say(
        "{component} sets it on a node that it is about to remove.", component="Karpenter"
    ),
    "karpenter.sh/disruption": say(
        "{component} sets it on a node that it is about to remove.", component="Karpenter"
    ),
    "karpenter.sh/unregistered": say(
        "{component} removes it when the node has registered.", component="Karpenter"
    ),
    "nvidia.com/gpu": say("It keeps GPU nodes for pods that ask for GPUs."),
    "kubernetes.azure.com/scalesetpriority": say(
        "{component} sets it on spot nodes.", component="AKS"
    ),
    "cloud.google.com/gke-spot": say("{component} sets it on spot nodes.", component="GKE"),
    "eks.amazonaws.com/compute-type": say(
        "{component} sets it on Fargate nodes, for pods of a Fargate profile.", component="EKS"
    ),
    "CriticalAddonsOnly": say("It keeps the node for add-ons of the cluster."),
    "ToBeDeletedByClusterAutoscaler": say(
        "The cluster autoscaler sets it before it removes the node."
    ),
    "DeletionCandidateOfClusterAutoscaler": say(
        "The cluster autoscaler sets it on a node that is hardly used."
    ),
    "node-role.kubernetes.io/control-plane": say("Kubeadm sets it on control-plane nodes."),
    "node-role.kubernetes.io/master": say("Kubeadm set it on control-plane nodes before v1.24."),
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
    why = NOTHING
    seen: set[Taint] = set()
    for each in case.refused[:FEW]:
        node = case.node(each)
        for place, taint in untolerated(case.pod, node):
            origin = origin_of(taint)
            because.append(taint_fact(node, place, taint))
            because.extend(condition_facts(node, _CONDITIONS.get(taint.key, "")))
            if taint not in seen:
                seen.add(taint)
                because.extend(_near_misses(case, taint))
            if not why and origin:
                why = say("Taint {taint}: {origin}", taint=taint.key, origin=clause(origin))
    misses = [one for one in because if one.object == case.pod.id]
    if misses:
        why = misses[0].text
    return Explanation(why=why, because=tuple(because))


def tainted_everywhere(world: View, refused: Sequence[Refusal]) -> Sentence:
    """That every node has a taint which the pod does not tolerate, in a sentence; "" if not.

    A taint that all of them have is named with who sets it, different ones by node.
    """
    if len(refused) < len(world.table):
        return NOTHING
    shared: dict[str, None] | None = None
    first: dict[str, Taint] = {}
    for each in refused:
        taints = [taint for _, taint in untolerated(world.pod, world.table.node(each.row))]
        if not taints:
            return NOTHING
        first[each.node] = taints[0]
        own = {taint.key: None for taint in taints}
        shared = own if shared is None else {key: None for key in shared if key in own}
    key = next(iter(shared or ()), "")
    if key:
        origin = _ORIGINS.get(key, NOTHING)
        if not origin:
            return say("Every node has the taint {taint}.", taint=key)
        return say("Every node has the taint {taint}; {origin}", taint=key, origin=clause(origin))
    if len(first) > FEW_LEFT:
        return NOTHING
    names = [
        say("{node} has {taint}", node=name, taint=taint_text(taint))
        for name, taint in first.items()
    ]
    return say(
        "Every node has a taint that the pod does not tolerate: {names}.", names=listed(names)
    )


def origin_of(taint: Taint) -> Sentence:
    """Who sets a well-known taint, as a sentence; "" for others."""
    return _ORIGINS.get(taint.key, NOTHING)


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
    origin = origin_of(taint)
    text = say("Node {node} has the taint {taint}.", node=node.name, taint=taint_text(taint))
    if origin:
        text = say(
            "Node {node} has the taint {taint}; {origin}",
            node=node.name,
            taint=taint_text(taint),
            origin=clause(origin),
        )
    return fact(node, ("spec", "taints", place), text)


def condition_facts(node: Node, kind: str) -> Iterator[Fact]:
    """The condition of that type with its reason and message."""
    for place, condition in enumerate(items(node.status, "conditions")):
        if kind and condition.get("type") == kind:
            yield fact(node, ("status", "conditions", place), _condition_text(node, condition))


def _condition_text(node: Node, condition: Mapping[str, Any]) -> Sentence:
    stands = f"{condition['type']}={condition.get('status')}"
    reason = condition.get("reason")
    message = str(condition.get("message") or "").rstrip(".")
    if reason and message:
        return say(
            "Node {node} has {condition}, reason {reason}: {message}.",
            node=node.name,
            condition=stands,
            reason=reason,
            message=message,
        )
    if reason:
        return say(
            "Node {node} has {condition}, reason {reason}.",
            node=node.name,
            condition=stands,
            reason=reason,
        )
    if message:
        return say(
            "Node {node} has {condition}: {message}.",
            node=node.name,
            condition=stands,
            message=message,
        )
    return say("Node {node} has {condition}.", node=node.name, condition=stands)


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
                text = say(
                    "The pod tolerates {given}, which is now called {newer}.",
                    given=given.key,
                    newer=newer,
                )
                yield fact(case.pod, path, text, compared_with=taint.key)
            elif _OLD_KEYS.get(taint.key) == given.key:
                text = say(
                    "The pod tolerates {given}; {nearest} has the older {taint}.",
                    given=given.key,
                    nearest=case.nearest.name,
                    taint=taint.key,
                )
                yield fact(case.pod, path, text, compared_with=taint.key)
            elif given.key and given.key.lower().strip() == taint.key.lower():
                text = say(
                    "The pod tolerates {given}; the taint is spelt {taint}.",
                    given=given.key,
                    taint=taint.key,
                )
                yield fact(case.pod, path, text, compared_with=taint.key)
            continue
        if given.effect and given.effect != taint.effect:
            text = say(
                "The pod tolerates {taint} with effect {effect} only, and the taint has "
                "effect {effect_2}.",
                taint=taint.key,
                effect=given.effect,
                effect_2=taint.effect,
            )
            yield fact(case.pod, path, text, compared_with=taint.effect)
        elif given.operator in ("", "Equal") and given.value != taint.value:
            text = say(
                'The pod tolerates {taint} with value "{value}" (operator Equal), and the '
                'taint has value "{value_2}".',
                taint=taint.key,
                value=given.value,
                value_2=taint.value,
            )
            yield fact(case.pod, path, text, compared_with=taint.value)
        elif given.operator not in ("", "Equal", "Exists"):
            text = say(
                "The operator {operator} of the pod's toleration of {taint} matches nothing.",
                operator=given.operator,
                taint=taint.key,
            )
            yield fact(case.pod, path, text, compared_with="Exists")
