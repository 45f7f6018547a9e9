"""Reading runs: the state at any instant, events by filter, the histogram."""

from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from kscope.runs.checkpoints import checkpoint_before, checkpoint_view
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.sim.view import State, fold

NEWEST = 50

# Events that are worth a mark above the histogram.
MARKED = (
    "CommandRejected",
    "NodeCreated",
    "NodeDeleted",
    "NodeCordoned",
    "NodeUncordoned",
    "PodNominated",
    "Preempted",
    "ClaimLost",
    "VolumeFailed",
    "ProvisioningFailed",
)
_EVENT_FIELDS = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")


def run_dict(run: Run) -> dict[str, Any]:
    """What pages and the API tell of a run."""
    document = run.scenario.document
    return {
        "id": run.pk,
        "name": run.name,
        "profile": run.profile,
        "seed": run.seed,
        "tie_break": run.tie_break,
        "status": run.status,
        "speed": run.speed,
        "head": run.head_seq,
        "head_at": run.head_at,
        "next_at": run.next_at,
        "scenario": run.scenario.name,
        "scenario_id": run.scenario_id,
        "question": run.scenario.question or document.get("question", ""),
        "error": run.error,
        "digest": run.head_digest,
        "created": run.created.isoformat(),
    }


def event_dict(event: RunEvent) -> dict[str, Any]:
    """The event as JSON."""
    return {name: getattr(event, name) for name in _EVENT_FIELDS}


@dataclass(frozen=True, slots=True)
class Instant:
    """The view state after event *seq*, at virtual time *at*."""

    seq: int
    at: int
    state: State


def run_state_at(run: Run, *, seq: int) -> Instant:
    """The state after event *seq*: the nearest checkpoint before it, and the fold from there.

    Raises ApplicationError when the run has no such event.
    """
    if not 0 <= seq <= run.head_seq:
        raise ApplicationError(
            f"seq is {seq}; the run has events 1 to {run.head_seq}", {"head": run.head_seq}, 404
        )
    checkpoint = checkpoint_before(run.pk, seq=seq)
    state: State = checkpoint_view(checkpoint) if checkpoint else {}
    later = (
        RunEvent.objects.filter(
            run_id=run.pk, seq__gt=checkpoint.seq if checkpoint else 0, seq__lte=seq
        )
        .order_by("seq")
        .values_list("changes", flat=True)
    )
    for changes in later.iterator(chunk_size=2000):
        if changes:
            fold(state, changes)
    if seq == run.head_seq:
        return Instant(seq, run.head_at, state)
    newest = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True)
    return Instant(seq, newest.first() or 0, state)


def run_seq_at(run: Run, *, at: int) -> int:
    """The seq of the newest event at or before virtual time *at*; 0 before the first."""
    newest = RunEvent.objects.filter(run_id=run.pk, at__lte=at).order_by("-seq")
    return newest.values_list("seq", flat=True).first() or 0


def run_newest_events(run: Run, *, seq: int, limit: int = NEWEST) -> list[dict[str, Any]]:
    """The newest events up to *seq*, oldest first."""
    events = RunEvent.objects.filter(run_id=run.pk, seq__lte=seq).order_by("-seq")[:limit]
    return [event_dict(event) for event in reversed(events)]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted. `after` and `before` are seqs, both exclusive; times are ns."""

    after: int | None = None
    before: int | None = None
    kinds: tuple[str, ...] = ()
    object: str = ""
    components: tuple[str, ...] = ()
    from_at: int | None = None
    to_at: int | None = None
    text: str = ""

    def apply(self, run_id: int) -> QuerySet[RunEvent]:
        """The events, in no order yet. An object ending in "/" or "*" matches as a prefix."""
        events = RunEvent.objects.filter(run_id=run_id)
        if self.after is not None:
            events = events.filter(seq__gt=self.after)
        if self.before is not None:
            events = events.filter(seq__lt=self.before)
        if self.kinds:
            events = events.filter(kind__in=self.kinds)
        if self.object.endswith(("/", "*")):
            events = events.filter(object__startswith=self.object.rstrip("*"))
        elif self.object:
            events = events.filter(object=self.object)
        if self.components:
            events = events.filter(component__in=self.components)
        if self.from_at is not None:
            events = events.filter(at__gte=self.from_at)
        if self.to_at is not None:
            events = events.filter(at__lte=self.to_at)
        if self.text:
            events = events.filter(message__icontains=self.text)
        return events


def run_bounds(run: Run) -> dict[str, int]:
    """The seqs of the oldest and newest events kept."""
    return {"lowest": 1 if run.head_seq else 0, "highest": run.head_seq}


def run_histogram(run: Run, *, buckets: int) -> dict[str, Any]:
    """How many events fall into each of *buckets* equal parts of the run's time, and the marks."""
    end = max(run.head_at, 1)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT least(at * %s / %s, %s), count(*) FROM runs_runevent WHERE run_id = %s GROUP BY 1",
            [buckets, end, buckets - 1, run.pk],
        )
        counted = dict(cursor.fetchall())
    marks = (
        RunEvent.objects.filter(run_id=run.pk, kind__in=MARKED, at__gt=0)
        .order_by("seq")
        .values("at", "kind", "seq")[:200]
    )
    return {
        "from": 0,
        "to": end,
        "counts": [counted.get(bucket, 0) for bucket in range(buckets)],
        "marks": list(marks),
    }
