"""Reading runs: the state at any instant, events by filter, the histogram."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import orjson
from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.cluster.source import fingerprint
from engine.input.header.external import left_together
from engine.kernel.view import State
from engine.objects.scripts.reading import ignored, read_scripts
from engine.objects.scripts.script import Script
from kscope.runs import leases
from kscope.runs.errors import ApplicationError
from kscope.runs.history.changes import time_of
from kscope.runs.history.chunks import Part
from kscope.runs.history.differences import patch_between
from kscope.runs.history.states import state_at, texts_at
from kscope.runs.models import Run, RunEvent, Scenario
from kscope.runs.triages import run_stuck

NEWEST = 50
MARKS = 200

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


def run_scripts(run_id: int) -> tuple[Script, ...]:
    """What containers of a run do, by its scenario; nothing for a run that is gone."""
    rows = Run.objects.filter(pk=run_id).values_list("scenario__header__containers", flat=True)
    return read_scripts(rows.first(), (), ignored)


def run_dict(run: Run) -> dict[str, Any]:
    """A run, as pages and the API get it."""
    return {
        "id": run.pk,
        "name": run.name,
        "profile": run.profile,
        "feature_gates": run.feature_gates,
        "external_scheduler": run.external_scheduler,
        "external_controllers": run.external_controllers,
        "configured": run.configuration is not None,
        "seed": run.seed,
        "tie_break": run.tie_break,
        "status": run.status,
        "speed": run.speed,
        "duration": run.duration,
        "head": run.head_seq,
        "head_at": run.head_at,
        "next_at": run.next_at,
        "scenario": run.scenario.name,
        "scenario_id": run.scenario_id,
        "question": run.scenario.question,
        **run_told(run),
        "error": run.error,
        "differs_from": run.cannot_continue_after,
        "digest": run.head_digest,
        "parent": run.parent_id,
        "forked_seq": run.forked_seq,
        "forked_at": run.forked_at,
        "goal_at": run.goal_at,
        "kept": run.kept,
        "budget": run.budget.to_dict(),
        "used": budget_used(run),
        "stopped_by": run.stopped_by,
        "stop_reason": run.stop_reason,
        "not_modelled": run.scenario.not_modelled,
        "trial": run.trial,
        "owner": run.owner.get_username() if run.owner else "",
        "visibility": run.visibility,
        "created": run.created.isoformat(),
        "worker": run_worker(run),
        "building": run.building,
        "as_brought": run.scenario.as_brought,
        "standing": run.stands,
        "instant": run.scenario.instant,
        "stuck": run_stuck(run),
        "imported": run_imported(run),
    }


def run_imported(run: Run) -> dict[str, Any] | None:
    """The file that the run came as, and what came of playing it again; None for any other run."""
    file = getattr(run, "imported", None)
    if file is None:
        return None
    return {
        "verdict": file.verdict,
        "digest": file.digest,
        "events": file.events,
        "written_by": file.written_by,
        "withheld": file.withheld,
        "parted_seq": file.parted_seq,
        "mine": file.mine,
        "theirs": file.theirs,
    }


def run_told(run: Run) -> dict[str, Any]:
    """What its pages select, the answer to its question, and the event that proves it.

    There is no answer for a run of which the scenario does not speak: one with other choices, a
    fork, or one that somebody has changed.
    """
    told: dict[str, Any] = run.scenario.told
    chosen = {"profile": run.profile, "seed": run.seed, "feature_gates": run.feature_gates}
    is_own = bool(
        run.external_scheduler
        or run.external_controllers
        or run.configuration
        or run.forked_seq is not None
    )
    is_told = not (is_own or run.head_commands) and told.get("of") == chosen
    return {
        "select": told.get("select", ""),
        "answer": told.get("answer", "") if is_told else "",
        "proof": told.get("proof") if is_told else None,
    }


def run_worker(run: Run) -> str:
    """What a worker does for the run: see `leases.WORKER`. Asked now, unless it was read with it."""
    as_read: str | None = getattr(run, "worker_as_read", None)
    if as_read is not None:
        return as_read
    rests = run.status in (Run.Status.PAUSED, Run.Status.FINISHED) and not run.steps_wanted
    if run.status == Run.Status.FAILED or (rests and run.is_started and run.goal_at is None):
        return ""
    with connection.cursor() as cursor:
        statement = f"SELECT {leases.WORKER} FROM runs_run WHERE id = %s"
        cursor.execute(statement, [fingerprint(), run.pk])
        found = cursor.fetchone()
    return found[0] if found else ""


def budget_used(run: Run) -> dict[str, int]:
    """How much the run has taken of each part of its budget."""
    return {
        "events": run.head_seq,
        "objects": run.head_objects,
        "time": run.head_at,
        "memory": run.memory_used,
    }


def run_is_external(run: Run) -> bool:
    """Whether a client decides on pods of the run, as chosen for it or as its scenario says."""
    external = Scenario.objects.filter(header__schedulers__contains=[{"external": True}])
    return run.external_scheduler or external.filter(pk=run.scenario_id).exists()


def controllers_left(run: Run) -> list[str]:
    """The controllers that a client runs, as chosen for the run or as its scenario says."""
    said: list[str] = run.scenario.header.get("external_controllers") or []
    return left_together(said, run.external_controllers)


def event_dict(event: RunEvent) -> dict[str, Any]:
    """The event as JSON."""
    return {name: getattr(event, name) for name in _EVENT_FIELDS}


@dataclass(frozen=True, slots=True)
class Instant:
    """The view state after event *seq*, at virtual time *at*."""

    seq: int
    at: int
    state: State


def check_seq(run: Run, seq: int, *, first: int = 0) -> None:
    """Raises ApplicationError when the run has no event *seq*; 0, before the first, is allowed by default."""
    if not first <= seq <= run.head_seq:
        raise ApplicationError(
            gettext("seq is {seq}; the run has events 1 to {head}").format(
                seq=seq, head=run.head_seq
            ),
            {"head": run.head_seq},
            404,
        )


def run_state_at(run: Run, *, seq: int) -> Instant:
    """The state after event *seq*. Raises ApplicationError when the run has no such event."""
    check_seq(run, seq)
    return Instant(seq, run_time_of(run, seq), state_at(run.pk, seq))


def run_state_texts(run: Run, *, seq: int, part: Part | None = None) -> dict[str, orjson.Fragment]:
    """The same state, or a *part* of it: the JSON of each entity.

    Raises ApplicationError when the run has no such event.
    """
    check_seq(run, seq)
    return {entity: orjson.Fragment(text) for entity, text in texts_at(run.pk, seq, part).items()}


def run_state_patch(run: Run, *, origin: int, seq: int, part: Part | None = None) -> dict[str, Any]:
    """The merge patch that makes of the state after event *origin* that after event *seq*.

    It is that of a *part* of the states, or of all. Raises ApplicationError when the run has no such
    event.
    """
    check_seq(run, origin)
    check_seq(run, seq)
    return patch_between(run.pk, origin, seq, part)


def run_time_of(run: Run, seq: int) -> int:
    """The virtual time after event *seq*: at the newest, of the run's clock."""
    return run.head_at if seq == run.head_seq else time_of(run.pk, seq)


