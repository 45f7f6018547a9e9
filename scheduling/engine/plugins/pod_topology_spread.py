"""Topology spread constraints. Upstream: plugins/podtopologyspread/{common,filtering,scoring}.go."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from kscope.sim.selectors import LabelSelector, Requirement
from scheduling.engine import names
from scheduling.engine.framework import (
    MAX_NODE_SCORE,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SKIP,
    SUCCESS,
    BoolArray,
    Code,
    CycleState,
    Detail,
    IntArray,
    Plugin,
    PreFilterResult,
    Status,
)
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.listers import Listers
from scheduling.engine.node_table import Codes, NodeTable, PodMatcher, Tally
from scheduling.engine.plugins.taint_toleration import untolerated
from scheduling.engine.pod_info import AffinityTerm, PodInfo
from scheduling.engine.pod_template import PodTemplate, SpreadConstraint

REASON_SKEW = "node(s) didn't match pod topology spread constraints"
REASON_LABEL = f"{REASON_SKEW} (missing required label)"

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_EVERYTHING = LabelSelector()
_SYSTEM_DEFAULTS = (
    SpreadConstraint(max_skew=3, topology_key=HOSTNAME, is_hard=False, selector=None),
    SpreadConstraint(max_skew=5, topology_key=ZONE, is_hard=False, selector=None),
)


@dataclass(slots=True)
class Eligible:
    """The rows that a constraint counts for a template, and the domains they lie in.

    `everybody` says that every node with the label counts, so that the table's own sums do.
    """

    rows: BoolArray
    codes: Codes
    present: BoolArray
    domains: int
    everybody: bool


@dataclass(slots=True)
class Domains:
    """One hard constraint: matching pods per domain, and which domains count at all."""

    constraint: SpreadConstraint
    counts: IntArray
    eligible: Eligible
    matches_itself: int

    @property
    def smallest(self) -> int:
        """The global minimum. Upstream: minMatchNum()."""
        if self.eligible.domains < self.constraint.min_domains:
            return 0
        return int(self.counts[self.eligible.present].min())


@dataclass(slots=True)
class ScoreState:
    """Soft constraints with their counts per domain and weights; rows that are ignored."""

    constraints: tuple[SpreadConstraint, ...]
    counts: list[IntArray]
    weights: list[float]
    ignored: BoolArray


class PodTopologySpread(Plugin):
    """Refuses nodes that would make a hard constraint's skew too large; prefers small skews."""

    name: ClassVar[str] = names.POD_TOPOLOGY_SPREAD

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        system_defaulted = (arguments.get("defaultingType") or "System") == "System"
        defaults = _SYSTEM_DEFAULTS if system_defaulted else _read_defaults(arguments)
        # v1.20 cuts the fraction of a score off, and passes over nodes that lack a label of the
        # system's defaults. Upstream: kubernetes#105046, in 1.20.14.
        self._rounds: bool = arguments.get("rounds", True)
        self._needs_all_labels: bool = not system_defaulted or arguments.get(
            "defaults_need_all_labels", False
        )
        self._hard_defaults = tuple(c for c in defaults if c.is_hard)
        self._kept: dict[int, tuple[int, list[Eligible]]] = {}
        self._soft_defaults = tuple(c for c in defaults if not c.is_hard)

    # -- filter ----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Count matching pods per domain for every hard constraint."""
        constraints = self._constraints(state, hard=True)
        if not constraints:
            return PRE_FILTER_SKIP
        state.data[self.name] = [
            self._domains(state, constraint, eligible)
            for constraint, eligible in zip(
                constraints, self._eligible(state, constraints), strict=True
            )
        ]
        return PRE_FILTER_OK

    def _eligible(
        self, state: CycleState, constraints: tuple[SpreadConstraint, ...]
    ) -> list[Eligible]:
        """Worked out once per template, as long as no node changes its labels or taints."""
        generation = self._table.static_generation
        kept = self._kept.get(state.template.number)
        if kept is None or kept[0] != generation:
            labelled = self._has_all_labels(constraints)
            found = [self._count_eligible(state, one, labelled) for one in constraints]
            kept = self._kept[state.template.number] = (generation, found)
        return kept[1]

    def _count_eligible(
        self, state: CycleState, constraint: SpreadConstraint, labelled: BoolArray
    ) -> Eligible:
        column = self._table.topology(constraint.topology_key)
        counted = included(self._table, state.template, constraint)
        rows = labelled if counted is None else labelled & counted
        codes = column.codes[rows]
        present = np.zeros(max(1, len(column.values)), np.bool_)
        present[codes] = True
        everybody = len(codes) == int(np.count_nonzero(column.codes >= 0))
        return Eligible(rows, codes, present, int(present.sum()), everybody)

    def _domains(
        self, state: CycleState, constraint: SpreadConstraint, eligible: Eligible
    ) -> Domains:
        size = len(eligible.present)
        counts = np.zeros(size, np.int64)
        tally = self._tally(constraint, state.template.namespace)
        if tally is not None and eligible.everybody:
            counts = self._table.per_domain(tally, constraint.topology_key).copy()
        elif tally is not None:
            weights = tally.counts[eligible.rows]
            summed = np.bincount(eligible.codes, weights=weights, minlength=size)
            counts = summed.astype(np.int64)
        selector = constraint.selector
        return Domains(
            constraint=constraint,
            counts=counts,
            eligible=eligible,
            matches_itself=int(selector is not None and selector.matches(state.pod.pod.labels)),
        )

    def _tally(self, constraint: SpreadConstraint, namespace: str) -> Tally | None:
        """Matching live pods; None when there are none by definition.

        Upstream: countPodsMatchSelector(), which counts nothing for the empty selector.
        """
        if constraint.selector is None or constraint.selects_all:
            return None
        return self._table.counter(pods_matching(constraint.selector, namespace)).tally

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """2 * (place of the constraint) + 1 for a missing label, + 2 for too much skew."""
        codes: IntArray | None = None
        for place, domain in enumerate(cast("list[Domains]", state.data[self.name])):
            # The verdict of each domain; code -1, a missing label, finds the last entry.
            skew = domain.counts + domain.matches_itself - domain.smallest
            verdicts = np.full(len(skew) + 1, 2 * place + 1, np.int64)
            verdicts[:-1] = np.where(skew > domain.constraint.max_skew, 2 * place + 2, 0)
            values = self._table.topology(domain.constraint.topology_key).codes.take(rows)
            verdict = verdicts[values]
            codes = verdict if codes is None else np.where(codes == 0, verdict, codes)
        return np.zeros(len(rows), np.int64) if codes is None else codes

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: updateWithPod()."""
        domains = cast("list[Domains] | None", state.data.get(self.name))
        if domains is None or other.pod.namespace != state.template.namespace:
            return
        for domain in domains:
            selector = domain.constraint.selector
            if selector is None or not selector.matches(other.pod.labels):
                continue
            if domain.eligible.rows[row]:
                code = self._table.topology(domain.constraint.topology_key).codes[row]
                domain.counts[code] += delta

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        return [
            replace(domain, counts=domain.counts.copy()) for domain in cast("list[Domains]", data)
        ]

    def explain(self, state: CycleState, code: int) -> Status:
        """A missing label cannot be mended by evictions, a skew can."""
        if code % 2:
            return Status(Code.UNRESOLVABLE, (REASON_LABEL,), self.name)
        return Status(Code.UNSCHEDULABLE, (REASON_SKEW,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The skew that the pod would cause."""
        domain = cast("list[Domains]", state.data[self.name])[(code - 1) // 2]
        key = domain.constraint.topology_key
        if code % 2:
            return Detail(text=f"no label {key}", numbers={"topologyKey": key})
        column = self._table.topology(key)
        place = int(column.codes[row])
        count, smallest = int(domain.counts[place]), domain.smallest
        skew = count + domain.matches_itself - smallest
        numbers: dict[str, Any] = {
            "topologyKey": key,
            "domain": column.values[place],
            "pods": count,
            "minimum": smallest,
            "skew": skew,
            "maxSkew": domain.constraint.max_skew,
        }
        text = f"skew {skew} over {key}, at most {domain.constraint.max_skew}"
        return Detail(
            text=text, short=skew - domain.constraint.max_skew, unit="skew", numbers=numbers
        )

    # -- score -----------------------------------------------------------------------------------

    def has_nothing_to_score(self, state: CycleState) -> bool:
        """No soft constraint, neither its own nor a default one."""
        return not self._constraints(state, hard=False)

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Count matching pods per domain that a feasible node lies in."""
        constraints = self._constraints(state, hard=False)
        if not constraints:
            return SKIP
        need_all = bool(state.template.spread) or self._needs_all_labels
        labelled = (
            self._has_all_labels(constraints)
            if need_all
            else np.ones(self._table.capacity, np.bool_)
        )
        ignored = ~labelled[rows]
        counts: list[IntArray] = []
        weights: list[float] = []
        for constraint in constraints:
            size, per_domain = self._soft_counts(state, constraint, rows[~ignored], labelled)
            counts.append(per_domain)
            weights.append(math.log(size + 2))
        state.data[f"{self.name}/score"] = ScoreState(constraints, counts, weights, ignored)
        return SUCCESS

    def _soft_counts(
        self, state: CycleState, constraint: SpreadConstraint, rows: IntArray, labelled: BoolArray
    ) -> tuple[int, IntArray]:
        """The number of domains among the feasible rows, and matching pods per domain (or node)."""
        tally = self._tally(constraint, state.template.namespace)
        if constraint.topology_key == HOSTNAME:
            zeros = np.zeros(self._table.capacity, np.int64)
            return len(rows), zeros if tally is None else tally.counts.astype(np.int64)
        column = self._table.topology(constraint.topology_key)
        # A node without the label is a domain of its own here ("" upstream), in the last bin.
        size = len(column.values) + 1
        domains = np.zeros(size, np.bool_)
        domains[column.codes.take(rows)] = True
        if tally is None:
            return int(domains.sum()), np.zeros(size, np.int64)
        counted = included(self._table, state.template, constraint)
        if counted is None and not domains[-1]:
            summed = np.zeros(size, np.int64)
            summed[:-1] = self._table.per_domain(tally, constraint.topology_key)[: size - 1]
            if labelled.all() or len(state.template.spread) <= 1:
                return int(domains.sum()), np.where(domains, summed, 0)
        eligible = np.zeros(self._table.capacity, np.bool_)
        eligible[self._table.active] = True
        eligible &= labelled
        if counted is not None:
            eligible &= counted
        codes = np.where(column.codes < 0, size - 1, column.codes)[eligible]
        summed = np.bincount(codes, weights=tally.counts[eligible], minlength=size)
        return int(domains.sum()), np.where(domains, summed, 0).astype(np.int64)

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The weighted number of matching pods near the node: less is better."""
        scored = cast("ScoreState", state.data[f"{self.name}/score"])
        total = np.zeros(len(rows))
        for constraint, counts, weight in zip(
            scored.constraints, scored.counts, scored.weights, strict=True
        ):
            values = self._table.topology(constraint.topology_key).codes.take(rows)
            if constraint.topology_key == HOSTNAME:
                part = counts.take(rows) * weight + float(constraint.max_skew - 1)
                total = total + np.where(values >= 0, part, 0.0)
            else:
                # Code -1, a missing label, finds the last entry, which adds nothing.
                parts = counts * weight + float(constraint.max_skew - 1)
                parts[-1] = 0.0
                total = total + parts[values]
        total[scored.ignored] = 0
        return np.floor(total + 0.5 if self._rounds else total).astype(np.int64)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Turned round, so that the least crowded node gets the most; ignored nodes get 0."""
        scored = cast("ScoreState", state.data[f"{self.name}/score"])
        counted = scores[~scored.ignored]
        if len(counted) == 0:
            return np.zeros_like(scores)
        low, high = int(counted.min()), int(counted.max())
        if high == 0:
            result = np.full_like(scores, MAX_NODE_SCORE)
        else:
            result = MAX_NODE_SCORE * (high + low - scores) // high
        return np.where(scored.ignored, 0, result)

    # -- both ------------------------------------------------------------------------------------

    def _constraints(self, state: CycleState, *, hard: bool) -> tuple[SpreadConstraint, ...]:
        own = state.template.spread
        if own:
            return tuple(constraint for constraint in own if constraint.is_hard == hard)
        defaults = self._hard_defaults if hard else self._soft_defaults
        if not defaults:
            return ()
        selector = default_selector(state.pod, self._listers)
        if selector.empty:
            return ()
        return tuple(replace(constraint, selector=selector) for constraint in defaults)

    def _has_all_labels(self, constraints: tuple[SpreadConstraint, ...]) -> BoolArray:
        labelled = np.ones(self._table.capacity, np.bool_)
        for constraint in constraints:
            labelled &= self._table.topology(constraint.topology_key).codes >= 0
        return labelled


def pods_matching(selector: LabelSelector, namespace: str) -> PodMatcher:
    """Live pods of *namespace* that *selector* selects."""
    term = AffinityTerm(
        namespaces=frozenset((namespace,)),
        selector=selector,
        topology_key="",
        namespace_selector=None,
    )
    return PodMatcher((term,), live_only=True)


def included(
    table: NodeTable, template: PodTemplate, constraint: SpreadConstraint
) -> BoolArray | None:
    """Rows that the constraint's inclusion policies let count; None for all.

    Upstream: matchNodeInclusionPolicies().
    """
    rows: BoolArray | None = None
    if constraint.honors_affinity and not template.required_affinity.is_empty:
        rows = table.matching(template.required_affinity)
    if constraint.honors_taints:
        tolerated = np.array(
            [
                untolerated(template, taints, ("NoSchedule", "NoExecute")) is None
                for taints in table.taint_groups
            ],
            np.bool_,
        )
        by_taint = tolerated[table.taint_group]
        rows = by_taint if rows is None else rows & by_taint
    return rows


def default_selector(pod: PodInfo, listers: Listers) -> LabelSelector:
    """The selectors of the services and controllers that own the pod, all together.

    Upstream: plugins/helper/spread.go DefaultSelector().
    """
    owners = pod.pod.owner_references
    if not owners and not listers.has("Service"):
        return _EVERYTHING
    requirements: list[Requirement] = []
    labels = pod.pod.labels
    for service in listers.in_namespace("Service", pod.pod.namespace):
        selector = service.spec.get("selector")
        if selector and all(labels.get(key) == value for key, value in selector.items()):
            requirements.extend(LabelSelector.from_labels(selector).requirements)
    owner = next((ref for ref in owners if ref.get("controller")), None)
    if owner is not None:
        kind, key = owner.get("kind") or "", f"{pod.pod.namespace}/{owner.get('name')}"
        found = listers.get(kind, key)
        if found is not None and kind == "ReplicationController":
            pairs = found.spec.get("selector")
            requirements.extend(LabelSelector.from_labels(pairs).requirements)
        elif found is not None and kind in ("ReplicaSet", "StatefulSet"):
            requirements.extend(LabelSelector.parse(found.spec.get("selector")).requirements)
    unique = tuple(dict.fromkeys(requirements))
    return LabelSelector(unique)


def _read_defaults(arguments: Arguments) -> tuple[SpreadConstraint, ...]:
    return tuple(
        SpreadConstraint(
            max_skew=int(entry.get("maxSkew") or 1),
            topology_key=str(entry.get("topologyKey") or ""),
            is_hard=entry.get("whenUnsatisfiable") == "DoNotSchedule",
            selector=None,
        )
        for entry in arguments.get("defaultConstraints") or ()
    )
