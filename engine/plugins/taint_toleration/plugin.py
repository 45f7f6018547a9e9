"""Taints and tolerations. Upstream: plugins/tainttoleration/taint_toleration.go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.manifests import taint_text
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import (
    MAX_NODE_SCORE,
    Code,
    CycleState,
    Detail,
    Plugin,
    Status,
    default_normalize,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.pod_template import PodTemplate
from engine.framework.pods.signing import Signed, sign_tolerations
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import say
from engine.objects.pods.tolerations import Taint
from engine.plugins.arguments import no_arguments
from engine.plugins.taint_toleration.changes import taint_changes, tolerate
from engine.plugins.taint_toleration.events import EVENTS
from engine.plugins.taint_toleration.facts import explain_taint

_HARD = ("NoSchedule", "NoExecute")


class TaintToleration(Plugin):
    """Refuses nodes with an untolerated hard taint; prefers fewer untolerated soft ones.

    A refused node's code is 1 + (taint group) * 256 + (place of the taint in its group).
    """

    name: ClassVar[str] = names.TAINT_TOLERATION
    formula: ClassVar[str] = "100 − raw × 100 ÷ highest"
    family: ClassVar[str] = "taint"
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    normalizes_by_range: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)
    unprepared = Unprepared(
        score='failed to read "PreScoreTaintToleration" from cycleState: not found'
    )

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # Until v1.34 (kubernetes#134740).
        self._names_taint: bool = arguments.get("names_taint", False)

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The first untolerated NoSchedule or NoExecute taint of each node."""
        table = self._table
        verdicts = np.array(
            [
                self._verdict(state.template, group, taints)
                for group, taints in enumerate(table.taints.groups)
            ],
            np.int64,
        )
        return verdicts[table.taints.codes[rows]]

    @staticmethod
    def _verdict(template: PodTemplate, group: int, taints: tuple[Taint, ...]) -> int:
        place = untolerated(template, taints, _HARD)
        return 0 if place is None else 1 + group * 256 + place

    def explain(self, state: CycleState, code: int) -> Status:
        """The reason; `detail` says which taint."""
        taint = self._taint(code)
        reason = "node(s) had untolerated taint(s)"
        if self._names_taint:
            reason = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
        return Status(Code.UNRESOLVABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The taint as kubectl writes it."""
        return taint_detail(self._taint(code))

    def _taint(self, code: int) -> Taint:
        group, place = divmod(code - 1, 256)
        return self._table.taints.groups[group][place]

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The number of untolerated PreferNoSchedule taints."""
        return soft_taints(state.template, self._table.taints.groups)[
            self._table.taints.codes[rows]
        ]

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        taints = self._table.taints.groups[self._table.taints.codes.item(row)]
        return soft_terms(state.template, taints)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Fewer taints, higher score."""
        return default_normalize(scores, MAX_NODE_SCORE, reverse=True)

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_taint(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return taint_changes(refusals)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return sign_tolerations(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return tolerate(pod, node, numbers)


def untolerated(
    template: PodTemplate, taints: tuple[Taint, ...], effects: tuple[str, ...]
) -> int | None:
    """The place of the first taint with one of *effects* that the pod does not tolerate."""
    for place, taint in enumerate(taints):
        if taint.effect in effects and not any(
            toleration.tolerates(taint) for toleration in template.tolerations
        ):
            return place
    return None


def soft_taints(template: PodTemplate, groups: list[tuple[Taint, ...]]) -> IntArray:
    """For each taint group the number of PreferNoSchedule taints the pod does not tolerate.

    Upstream: countIntolerableTaintsPreferNoSchedule().
    """
    return np.array([len(untolerated_soft(template, taints)) for taints in groups], np.int64)


def soft_terms(template: PodTemplate, taints: tuple[Taint, ...]) -> Terms:
    """The number of the same for one node, taint by taint."""
    found = untolerated_soft(template, taints)
    return Terms.sum_of(Term(say("taint {taint}", taint=taint_text(taint)), 1) for taint in found)


def untolerated_soft(template: PodTemplate, taints: tuple[Taint, ...]) -> list[Taint]:
    """The PreferNoSchedule taints among *taints* that the pod does not tolerate."""
    soft = [t for t in template.tolerations if t.effect in ("", "PreferNoSchedule")]
    return [
        taint
        for taint in taints
        if taint.effect == "PreferNoSchedule" and not any(t.tolerates(taint) for t in soft)
    ]


def taint_detail(taint: Taint) -> Detail:
    """Evidence for an untolerated taint."""
    return Detail(
        text=say("untolerated taint {taint}", taint=taint_text(taint)),
        numbers={"key": taint.key, "value": taint.value, "effect": taint.effect},
    )
