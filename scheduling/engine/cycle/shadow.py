"""What this scheduler would have decided, beside what a client decides in its place.

A scheduler that is `external` follows the cluster and leaves its pods to a client of the Kubernetes
API. Whenever the client binds one of them, or says that it fits nowhere, the same pod is decided
here, too, and nothing is done about it: a shadow decision.

A client sees the cluster a moment late, and its bindings arrive in another order than it decided in.
A node that is wrong now, but is right without the pods that were bound last, or with those that are
bound next, is `stale`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kscope.sim.api_server.watches import WatchEvent
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import Manifest, Pod
from scheduling.engine.cycle.algorithm import SchedulingAlgorithm
from scheduling.engine.cycle.attempt import SchedulingAttempt
from scheduling.engine.cycle.decision.result import SCHEDULED, UNSCHEDULABLE, ScheduleResult
from scheduling.engine.cycle.decision.sampling import nodes_to_find
from scheduling.engine.cycle.explain import evidence
from scheduling.engine.cycle.state import SchedulerState
from scheduling.engine.cycle.watches import Watches
from scheduling.engine.pods.pod_info import PodInfo

AGREES, TIED, DIFFERS, STALE = "agrees", "tied", "differs", "stale"

# How long a client may be behind, and how many bindings.
_BEHIND = SECOND
_MOST_BINDINGS = 16
# So many wrong nodes wait for a later binding to explain them.
_MOST_OPEN = 4
# Of nodes with the best score, so many are named.
_NAMED = 10
# On larger clusters only a decision that differs keeps its evidence.
_EAGER_NODES = 200


@dataclass(frozen=True, slots=True)
class _Binding:
    """A pod that a client has bound."""

    pod: Pod
    node: str
    at: int
    # The seq of its shadow decision.
    seq: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What is decided on a pod here: the result, and the numbers that are kept of it."""

    result: ScheduleResult
    best: tuple[str, ...]
    score: int | None
    totals: dict[str, int]
    evidence: dict[str, Any] | None


class ShadowDecisions:
    """Decides on the pods of one external scheduler, and records how that compares."""

    def __init__(self, state: SchedulerState, watches: Watches) -> None:
        self._state = state
        self._watches = watches
        self._bound: deque[_Binding] = deque(maxlen=_MOST_BINDINGS)
        # Those whose node was wrong, in case a later binding explains it.
        self._open: deque[_Binding] = deque(maxlen=_MOST_OPEN)
        # How often each pod was decided on, by uid, as long as it has no node.
        self._attempts: dict[str, int] = {}

    def decide(self, pod: Pod) -> Decided:
        """The decision on *pod* as the cluster is now."""
        algorithm = self._algorithm(pod)
        result = self._schedule(algorithm, pod)
        if result.result == UNSCHEDULABLE:
            algorithm.preempt(result)
        best, score, totals = _scores(algorithm, result)
        number = self._attempts.get(pod.uid, 0) + 1
        found = None
        if len(algorithm.table.rows) <= _EAGER_NODES:
            found = evidence(result, algorithm, number, 0)
        return Decided(result, best, score, totals, found)

    def bound(self, old: Pod, new: Pod, decided: Decided) -> None:
        """The client has bound the pod, on which *decided* was decided just before."""
        node, now = new.node_name, self._state.loop.now
        verdict, sentence = _verdict(decided, node), ""
        if verdict == DIFFERS:
            sentence = self._right_before(old, node)
            verdict = STALE if sentence else DIFFERS
        seq = self._record(new, verdict, sentence, decided, node=node)
        self._attempts.pop(new.uid, None)
        # The cache knows of it at once: the next binding of this slice was decided with it.
        self._watches.observe_pod(WatchEvent("MODIFIED", old, new))
        binding = _Binding(old, node, now, seq)
        self._settle(new.key)
        if verdict == DIFFERS:
            self._open.append(binding)
        self._bound.append(binding)

    def refused(self, pod: Pod, message: str, decided: Decided) -> None:
        """The client has written that *pod* fits nowhere, and why."""
        result = decided.result
        is_same = result.result != SCHEDULED and _of_nodes(message) == _of_nodes(result.message)
        self._record(pod, AGREES if is_same else DIFFERS, "", decided, message=message)

    # -- what the cluster was or will be ---------------------------------------------------------

    def _right_before(self, pod: Pod, node: str) -> str:
        """A sentence if *node* is right without the newest bound pods; "" if not."""
        earliest = self._state.loop.now - _BEHIND
        recent = [one for one in reversed(self._bound) if one.at >= earliest]
        # 1, 2, 4, … of them: each trial costs a decision.
        for exponent in range(len(recent).bit_length()):
            left_out = recent[: 1 << exponent]
            with self._without(left_out):
                if self._is_right(pod, node):
                    return f"{node} was right before {_named(left_out)} had a node."
        return ""

    def _settle(self, newest: str) -> None:
        """Record which of the last wrong nodes are right now that *newest* has its node, too."""
        earliest = self._state.loop.now - _BEHIND
        for one in [each for each in self._open if each.at >= earliest]:
            with self._without([one]):
                if not self._is_right(one.pod, one.node):
                    continue
            self._open.remove(one)
            known = self._state.known.get(one.pod.key)
            if known is None or known.uid != one.pod.uid:
                continue
            with self._without([one]):
                decided = self.decide(one.pod)
            sentence = f"{one.node} is right now that {newest} has a node, too."
            self._record(known, STALE, sentence, decided, node=one.node, instead_of=one.seq)

    def _is_right(self, pod: Pod, node: str) -> bool:
        algorithm = self._algorithm(pod)
        result = self._schedule(algorithm, pod)
        best, _, _ = _scores(algorithm, result)
        return node in best

    @contextmanager
    def _without(self, bindings: Iterable[_Binding]) -> Generator[None]:
        """While this lasts, these pods do not count on their nodes."""
        table = self._state.handle.table
        taken: list[tuple[int, PodInfo]] = []
        for one in bindings:
            row = table.rows.get(one.node)
            if row is not None and one.pod.key in table.pods[row]:
                taken.append((row, table.remove_pod(row, one.pod.key)))
        try:
            yield
        finally:
            for row, info in reversed(taken):
                table.add_pod(row, info)

    def _algorithm(self, pod: Pod) -> SchedulingAlgorithm:
        return self._state.algorithms[pod.scheduler_name]

    def _schedule(self, algorithm: SchedulingAlgorithm, pod: Pod) -> ScheduleResult:
        algorithm.handle.next_start = 0
        info = PodInfo(pod, self._state.rules)
        return algorithm.schedule(info, self._state.feed.order(), by_columns=True)

    # -- recording -------------------------------------------------------------------------------

    def _record(
        self,
        pod: Pod,
        verdict: str,
        sentence: str,
        decided: Decided,
        *,
        node: str = "",
        message: str = "",
        instead_of: int = 0,
    ) -> int:
        result = decided.result
        data: Manifest = {
            "verdict": verdict,
            "node": node or None,
            "chosen": result.node,
            "best": sorted(decided.best)[:_NAMED],
            "tied": len(decided.best),
            "feasible": result.feasible,
            "score": decided.score,
            "score_of_node": decided.totals.get(node),
            "message": message or None,
            "expected_message": result.message or None,
            "instead_of": instead_of or None,
        }
        wanted = self._sampled(pod, result)
        if wanted:
            data["sampled"] = wanted
        text = sentence or _sentence(verdict, decided, node, message)
        kept = {name: part for name, part in data.items() if part is not None}
        shown = {"shadow": verdict}
        seq = self._state.chronicle.record_pod("ShadowDecision", pod, text, kept, shown)
        number = self._attempts[pod.uid] = self._attempts.get(pod.uid, 0) + 1
        if decided.evidence is not None:
            self._state.attempts.append(
                SchedulingAttempt(
                    pod.key,
                    number,
                    seq,
                    self._state.loop.now,
                    0,
                    result.result,
                    result.node or "",
                    result.message,
                    decided.evidence,
                )
            )
        return seq

    def _sampled(self, pod: Pod, result: ScheduleResult) -> int:
        """After how many feasible nodes a real scheduler would have stopped; 0 if at none."""
        percentage = self._state.percentages[pod.scheduler_name]
        wanted = nodes_to_find(len(self._state.handle.table), percentage)
        return wanted if wanted < result.feasible else 0


