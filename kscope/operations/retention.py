"""Deletes what is old, as far as that is configured: by default nothing is ever deleted.

Three things, each with an age in days since a worker last had the run:

- runs are deleted as a whole, with all that they recorded but what forks read of it;
- checkpoints and keyframes of runs are thinned out: the first, the last and one every SPACING
  events stay, so that seeking stays quick;
- the stored evidence of scheduling attempts is dropped, with kept answers: it is computed again when a page asks for it,
  so it stays where this version of the engine could not do that.

A run that a worker holds, that plays or has something waiting, or that is marked as kept is never
touched. Nor is the parent of a fork that is still being replayed.
"""

import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Manager
from django.utils.translation import gettext, ngettext

from engine.cluster.source import fingerprint
from kscope.runs import leases, services
from kscope.runs.drive.slices import run_needs_driver
from kscope.runs.history.keyframes import chunks_forget
from kscope.runs.models import Checkpoint, KeptAnswer, Keyframe, Run
from kscope.runs.record.parts import readers_of

SPACING = 50_000  # events between two checkpoints, or keyframes, that stay
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """After how many days something is deleted; 0 for never."""

    delete_runs_days: int = 0
    thin_runs_days: int = 0
    drop_evidence_days: int = 0

    def describe(self) -> dict[str, int]:
        """As JSON."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """The policy in words, such as "runs are deleted after 30 days"."""
        deleted, thinned = self.delete_runs_days, self.thin_runs_days
        dropped = self.drop_evidence_days
        rules = (
            (deleted, _deleted_after(deleted)),
            (thinned, _thinned_after(thinned)),
            (dropped, _dropped_after(dropped)),
        )
        words = [text for days, text in rules if days]
        return " · ".join(words) or gettext("nothing is deleted")

    @property
    def is_empty(self) -> bool:
        """Whether nothing is ever deleted."""
        return not any(asdict(self).values())


def _deleted_after(days: int) -> str:
    return ngettext(
        "runs are deleted after {days} day", "runs are deleted after {days} days", days
    ).format(days=days)


def _thinned_after(days: int) -> str:
    return ngettext(
        "checkpoints are thinned after {days} day",
        "checkpoints are thinned after {days} days",
        days,
    ).format(days=days)


def _dropped_after(days: int) -> str:
    return ngettext(
        "evidence is dropped after {days} day", "evidence is dropped after {days} days", days
    ).format(days=days)


def policy_of_settings() -> Policy:
    """What the environment of this installation asks for."""
    return Policy(settings.DELETE_RUNS_DAYS, settings.THIN_RUNS_DAYS, settings.DROP_EVIDENCE_DAYS)


@dataclass(frozen=True, slots=True)
class Item:
    """One deletion: its run, how much of it is deleted, and how many bytes that takes."""

    run: int
    name: str
    count: int
    size: int


@dataclass(slots=True)
class Plan:
    """The runs, checkpoints and evidence that a policy deletes."""

    deleted: list[Item] = field(default_factory=list)
    """Runs; their events are counted."""
    thinned: list[Item] = field(default_factory=list)
    """Checkpoints of a run."""
    emptied: list[Item] = field(default_factory=list)
    """Attempts of a run that lose their stored evidence."""

    @property
    def size(self) -> int:
        """Bytes, as far as they are known before."""
        return sum(item.size for item in (*self.deleted, *self.thinned, *self.emptied))


def retention_plan(policy: Policy) -> Plan:
    """The plan of *policy* at this moment; nothing is changed."""
    plan = Plan()
    gone: set[int] = set()
    if policy.delete_runs_days:
        plan.deleted = [_whole(run) for run in _old_runs(policy.delete_runs_days)]
        gone = {item.run for item in plan.deleted}
    if policy.thin_runs_days:
        items = [_thinned(run) for run in _old_runs(policy.thin_runs_days) if run.pk not in gone]
        plan.thinned = [item for item in items if item.count]
    if policy.drop_evidence_days:
        items = [
            _emptied(run) for run in _old_runs(policy.drop_evidence_days) if run.pk not in gone
        ]
        plan.emptied = [item for item in items if item.count]
    return plan


def retention_apply(policy: Policy) -> Plan:
    """Delete as *policy* plans, except runs that a worker has taken meanwhile. Returns what was deleted."""
    plan = retention_plan(policy)
    done = Plan()
    for item in plan.deleted:
        with transaction.atomic():
            run = _locked(item.run, policy.delete_runs_days)
            if run is not None:
                services.run_delete(run=run)
                done.deleted.append(item)
    for item in plan.thinned:
        with transaction.atomic():
            run = _locked(item.run, policy.thin_runs_days)
            if run is not None:
                run.checkpoints.filter(seq__in=_spare(run.checkpoints)).delete()
                run.keyframes.filter(seq__in=_spare(run.keyframes)).delete()
                chunks_forget(run.pk)
                done.thinned.append(item)
    for item in plan.emptied:
        with transaction.atomic():
            run = _locked(item.run, policy.drop_evidence_days)
            if run is not None:
                _execute(_EMPTY, run.pk)
                KeptAnswer.objects.filter(run_id=run.pk).delete()
                done.emptied.append(item)
    for what in ("deleted", "thinned", "emptied"):
        for item in getattr(done, what):
            log.info("%s run %s %s: %s, %s bytes", what, item.run, item.name, item.count, item.size)
    return done


_OLD = f"""
SELECT r.id FROM runs_run r
WHERE NOT r.kept AND r.status <> 'playing' AND r.is_started AND r.goal_at IS NULL
    AND {leases.free("r")}
    AND greatest(r.created, r.lease_since) < clock_timestamp() - make_interval(days => %s)
    AND NOT EXISTS (SELECT FROM runs_run f WHERE f.parent_id = r.id AND f.goal_at IS NOT NULL)
    AND (%s::bigint IS NULL OR r.id = %s)
