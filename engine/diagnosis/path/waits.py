"""What a pod waited for until the attempt that placed it began."""

from collections.abc import Sequence

from engine.diagnosis.path.attempts import Attempt
from engine.diagnosis.path.record import Record
from engine.diagnosis.path.steps import Line
from engine.kernel.recorder import Event

QUEUED = ("PodQueued", "PodBackedOff", "PodsActivated")
_GONE = ("PodDeleted", "PodSucceeded", "PodFailed")


class Waits:
    """Fills the *line* of one pod, from its *own* events, up to the attempt that placed it.

    Attempts that evicted nobody change nothing: a wait goes on until something gives room.
    """

    def __init__(self, record: Record, own: Sequence[Event], line: Line) -> None:
        self._record, self._own, self._line = record, own, line

    def enter_queue(self, attempts: Sequence[Attempt]) -> None:
        """From creation until the pod is in the queue and taken out of it for the first time."""
        gated = next((i for i, event in enumerate(self._own) if event.kind == "PodGated"), None)
        queued = next((event for event in self._own[gated or 0 :] if event.kind in QUEUED), None)
        if gated is not None:
            self._line.until(queued, "gated")
        # If a pod is tried at once, the time that the watch takes goes to the attempt.
        if queued is not None and not (attempts and attempts[0].start.at == queued.at):
            self._line.until(attempts[0].start if attempts else None, "queue")

    def fail(self, failed: Sequence[Attempt], placed: Attempt | None) -> None:
        """From the first of the *failed* attempts until *placed* begins; with None to the end."""
        if not failed:
            return
        self.attempt(failed[0])
        last_to_evict = 0
        for i, attempt in enumerate(failed):
            if i and attempt.victims:
                self._evict_again(failed[last_to_evict], attempt)
                last_to_evict = i
        self._wait(failed[last_to_evict:], placed)

    def attempt(self, attempt: Attempt) -> None:
        """The step of one attempt, with what it said."""
        message = attempt.end.message if attempt.end else ""
        self._line.until(attempt.end, "attempt", attempt=attempt.number, message=message)

    def _evict_again(self, before: Attempt, again: Attempt) -> None:
        gone = self._grace(before, again.start)
        taker = gone and self._taker(gone, again)
        if taker:
            self._line.until(again.end, "overtaken", taker.object, attempt=again.number)
        else:
            self._line.until(again.start, "unschedulable", message=_said(before))
            self.attempt(again)

    def _wait(self, tried: Sequence[Attempt], placed: Attempt | None) -> None:
        first, last = tried[0], tried[-1]
        gone = self._grace(first, placed.start if placed else None)
        # An attempt that began before the room was there says nothing about it.
        taker = gone and last.start.seq > gone.seq and self._taker(gone, last)
        if taker:
            self._line.until(last.end, "overtaken", taker.object, attempt=last.number)
        if placed is None:
            self._open(last)
            return
        moved = self._moved(last, placed)
        helped = self._released(last, placed) or _other(moved)
        if helped is None:
            self._line.until(last.end, "unschedulable", message=_said(last))
        # The scheduler hears a moment later that a victim has gone.
        if helped is not None and not (gone and helped.cause == gone.seq):
            name = "room" if helped.kind == "PodReleased" else "unschedulable"
            self._line.until(helped, name, helped.object, message=helped.message)
        is_active = moved is not None and moved.kind != "PodBackedOff"
        self._line.until(placed.start, "queue" if is_active else "backoff")

    def _open(self, last: Attempt) -> None:
        if last.end is None:
            self._line.until(last.start, "unschedulable")
            self.attempt(last)
        self._line.until(None, "unschedulable", message=_said(last))

    def _released(self, last: Attempt, placed: Attempt) -> Event | None:
        """The newest room on the node of *placed* that the attempt *last* did not see."""
        words = f"left {placed.node}"
        left = self._record.of_kind("PodReleased", words, after=last.start.seq, to=placed.start.seq)
        return next((event for event in reversed(left) if event.message == words), None)

    def _moved(self, last: Attempt, placed: Attempt) -> Event | None:
        """What put the pod into the queue out of which *placed* took it."""
        between = (event for event in self._own if last.start.seq < event.seq < placed.start.seq)
        return next((event for event in reversed([*between]) if event.kind in QUEUED), None)

    def _grace(self, attempt: Attempt, begun: Event | None) -> Event | None:
        """Until the last victim of the *attempt* has gone; what ended it, None if nothing did.

        If the pod was tried again at *begun* and placed or evicted anew, it may not have waited.
        """
        if not attempt.victims or attempt.end is None:
            return None
        went = [self._gone(victim, attempt.end) for victim in attempt.victims]
        latest = max((event for event in went if event is not None), key=_seq, default=None)
        is_over = latest is not None and None not in went
        if latest is not None and is_over and (begun is None or latest.at <= begun.at):
            self._line.until(latest, "grace", latest.object, objects=attempt.victims)
            return latest
        if begun is None:
            leaving = attempt.victims[went.index(None)]
            self._line.until(None, "grace", leaving, objects=attempt.victims)
        return None

    def _gone(self, victim: str, evicted: Event) -> Event | None:
        for event in self._record.of_object(victim):
            if event.seq > evicted.seq and event.kind in _GONE:
                return event
        return None

    def _taker(self, gone: Event, attempt: Attempt) -> Event | None:
        """Another pod that got room on the nominated node after it was *gone*, before *attempt* failed."""
        node = self._nominated(attempt)
        if not node or attempt.end is None:
            return None
        assumed = self._record.of_kind(
            "PodAssumed", f"to {node},", after=gone.seq, to=attempt.end.seq
        )
        return next((event for event in assumed if event.object != self._line.pod), None)

    def _nominated(self, until: Attempt) -> str:
        node = ""
        for event in self._own:
            nominated = (event.changes or {}).get(self._line.pod) or {}
            if event.seq < until.start.seq and nominated.get("nominated"):
                node = str(nominated["nominated"])
        return node


def _said(attempt: Attempt) -> str:
    return attempt.end.message if attempt.end else ""


def _other(moved: Event | None) -> Event | None:
    """What moved a pod, unless its own attempt did, after which it goes by its backoff."""
    return None if moved is None or moved.message == "ScheduleAttemptFailure" else moved


def _seq(event: Event) -> int:
    return event.seq