def run_seq_at(run: Run, *, at: int) -> int:
    """The seq of the newest event at or before virtual time *at*; 0 before the first."""
    return run_seqs_before(run, moments=[at + 1])[0]


# Of each part the newest row that begins before a moment, and in it the events before that.
SEQS_BEFORE = """
SELECT coalesce((
    SELECT max(found.seq) FROM runs_runpart AS part CROSS JOIN LATERAL (
        SELECT least(chunk.first_seq - 1 + width_bucket(moment - 1, chunk.ats), part.upto, %(head)s)
            AS seq
        FROM runs_eventchunk AS chunk
        WHERE chunk.run_id = part.source AND chunk.first_seq <= least(part.upto, %(head)s)
            AND chunk.last_seq > part.after AND chunk.first_at < moment
        ORDER BY chunk.first_at DESC, chunk.last_seq DESC LIMIT 1) AS found
    WHERE part.run_id = %(run)s), 0)
FROM unnest(%(moments)s::bigint[]) WITH ORDINALITY AS wanted (moment, place) ORDER BY place
"""


def run_seqs_before(run: Run, *, moments: list[int]) -> list[int]:
    """For each virtual time how many events came before it, which is the seq of the last of them.

    Time never goes back from one event to the next, so seq orders events by time as well, and
    neither an index of times nor counting is needed (ADR 0013).
    """
    with connection.cursor() as cursor:
        cursor.execute(SEQS_BEFORE, {"head": run.head_seq, "moments": moments, "run": run.pk})
        return [row[0] for row in cursor.fetchall()]


