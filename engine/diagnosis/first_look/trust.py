"""How far the model can be trusted on a cluster: what it says, beside what the files say.

A scheduler's own Events tell why it refused a pod, and a pod that runs tells that its node was
accepted. Where the model says otherwise it knows less than the cluster.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import orjson

from engine.diagnosis.first_look.printed import node_state, pod_state
from engine.diagnosis.observed.evidence import Evidence, key_of
from engine.diagnosis.triage.deciding import Deciding
from engine.diagnosis.triage.report import Group
from engine.kubelet.resizing import allocated_pod
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, Pod
from engine.scheduler.cycle.decision.result import SCHEDULED

# How many different pods are looked at, of those that wait and of those that run.
_WAITING_LOOKED_AT: Final = 100
_RUNNING_LOOKED_AT: Final = 200
# Set by the kubelet on the pods of its own manifests, which no scheduler saw.
# Upstream: pkg/kubelet/types/pod_update.go ConfigMirrorAnnotationKey.
_MIRROR: Final = "kubernetes.io/config.mirror"

# Upstream: framework/types.go FitError.Error().
_REFUSED: Final = re.compile(r"\A\d+/\d+ nodes are available: ?(.*)\Z", re.DOTALL)
# What the post-filters add: preemption, and DynamicResources since v1.26.
_POST_FILTERS: Final = re.compile(
    r"\.\s+(?:no new claims to deallocate|still not schedulable|[^.]*preemption: ).*\Z", re.DOTALL
)
# Each reason has its number of nodes before it.
_NUMBERED: Final = re.compile(r"(?:\A|, )\d+ (?=\S)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`all` things exist, `of` were compared, and `same` of these agree with the model."""

    subject: str
    same: int
    of: int
    all: int

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)


def comparisons(
    evidence: Evidence, deciding: Deciding, groups: Sequence[Group]
) -> list[Comparison]:
    """What was compared; nothing where the files have nothing to compare with.

    *deciding* has every pod of the files, and is left as it was.
    """
    found = [
        _refusals(evidence, deciding),
        _contradictions(groups),
        _placements(evidence, deciding),
    ]
    return [each for each in found if each.of]


def _contradictions(groups: Sequence[Group]) -> Comparison:
    """How many causes are such that the model would let go on what they hold."""
    number = sum(each.contradicts for each in groups)
    return Comparison(subject="contradictions", same=number, of=len(groups), all=len(groups))


# -- pods that were refused -------------------------------------------------------------------------


def _refusals(evidence: Evidence, deciding: Deciding) -> Comparison:
    """Pods of which the newest Event FailedScheduling says why, and whether the model says the same."""
    told: list[tuple[Pod, tuple[str, ...]]] = []
    for pod in deciding.pending:
        events = evidence.events(pod.raw, "FailedScheduling")
        reasons = reasons_of(events[-1].message) if events else None
        if reasons is not None and deciding.serves(pod) and not pod.scheduling_gates:
            told.append((pod, reasons))
    known: dict[bytes, tuple[str, ...] | None] = {}
    same = of = 0
    for pod, reasons in told:
        key = _spec_key(pod)
        if key not in known:
            if len(known) == _WAITING_LOOKED_AT:
                continue
            known[key] = _model_reasons(deciding, pod)
        of += 1
        same += known[key] == reasons
    return Comparison(subject="refusals", same=same, of=of, all=len(told))


def _model_reasons(deciding: Deciding, pod: Pod) -> tuple[str, ...] | None:
    """The reasons for which the model refuses the pod; None where it would place it."""
    decided = deciding.world(pod).decide()
    return None if decided.result == SCHEDULED else reasons_of(decided.message)


def reasons_of(message: str) -> tuple[str, ...] | None:
    """The reasons in a message of FailedScheduling, without numbers of nodes; None for another one.

    The text that post-filters add is left out: it depends on what was evicted meanwhile.
    """
    match = _REFUSED.match(message)
    if match is None:
        return None
    rest = _POST_FILTERS.sub("", match[1]).strip().removesuffix(".")
    return tuple(sorted(part for part in _NUMBERED.split(rest) if part))


def _spec_key(pod: Pod) -> bytes:
    """The properties by which pods get the same answer."""
    parts = (pod.namespace, dict(pod.labels), dict(pod.spec))
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


# -- pods that run ----------------------------------------------------------------------------------


def _placements(evidence: Evidence, deciding: Deciding) -> Comparison:
    """Pods that run on a ready node, and whether the model accepts that node for them.

    Where a node was cordoned or broke later, its pods say nothing about how it was chosen.
    """
    usable = {key_of(each) for each in evidence.all("Node") if _is_usable(each)}
    told = [Pod(each) for each in evidence.all("Pod") if _is_told(each, usable)]
    told = [pod for pod in told if deciding.serves(pod)]
    looked_at = list(_spread(told, _RUNNING_LOOKED_AT))
    same = sum(_is_accepted(deciding, pod) for pod in looked_at)
    return Comparison(subject="placements", same=same, of=len(looked_at), all=len(told))


def _is_usable(node: Manifest) -> bool:
    is_cordoned = bool(section(node, "spec").get("unschedulable"))
    return node_state(node) in ("ready", "") and not is_cordoned


def _is_told(pod: Manifest, usable: Container[str]) -> bool:
    """Whether a scheduler chose the node on which the pod runs."""
    is_mirror = _MIRROR in (pod["metadata"].get("annotations") or {})
    node = str(section(pod, "spec").get("nodeName"))
    return pod_state(pod) == "runs" and node in usable and not is_mirror


def _spread(pods: Sequence[Pod], most: int) -> Iterator[Pod]:
    """At most so many of the pods, from the whole of the list."""
    step = max(1, -(-len(pods) // most))
    yield from pods[::step]


def _is_accepted(deciding: Deciding, pod: Pod) -> bool:
    """Whether the pod fits its own node once it is away from there."""
    if deciding.remove(pod) is None:
        return False
    try:
        # What it was placed with: a resize may have asked for more since.
        world = deciding.world(allocated_pod(pod))
        rows = np.array([world.table.rows[pod.node_name]], np.int64)
        framework, nominated = world.algorithm.framework, world.algorithm.nominated
        return len(framework.find_feasible(world.info(), rows, nominated).feasible) > 0
    finally:
        deciding.put(pod)