def _scores(
    algorithm: SchedulingAlgorithm, result: ScheduleResult
) -> tuple[tuple[str, ...], int | None, dict[str, int]]:
    """The nodes with the best score, that score, and the score of every node that fits."""
    if result.result != SCHEDULED or result.node is None:
        return (), None, {}
    scores = result.scores
    if scores is None:
        # A single node fits, or it is the one that the pod is nominated to.
        return (result.node,), None, {}
    table, totals = algorithm.table, scores.total
    highest = int(totals.max())
    best = table.names(scores.rows[np.flatnonzero(totals == highest)].tolist())
    by_name = dict(zip(table.names(scores.rows.tolist()), totals.tolist(), strict=True))
    return tuple(best), highest, by_name


def _verdict(decided: Decided, node: str) -> str:
    if node not in decided.best:
        return DIFFERS
    return TIED if len(decided.best) > 1 else AGREES


def _sentence(verdict: str, decided: Decided, node: str, message: str) -> str:
    """What the verdict rests on."""
    result, chosen = decided.result, decided.result.node
    if not node:
        return _sentence_of_refusal(verdict, result)
    if verdict == AGREES:
        if decided.score is None:
            return f"{node} is the only node that fits."
        return f"{node} has the best score, {decided.score}, of {result.feasible} nodes."
    if verdict == TIED:
        return f"{node} is one of {len(decided.best)} nodes with the best score, {decided.score}."
    if chosen is None:
        return f"No node fits: {result.message}"
    if node in decided.totals:
        return f"{chosen} has a score of {decided.score}, {node} one of {decided.totals[node]}."
    return f"{chosen} fits; {node} does not{_why_not(decided, node)}."


def _sentence_of_refusal(verdict: str, result: ScheduleResult) -> str:
    if verdict == AGREES:
        return "No node fits, for the same reasons."
    if result.node is not None:
        return f"The pod fits {result.node}."
    return f"No node fits, but for other reasons: {result.message}"


def _why_not(decided: Decided, node: str) -> str:
    found = (decided.evidence or {}).get("verdicts", {}).get(node)
    return f": {found['text'] or ', '.join(found['reasons'])}" if found else ""


def _of_nodes(message: str) -> str:
    """What the message says of the nodes; what it says of preemption follows as a new sentence."""
    return message.partition(". ")[0].rstrip(".")


def _named(bindings: list[_Binding]) -> str:
    names = [one.pod.key for one in bindings]
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more pods"
