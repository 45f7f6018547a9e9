"""Compares what a client's controllers write with what this run's would, and records it.

A controller makes several writes after one look at the cluster, and sees its own writes late. So
what it would write is kept, until something else changes, and what is not right by now may have
been right as the cluster was a moment before.

    write ──▶ in what is left of the last plan, and nothing else has changed ──▶ agrees
          ──▶ in a plan made now                                             ──▶ agrees
          ──▶ in what is left of the last plan, or in a plan as of earlier   ──▶ stale
          ──▶ otherwise                                                      ──▶ differs
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import AT_ONCE, WatchEvent
from engine.cluster.shadow.planned import Difference, Write
from engine.cluster.shadow.planner import Planner
from engine.cluster.shadow.plans import Plan
from engine.cluster.shadow.suspects import Suspect, suspects_of
from engine.kernel.loop import Failed, attempted
from engine.kernel.recorder import Recorder
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import ApiObject
from engine.scheduler.cycle.shadow.shadow_decisions import AGREES, DIFFERS, STALE
from engine.scheduler.cycle.shadow.trials import UNSEEN

FACT: Final = "ShadowWrite"
# How long a client may work off what it decided at one look, from one write to the next.
_WORKS_ON: Final = 30 * SECOND
# So many of the newest changes are tried without, one more each time.
_MOST_UNSEEN: Final = 16
_MOST_CHANGES: Final = 1_000
# How many writes the trials without the newest changes may plan in two seconds of virtual time: the
# run does nothing else meanwhile.
_MOST_TRIED: Final = 10_000
# How many fields and writes are named.
_NAMED: Final = 10

_WATCHED: Final = (
    *("Namespace", "Node", "Pod", "PersistentVolumeClaim", "ResourceQuota", "ResourceClaim"),
    *("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet"),
    *("CronJob", "Job", "ControllerRevision", "ResourceClaimTemplate"),
)


class _Change(NamedTuple):
    number: int
    at: int
    write: WatchEvent


@dataclass(frozen=True, slots=True)
class _Verdict:
    verdict: str
    # Why it is stale, or how it differs.
    sentence: str = ""
    fields: Sequence[Difference] = ()
    expected: Sequence[Write] = ()
    # The change that the client may not have seen, and how long before the write it was, in ms.
    unseen: str = ""
    milliseconds: int = 0


class ShadowWrites:
    """Judges the writes of clients in the place of controllers that are left to them."""

    def __init__(self, store: ObjectStore, recorder: Recorder, planner: Planner) -> None:
        self._store = store
        self._loop = store.loop
        self._recorder = recorder
        self._planner = planner
        self._plans: dict[tuple[str, str], Plan] = {}
        self._changes: deque[_Change] = deque(maxlen=_MOST_CHANGES)
        self._number = 0
        # The two seconds of the newest trial, and how much was planned in them.
        self._trial_period: int = 0
        self._tried: int = 0
        # The newest change of each namespace; that of nodes and the like is under "".
        self._newest: dict[str, int] = {}
        for kind in _WATCHED:
            store.watch(kind, self._note, AT_ONCE)
        # What is there in the beginning is no change.
        self._changes.clear()
        self._newest.clear()
        self._number = 0

    def _note(self, event: WatchEvent) -> None:
        self._number += 1
        self._changes.append(_Change(self._number, self._loop.now, event))
        self._newest[event.new.namespace] = self._number

    def of_write(self, old: ApiObject | None, new: ApiObject | None) -> list[Callable[[], None]]:
        """What records the verdict on a client's write, once it is stored; asked before it is."""
        write, found = Write(old, new), list[Callable[[], None]]()
        if write.says_nothing:
            return found
        for suspect in suspects_of(old, new):
            if self._planner.has(suspect.controller):
                end = attempted(self._judge, suspect, write)
                if isinstance(end, Failed):
                    boundary = self._loop.boundary
                    if boundary is None or not boundary.caught(end.error):
                        raise end.error
                elif end is not None:
                    found = [partial(self._record, suspect, write, end)]
                    if end.verdict != DIFFERS:
                        break
        return found

    # Judging

    def _judge(self, suspect: Suspect, write: Write) -> _Verdict | None:
        """None where a user may have written it, and the controller writes nothing of the kind."""
        namespace = suspect.key.partition(":")[2] or suspect.key
        namespace = namespace.partition("/")[0]
        place, newest = (suspect.controller, suspect.key), self._seen_in(namespace)
        last = self._plans.get(place)
        if last is not None and self._loop.now - last.at > _WORKS_ON:
            last = None
        if last is not None and last.seen == newest and last.take(write):
            last.at = self._loop.now
            return _Verdict(AGREES)
        now = self._plan(suspect, namespace)
        if now.take(write):
            self._plans[place] = now
            return _Verdict(AGREES)
        if last is not None and last.take(write):
            last.at = self._loop.now
            return self._stale([*self._unseen(namespace, last.seen)][::-1])
        if not suspect.is_sure and not now.may_have(write):
            return None
        before = self._right_before(suspect, namespace, write)
        if before is not None:
            return before
        self._plans[place], expected = now, now.left
        nearest = now.take_nearest(write)
        if nearest is None:
            return _Verdict(DIFFERS, _other(suspect, expected), expected=expected)
        fields = ", ".join(each.field for each in nearest[:_NAMED])
        text = f"{suspect.controller} would have written other values of {fields}."
        return _Verdict(DIFFERS, text, fields=nearest)

    def _plan(
        self,
        suspect: Suspect,
        namespace: str,
        unseen: Sequence[_Change] = (),
        *,
        awaits: bool = False,
    ) -> Plan:
        """What the controller would write now, or at the first of the changes that are *unseen*."""
        at = unseen[0].at if unseen else self._loop.now
        writes = [each.write for each in unseen]
        planned = self._planner.plan(
            suspect.controller, suspect.key, namespace, at, unseen=writes, awaits=awaits
        )
        seen = unseen[0].number - 1 if unseen else self._seen_in(namespace)
        return Plan(planned, seen, self._loop.now)

    def _right_before(self, suspect: Suspect, namespace: str, write: Write) -> _Verdict | None:
        """Whether it is right without the newest changes, of which the client may not have heard."""
        for unseen in _lags([*islice(self._unseen(namespace, 0), _MOST_UNSEEN)]):
            # One that has created something just now may wait until it sees that.
            for awaits in (False, True):
                if not self._may_try():
                    return None
                plan = self._plan(suspect, namespace, unseen, awaits=awaits)
                self._tried += 1 + len(plan.left)
                if plan.take(write):
                    self._plans[suspect.controller, suspect.key] = plan
                    return self._stale(unseen)
        return None

    def _may_try(self) -> bool:
        period = self._loop.now // UNSEEN
        if period != self._trial_period:
            self._trial_period, self._tried = period, 0
        return self._tried < _MOST_TRIED

    def _unseen(self, namespace: str, since: int) -> Iterable[_Change]:
        """The newest changes after that one, the last one first, as far as they are not too old."""
        earliest = self._loop.now - UNSEEN
        for change in reversed(self._changes):
            if change.number <= since or (not since and change.at < earliest):
                return
            if change.write.new.namespace in (namespace, ""):
                yield change

    def _stale(self, unseen: Sequence[_Change]) -> _Verdict:
        """*unseen* are the changes that the client had not heard of, the first one first."""
        if not unseen:
            return _Verdict(STALE, "It was right a moment before.")
        first = unseen[0]
        entity, passed = first.write.new.id, (self._loop.now - first.at) // MILLISECOND
        text = f"It was right before {entity} changed, {passed} ms before."
        return _Verdict(STALE, text, unseen=entity, milliseconds=passed)

    def _seen_in(self, namespace: str) -> int:
        return max(self._newest.get(namespace, 0), self._newest.get("", 0))

    # Recording

    def _record(self, suspect: Suspect, write: Write, found: _Verdict) -> None:
        self._follow(suspect, write)
        data: dict[str, Any] = {
            "verdict": found.verdict,
            "controller": suspect.controller,
            "of": suspect.key.rpartition(":")[2],
            "verb": write.verb,
        }
        if found.fields:
            data["fields"] = [each.as_json() for each in found.fields[:_NAMED]]
        if found.expected:
            data["expected"] = [each.said() for each in found.expected[:_NAMED]]
        if found.unseen:
            data["unseen"] = found.unseen
            data["unseen_ms"] = found.milliseconds
        text = found.sentence or f"{suspect.controller} would have written the same."
        self._recorder.record(FACT, write.object.id, f"shadow-{suspect.controller}", text, data)

    def _follow(self, suspect: Suspect, write: Write) -> None:
        """The client's own write is no change that it has not seen."""
        plan = self._plans.get((suspect.controller, suspect.key))
        last = self._changes[-1] if self._changes else None
        if plan is None or last is None or last.write.new.id != write.object.id:
            return
        if plan.seen == self._before(last):
            plan.seen = last.number

    def _before(self, change: _Change) -> int:
        """The change before that one in its namespace."""
        namespace = change.write.new.namespace
        earlier = (
            each.number
            for each in reversed(self._changes)
            if each.number < change.number and each.write.new.namespace in (namespace, "")
        )
        return next(earlier, 0)


def _other(suspect: Suspect, expected: Sequence[Write]) -> str:
    if not expected:
        return f"{suspect.controller} would have written nothing."
    return f"{suspect.controller} would have written: {', '.join(each.said() for each in expected[:_NAMED])}."


def _lags(newest: Sequence[_Change]) -> Iterator[list[_Change]]:
    """Of the *newest* changes, the last one first, those that a client may not have seen, in order.

    First the last few, then the last few of one kind: a client hears of each kind by itself.
    """
    for count in range(1, len(newest) + 1):
        yield [*reversed(newest[:count])]
    for kind in dict.fromkeys(each.write.new.kind for each in newest):
        of_kind = [each for each in newest if each.write.new.kind == kind]
        for count in range(1, len(of_kind) + 1):
            if of_kind[:count] != [*newest[:count]]:
                yield [*reversed(of_kind[:count])]
