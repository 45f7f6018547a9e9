"""Topology spread constraints. Upstream: plugins/podtopologyspread/{common,filtering,scoring}.go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Terms
from engine.framework.columns.cells import Trait
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import (
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
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.pod_counts import Tally
from engine.framework.pods.pod_info import PodInfo, labels_key
from engine.framework.pods.pod_template import SpreadConstraint
from engine.framework.pods.signing import Signed
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Sentence, enumerated, say
from engine.plugins.pod_topology_spread.arguments import check_arguments
from engine.plugins.pod_topology_spread.changes import spread_changes
from engine.plugins.pod_topology_spread.constraints import (
    HOSTNAME,
    Constraints,
    PodConstraints,
    has_defaults,
)
from engine.plugins.pod_topology_spread.domains import Eligible, TopologyDomains
from engine.plugins.pod_topology_spread.events import events_of
from engine.plugins.pod_topology_spread.facts import explain_spread
from engine.plugins.pod_topology_spread.scores import ScoreState, SpreadScores

REASON_SKEW = "node(s) didn't match pod topology spread constraints"
REASON_LABEL = f"{REASON_SKEW} (missing required label)"

# Keys in `CycleState.data` of the most pods that each domain may have, and of the scores.
_MOST = f"{names.POD_TOPOLOGY_SPREAD}/most"
_SCORE = f"{names.POD_TOPOLOGY_SPREAD}/score"

# Up to so many ints, a Python loop is faster than numpy.
_FEW = 32
# How many templates with their labels `look` keeps its findings for.
_LOOKED_KEPT = 4_096


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


class PodTopologySpread(Plugin):
    """Refuses nodes that would make a hard constraint's skew too large; prefers small skews."""

    name: ClassVar[str] = names.POD_TOPOLOGY_SPREAD
    formula: ClassVar[str] = "100 × (highest + lowest − raw) ÷ highest"
    short: ClassVar[Sentence] = say("spread over too few domains")
    # Pods that are being deleted do not count, since v1.18 (kubernetes#87621).
    counts_live_only: ClassVar[bool] = True
    check_arguments = staticmethod(check_arguments)
    unprepared = Unprepared(
        filter='reading "PreFilterPodTopologySpread" from cycleState: not found',
        score='error reading "PreScorePodTopologySpread" from cycleState: not found',
    )

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._constraints = PodConstraints(arguments, handle, live_only=self.counts_live_only)
        self._topology = TopologyDomains(handle.table)
        # v1.20 truncates the fraction of a score.
        self._scores = SpreadScores(
            handle.table,
            self._constraints,
            self._topology,
            rounds=bool(arguments.get("rounds", True)),
        )
        # v1.36: hints also react to nominated pods, and to more that may help.
        self._complete_hints: bool = arguments.get("complete_pod_hints", False)
        self._looked: dict[tuple[int, bytes], Looked] = {}
        # Default constraints depend on the owners of a pod.
        self.may_sign = not has_defaults(arguments)

    # -- constraints -----------------------------------------------------------------------------

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod has a constraint, its own or a default."""
        return self._constraints.exist(state)

    def hard_by_default(self, pod: PodInfo) -> tuple[SpreadConstraint, ...]:
        """The hard constraints of a pod without any of its own. Upstream: getConstraints()."""
        return self._constraints.hard_by_default(pod)

    def look(self, state: CycleState) -> list[Trait]:
        """Hard constraints read from the table's own counts, which keep changing; all traits."""
        constraints = self._constraints.find(state)
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
        key = state.template.number, labels_key(state.pod.pod)
        generation = self._table.static_generation
        known = self._looked.get(key)
        if (
            known is not None
            and known.generation == generation
            and known.constraints is constraints
        ):
            return known
        if len(self._looked) >= _LOOKED_KEPT:
            self._looked.clear()
        domains = self._all_domains(state, constraints, live=True)
        traits = [*_hard_traits(domains, constraints), *self._soft_traits(constraints)]
        lasts = all(domain.eligible.all_labelled for domain in domains)
        known = Looked(generation, constraints, traits, domains if lasts else None)
        self._looked[key] = known
        return known

    def _soft_traits(self, constraints: Constraints) -> Iterator[Trait]:
        for constraint, tally in zip(constraints.soft, constraints.soft_tallies, strict=True):
            key = constraint.topology_key
            if key == HOSTNAME:
                # Here each row is a domain of its own.
                yield Trait(column=self._topology.with_labels((constraint,)))
                yield Trait(tally=tally)
            else:
                yield Trait(key=key, tally=tally, few_only=True)

    # -- filter ----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Count matching pods per domain for every hard constraint."""
        constraints = self._constraints.find(state)
        if not constraints.hard:
            return PRE_FILTER_SKIP
        state.data[self.name] = self._all_domains(state, constraints, live=False)
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`. Upstream: TpKeyToDomainsNum, TpValueToMatchNum, CriticalPaths."""
        for one in cast("list[Domains]", state.data[self.name]):
            key, values = one.constraint.topology_key, one.eligible.present
            table = self._table.topology(key).values
            counts = [
                f"{table[code]} {one.counts.item(code)}" for code in np.flatnonzero(values).tolist()
            ]
            yield say(
                "{key}: {domains} domains ({counts}), minimum {minimum}, maxSkew {most}",
                key=key,
                domains=one.eligible.domains,
                counts=enumerated(counts),
                minimum=one.smallest,
                most=one.constraint.max_skew,
            )

    def _all_domains(
        self, state: CycleState, constraints: Constraints, *, live: bool
    ) -> list[Domains]:
        eligible = self._topology.of_hard(state.template, constraints.hard)
        return [
            self._domains(state, constraint, tally, one, live=live)
            for constraint, tally, one in zip(
                constraints.hard, constraints.hard_tallies, eligible, strict=True
            )
        ]

    def _domains(
        self,
        state: CycleState,
        constraint: SpreadConstraint,
        tally: Tally | None,
        eligible: Eligible,
        *,
        live: bool,
    ) -> Domains:
        counts = self._topology.pods_per_domain(constraint, tally, eligible)
        selector = constraint.selector
        return Domains(
            constraint=constraint,
            counts=counts if live else counts.copy(),
            eligible=eligible,
            matches_itself=int(selector is not None and selector.matches(state.pod.pod.labels)),
        )

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """2 * (place of the constraint) + 1 for a missing label, + 2 for too much skew."""
        codes: IntArray | None = None
        for place, domain in enumerate(cast("list[Domains]", state.data[self.name])):
            values = self._table.labels.topology(domain.constraint.topology_key).codes.take(rows)
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
            code = self._table.labels.topology(domain.constraint.topology_key).codes.item(row)
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
                code = self._table.labels.topology(domain.constraint.topology_key).codes[row]
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
            return Detail(text=say("no label {key}", key=key), numbers={"topologyKey": key})
        column = self._table.labels.topology(key)
        place = int(column.codes[row])
        count, smallest = int(domain.counts[place]), domain.smallest
        skew = count + domain.matches_itself - smallest
        where = key, column.values[place]
        return _skewed(where, count, smallest, skew, domain.constraint.max_skew)

    # -- score -----------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Count the matching pods of each domain with a feasible node."""
        constraints = self._constraints.find(state)
        if not constraints.soft:
            return SKIP
        state.data[_SCORE] = self._scores.count(state, constraints, rows)
        return SUCCESS

    def rank_cells(
        self, state: CycleState, rows: Sequence[int], cell_sizes: Sequence[int]
    ) -> list[int] | None:
        """`pre_score`, `score` and `normalize`, where each row represents several feasible rows."""
        constraints = self._constraints.find(state)
        if not constraints.soft:
            return None
        return self._scores.rank(state, constraints, rows, cell_sizes)

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The weighted number of matching pods near the node: less is better."""
        return self._scores.score(cast("ScoreState", state.data[_SCORE]), rows)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`."""
        return self._scores.arithmetic(cast("ScoreState", state.data[_SCORE]), row)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """Inverted, so that the least crowded node gets the highest score; ignored nodes get 0."""
        return self._scores.normalize(cast("ScoreState", state.data[_SCORE]), scores)

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_spread(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return spread_changes(refusals)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return None if pod.pod.spec.get("topologySpreadConstraints") else ()

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return events_of(self.hard_by_default, complete=self._complete_hints)


@lru_cache(maxsize=512)
def _skewed(where: tuple[str, str], count: int, smallest: int, skew: int, max_skew: int) -> Detail:
    """The evidence of a domain (topology key and value); the nodes of a domain share one."""
    key, domain = where
    numbers: dict[str, Any] = {
        "topologyKey": key,
        "domain": domain,
        "pods": count,
        "minimum": smallest,
        "skew": skew,
        "maxSkew": max_skew,
    }
    text = say("skew {skew} over {key}, at most {most}", skew=skew, key=key, most=max_skew)
    return Detail(text=text, short=skew - max_skew, unit="skew", numbers=numbers)


def _hard_traits(found: list[Domains], constraints: Constraints) -> Iterator[Trait]:
    for domains, tally in zip(found, constraints.hard_tallies, strict=True):
        yield Trait(key=domains.constraint.topology_key, tally=tally)
        if not domains.eligible.all_labelled:
            yield Trait(column=domains.eligible.rows)