def run_newest_events(run: Run, *, seq: int, limit: int = NEWEST) -> list[dict[str, Any]]:
    """The newest events up to *seq*, oldest first."""
    events = RunEvent.objects.filter(run_id=run.pk, seq__lte=seq).order_by("-seq")[:limit]
    return with_evictors(run, [event_dict(event) for event in reversed(events)])


# From each eviction by a scheduler back to the attempt that made it.
_EVICTORS = """
WITH RECURSIVE chain (eviction, kind, object, cause) AS (
    SELECT event.seq, event.kind, event.object, event.cause
    FROM unnest(%(seqs)s::bigint[]) AS asked (seq) CROSS JOIN LATERAL event_at(%(run)s, asked.seq) AS event
  UNION ALL
    SELECT chain.eviction, event.kind, event.object, event.cause
    FROM chain CROSS JOIN LATERAL event_at(%(run)s, chain.cause) AS event
    WHERE chain.kind <> 'AttemptStarted' AND event.component = 'scheduler'
)
SELECT eviction, object FROM chain WHERE kind = 'AttemptStarted'
"""
_EVICTIONS = ("PodEvicted", "PodDisrupted", "Preempted")


def with_evictors(run: Run, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """*events*; each eviction by a scheduler has `by`, the pod for whose sake it was.

    Kubernetes' own message names that pod by its uid alone.
    """
    seqs = [
        event["seq"]
        for event in events
        if event["kind"] in _EVICTIONS and event["component"] == "scheduler"
    ]
    if seqs:
        with connection.cursor() as cursor:
            cursor.execute(_EVICTORS, {"run": run.pk, "seqs": seqs})
            evictors = dict(cursor.fetchall())
        for event in events:
            if event["seq"] in evictors:
                event["by"] = evictors[event["seq"]]
    return events


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted. `after` and `before` are seqs, both exclusive; times are ns."""

    after: int | None = None
    before: int | None = None
    kinds: tuple[str, ...] = ()
    object: str = ""
    changes: str = ""
    components: tuple[str, ...] = ()
    from_at: int | None = None
    to_at: int | None = None
    text: str = ""
    kubernetes: bool = False

    def apply(self, run: Run) -> QuerySet[RunEvent]:
        """The events, in no order yet. An object ending in "/" or "*" matches as a prefix."""
        events = RunEvent.objects.filter(run_id=run.pk)
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
        if self.changes:
            events = events.filter(changes__has_key=self.changes)
        if self.components:
            events = events.filter(component__in=self.components)
        if self.from_at is not None:
            [before] = run_seqs_before(run, moments=[self.from_at])
            events = events.filter(seq__gt=before)
        if self.to_at is not None:
            events = events.filter(seq__lte=run_seq_at(run, at=self.to_at))
        if self.text:
            events = events.filter(message__icontains=self.text)
        if self.kubernetes:
            # Written as in the condition of the index of these events.
            events = events.filter(data__contains={"event": True})
        return events


def run_bounds(run: Run) -> dict[str, int]:
    """The seqs of the oldest and newest events kept."""
    return {"lowest": 1 if run.head_seq else 0, "highest": run.head_seq}


def run_histogram(run: Run, *, buckets: int) -> dict[str, Any]:
    """How many events fall into each of *buckets* equal parts of the run's time, and the marks."""
    end = max(run.head_at, 1)
    starts = [-(-end * bucket // buckets) for bucket in range(1, buckets)]
    at_first, *before = run_seqs_before(run, moments=[1, *starts])
    return {
        "from": 0,
        "to": end,
        "counts": [later - earlier for earlier, later in pairwise([0, *before, run.head_seq])],
        "marks": _marks(run, after=at_first),
    }


def _marks(run: Run, *, after: int) -> list[dict[str, Any]]:
    """The first events worth a mark after event *after*."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT at, kind, seq FROM events_of_kinds(%s, %s, %s, %s) ORDER BY seq LIMIT %s",
            [run.pk, after, run.head_seq, list(MARKED), MARKS],
        )
        return [dict(zip(("at", "kind", "seq"), row, strict=True)) for row in cursor.fetchall()]
