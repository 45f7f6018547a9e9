"""Drains that cannot go on: cordoned nodes whose pods have a budget that allows no disruption."""

from __future__ import annotations

from collections.abc import Iterator

from engine.cluster.cluster import Cluster
from engine.controllers.disruption.budget_count import selector_of_budget
from engine.diagnosis.observed.evidence import Evidence, controller_reference, entity, key_of
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Group
from engine.diagnosis.why import explain_object
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, say, say_count, together
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest, Pod

BUDGET = "PodDisruptionBudget"


def drain_groups(cluster: Cluster, evidence: Evidence) -> Iterator[Group]:
    """One group for each budget that a drain of cordoned nodes waits for.

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
    drain = say_count(
        "A drain of {nodes}, which is cordoned, waits for {pods}.",
        "A drain of {nodes}, which are cordoned, waits for {pods}.",
        len(nodes),
        nodes=listed(nodes, 4),
        pods=names,
    )
    return Group(
        kind="node",
        cause=together(reason, drain),
        by=known_as("poddisruptionbudget", key_of(budget)),
        predicted=say(
            "Whether a drain is under way is not in the files; it would be refused here as well."
        ),
        nodes=tuple(nodes),
        workloads=tuple(evidence.workloads(pods)),
        objects=tuple(entity(pod) for pod in pods),
        facts=(entity(budget), *(f"node/{name}" for name in nodes)),
    )


def _to_be_drained(evidence: Evidence) -> Iterator[Manifest]:
    """The pods that a drain of the cordoned nodes evicts."""
    cordoned = {
        key_of(node) for node in evidence.all("Node") if section(node, "spec").get("unschedulable")
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
