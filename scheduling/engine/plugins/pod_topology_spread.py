"""Topology spread constraints. Upstream: plugins/podtopologyspread/{common,filtering,scoring}.go."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from kscope.sim.objects.selectors import LabelSelector, Requirement
from scheduling.engine import names
from scheduling.engine.columns.cells import Trait
from scheduling.engine.framework.framework import (
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
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import BoolArray, Codes, IntArray
from scheduling.engine.nodes.listers import Listers
from scheduling.engine.nodes.node_table import NodeTable
from scheduling.engine.nodes.pod_counts import PodMatcher, Tally
from scheduling.engine.plugins.taint_toleration import untolerated
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo, labels_key
from scheduling.engine.pods.pod_template import PodTemplate, SpreadConstraint, spread_constraint

REASON_SKEW = "node(s) didn't match pod topology spread constraints"
REASON_LABEL = f"{REASON_SKEW} (missing required label)"

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

# Keys in `CycleState.data` of the most pods that each domain may have, and of the scores.
_MOST = f"{names.POD_TOPOLOGY_SPREAD}/most"
_SCORE = f"{names.POD_TOPOLOGY_SPREAD}/score"

FloatArray = NDArray[np.floating[Any]]

# Up to so many ints, a Python loop is faster than numpy.
_FEW = 32

_EVERYTHING = LabelSelector()
_SYSTEM_DEFAULTS = (
    SpreadConstraint(max_skew=3, topology_key=HOSTNAME, is_hard=False, selector=None),
    SpreadConstraint(max_skew=5, topology_key=ZONE, is_hard=False, selector=None),
)


@dataclass(slots=True)
class Eligible:
    """The rows that a constraint counts for a template, and their domains.

    With `everybody` every node with the label counts, so the table's own sums are correct.
    """

    rows: BoolArray
    codes: Codes
    present: BoolArray
    domains: int
    everybody: bool


@dataclass(slots=True)
class Domains:
    """One hard constraint: matching pods per domain, and which domains count."""

    constraint: SpreadConstraint
    counts: IntArray
    eligible: Eligible
    matches_itself: int

    @property
    def smallest(self) -> int:
        """The global minimum. Upstream: minMatchNum()."""
        if self.eligible.domains < self.constraint.min_domains:
            return 0
        counts = self.counts
        if self.eligible.domains < len(counts):
            counts = counts[self.eligible.present]
        return min(counts.tolist()) if len(counts) <= _FEW else int(np.minimum.reduce(counts))

    @property
    def most(self) -> int:
        """The most matching pods that a domain may have and still accept this pod."""
        return self.constraint.max_skew + self.smallest - self.matches_itself

    def verdicts(self, counts: IntArray, place: int) -> IntArray:
        """The filter's codes for *counts* matching pods; the constraint is at *place*."""
        return np.where(counts > self.most, 2 * place + 2, 0)


@dataclass(frozen=True, slots=True)
class Looked:
    """What `look` found for pods of one template and labels, and what it depends on.

    `domains` is set only if it uses the table's own counts and so applies to the next pod too.
    """

    generation: int
    constraints: Constraints
    traits: list[Trait]
    domains: list[Domains] | None


@dataclass(slots=True)
class SoftCounts:
    """Matching pods by row for the hostname, else by domain, and how much each of them counts."""

    constraint: SpreadConstraint
    codes: Codes
    counts: Codes | IntArray
    weight: float

    def part(self, row: int) -> float:
        """The score of the node at *row* by this constraint; less is better."""
        code = self.codes.item(row)
        if code < 0:
            return 0.0
        place = row if self.constraint.topology_key == HOSTNAME else code
        return _score_for_count(self.counts.item(place), self.weight, self.constraint.max_skew)

    def parts(self, rows: IntArray) -> FloatArray:
        """The same for many rows."""
        codes = self.codes.take(rows)
        places = rows if self.constraint.topology_key == HOSTNAME else codes
        counts = self.counts.take(places, mode="clip")
        found = _score_for_count(counts, self.weight, self.constraint.max_skew)
        found[codes < 0] = 0.0
        return found


