"""Pods that got their node without a scheduler: nobody saw to their claims, or the node is not there."""

from __future__ import annotations

import re
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, is_under_way, key_of
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.explained import Explained, Stuck
from engine.framework.explaining.case import listed
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from engine.objects.phases import SELECTED_NODE

_BY_A_SCHEDULER: Final = Change(
    text="Make the pods again without nodeName (with a node selector instead), so that a scheduler "
    "chooses the node and sees to their claims",
    kind="again",
)
_NOT_RESERVED: Final = re.compile(r"is not allowed to use (?:R|r)esource ?(?:C|c)laim ([^\s(]+)")


def explain_devices(evidence: Evidence, found: Stuck) -> Explained:
    """Claims that the kubelet does not prepare: they are not for the pod, or their driver fails."""
    refused = _NOT_RESERVED.search(found.message)
    if refused is None:
        return Explained(f"{found.message}.", "")
    namespace = found.objects[0]["metadata"].get("namespace")
    claim = evidence.find("ResourceClaim", f"{namespace}/{refused[1]}")
    is_allocated = claim is not None and bool(section(claim, "status").get("allocation"))
    lacks = "reserved for it" if is_allocated else "allocated, nor reserved for it"
    text = (
        f"ResourceClaim {namespace}/{refused[1]} is not {lacks}. A scheduler does both before it "
        "binds a pod: most likely spec.nodeName was set by hand, and no scheduler has seen the pod."
    )
    return Explained(text, "", (_BY_A_SCHEDULER,))


def explain_bypassed(evidence: Evidence, claim: str, found: Stuck) -> Explained:
    """A claim that waits for a scheduler, of a pod that no scheduler has seen."""
    text = (
        f"claim {claim} waits until a scheduler has chosen a node (WaitForFirstConsumer, no annotation "
        f"{SELECTED_NODE}), and {'the pod has its' if len(found.objects) == 1 else 'the pods have their'} "
        "nodeName without one."
    )
    awaited = [key_of(pod) for pod in evidence.users(claim) if _waits_for_scheduler(pod)]
    if awaited:
        several = "pod" if len(awaited) == 1 else "one of the pods"
        text = f"{text} It is bound once a scheduler has chosen a node for {several} {listed(awaited, 4)}."
    return Explained(text, f"persistentvolumeclaim {claim}", (_BY_A_SCHEDULER,))


def _waits_for_scheduler(pod: Manifest) -> bool:
    is_new = not section(pod, "spec").get("nodeName") and is_under_way(pod)
    return is_new and not pod["metadata"].get("deletionTimestamp")


def explain_no_node(evidence: Evidence, found: Stuck) -> Explained:
    """A pod that names a node which is not there."""
    name = str(section(found.objects[0], "spec").get("nodeName"))
    known = listed(sorted(str(each["metadata"]["name"]) for each in evidence.all("Node")), 4)
    text = f"node {name} is not in the files, so no kubelet takes the pod. There are {known}."
    return Explained(text, f"node {name}", (_BY_A_SCHEDULER,))
