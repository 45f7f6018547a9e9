"""What this scheduler would have decided, beside what a client decides in its place.

A scheduler that is `external` follows the cluster and leaves its pods to a client of the Kubernetes
API. Whenever the client binds one of them, or says that it fits nowhere, the same pod is decided
here, too, and nothing is done about it: a shadow decision.

A client sees the cluster a moment late, and its bindings arrive in another order than it decided in.
What is wrong now, but is right without the pods that were bound last, with those that have just
gone, or when the pods are taken in the order in which they came to its queue, is `stale`.

A client that has volumes or devices to bind tells of its decision before it binds the pod: it
nominates the pod to the node (since v1.35), writes the node into a claim, or the claim into a
volume. The pod counts on that node from then on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import (
    ApiObject,
    Manifest,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from scheduling.engine.cycle.algorithm import SchedulingAlgorithm
from scheduling.engine.cycle.attempt import SchedulingAttempt
from scheduling.engine.cycle.decision.result import SCHEDULED, UNSCHEDULABLE, ScheduleResult
from scheduling.engine.cycle.decision.sampling import nodes_to_find
from scheduling.engine.cycle.explain import evidence
from scheduling.engine.cycle.state import SchedulerState
from scheduling.engine.cycle.watches import Watches
from scheduling.engine.pods.conditions import condition_of
from scheduling.engine.pods.pod_info import PodInfo

AGREES, TIED, DIFFERS, STALE = "agrees", "tied", "differs", "stale"

# How long a client may be behind, and how many bindings.
_BEHIND = 30 * SECOND
_MOST_BINDINGS = 1_000
# So many of the last ones are left out at most, if the order of the queue does not explain a node.
_MOST_LAST = 16
# How long a client may not have seen that a pod has gone.
_UNSEEN = 2 * SECOND
# Of nodes with the best score, so many are named.
_NAMED = 10
# On larger clusters only a decision that differs keeps its evidence.
_EAGER_NODES = 200


@dataclass(frozen=True, slots=True)
class _Told:
    """What a client has told of a pod: its node, or "" with the message why it fits nowhere."""

    pod: Pod
    node: str
    message: str
    at: int
    # Its place in the client's queue: less comes before.
    place: tuple[int, int]
    # The seq of its shadow decision; 0 if it has none yet.
    seq: int = 0
    # Whether it fitted nowhere before. When the client tried it again is not known then.
    is_retry: bool = False


@dataclass(frozen=True, slots=True)
class Decided:
    """What is decided on a pod here: the result, and the numbers that are kept of it.

    `place` is where the pod was in the client's queue.
    """

    place: tuple[int, int]
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
        self._bound: deque[_Told] = deque(maxlen=_MOST_BINDINGS)
        # What was wrong, until all pods before it in the queue have their nodes, too.
        self._open: deque[_Told] = deque(maxlen=_MOST_BINDINGS)
        # How often each pod was decided on, by uid, as long as it has no node.
        self._attempts: dict[str, int] = {}
        # Pods whose volumes the client binds, by uid: what was decided on them then, and the node
        # if it was told.
        self._begun: dict[str, tuple[Decided, str]] = {}

    def decide(self, pod: Pod) -> Decided:
        """The decision on *pod* as the cluster is now."""
        return self._decided(pod, self._place(pod))

    def _decided(self, pod: Pod, place: tuple[int, int]) -> Decided:
        algorithm = self._algorithm(pod)
        result = self._schedule(algorithm, pod)
        if result.result == UNSCHEDULABLE:
            algorithm.preempt(result)
        best, score, totals = _scores(algorithm, result)
        number = self._attempts.get(pod.uid, 0) + 1
        found = None
        if len(algorithm.table.rows) <= _EAGER_NODES:
            found = evidence(result, algorithm, number, 0)
        return Decided(place, result, best, score, totals, found)

    def decide_binding(self, pod: Pod, node: str) -> Decided:
        """The decision on a pod that is about to be bound to *node*.

        It is that of the moment at which the client began with its volumes, if that explains the
        node.
        """
        begun = self._begun.get(pod.uid)
        if begun is not None:
            decided, told = begun
            if node == told or (not told and node in decided.best):
                return decided
            self._give_up(pod)
        return self.decide(pod)

    def of_write(self, old: ApiObject, new: ApiObject) -> Callable[[], None] | None:
        """What compares the decision of which a client's write tells; None if it tells of none.

        It is decided on before the write, and compared when the write is stored.
        """
        if isinstance(old, Pod) and isinstance(new, Pod):
            return self._of_status(old, new) if self._is_followed(old) else None
        claim, node = _chosen(old, new)
        pod = self._waiting_for(claim) if claim else None
        return None if pod is None else partial(self._begin, pod, node, self.decide(pod))

    def _is_followed(self, pod: Pod) -> bool:
        return pod.scheduler_name in self._state.names

    def _of_status(self, old: Pod, new: Pod) -> Callable[[], None] | None:
        before, now = condition_of(old, "PodScheduled"), condition_of(new, "PodScheduled")
        if now == before and not new.node_name:
            return self._of_nomination(old, new)
        if new.node_name or now is None or now.get("status") != "False":
            return None
        self._give_up(old)
        if now.get("reason") != "Unschedulable":
            return None  # It failed at something else than at finding a node.
        message = str(now.get("message") or "")
        return partial(self.refused, old, message, self.decide(old))

    def _of_nomination(self, old: Pod, new: Pod) -> Callable[[], None] | None:
        """The client nominates the pod to the node to which it is about to bind it.

        It has failed with no attempt: where it evicts other pods for this one, it does not fit yet.
        Upstream: schedule_one.go bindingCycle(), with NominatedNodeNameForExpectation.
        """
        node = new.nominated_node_name
        if not node or node == old.nominated_node_name or old.uid in self._begun:
            return None
        decided = self.decide(old)
        return partial(self._begin, old, node, decided) if decided.best else None

    def _waiting_for(self, claim: str) -> Pod | None:
        """The pod for which a client binds the claim of this key: the first in its queue."""
        waiting = (self._state.known.get(key) for key in self._watches.arrived)
        found = [
            pod
            for pod in waiting
            if pod is not None
            and pod.uid not in self._begun
            and any(f"{pod.namespace}/{name}" == claim for name in pod.claim_names)
        ]
        return min(found, key=self._place, default=None)

    def _begin(self, pod: Pod, node: str, decided: Decided) -> None:
        """The client has begun to bind the volumes of *pod*; *node* is "" if it did not tell it."""
        self._begun[pod.uid] = decided, node
        state = self._state
        if node not in state.handle.table.rows:
            return
        self._watches.arrived.forget(pod.key)
        state.nominated.remove(pod.key)
        info = PodInfo(pod, state.rules).assigned_to(node)
        if state.change_cache(pod.id, state.cache.assume_pod, info):
            self._compare(pod, pod, node, decided)

    def _give_up(self, pod: Pod) -> None:
        """The pod does not come to the node on which it was counted because of its volumes."""
        if self._begun.pop(pod.uid, None) is not None:
            self._watches.forget_assumed(pod.key)

    def bound(self, old: Pod, new: Pod, decided: Decided) -> None:
        """The client has bound the pod, on which *decided* was decided just before."""
        begun = self._begun.pop(old.uid, None)
        if begun is None or begun[1] != new.node_name:
            self._compare(old, new, new.node_name, decided)
        else:
            self._settle()
        self._attempts.pop(new.uid, None)

    def _compare(self, old: Pod, new: Pod, node: str, decided: Decided) -> None:
        """Record how the client's *node*, on which the pod counts now, compares with *decided*."""
        is_retry = new.uid in self._attempts
        binding = _Told(old, node, "", self._state.loop.now, decided.place, is_retry=is_retry)
        verdict, sentence = _verdict(decided, node), ""
        if verdict == DIFFERS and self._is_best_of_sample(new, decided.totals, node):
            verdict = TIED
            tried = self._nodes_tried(new)
            sentence = f"{node} has the best score of {tried} nodes in a row, as many as are tried."
        elif verdict == DIFFERS:
            sentence = self._right_before(binding)
            verdict = STALE if sentence else DIFFERS
        seq = self._record(new, verdict, sentence, decided, node=node)
        binding = replace(binding, seq=seq)
        self._bound.append(binding)
        self._settle()
        if verdict == DIFFERS:
            self._open.append(binding)

    def refused(self, pod: Pod, message: str, decided: Decided) -> None:
        """The client has written that *pod* fits nowhere, and why."""
        told = _Told(pod, "", message, self._state.loop.now, decided.place)
        verdict, sentence = AGREES, ""
        if not _is_same_refusal(decided.result, message):
            sentence = self._right_with_gone(told)
            verdict = STALE if sentence else DIFFERS
        seq = self._record(pod, verdict, sentence, decided, message=message)
        if verdict == DIFFERS:
            self._open.append(replace(told, seq=seq))
        self._watches.arrived.forget(pod.key)

    # -- what the cluster was or will be ---------------------------------------------------------

    def _place(self, pod: Pod) -> tuple[int, int]:
        """Where the pod is in the client's queue. Upstream: queuesort.PrioritySort.Less()."""
        return (-pod.priority, self._watches.arrived.number(pod.key))

    @property
    def _earliest(self) -> int:
        """Bindings since then count as new."""
        return self._state.loop.now - _BEHIND

    def _recent(self) -> list[_Told]:
        """The newest bindings, the last one first."""
        return [one for one in reversed(self._bound) if one.at >= self._earliest]

    def _right_before(self, binding: _Told) -> str:
        """A sentence if the node is right without some of the newest bound pods; "" if not.

        As long as pods before it have no node, nothing can be said: see `_settle`.
        """
        if self._is_waiting_before(binding.place):
            return ""
        recent = self._recent()
        later = [one for one in recent if one.place > binding.place]
        # 1, 2, 4, … of them: each trial costs a decision.
        most = min(len(recent), _MOST_LAST)
        last = [recent[: 1 << exponent] for exponent in range(most.bit_length())]
        for left_out in (later, *last) if later else last:
            with self._without([binding, *left_out]):
                if self._is_right(binding):
                    return f"{binding.node} was right before {_named(left_out)} had a node."
        with self._without([binding]):
            return self._right_with_gone(binding)

    def _right_with_gone(self, told: _Told) -> str:
        """A sentence if this is right with some of the pods that left their nodes last; "" if not."""
        earliest = self._state.loop.now - _UNSEEN
        gone = [pod for at, pod in reversed(self._watches.left) if at >= earliest][:_MOST_LAST]
        for exponent in range(len(gone).bit_length()):
            back = gone[: 1 << exponent]
            with self._with(back):
                if self._is_right(told):
                    keys = ", ".join(pod.key for pod in back)
                    return f"{told.node or 'The refusal'} was right before {keys} went."
        return ""

    def _settle(self) -> None:
        """Record what of the last that was wrong is right in the order of the queue.

        Each is tried once, as soon as all pods that came before it have their nodes.
        """
        recent = self._recent()
        for one in list(self._open):
            if one.at >= self._earliest and self._is_waiting_before(one.place):
                continue
            self._open.remove(one)
            known = self._state.known.get(one.pod.key)
            if known is None or known.uid != one.pod.uid:
                continue
            later = [each for each in recent if each.place > one.place]
            decided = self._decided_without(one, later)
            if decided is None and any(each.is_retry for each in later):
                its_own = one.pod.uid
                later = [each for each in later if not each.is_retry or each.pod.uid == its_own]
                decided = self._decided_without(one, later)
            if decided is None:
                continue
            counted = {each.seq for each in recent} - {each.seq for each in later}
            sooner = [each for each in recent if each.seq in counted and each.seq > one.seq]
            order = f"{_named(sooner)} came before" if sooner else f"{_named(later)} came after"
            sentence = f"{one.node or 'The refusal'} is right if {order} it."
            self._record(
                known,
                STALE,
                sentence,
                decided,
                node=one.node,
                message=one.message,
                instead_of=one.seq,
            )

    def _decided_without(self, told: _Told, others: Iterable[_Told]) -> Decided | None:
        """The decision without these bindings; None if it is another one than was told."""
        with self._without([told, *others]):
            return self._decided(told.pod, told.place) if self._is_right(told) else None

    def _is_waiting_before(self, place: tuple[int, int]) -> bool:
        """Whether a pod that is before this place in the client's queue has no node yet."""
        waiting = (self._state.known.get(key) for key in self._watches.arrived)
        return any(pod is not None and self._place(pod) < place for pod in waiting)

    def _is_right(self, told: _Told) -> bool:
        algorithm = self._algorithm(told.pod)
        result = self._schedule(algorithm, told.pod)
        if not told.node:
            return _is_same_refusal(result, told.message)
        best, _, totals = _scores(algorithm, result)
        return told.node in best or self._is_best_of_sample(told.pod, totals, told.node)

    def _is_best_of_sample(self, pod: Pod, totals: Mapping[str, int], node: str) -> bool:
        """Whether a scheduler that stops early may find no better node than this one.

        It goes through the nodes in their order, beginning at any of them.
        """
        tried = self._nodes_tried(pod)
        if node not in totals or tried >= len(totals):
            return False
        in_order = np.fromiter(totals.values(), np.int64, len(totals))
        place = list(totals).index(node)
        better = np.flatnonzero(np.roll(in_order, -place) > in_order[place])
        # Between the nearest better nodes on both sides.
        return not len(better) or int(better[0] + len(totals) - better[-1]) - 1 >= tried

    @contextmanager
    def _without(self, bindings: Iterable[_Told]) -> Generator[None]:
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

    @contextmanager
    def _with(self, gone: Iterable[Pod]) -> Generator[None]:
        """While this lasts, these pods still count on the nodes that they have left."""
        table, rules = self._state.handle.table, self._state.rules
        back: list[tuple[int, str]] = []
        for pod in gone:
            row = table.rows.get(pod.node_name)
            if row is not None and pod.key not in table.pods[row]:
                table.add_pod(row, PodInfo(pod, rules))
                back.append((row, pod.key))
        try:
            yield
        finally:
            for row, key in reversed(back):
                table.remove_pod(row, key)

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
        tried = self._nodes_tried(pod)
        if tried < result.feasible:
            data["sampled"] = tried
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

    def _nodes_tried(self, pod: Pod) -> int:
        """After how many feasible nodes a real scheduler stops."""
        percentage = self._state.percentages[pod.scheduler_name]
        return nodes_to_find(len(self._state.handle.table), percentage)


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


def _chosen(old: ApiObject, new: ApiObject) -> tuple[str, str]:
    """The claim for which this write of a client chooses, by key, and the node if it is told."""
    if isinstance(old, PersistentVolumeClaim) and isinstance(new, PersistentVolumeClaim):
        is_chosen = new.selected_node and not old.selected_node
        return (new.key, new.selected_node) if is_chosen else ("", "")
    if isinstance(old, PersistentVolume) and isinstance(new, PersistentVolume):
        return ("" if old.claim_key else new.claim_key), ""
    return "", ""


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


def _is_same_refusal(result: ScheduleResult, message: str) -> bool:
    return result.result != SCHEDULED and _of_nodes(message) == _of_nodes(result.message)


def _of_nodes(message: str) -> str:
    """What the message says of the nodes; what it says of preemption follows as a new sentence."""
    return message.partition(". ")[0].rstrip(".")


def _named(told: list[_Told]) -> str:
    first = told[0].pod.key
    return first if len(told) == 1 else f"{first} and {len(told) - 1} more pods"
