"""backoffQ: the pods that may be tried again once their penalty is over; and the penalty itself.

The penalty is computed as the version does; `QueueRules.backoff` says how.
"""

from __future__ import annotations

from typing import Protocol

from engine.framework.rules.queue import QueueRules
from engine.scheduler.queue.active import QueueSort
from engine.scheduler.queue.heap import ChangeCount, Entry, KeyedHeap, SortKey
from engine.scheduler.queue.queued_pod import QueuedPodInfo
from engine.scheduler.queue.trace_steps import Backoff


class BackoffPolicy(Protocol):
    """When may a pod be tried again?"""

    def failed(self, info: QueuedPodInfo, now: int) -> None:
        """The attempt failed; called when the pod comes back, before it is put anywhere."""
        ...

    def penalty(self, info: QueuedPodInfo) -> tuple[int, int] | None:
        """For how many failures, and since when; None without a penalty."""
        ...

    def expiry(self, info: QueuedPodInfo) -> int | None:
        """When the penalty ends; None when there is none."""
        ...

    def clear(self, key: str) -> None:
        """Forget the pod's record."""
        ...


def backoff_policy(rules: QueueRules) -> BackoffPolicy:
    """The policy these rules name."""
    if rules.backoff == "record":
        return PodBackoffMap(rules)
    if rules.backoff in ("pause", "attempts"):
        return BackoffByAttempts(rules)
    return BackoffByCounts(rules)


def backoff_duration(failures: int, rules: QueueRules) -> int:
    """1 s, 2 s, 4 s, 8 s and then 10 s for *failures* of 1, 2, 3 …, in nanoseconds."""
    duration = rules.initial_backoff
    for _ in range(1, failures):
        if duration > rules.max_backoff - duration:
            return rules.max_backoff
        duration += duration
    return duration


class PodBackoffMap:
    """v1.16: a record by pod name that a failure renews only when the last penalty is over.

    A record whose last failure lies more than the longest penalty back is forgotten whenever any
    pod fails. A 10 s penalty is renewed only after 10 s, when it is already forgotten: hence 1, 2,
    4, 8, 10 s and then 1 s again. Upstream: internal/queue/pod_backoff.go, backoffPod().
    """

    __slots__ = ("_records", "_rules")

    def __init__(self, rules: QueueRules) -> None:
        self._rules = rules
        # Pod key → (failures, last failure), the longest untouched first.
        self._records: dict[str, tuple[int, int]] = {}

    def failed(self, info: QueuedPodInfo, now: int) -> None:
        """Count the failure, unless the pod is still being punished for the last."""
        self._forget_old(now)
        expiry = self.expiry(info)
        # At the very instant it ends the penalty still counts as running.
        if expiry is None or expiry < now:
            failures, _ = self._records.pop(info.key, (0, 0))
            self._records[info.key] = (failures + 1, now)

    def penalty(self, info: QueuedPodInfo) -> tuple[int, int] | None:
        """The record by name."""
        return self._records.get(info.key)

    def expiry(self, info: QueuedPodInfo) -> int | None:
        """Last failure + penalty."""
        record = self._records.get(info.key)
        if record is None:
            return None
        failures, last = record
        return last + backoff_duration(failures, self._rules)

    def clear(self, key: str) -> None:
        """Forget the pod's record."""
        self._records.pop(key, None)

    def _forget_old(self, now: int) -> None:
        horizon = now - self._rules.max_backoff
        old: list[str] = []
        for key, (_, last) in self._records.items():
            if last >= horizon:
                break
            old.append(key)
        for key in old:
            del self._records[key]


class BackoffByAttempts:
    """v1.20: reckoned from the number of attempts and the time the pod came back.

    v1.11 has no backoff: a pod is queued again once the scheduler has read it again, in a few
    milliseconds. A pause in place of that keeps a run readable in which a pod fails in a loop.
    Upstream: v1.11 factory.go MakeDefaultErrorFunc().
    """

    __slots__ = ("_rules",)

    def __init__(self, rules: QueueRules) -> None:
        self._rules = rules

    def failed(self, info: QueuedPodInfo, now: int) -> None:
        """Nothing to write down: `attempts` and `timestamp` say it all."""

    def penalty(self, info: QueuedPodInfo) -> tuple[int, int]:
        """Every attempt counts."""
        return info.attempts, info.timestamp

    def expiry(self, info: QueuedPodInfo) -> int:
        """Timestamp + penalty. Upstream: scheduling_queue.go getBackoffTime()."""
        return info.timestamp + backoff_duration(info.attempts, self._rules)

    def clear(self, key: str) -> None:
        """Nothing is kept by name."""


