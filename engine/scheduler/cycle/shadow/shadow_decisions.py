"""Compares what a client decides on pods with what is decided on them here, and records it.

A client that has volumes or devices to bind tells of its decision before it binds the pod: it
nominates the pod to the node (since v1.35), writes the node into a claim, or the claim into a
volume. The pod counts on that node from then on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject, Manifest, PersistentVolume, PersistentVolumeClaim, Pod
from engine.objects.pods.conditions import condition_of
from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.shadow.trials import (
    UNSEEN,
    Decided,
    Told,
    Trials,
    among,
    is_same_refusal,
)
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.cycle.watches import Watches

AGREES, TIED, DIFFERS, STALE = "agrees", "tied", "differs", "stale"

# How long a client may be behind, and how many bindings.
_BEHIND = 30 * SECOND
_MOST_BINDINGS = 1_000
# How many of the nodes with the best score are named.
_NAMED = 10


class ShadowDecisions:
    """Decides on the pods of one external scheduler, and records how that compares."""

    def __init__(self, state: SchedulerState, watches: Watches) -> None:
        self._state = state
        self._watches = watches
        self._trials = Trials(state, watches)
        self._bound: deque[Told] = deque(maxlen=_MOST_BINDINGS)
        # Wrong decisions, until all pods before them in the queue have their nodes, too.
        self._open: deque[Told] = deque(maxlen=_MOST_BINDINGS)
        # Wrong decisions without an explanation, by the seq of their shadow decision, for a while.
        self._unexplained: dict[int, Told] = {}
        # How often each pod was decided on, by uid, as long as it has no node.
        self._attempts: dict[str, int] = {}
        # Pods whose volumes the client binds, by uid: what was decided on them then, and the node
        # if it was told.
        self._begun: dict[str, tuple[Decided, str]] = {}

    def decide(self, pod: Pod) -> Decided:
        """The decision on *pod* as the cluster is now."""
        return self._trials.decided(pod, self._trials.place(pod), self._next_number(pod))

    def _next_number(self, pod: Pod) -> int:
        return self._attempts.get(pod.uid, 0) + 1

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
        return min(found, key=self._trials.place, default=None)

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
        binding = Told(old, node, "", self._state.loop.now, decided.place, is_retry=is_retry)
        verdict, sentence = _verdict(decided, node), ""
        if verdict == DIFFERS and self._trials.is_best_of_sample(new, decided.totals, node):
            verdict = TIED
            tried = self._trials.nodes_tried(new)
            sentence = f"{node} has the best score of {tried} nodes in a row, as many as are tried."
        elif verdict == DIFFERS:
            sentence = self._trials.right_before(binding, self._recent())
            sentence = sentence or self._trials.unseen(binding, decided.best)
            verdict = STALE if sentence else DIFFERS
            sentence = sentence or self._difference(binding, decided)
        seq = self._record(new, verdict, sentence, decided, node=node)
        binding = replace(binding, seq=seq)
        self._bound.append(binding)
        self._settle()
        if verdict == DIFFERS:
            self._look_again(binding)

    def _difference(self, binding: Told, decided: Decided) -> str:
        """How the client's node is worse than what was decided."""
        result, node = decided.result, binding.node
        if result.node is None:
            return f"No node fits: {result.message}"
        if node in decided.totals:
            return f"{result.node} has a score of {decided.score}, {node} one of {decided.totals[node]}."
        why = self._trials.why_not(binding)
        return f"{result.node} fits; {node} does not{f': {why}' if why else ''}."

    def refused(self, pod: Pod, message: str, decided: Decided) -> None:
        """The client has written that *pod* fits nowhere, and why."""
        told = Told(pod, "", message, self._state.loop.now, decided.place)
        verdict, sentence = AGREES, ""
        if not is_same_refusal(decided.result, message):
            sentence = self._trials.right_with_gone(told)
            sentence = sentence or self._trials.unseen(told, decided.best)
            verdict = STALE if sentence else DIFFERS
        seq = self._record(pod, verdict, sentence, decided, message=message)
        if verdict == DIFFERS:
            self._look_again(replace(told, seq=seq))
        self._watches.arrived.forget(pod.key)

    @property
    def _earliest(self) -> int:
        """Bindings since then count as new."""
        return self._state.loop.now - _BEHIND

    def _recent(self) -> list[Told]:
        """The newest bindings, the last one first."""
        return [one for one in reversed(self._bound) if one.at >= self._earliest]

    def _settle(self) -> None:
        """Record what of the last that was wrong is right in the order of the queue.

        Each is tried once, as soon as all pods that came before it have their nodes.
        """
        recent = self._recent()
        for one in list(self._open):
            if one.at >= self._earliest and self._trials.is_waiting_before(one.place):
                continue
            self._open.remove(one)
            known = self._still_known(one)
            if known is not None:
                self._explain(one, known, recent)

    def _still_known(self, told: Told) -> Pod | None:
        """The pod as it is now; None if it is gone, even if another one has its name."""
        known = self._state.known.get(told.pod.key)
        return known if known is not None and known.uid == told.pod.uid else None

    def _look_again(self, told: Told) -> None:
        """Look at what was wrong again: in the order of the queue, and, last, among its like."""
        self._open.append(told)
        self._unexplained[told.seq] = told
        self._state.loop.call_after(UNSEEN, self._look_last, told.seq)

    def _look_last(self, seq: int) -> None:
        told = self._unexplained.pop(seq, None)
        known = None if told is None else self._still_known(told)
        if told is None or known is None:
            return
        found = self._trials.right_among(told, self._recent(), self._next_number(told.pod))
        if found is not None:
            sentence, decided = found
            self._record_stale(told, known, sentence, decided)

    def _explain(self, told: Told, pod: Pod, recent: Sequence[Told]) -> None:
        """Record that the client's decision on *pod* is right in the order of the queue, if it is."""
        later = [each for each in recent if each.place > told.place]
        number = self._next_number(told.pod)
        decided = self._trials.decided_without(told, later, number)
        if decided is None and any(each.is_retry for each in later):
            uid = told.pod.uid
            later = [each for each in later if not each.is_retry or each.pod.uid == uid]
            decided = self._trials.decided_without(told, later, number)
        if decided is None:
            return
        counted = {each.seq for each in recent} - {each.seq for each in later}
        sooner = [each for each in recent if each.seq in counted and each.seq > told.seq]
        if sooner or later:
            self._record_stale(told, pod, among(told, sooner, () if sooner else later), decided)

    def _record_stale(self, told: Told, pod: Pod, sentence: str, decided: Decided) -> None:
        """Record, instead of what was recorded of it, that this was right when it was decided."""
        self._unexplained.pop(told.seq, None)
        self._record(
            pod,
            STALE,
            sentence,
            decided,
            node=told.node,
            message=told.message,
            instead_of=told.seq,
        )

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
        tried = self._trials.nodes_tried(pod)
        if tried < result.feasible:
            data["sampled"] = tried
        text = sentence or _sentence(verdict, decided, node)
        if verdict == DIFFERS and self._trials.leaves_extenders_out(pod):
            text += " Its extenders, which have a say in it, are not asked here."
        kept = {name: part for name, part in data.items() if part is not None}
        shown = {"shadow": verdict}
        seq = self._state.chronicle.record_pod("ShadowDecision", pod, text, kept, shown)
        number = self._attempts[pod.uid] = self._attempts.get(pod.uid, 0) + 1
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


def _chosen(old: ApiObject, new: ApiObject) -> tuple[str, str]:
    """The key of the claim for which this write of a client chooses, and the node if it names one."""
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


def _sentence(verdict: str, decided: Decided, node: str) -> str:
    """What the verdict rests on; for a node that is worse see _difference."""
    result = decided.result
    if not node:
        return _sentence_of_refusal(verdict, result)
    if verdict == AGREES:
        if decided.score is None:
            return f"{node} is the only node that fits."
        return f"{node} has the best score, {decided.score}, of {result.feasible} nodes."
    return f"{node} is one of {len(decided.best)} nodes with the best score, {decided.score}."


def _sentence_of_refusal(verdict: str, result: ScheduleResult) -> str:
    if verdict == AGREES:
        return "No node fits, for the same reasons."
    if result.node is not None:
        return f"The pod fits {result.node}."
    return f"No node fits, but for other reasons: {result.message}"
