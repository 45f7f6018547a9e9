"""Decides on pods as the cluster is, and as a client that is a moment behind may have seen it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import PersistentVolumeClaim, Pod
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, UNSCHEDULABLE, ScheduleResult
from engine.scheduler.cycle.decision.sampling import nodes_to_find
from engine.scheduler.cycle.explain import evidence, refusal_text
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.cycle.watches import Watches

_T = TypeVar("_T")

# So many of the last pods that were bound, or that went, are tried at most.
_MOST_LAST = 16
# How long a client may not have seen a change.
UNSEEN = 2 * SECOND


@dataclass(frozen=True, slots=True)
class Told:
    """The decision of a client on a pod: its node, or "" with the message why it fits nowhere."""

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

    @property
    def subject(self) -> str:
        """What sentences about it begin with."""
        return self.node or "The refusal"


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision on a pod here: the result, and the numbers that are kept of it.

    `place` is where the pod was in the client's queue.
    """

    place: tuple[int, int]
    result: ScheduleResult
    best: tuple[str, ...]
    score: int | None
    totals: dict[str, int]
    evidence: dict[str, Any] | None


class Trials:
    """Decides on the pods of one external scheduler; the cluster is afterwards as it was."""

    def __init__(self, state: SchedulerState, watches: Watches) -> None:
        self._state = state
        self._watches = watches

    def place(self, pod: Pod) -> tuple[int, int]:
        """Where the pod is in the client's queue. Upstream: queuesort.PrioritySort.Less()."""
        return (-pod.priority, self._watches.arrived.number(pod.key))

    def is_waiting_before(self, place: tuple[int, int]) -> bool:
        """Whether a pod that is before this place in the client's queue has no node yet."""
        waiting = (self._state.known.get(key) for key in self._watches.arrived)
        return any(pod is not None and self.place(pod) < place for pod in waiting)

    def decided(self, pod: Pod, place: tuple[int, int], number: int) -> Decided:
        """The decision on *pod*, at its place in the queue, as its attempt of this number."""
        algorithm = self._algorithm(pod)
        result = self._schedule(algorithm, pod)
        if result.result == UNSCHEDULABLE:
            algorithm.preempt(result)
        best, score, totals = scores_of(algorithm, result)
        found = None
        if self._state.keeps_evidence_of(pod.key):
            found = evidence(result, algorithm, number, 0)
        return Decided(place, result, best, score, totals, found)

    def decided_without(self, told: Told, others: Iterable[Told], number: int) -> Decided | None:
        """The decision without these bindings; None if it is another one than was told."""
        with self._without([told, *others]):
            return self.decided(told.pod, told.place, number) if self._is_right(told) else None

    def leaves_extenders_out(self, pod: Pod) -> bool:
        """Whether the client asks extenders about the pod; here extenders are not asked.

        The client would have to wait for that answer, too, before its binding is answered.
        """
        extenders = self._state.extenders
        if not extenders:
            return False
        info = PodInfo(pod, self._state.rules)
        return any(extender.settings.has_a_say(info) for extender in extenders)

    def why_not(self, told: Told) -> str:
        """Why the pod does not fit the node that it counts on now, in a few words."""
        with self._without([told]):
            algorithm = self._algorithm(told.pod)
            return refusal_text(told.node, self._schedule(algorithm, told.pod), algorithm)

    def right_before(self, binding: Told, recent: Sequence[Told]) -> str:
        """A sentence if the node is right without some of the newest bound pods; "" if not.

        *recent*: the newest bindings, the last one first. As long as pods before it in the queue
        have no node, nothing can be said of them; pods that went just now may explain it all the same.
        """
        if self.is_waiting_before(binding.place):
            with self._without([binding]):
                return self.right_with_gone(binding)
        later = [one for one in recent if one.place > binding.place]
        last = _first_few(recent)
        for left_out in (later, *last) if later else last:
            with self._without([binding, *left_out]):
                if self._is_right(binding):
                    return f"{binding.node} was right before {_named(left_out)} had a node."
        with self._without([binding]):
            return self.right_with_gone(binding)

    def right_with_gone(self, told: Told) -> str:
        """A sentence if this is right with some of the pods that left their nodes last; "" if not.

        Neither may the client have seen how a node changed that would be the best with them.
        """
        earliest = self._state.loop.now - UNSEEN
        gone = [pod for at, pod in reversed(self._watches.left) if at >= earliest]
        changed = ""
        for back in _first_few(gone):
            keys = ", ".join(pod.key for pod in back)
            with self._with(back):
                is_right, best = self._looked_at(told)
            if is_right:
                return f"{told.subject} was right before {keys} went."
            if not changed and (unseen := self.unseen(told, best)):
                changed = f"{keys} went just before. {unseen}"
        return changed

    def right_among(
        self, told: Told, recent: Iterable[Told], number: int
    ) -> tuple[str, Decided] | None:
        """A sentence and the decision if this is right among other bindings of its time.

        A client decides on pods in an order of its own after it was started again, and many at a
        time arrive in any order. Those that came just after this one count, except on its node; so
        do those that came just before it, then without those on its node. At last the first few
        that came after it count, on its node, too: they were decided before it, the others after it.
        """
        near = [one for one in recent if abs(one.at - told.at) <= UNSEEN and one.seq != told.seq]
        here = [one for one in near if one.node == told.node or one.pod.uid == told.pod.uid]
        later = [one for one in here if one.seq > told.seq]
        counted = [one for one in near if one.seq > told.seq and one not in later]
        for left_out in (later, here):
            if not counted and not left_out:
                continue
            decided = self.decided_without(told, left_out, number)
            if decided is not None:
                return among(told, counted, left_out), decided
        after = sorted((one for one in near if one.seq > told.seq), key=lambda one: one.seq)
        for sooner in _first_few(after):
            decided = self.decided_without(told, after[len(sooner) :], number)
            if decided is not None:
                return among(told, sooner, after[len(sooner) :]), decided
        return None

    def unseen(self, told: Told, best: Sequence[str]) -> str:
        """A sentence if a node or claim that matters changed just before; "" if not.

        Each node has a part in a refusal.
        """
        namespace, earliest = told.pod.namespace, told.at - UNSEEN
        claims = {f"{namespace}/{name}" for name in told.pod.claim_names}
        nodes = {told.node, *best}
        for at, kind, key in reversed(self._watches.changed):
            if earliest <= at <= told.at and (
                (kind == "Node" and (key in nodes or not (told.node or best)))
                or (kind == PersistentVolumeClaim.KIND and not told.node and key in claims)
            ):
                milliseconds = (told.at - at) // MILLISECOND
                return f"{kind} {key} changed {milliseconds} ms before."
        return ""

    def _is_right(self, told: Told) -> bool:
        return self._looked_at(told)[0]

    def _looked_at(self, told: Told) -> tuple[bool, tuple[str, ...]]:
        """Whether this is right as the table is now, and the nodes that are the best."""
        algorithm = self._algorithm(told.pod)
        result = self._schedule(algorithm, told.pod)
        best, _, totals = scores_of(algorithm, result)
        if not told.node:
            return is_same_refusal(result, told.message), best
        is_right = told.node in best or self.is_best_of_sample(told.pod, totals, told.node)
        return is_right, best

    def is_best_of_sample(self, pod: Pod, totals: Mapping[str, int], node: str) -> bool:
        """Whether a scheduler that stops early may find no better node than this one.

        It goes through the nodes in their order, beginning at any of them.
        """
        tried = self.nodes_tried(pod)
        if node not in totals or tried >= len(totals):
            return False
        in_order = np.fromiter(totals.values(), np.int64, len(totals))
        place = list(totals).index(node)
        better = np.flatnonzero(np.roll(in_order, -place) > in_order[place])
        # Between the nearest better nodes on both sides.
        return not len(better) or int(better[0] + len(totals) - better[-1]) - 1 >= tried

    def nodes_tried(self, pod: Pod) -> int:
        """After how many feasible nodes a real scheduler stops."""
        percentage = self._state.percentages[pod.scheduler_name]
        return nodes_to_find(len(self._state.handle.table), percentage)

    @contextmanager
    def _without(self, bindings: Iterable[Told]) -> Generator[None]:
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


def _first_few(newest: Sequence[_T]) -> list[Sequence[_T]]:
    """The first 1, 2, 4, … of them: each trial costs a decision."""
    most = min(len(newest), _MOST_LAST)
    return [newest[: 1 << exponent] for exponent in range(most.bit_length())]


def scores_of(
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


def among(told: Told, sooner: Sequence[Told], later: Sequence[Told]) -> str:
    """That this is right if those came before it, and these after it; one of them is not empty."""
    parts = [f"{_named(sooner)} came before"] if sooner else []
    parts += [f"{_named(later)} came after"] if later else []
    return f"{told.subject} is right if {' and '.join(parts)} it."


def is_same_refusal(result: ScheduleResult, message: str) -> bool:
    return result.result != SCHEDULED and _of_nodes(message) == _of_nodes(result.message)


def _of_nodes(message: str) -> str:
    """What the message says of the nodes; what it says of preemption follows as a new sentence."""
    return message.partition(". ")[0].rstrip(".")


def _named(told: Sequence[Told]) -> str:
    first = told[0].pod.key
    return first if len(told) == 1 else f"{first} and {len(told) - 1} more pods"