class BackoffByCounts:
    """v1.34: errors of the machinery and rejections by plugins are counted apart.

    Upstream: backend/queue/backoff_queue.go getBackoffTime(). Expiries are cut down to whole
    windows of a second; a pod backs off until the window after that begins.
    """

    __slots__ = ("_rules",)

    def __init__(self, rules: QueueRules) -> None:
        self._rules = rules

    def failed(self, info: QueuedPodInfo, now: int) -> None:
        """Count one more rejection, or one more error in a row."""
        if info.unschedulable_plugins or info.pending_plugins:
            info.unschedulable_count += 1
            info.consecutive_errors_count = 0
        else:
            info.consecutive_errors_count += 1
        info.backoff_expiration = None

    def penalty(self, info: QueuedPodInfo) -> tuple[int, int] | None:
        """Errors in a row, or else rejections."""
        failures = info.consecutive_errors_count or info.unschedulable_count
        if self._rules.max_backoff == 0 or failures == 0:
            return None
        return failures, info.timestamp

    def expiry(self, info: QueuedPodInfo) -> int | None:
        """Timestamp + penalty, at the start of its window."""
        if info.backoff_expiration is None:
            penalty = self.penalty(info)
            if penalty is None:
                return None
            failures, since = penalty
            ends = since + backoff_duration(failures, self._rules)
            info.backoff_expiration = _window_start(ends, self._rules)
        return info.backoff_expiration

    def clear(self, key: str) -> None:
        """Nothing is kept by name."""


class BackoffQueue:
    """The heap of pods that back off, first to expire first.

    With windows (v1.34) the pods of one window are ordered as activeQ would, and those that came
    back because of an error wait apart, where an idle scheduler does not look.
    """

    __slots__ = ("_errors", "_heap", "_policy", "_rules", "_sort")

    def __init__(
        self, rules: QueueRules, policy: BackoffPolicy, sort: QueueSort, changes: ChangeCount
    ) -> None:
        self._rules = rules
        self._policy = policy
        self._sort = sort
        self._heap = KeyedHeap(changes)
        self._errors = KeyedHeap(changes)

    def __len__(self) -> int:
        return len(self._heap) + len(self._errors)

    def __contains__(self, key: object) -> bool:
        return key in self._heap or key in self._errors

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with this key, if it is here."""
        entry = self._heap.live.get(key) or self._errors.live.get(key)
        return None if entry is None else entry[3]

    def put(self, info: QueuedPodInfo) -> None:
        """Add the pod, or find its place again after it changed."""
        expiry = self._policy.expiry(info) or 0
        heap, other = self._heap, self._errors
        if not self._rules.backoff_window:
            sort_key: SortKey = (expiry,)
        elif info.unschedulable_plugins or info.pending_plugins:
            sort_key = (expiry, *self._sort.sort_key(info))
        else:
            heap, other = other, heap
            sort_key = (expiry,)
        other.remove(info.key)
        heap.put(info, sort_key)

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take out the pod with this key, if it is here."""
        return self._heap.remove(key) or self._errors.remove(key)

    def is_backing_off(self, info: QueuedPodInfo, now: int) -> bool:
        """Must the pod still wait?"""
        expiry = self._policy.expiry(info)
        return expiry is not None and now < self._over_at(expiry)

    def over_at(self, info: QueuedPodInfo) -> int | None:
        """The first instant at which the pod no longer backs off."""
        expiry = self._policy.expiry(info)
        return None if expiry is None else self._over_at(expiry)

    def step_of(self, info: QueuedPodInfo) -> Backoff | None:
        """The arithmetic of the pod's penalty; None without one."""
        penalty, ends = self._policy.penalty(info), self._policy.expiry(info)
        if penalty is None or ends is None:
            return None
        rules, (failures, since) = self._rules, penalty
        return Backoff(
            failures,
            rules.initial_backoff,
            rules.max_backoff,
            backoff_duration(failures, rules),
            since,
            rules.backoff_window,
            ends,
            self._over_at(ends),
        )

    def pop_expired(self, now: int) -> list[QueuedPodInfo]:
        """Take out every pod whose penalty is over, in order."""
        expired: list[QueuedPodInfo] = []
        for heap in (self._heap, self._errors):
            while (info := heap.peek()) is not None and not self.is_backing_off(info, now):
                heap.pop()
                expired.append(info)
        return expired

    def pop_early(self) -> QueuedPodInfo | None:
        """Take out the first pod although its penalty runs. Upstream: popBackoff()."""
        return self._heap.pop()

    def has_early(self) -> bool:
        """Would pop_early() give a pod?"""
        return bool(self._heap.live)

    def next_over_at(self) -> int | None:
        """When the first pod stops backing off; None when none is here."""
        first = [
            self.over_at(info) or 0
            for heap in (self._heap, self._errors)
            if (info := heap.peek()) is not None
        ]
        return min(first, default=None)

    def ordered(self) -> list[Entry]:
        """Every entry, first to expire first; those with errors last."""
        return [*self._heap.ordered(), *self._errors.ordered()]

    def _over_at(self, expiry: int) -> int:
        # Upstream, v1.34 isPodBackingoff(): a pod whose expiry lies in the present window still
        # backs off. Before: boTime.After(now).
        return expiry + self._rules.backoff_window


def _window_start(at: int, rules: QueueRules) -> int:
    return at - at % rules.backoff_window if rules.backoff_window else at
