"""Changes after which taints no longer keep a pod from a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.manifests import CONDITION, taint_of, taint_text
from engine.framework.explaining.proposes import Proposal, template_note
from engine.framework.explaining.refusals import NODES, Refusals
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import say, together
from engine.objects.objects import Manifest, Pod
from engine.objects.pods.tolerations import Taint
from engine.plugins.taint_toleration.facts import origin_of


def tolerate(pod: PodInfo, node: str, numbers: Mapping[str, Any]) -> SmallestFix:
    """See `Fixes`: a toleration of the taint."""
    taint = Taint(numbers["key"], numbers["value"], numbers["effect"])
    return SmallestFix(
        text=say("Tolerate {key} and it fits {node} now.", key=numbers["key"], node=node),
        object=pod.pod.id,
        patch=_with_toleration(pod.pod, taint),
    )


def taint_changes(refusals: Refusals) -> Iterator[Proposal]:
    """A toleration, or a taint less."""
    yield from _tolerations(refusals)
    yield from _removed_taints(refusals)


def _tolerations(refusals: Refusals) -> Iterator[Proposal]:
    """One toleration, for one taint of a close node."""
    pod = refusals.pod
    taints: dict[Taint, None] = {}
    for each in refusals.refused:
        node = refusals.world.table.node(each.row)
        taints.update(dict.fromkeys(refusals.untolerated(node)))
    for taint in list(taints)[:NODES]:
        if taint.key.startswith(CONDITION):
            continue
        yield Proposal(
            kind="toleration",
            text=say("Tolerate {taint}", taint=taint_text(taint)),
            object=pod,
            patch=_with_toleration(pod, taint),
            note=template_note(
                pod,
                breaks=together(origin_of(taint), say("The pod may then run on any node with it.")),
            ),
        )


def _with_toleration(pod: Pod, taint: Taint) -> Manifest:
    """The patch of *pod* after which it tolerates *taint*."""
    toleration = {"key": taint.key, "effect": taint.effect, "operator": "Exists"}
    if taint.value:
        toleration |= {"operator": "Equal", "value": taint.value}
    old: list[Any] = list(pod.spec.get("tolerations") or ())
    return {"spec": {"tolerations": [*old, toleration]}}


def _removed_taints(refusals: Refusals) -> Iterator[Proposal]:
    """Take a node's only untolerated taint off."""
    for each, node in refusals.near():
        taints = refusals.untolerated(node)
        if len(taints) > 1 + refusals.others:
            continue
        for taint in taints:
            if taint.key.startswith(CONDITION):
                continue
            left = [raw for raw in node.taints if taint_of(raw) != taint]
            yield Proposal(
                kind="taint",
                text=say(
                    "Remove the taint {taint} from {node}", taint=taint_text(taint), node=each.node
                ),
                object=node,
                patch={"spec": {"taints": left}},
                note=together(
                    origin_of(taint), say("Pods that it keeps away may then be placed there.")
                ),
            )
