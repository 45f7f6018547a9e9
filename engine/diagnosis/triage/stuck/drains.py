"""Drains that cannot go on: nodes whose pods have a budget that allows no disruption.

A node is drained that is cordoned, or that is being deleted while a finalizer keeps it: an
autoscaler evicts its pods before it lets go. Upstream: karpenter, pkg/controllers/node/termination.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.cluster.cluster import Cluster
from engine.controllers.disruption.budget_count import selector_of_budget
from engine.diagnosis.observed.evidence import (
    Evidence,
    controller_reference,
    entity,
    key_of,
    told_by,
)
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Group
from engine.diagnosis.why import explain_object
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, count_phrase, say, say_count, together
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest, Pod

BUDGET = "PodDisruptionBudget"


def drain_groups(cluster: Cluster, evidence: Evidence) -> Iterator[Group]:
    """One group for each budget that a drain of nodes waits for.

    `kubectl drain` asks for evictions again and again; nothing in the files says that it runs.
    Upstream: pkg/registry/core/pod/storage/eviction.go, checkAndDecrement().
    """
    waiting = list(_to_be_drained(evidence))
    if not waiting:
        return
    for budget in cluster.store.objects(BUDGET):
        held = [pod for pod in waiting if _covers(budget, pod)]
        if held and (reason := _refusal(cluster, budget.key)):
            yield _group(evidence, budget.raw, held, reason)


def _group(evidence: Evidence, budget: Manifest, pods: list[Manifest], reason: Sentence) -> Group:
    nodes = list(dict.fromkeys(str(section(pod, "spec")["nodeName"]) for pod in pods))
    names = say_count(
        "pod {names}", "pods {names}", len(pods), names=listed([key_of(pod) for pod in pods], 4)
    )
    going = [node for name in nodes if (node := evidence.find("Node", name)) and _is_leaving(node)]
    text = _OF_LEAVING if len(going) == len(nodes) else _OF_CORDONED
    drain = text.say(len(nodes), nodes=listed(nodes, 4), pods=names)
    said = [each for node in going for each in evidence.events(node, *_DRAINS)]
    return Group(
        kind="node",
        cause=together(reason, drain),
        by=known_as("poddisruptionbudget", key_of(budget)),
        observed=told_by(said, said[-1].reason, said[-1].message) if said else NOTHING,
        since=min((str(node["metadata"]["deletionTimestamp"]) for node in going), default=""),
        predicted=say("The evictions are refused here as well.")
        if going
        else say(
            "Whether a drain is under way is not in the files; it would be refused here as well."
        ),
        nodes=tuple(nodes),
        workloads=tuple(evidence.workloads(pods)),
        objects=tuple(entity(pod) for pod in pods),
        facts=(entity(budget), *(f"node/{name}" for name in nodes)),
    )


_OF_CORDONED: Final = count_phrase(
    "A drain of {nodes}, which is cordoned, waits for {pods}.",
    "A drain of {nodes}, which are cordoned, waits for {pods}.",
)
_OF_LEAVING: Final = count_phrase(
    "A drain of {nodes}, which is being deleted, waits for {pods}.",
    "A drain of {nodes}, which are being deleted, waits for {pods}.",
)
# What autoscalers say of a node that they cannot drain.
_DRAINS: Final = ("FailedDraining", "ScaleDownFailed")


def _is_leaving(node: Manifest) -> bool:
    metadata = node["metadata"]
    return bool(metadata.get("deletionTimestamp") and metadata.get("finalizers"))


def _to_be_drained(evidence: Evidence) -> Iterator[Manifest]:
    """The pods that a drain evicts."""
    cordoned = {
        key_of(node)
        for node in evidence.all("Node")
        if section(node, "spec").get("unschedulable") or _is_leaving(node)
    }
    for pod in evidence.all(Pod.KIND) if cordoned else ():
        has_ended = section(pod, "status").get("phase") in ("Succeeded", "Failed")
        is_going = bool(pod["metadata"].get("deletionTimestamp"))
        if section(pod, "spec").get("nodeName") in cordoned and not (has_ended or is_going):
            owner = controller_reference(pod)
            if owner is None or owner.get("kind") not in ("DaemonSet", "Node"):
                yield pod


def _covers(budget: ApiObject, pod: Manifest) -> bool:
    metadata = pod["metadata"]
    is_there = budget.namespace == metadata.get("namespace")
    return is_there and selector_of_budget(budget).matches(metadata.get("labels") or {})


def _refusal(cluster: Cluster, budget: str) -> Sentence:
    """Why the budget allows no disruption; "" where it allows some."""
    found = explain_object(cluster, BUDGET, budget, tries_changes=False)
    blocking = next((each for each in found.causes if each.severity == "blocks"), None)
    return together(blocking.sentence, blocking.why) if blocking else NOTHING
