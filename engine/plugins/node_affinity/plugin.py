"""nodeSelector and node affinity. Upstream: plugins/nodeaffinity/node_affinity.go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation, Fact
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import (
    MAX_NODE_SCORE,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SKIP,
    SUCCESS,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
    default_normalize,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed
from engine.framework.registrations import Registration
from engine.kernel.sentences import Sentence, enumerated, say
from engine.objects.objects import Pod
from engine.objects.selectors import NodeSelector
from engine.plugins.node_affinity.arguments import check_arguments
from engine.plugins.node_affinity.changes import label, selector_changes
from engine.plugins.node_affinity.events import events_of
from engine.plugins.node_affinity.facts import conflicting_names, explain_added, explain_selector
from engine.plugins.node_affinity.reasons import REASON_CONFLICT, REASON_ENFORCED, REASON_POD
from engine.plugins.node_affinity.signature import signature_of

_BY_POD, _BY_SCHEDULER = 1, 2


class NodeAffinity(Plugin):
    """Refuses nodes the pod does not select; prefers nodes it prefers, by weight."""

    name: ClassVar[str] = names.NODE_AFFINITY
    formula: ClassVar[str] = "raw × 100 ÷ highest"
    family: ClassVar[str] = "selector"
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    normalizes_by_range: ClassVar[bool] = True
    check_arguments = staticmethod(check_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # What the scheduler's configuration adds to the affinity of every pod.
        self.added: dict[str, Any] = arguments.get("addedAffinity") or {}
        required = self.added.get("requiredDuringSchedulingIgnoredDuringExecution")
        self.enforced = None if required is None else NodeSelector.parse(required)
        self._preferred = tuple(
            (
                int(term.get("weight") or 0),
                NodeSelector.parse({"nodeSelectorTerms": [term.get("preference") or {}]}),
            )
            for term in self.added.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
            # A term without a weight is not even parsed. Upstream: NewPreferredSchedulingTerms().
            if term.get("weight")
        )

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Narrow the search when the pod names its nodes by metadata.name."""
        template = state.template
        if template.required_affinity.is_empty and self.enforced is None:
            return PRE_FILTER_SKIP
        if template.named_nodes is None:
            return PRE_FILTER_OK
        if not template.named_nodes:
            return PreFilterResult(status=Status(Code.UNRESOLVABLE, (REASON_CONFLICT,), self.name))
        return PreFilterResult(node_names=template.named_nodes)

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: the required terms, and the nodes that they name."""
        if not state.template.required_affinity.is_empty:
            required = str(state.template.required_affinity)
            yield say("required: {requirement}", requirement=required)
        if state.template.named_nodes:
            yield say("nodes named: {nodes}", nodes=enumerated(sorted(state.template.named_nodes)))

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Which selector the node misses."""
        codes = np.zeros(len(rows), np.int64)
        required = state.template.required_affinity
        if not required.is_empty:
            codes[~self._table.matching(required)[rows]] = _BY_POD
        if self.enforced is not None:
            codes[~self._table.matching(self.enforced)[rows]] = _BY_SCHEDULER
        return codes

    def explain(self, state: CycleState, code: int) -> Status:
        """The reason: the pod or the scheduler's configuration."""
        reason = REASON_POD if code == _BY_POD else REASON_ENFORCED
        return Status(Code.UNRESOLVABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The first requirement that does not hold."""
        if code == _BY_SCHEDULER:
            return Detail(
                text=say("scheduler-enforced affinity: {enforced}", enforced=str(self.enforced))
            )
        return selector_detail(state, self._table.node(row).labels, self._table.name(row))

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """SKIP without preferences."""
        return SUCCESS if state.template.preferred_nodes or self._preferred else SKIP

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The sum of the weights of the preferred terms that match."""
        scores = np.zeros(len(rows), np.int64)
        for _, weights in self._preferences(state, rows):
            scores += weights
        return scores

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        rows = np.array([row], np.int64)
        return Terms.sum_of(
            Term(say("prefers {selector}", selector=str(selector)), int(weights[0]))
            for selector, weights in self._preferences(state, rows)
        )

    def _preferences(
        self, state: CycleState, rows: IntArray
    ) -> Iterator[tuple[NodeSelector, IntArray]]:
        """Each preferred term, with its weight where it matches and 0 elsewhere."""
        for weight, selector in (*state.template.preferred_nodes, *self._preferred):
            if weight:
                yield selector, weight * self._table.matching(selector)[rows]

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The best node gets the highest score."""
        return default_normalize(scores, MAX_NODE_SCORE, reverse=False)

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        if REASON_ENFORCED in case.reasons:
            return explain_added(case, self.added)
        return explain_selector(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return selector_changes(refusals, self.added)

    def explain_outright(self, pod: Pod) -> Sequence[Fact]:
        """See `ExplainsOutright`."""
        return tuple(conflicting_names(pod))

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return signature_of(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return events_of(self.enforced)

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return label(node, numbers)


def selector_detail(state: CycleState, labels: Any, node_name: str) -> Detail:
    """Evidence for a node that the pod's nodeSelector or node affinity excludes."""
    required = state.template.required_affinity
    for key, value in required.node_selector:
        found = labels.get(key)
        if found != value:
            return _label_detail(key, value, found)
    return Detail(
        text=say("wants {terms}", terms=str(required.terms)), numbers={"terms": str(required.terms)}
    )


@lru_cache(maxsize=512)
def _label_detail(key: str, wanted: str, found: str | None) -> Detail:
    """The evidence, made once for nodes of the same label."""
    text = say("wants {key}={wanted}, has no such label", key=key, wanted=wanted)
    if found is not None:
        text = say("wants {key}={wanted}, has {found}", key=key, wanted=wanted, found=found)
    return Detail(
        text=text,
        numbers={"key": key, "wanted": [wanted], "found": found, "operator": "In"},
    )
