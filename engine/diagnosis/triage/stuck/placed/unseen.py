"""Pods that got their node without a scheduler: nobody saw to their claims, or the node is not there."""

from __future__ import annotations

import re
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, is_under_way, key_of
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.explained import Explained, Stuck
from engine.framework.explaining.case import listed
from engine.kernel.sentences import say, say_count, together, verbatim
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from engine.objects.phases import SELECTED_NODE

_BY_A_SCHEDULER: Final = Change(
    text=say(
        "Make the pods again without nodeName (with a node selector instead), so "
        "that a scheduler chooses the node and sees to their claims"
    ),
    kind="again",
)
_NOT_RESERVED: Final = re.compile(r"is not allowed to use (?:R|r)esource ?(?:C|c)laim ([^\s(]+)")


def explain_devices(evidence: Evidence, found: Stuck) -> Explained:
    """Claims that the kubelet does not prepare: they are not for the pod, or their driver fails."""
    refused = _NOT_RESERVED.search(found.message)
    if refused is None:
        return Explained(verbatim(f"{found.message}."), "")
    namespace = found.objects[0]["metadata"].get("namespace")
    claim = evidence.find("ResourceClaim", f"{namespace}/{refused[1]}")
    is_allocated = claim is not None and bool(section(claim, "status").get("allocation"))
    name = f"{namespace}/{refused[1]}"
    lacks = say("ResourceClaim {claim} is not allocated, nor reserved for it.", claim=name)
    if is_allocated:
        lacks = say("ResourceClaim {claim} is not reserved for it.", claim=name)
    text = say(
        "A scheduler does both before it binds a pod: most likely spec.nodeName was set by hand, "
        "and no scheduler has seen the pod."
    )
    return Explained(together(lacks, text), "", (_BY_A_SCHEDULER,))


def explain_bypassed(evidence: Evidence, claim: str, found: Stuck) -> Explained:
    """A claim that waits for a scheduler, of a pod that no scheduler has seen."""
    text = say_count(
        "claim {claim} waits until a scheduler has chosen a node (WaitForFirstConsumer, no "
        "annotation {annotation}), and the pod has its nodeName without one.",
        "claim {claim} waits until a scheduler has chosen a node (WaitForFirstConsumer, no "
        "annotation {annotation}), and the pods have their nodeName without one.",
        len(found.objects),
        claim=claim,
        annotation=SELECTED_NODE,
    )
    awaited = [key_of(pod) for pod in evidence.users(claim) if _waits_for_scheduler(pod)]
    if awaited:
        bound = say_count(
            "It is bound once a scheduler has chosen a node for pod {pods}.",
            "It is bound once a scheduler has chosen a node for one of the pods {pods}.",
            len(awaited),
            pods=listed(awaited, 4),
        )
        text = together(text, bound)
    return Explained(text, known_as("persistentvolumeclaim", claim), (_BY_A_SCHEDULER,))


def _waits_for_scheduler(pod: Manifest) -> bool:
    is_new = not section(pod, "spec").get("nodeName") and is_under_way(pod)
    return is_new and not pod["metadata"].get("deletionTimestamp")


def explain_no_node(evidence: Evidence, found: Stuck) -> Explained:
    """A pod that names a node which is not there."""
    name = str(section(found.objects[0], "spec").get("nodeName"))
    known = listed(sorted(str(each["metadata"]["name"]) for each in evidence.all("Node")), 4)
    text = say(
        "node {name} is not in the files, so no kubelet takes the pod. There are {known}.",
        name=name,
        known=known,
    )
    return Explained(text, known_as("node", name), (_BY_A_SCHEDULER,))