@dataclass(slots=True)
class ScoreState:
    """Soft constraints as they are counted; rows that are ignored."""

    soft: list[SoftCounts]
    ignored: BoolArray


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The constraints that hold for a pod, and for each the live pods it counts.

    A constraint that counts no pods by definition has no tally.
    """

    hard: tuple[SpreadConstraint, ...] = ()
    soft: tuple[SpreadConstraint, ...] = ()
    hard_tallies: tuple[Tally | None, ...] = ()
    soft_tallies: tuple[Tally | None, ...] = ()


_NO_CONSTRAINTS = Constraints()

# What default constraints depend on: namespace, labels, and the controller's kind and key.
Owned = tuple[str, bytes, str, str]
_OWNED_KEPT = 4_096
_OWNERS = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
_OWNER_VERSIONS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


class PodTopologySpread(Plugin):
    """Refuses nodes that would make a hard constraint's skew too large; prefers small skews."""

    name: ClassVar[str] = names.POD_TOPOLOGY_SPREAD
    # Pods that are being deleted do not count, since v1.18 (kubernetes#87621).
    counts_live_only: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._services = handle.listers.live("Service")
        system_defaulted = (arguments.get("defaultingType") or "System") == "System"
        defaults = _SYSTEM_DEFAULTS if system_defaulted else _read_defaults(arguments)
        # v1.20 truncates the fraction of a score, and ignores nodes that lack a label of the
        # system's defaults. Upstream: kubernetes#105046, in 1.20.14.
        self._half = 0.5 if arguments.get("rounds", True) else 0.0
        self._needs_all_labels: bool = not system_defaulted or arguments.get(
            "defaults_need_all_labels", False
        )
        self._defaults = defaults
        self._own: dict[int, Constraints] = {}
        self._defaulted: dict[Owned, tuple[tuple[int, ...], Constraints]] = {}
        self._kept: dict[int, tuple[int, list[Eligible]]] = {}
        self._kept_soft: dict[int, tuple[int, list[Eligible]]] = {}
        self._looked: dict[tuple[int, bytes], Looked] = {}
        self._labelled: dict[tuple[str, ...], tuple[int, BoolArray]] = {}

    # -- constraints -----------------------------------------------------------------------------

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod has a constraint, its own or a default."""
        if not state.template.spread and not (
            self._defaults and (self._services or state.pod.pod.owner_references)
        ):
            return False
        constraints = self._constraints(state)
        return bool(constraints.hard or constraints.soft)

    def _constraints(self, state: CycleState) -> Constraints:
        template = state.template
        if template.spread:
            own = self._own.get(template.number)
            if own is None:
                own = self._counted(template.spread, template.namespace)
                self._own[template.number] = own
            return own
        return self._by_default(state.pod) if self._defaults else _NO_CONSTRAINTS

    def hard_by_default(self, pod: PodInfo) -> tuple[SpreadConstraint, ...]:
        """The hard constraints of a pod without any of its own. Upstream: getConstraints()."""
        if not any(one.is_hard for one in self._defaults):
            return ()
        return self._by_default(pod).hard

    def _counted(self, constraints: Sequence[SpreadConstraint], namespace: str) -> Constraints:
        hard = tuple(one for one in constraints if one.is_hard)
        soft = tuple(one for one in constraints if not one.is_hard)
        return Constraints(
            hard=hard,
            soft=soft,
            hard_tallies=tuple(self._tally(one, namespace) for one in hard),
            soft_tallies=tuple(self._tally(one, namespace) for one in soft),
        )

    def _by_default(self, pod: PodInfo) -> Constraints:
        """The profile's constraints for the pod's owner; computed again when owners change."""
        if not (self._services or pod.pod.owner_references):
            return _NO_CONSTRAINTS  # The default selector is empty.
        stamp = tuple([self._listers.generation.get(kind, 0) for kind in _OWNERS])
        kind, owner = _controller(pod) or ("", "")
        key = (pod.pod.namespace, labels_key(pod), kind, owner)
        known = self._defaulted.get(key)
        if known is not None and known[0] == stamp:
            return known[1]
        if len(self._defaulted) >= _OWNED_KEPT:
            self._defaulted.clear()
        selector = default_selector(pod, self._listers)
        found = _NO_CONSTRAINTS
        if not selector.empty:
            constraints = [replace(one, selector=selector) for one in self._defaults]
            found = self._counted(constraints, pod.pod.namespace)
        self._defaulted[key] = (stamp, found)
        return found

    def look(self, state: CycleState) -> list[Trait]:
        """Hard constraints read from the table's own counts, which keep changing; all traits."""
        constraints = self._constraints(state)
        looked = self._look(state, constraints)
        if not constraints.hard:
            state.skip_filter.add(self.name)
            return looked.traits
        domains = looked.domains
        if domains is None:
            domains = self._all_domains(state, constraints, live=True)
        state.data[self.name] = domains
        state.data[_MOST] = [domain.most for domain in domains]
        return looked.traits

    def _look(self, state: CycleState, constraints: Constraints) -> Looked:
        """The traits that do not change from pod to pod."""
        key = state.template.number, labels_key(state.pod)
        generation = self._table.static_generation
        known = self._looked.get(key)
        if (
            known is not None
            and known.generation == generation
            and known.constraints is constraints
        ):
            return known
        if len(self._looked) >= _OWNED_KEPT:
            self._looked.clear()
        domains = self._all_domains(state, constraints, live=True)
        traits = [*_hard_traits(domains, constraints), *self._soft_traits(constraints)]
        lasts = all(domain.eligible.everybody for domain in domains)
        known = Looked(generation, constraints, traits, domains if lasts else None)
        self._looked[key] = known
        return known

    def _soft_traits(self, constraints: Constraints) -> Iterator[Trait]:
        for constraint, tally in zip(constraints.soft, constraints.soft_tallies, strict=True):
            key = constraint.topology_key
            if key == HOSTNAME:
                # Here each row is a domain of its own.
                yield Trait(column=self._has_all_labels((constraint,)))
                yield Trait(tally=tally)
            else:
                yield Trait(key=key, tally=tally, few_only=True)

    # -- filter ----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Count matching pods per domain for every hard constraint."""
        constraints = self._constraints(state)
        if not constraints.hard:
            return PRE_FILTER_SKIP
        state.data[self.name] = self._all_domains(state, constraints, live=False)
        return PRE_FILTER_OK

    def _all_domains(
        self, state: CycleState, constraints: Constraints, *, live: bool
    ) -> list[Domains]:
        labelled = self._has_all_labels(constraints.hard)
        eligible = self._eligible(self._kept, state, constraints.hard, labelled)
        return [
            self._domains(state, constraint, tally, one, live=live)
            for constraint, tally, one in zip(
                constraints.hard, constraints.hard_tallies, eligible, strict=True
            )
        ]

    def _eligible(
        self,
        kept: dict[int, tuple[int, list[Eligible]]],
        state: CycleState,
        constraints: tuple[SpreadConstraint, ...],
        labelled: BoolArray,
    ) -> list[Eligible]:
        """Computed once per template, until a node changes its labels or taints."""
        generation = self._table.static_generation
        known = kept.get(state.template.number)
        if known is None or known[0] != generation:
            found = [self._count_eligible(state, one, labelled) for one in constraints]
            known = kept[state.template.number] = (generation, found)
        return known[1]

    def _count_eligible(
        self, state: CycleState, constraint: SpreadConstraint, labelled: BoolArray
    ) -> Eligible:
        column = self._table.topology(constraint.topology_key)
        counted = included(self._table, state.template, constraint)
        has_label = column.codes >= 0
        rows = labelled & has_label
        if counted is not None:
            rows &= counted
        codes = column.codes[rows]
        present = np.zeros(max(1, len(column.values)), np.bool_)
        present[codes] = True
        everybody = len(codes) == int(np.count_nonzero(has_label))
        return Eligible(rows, codes, present, int(present.sum()), everybody)

    def _domains(
        self,
        state: CycleState,
        constraint: SpreadConstraint,
        tally: Tally | None,
        eligible: Eligible,
        *,
        live: bool,
    ) -> Domains:
        counts = self._per_domain(constraint, tally, eligible)
        selector = constraint.selector
        return Domains(
            constraint=constraint,
            counts=counts if live else counts.copy(),
            eligible=eligible,
            matches_itself=int(selector is not None and selector.matches(state.pod.pod.labels)),
        )

    def _per_domain(
        self, constraint: SpreadConstraint, tally: Tally | None, eligible: Eligible
    ) -> IntArray:
        """Matching pods on the eligible rows; the table's own counts where all are."""
        size = len(eligible.present)
        if tally is None:
            return np.zeros(size, np.int64)
        if eligible.everybody:
            return self._table.pod_counts.per_domain(tally, constraint.topology_key)
        weights = tally.counts[eligible.rows]
        return np.bincount(eligible.codes, weights=weights, minlength=size).astype(np.int64)

    def _tally(self, constraint: SpreadConstraint, namespace: str) -> Tally | None:
        """Matching live pods; None when there are none by definition.

        Upstream: countPodsMatchSelector(), which counts nothing for the empty selector.
        """
        if constraint.selector is None or constraint.selects_all:
            return None
        matcher = pods_matching(constraint.selector, namespace, live_only=self.counts_live_only)
        return self._table.pod_counts.counter(matcher).tally

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """2 * (place of the constraint) + 1 for a missing label, + 2 for too much skew."""
        codes: IntArray | None = None
        for place, domain in enumerate(cast("list[Domains]", state.data[self.name])):
            values = self._table.topology(domain.constraint.topology_key).codes.take(rows)
            if len(rows) < len(domain.counts):
                verdict = domain.verdicts(domain.counts.take(values, mode="clip"), place)
                verdict[values < 0] = 2 * place + 1
            else:
                # The verdict of each domain; code -1, a missing label, indexes the last entry.
                verdicts = np.full(len(domain.counts) + 1, 2 * place + 1, np.int64)
                verdicts[:-1] = domain.verdicts(domain.counts, place)
                verdict = verdicts[values]
            codes = verdict if codes is None else np.where(codes == 0, verdict, codes)
        return np.zeros(len(rows), np.int64) if codes is None else codes

    def fits_row(self, state: CycleState, row: int) -> bool:
        """Whether `filter` accepts *row*, after `look`."""
        domains = cast("list[Domains]", state.data[self.name])
        for domain, most in zip(domains, cast("list[int]", state.data[_MOST]), strict=True):
            code = self._table.topology(domain.constraint.topology_key).codes.item(row)
            if code < 0 or domain.counts.item(code) > most:
                return False
        return True

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
        """Evictions can reduce a skew, but cannot add a missing label."""
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

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Count the matching pods of each domain with a feasible node."""
        constraints = self._constraints(state)
        if not constraints.soft:
            return SKIP
        has_labels = self._scored_rows(state, constraints).take(rows)
        looked_at = rows[has_labels]
        sizes = [
            len(looked_at) if one.topology_key == HOSTNAME else self._lie_in(one, looked_at)
            for one in constraints.soft
        ]
        soft = self._soft_counts(state, constraints, sizes)
        state.data[_SCORE] = ScoreState(soft, ~has_labels)
        return SUCCESS

    def rank_cells(
        self, state: CycleState, rows: Sequence[int], cell_sizes: Sequence[int]
    ) -> list[int] | None:
        """`pre_score`, `score` and `normalize`, where each row represents several feasible rows."""
        constraints = self._constraints(state)
        if not constraints.soft:
            return None
        scored = self._scored_rows(state, constraints)
        counted = [place for place, row in enumerate(rows) if scored.item(row)]
        ranks = [0] * len(rows)
        if not counted:
            return ranks
        looked_at = [rows[place] for place in counted]
        nodes = sum([cell_sizes[place] for place in counted])
        sizes = [
            nodes if one.topology_key == HOSTNAME else self._lie_in_few(one, looked_at)
            for one in constraints.soft
        ]
        soft = self._soft_counts(state, constraints, sizes)
        scores = [self._score_row(soft, row) for row in looked_at]
        low, high = min(scores), max(scores)
        for place, score in zip(counted, scores, strict=True):
            ranks[place] = _turned_round(score, low, high) if high else MAX_NODE_SCORE
        return ranks

    def _score_row(self, soft: list[SoftCounts], row: int) -> int:
        # Added in the same order as in `score`, so the floats are equal.
        total = 0.0
        for one in soft:
            total += one.part(row)
        return int(total + self._half)

    def _scored_rows(self, state: CycleState, constraints: Constraints) -> BoolArray:
        """The rows that have the labels of all constraints; the others are ignored."""
        need_all = bool(state.template.spread) or self._needs_all_labels
        return self._has_all_labels(constraints.soft if need_all else ())

    def _lie_in(self, constraint: SpreadConstraint, rows: IntArray) -> int:
        """The number of domains of *rows*; a row without the label is in domain "", as upstream."""
        column = self._table.topology(constraint.topology_key)
        domains = np.zeros(len(column.values) + 1, np.bool_)
        domains[column.codes.take(rows)] = True
        both = "" in column.index and domains[-1] and domains[column.index[""]]
        return int(np.count_nonzero(domains)) - int(both)

    def _lie_in_few(self, constraint: SpreadConstraint, rows: list[int]) -> int:
        """The same for few rows."""
        column = self._table.topology(constraint.topology_key)
        code_of = column.codes.item
        domains = {code_of(row) for row in rows}
        return len(domains) - ("" in column.index and domains.issuperset((-1, column.index[""])))

    def _soft_counts(
        self, state: CycleState, constraints: Constraints, sizes: list[int]
    ) -> list[SoftCounts]:
        """Matching pods per domain (or node) of the feasible rows.

        Upstream counts in those domains only; the other counts are never read.
        """
        labelled = self._scored_rows(state, constraints)
        eligible = self._eligible(self._kept_soft, state, constraints.soft, labelled)
        return [
            SoftCounts(
                constraint,
                self._table.topology(constraint.topology_key).codes,
                self._per_row(tally)
                if constraint.topology_key == HOSTNAME
                else self._soft_domains(state, constraint, tally, among, labelled),
                math.log(size + 2),
            )
            for constraint, tally, among, size in zip(
                constraints.soft, constraints.soft_tallies, eligible, sizes, strict=True
            )
        ]

    def _soft_domains(
        self,
        state: CycleState,
        constraint: SpreadConstraint,
        tally: Tally | None,
        among: Eligible,
        labelled: BoolArray,
    ) -> IntArray:
        """`_per_domain`, where nodes without the label share domain "" with those whose label is "".

        Upstream: PreScore() reads a label that is not there as "".
        """
        counts = self._per_domain(constraint, tally, among)
        column = self._table.topology(constraint.topology_key)
        empty = column.index.get("")
        if empty is None or tally is None:
            return counts
        bare = labelled & (column.codes < 0)
        counted = included(self._table, state.template, constraint)
        if counted is not None:
            bare &= counted
        counts = counts.copy()
        counts[empty] += int(tally.counts[bare].sum())
        return counts

    def _per_row(self, tally: Tally | None) -> Codes:
        return np.zeros(self._table.capacity, np.int32) if tally is None else tally.counts

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The weighted number of matching pods near the node: less is better."""
        scored = cast("ScoreState", state.data[_SCORE])
        total = np.zeros(len(rows))
        for one in scored.soft:
            total = total + one.parts(rows)
        total[scored.ignored] = 0
        return (total + self._half).astype(np.int64)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Inverted, so that the least crowded node gets the highest score; ignored nodes get 0."""
        scored = cast("ScoreState", state.data[_SCORE])
        counted = scores[~scored.ignored]
        if len(counted) == 0:
            return np.zeros_like(scores)
        low, high = int(np.minimum.reduce(counted)), int(np.maximum.reduce(counted))
        result = np.full_like(scores, MAX_NODE_SCORE)
        if high:
            result = _turned_round(scores, low, high)
        return np.where(scored.ignored, 0, result)

    # -- both ------------------------------------------------------------------------------------

    def _has_all_labels(self, constraints: tuple[SpreadConstraint, ...]) -> BoolArray:
        """The rows with the labels of all *constraints*; kept while no node changes its labels."""
        keys = tuple([constraint.topology_key for constraint in constraints])
        generation = self._table.static_generation
        known = self._labelled.get(keys)
        if known is not None and known[0] == generation:
            return known[1]
        labelled = np.ones(self._table.capacity, np.bool_)
        for key in keys:
            labelled &= self._table.topology(key).codes >= 0
        self._labelled[keys] = (generation, labelled)
        return labelled


@overload
def _score_for_count(count: int, weight: float, max_skew: int) -> float: ...


@overload
def _score_for_count(count: Codes | IntArray, weight: float, max_skew: int) -> FloatArray: ...


def _score_for_count(
    count: int | Codes | IntArray, weight: float, max_skew: int
) -> float | FloatArray:
    """With a high maxSkew, few pods make less of a difference. Upstream: scoreForCount()."""
    return count * weight + float(max_skew - 1)


@overload
def _turned_round(score: int, low: int, high: int) -> int: ...


@overload
def _turned_round(score: IntArray, low: int, high: int) -> IntArray: ...


def _turned_round(score: int | IntArray, low: int, high: int) -> int | IntArray:
    """Upstream: NormalizeScore()."""
    return MAX_NODE_SCORE * (high + low - score) // high


def _hard_traits(found: list[Domains], constraints: Constraints) -> Iterator[Trait]:
    for domains, tally in zip(found, constraints.hard_tallies, strict=True):
        yield Trait(key=domains.constraint.topology_key, tally=tally)
        if not domains.eligible.everybody:
            yield Trait(column=domains.eligible.rows)


def pods_matching(selector: LabelSelector, namespace: str | None, *, live_only: bool) -> PodMatcher:
    """Pods of *namespace*, None for any, that *selector* selects."""
    term = AffinityTerm(
        namespaces=frozenset(() if namespace is None else (namespace,)),
        selector=selector,
        topology_key="",
        namespace_selector=_EVERYTHING if namespace is None else None,
    )
    return PodMatcher((term,), live_only=live_only)


def included(
    table: NodeTable, template: PodTemplate, constraint: SpreadConstraint
) -> BoolArray | None:
    """The rows that the constraint's inclusion policies allow; None for all.

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