ORDER BY r.id
"""


def main() -> None:
    """Apply the policy of the settings, as a process of its own."""
    retention_apply(policy_of_settings())


def _old_ids(days: int, only: int | None = None) -> list[int]:
    """Runs that are old enough, have no owner and are not waited for."""
    with connection.cursor() as cursor:
        cursor.execute(_OLD, [days, only, only])
        found = [row[0] for row in cursor.fetchall()]
        waiting = set(run_needs_driver(cursor, found)) if found else set()
    return [run_id for run_id in found if run_id not in waiting]


def _old_runs(days: int) -> list[Run]:
    return list(Run.objects.filter(pk__in=_old_ids(days)).order_by("pk"))


def _locked(run_id: int, days: int) -> Run | None:
    """The run, which no worker can take now, if it may still be touched."""
    run = Run.objects.select_for_update(skip_locked=True).filter(pk=run_id).first()
    return run if run is not None and _old_ids(days, run_id) else None


# The size of rows as they are stored, without those that forks read: these stay.
_READ = """EXISTS (SELECT FROM runs_historypart AS part
    WHERE part.source = kept.run_id AND part.upto > part.after AND part.upto >= kept.{seq})"""
_EVENT_SIZE = f"""
SELECT coalesce(sum(pg_column_size(ats) + pg_column_size(kinds) + pg_column_size(entities)
    + pg_column_size(components) + pg_column_size(causes) + pg_column_size(messages)
    + pg_column_size(datas) + pg_column_size(changes) + pg_column_size(marks)), 0)::bigint
FROM runs_eventchunk AS kept WHERE run_id = %s AND NOT {_READ.format(seq="first_seq")}
"""
_CHECKPOINT_SIZE = """
SELECT coalesce(sum(octet_length(engine) + octet_length(view)), 0)::bigint
FROM runs_checkpoint AS kept WHERE run_id = %s
"""
_CHUNK_SIZE = """
SELECT coalesce(sum(octet_length(body)), 0)::bigint FROM runs_viewchunk WHERE run_id = %s
"""
_EVIDENCE = """
SELECT count(*), coalesce(sum(octet_length(evidence)), 0)::bigint
FROM scheduling_recordedattempt AS kept WHERE run_id = %s AND evidence IS NOT NULL
"""
_EMPTY = "UPDATE scheduling_recordedattempt SET evidence = NULL WHERE run_id = %s"
_UNREAD = f" AND NOT {_READ.format(seq='seq')}"


def _whole(run: Run) -> Item:
    (events,) = _execute(_EVENT_SIZE, run.pk)
    (checkpoints,) = _execute(_CHECKPOINT_SIZE + _UNREAD, run.pk)
    _, evidence = _execute(_EVIDENCE + _UNREAD, run.pk)
    # Of what keyframes share, how much goes is found when it does.
    (chunks,) = (0,) if readers_of(run.pk) else _execute(_CHUNK_SIZE, run.pk)
    size = events + checkpoints + chunks + evidence
    return Item(run.pk, run.name, run.head_seq, size)


def _thinned(run: Run) -> Item:
    spare, keyframes = _spare(run.checkpoints), _spare(run.keyframes)
    with connection.cursor() as cursor:
        cursor.execute(f"{_CHECKPOINT_SIZE} AND seq = ANY(%s)", [run.pk, spare])
        (size,) = cursor.fetchone()
        (whole,) = _execute(_CHUNK_SIZE, run.pk)
    chunks = whole * len(keyframes) // max(run.keyframes.count(), 1)
    return Item(run.pk, run.name, len(spare) + len(keyframes), size + chunks)


def _spare(kept: "Manager[Checkpoint] | Manager[Keyframe]") -> list[int]:
    """The seqs of those without which no gap is longer than SPACING events."""
    seqs = list(kept.order_by("seq").values_list("seq", flat=True))
    spare: list[int] = []
    last = seqs[0] if seqs else 0
    for seq, following in zip(seqs[1:], seqs[2:], strict=False):
        if following - last <= SPACING:
            spare.append(seq)
        else:
            last = seq
    return spare


def _emptied(run: Run) -> Item:
    if run.engine_digest != fingerprint():
        return Item(run.pk, run.name, 0, 0)
    count, size = _execute(_EVIDENCE, run.pk)
    return Item(run.pk, run.name, count, size)


def _execute(statement: str, run_id: int) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement, [run_id])
        return cursor.fetchone() if cursor.description else None


_LOOSE = """
SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables
WHERE relname LIKE ANY (ARRAY['runs\\_%%', 'scheduling\\_%%', 'volumes\\_%%'])
    AND n_dead_tup > 1000 AND n_dead_tup > 0.2 * n_live_tup ORDER BY n_dead_tup DESC
"""


def tables_to_vacuum() -> list[tuple[str, int, int]]:
    """Tables with much room that deleted rows left: (table, dead rows, live rows)."""
    with connection.cursor() as cursor:
        cursor.execute(_LOOSE, [])
        return [(str(table), int(dead), int(live)) for table, dead, live in cursor.fetchall()]