def _controller(pod: PodInfo) -> tuple[str, str] | None:
    """Kind and key of the controller that owns the pod, if its kind has a pod selector."""
    for ref in pod.pod.owner_references:
        if ref.get("controller"):
            kind = ref.get("kind") or ""
            if ref.get("apiVersion") != _OWNER_VERSIONS.get(kind, ""):
                return None
            return kind, f"{pod.pod.namespace}/{ref.get('name')}"
    return None


def default_selector(pod: PodInfo, listers: Listers) -> LabelSelector:
    """The selectors of the services and controllers that select the pod, combined.

    Upstream: plugins/helper/spread.go DefaultSelector(). A ReplicationController's labels
    override those of services.
    """
    owners = pod.pod.owner_references
    if not owners and not listers.has("Service"):
        return _EVERYTHING
    pairs: dict[str, str] = {}
    labels = pod.pod.labels
    for service in listers.in_namespace("Service", pod.pod.namespace):
        selector: dict[str, str] = service.spec.get("selector") or {}
        if all(labels.get(key) == value for key, value in selector.items()):
            pairs.update(selector)
    requirements: tuple[Requirement, ...] = ()
    kind, key = _controller(pod) or ("", "")
    found = listers.get(kind, key) if kind else None
    if found is not None and kind == "ReplicationController":
        pairs.update(found.spec.get("selector") or {})
    elif found is not None:
        requirements = LabelSelector.parse(found.spec.get("selector")).requirements
    together = LabelSelector.from_labels(pairs).requirements + requirements
    return LabelSelector(tuple(dict.fromkeys(together)))


def _read_defaults(arguments: Arguments) -> tuple[SpreadConstraint, ...]:
    # Their selector is the default selector as it is; no labels are merged into it.
    return tuple(
        spread_constraint(entry, {}) for entry in arguments.get("defaultConstraints") or ()
    )
