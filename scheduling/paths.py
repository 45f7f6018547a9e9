"""What a pod of a stored run waited for, read from the events that it takes.

No state is folded: each question is a look into an index of the events, and the number of questions
grows with the attempts and victims of the pod, not with the run.
"""

from dataclasses import asdict, dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.shorter import changes_of
from engine.diagnosis.path.steps import Path
from engine.diagnosis.path.trying import Tried, tried
from engine.kernel.recorder import Event
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from scheduling.selectors import cluster_at

# Forks are tried on clusters of so many objects, and so many of the changes.
_MOST_OBJECTS, _MOST_TRIED = 2_000, 3
_FIELDS = ("seq", "at", "kind", "object", "component", "cause", "message", "changes")
_CAUSES = """
WITH RECURSIVE chain (seq, cause) AS (
    SELECT seq, cause FROM runs_runevent WHERE run_id = %(run)s AND seq = %(seq)s
  UNION ALL
    SELECT event.seq, event.cause FROM chain JOIN runs_runevent AS event
        ON event.run_id = %(run)s AND event.seq = chain.cause
    WHERE chain.cause > %(after)s
)
SELECT seq FROM chain ORDER BY seq
"""


def pod_path(run: Run, pod: str, *, seq: int | None) -> dict[str, Any]:
    """The critical path of "NS/NAME" as seen after event *seq*, of None at the head.

    Raises ApplicationError where there is no such event or no such pod.
    """
    record, path = _read(run, pod, seq)
    changes = changes_of(record, path.pod, path.steps, born=path.born)
    shorter = [change.to_dict() for change in changes]
    return {"seq": record.seq, **path.to_dict(), "shorter": shorter}


def _read(run: Run, pod: str, seq: int | None) -> tuple["StoredRecord", Path]:
    last = run.head_seq if seq is None else seq
    check_seq(run, last)
    now = run.head_at
    if last < run.head_seq:
        at = RunEvent.objects.filter(run_id=run.pk, seq=last).values_list("at", flat=True)
        now = at.first() or 0
    record = StoredRecord(run, last)
    path = critical_path(record, f"pod/{pod}", now=now)
    if path is None:
        raise ApplicationError(
            gettext("pod/{pod} was not created up to event {seq}").format(pod=pod, seq=last),
            status=404,
        )
    return record, path


@dataclass(frozen=True, slots=True)
class PathTrials:
    """What came of the changes of a path, as it was after event `seq`, in forks."""

    run: int
    seq: int
    pod: str
    tried: tuple[Tried, ...]


def tried_by_id(run_id: int, pod: str, seq: int | None) -> dict[str, Any]:
    """What came of the changes that would have shortened the path of "NS/NAME", each in a fork.

    None are tried where the pod is not bound yet, or where the cluster is so large that a fork is
    dear. Raises ApplicationError as `pod_path`.
    """
    run = Run.objects.select_related("scenario").get(pk=run_id)
    record, path = _read(run, pod, seq)
    bound = next((each for each in record.of_object(path.pod) if each.kind == "PodBound"), None)
    found: list[Tried] = []
    if bound is not None and run.head_objects <= _MOST_OBJECTS:
        changes = changes_of(record, path.pod, path.steps, born=path.born)
        for change in [each for each in changes if each.commands][:_MOST_TRIED]:
            outcome = tried(change, pod, bound.at, lambda after: cluster_at(run, after))
            found += [outcome] if outcome else []
    return asdict(PathTrials(run.pk, record.seq, path.pod, tuple(found)))


class StoredRecord:
    """The events of a run in the database up to *seq*; a Record of engine/diagnosis/path."""

    def __init__(self, run: Run, seq: int) -> None:
        self._run, self.seq = run.pk, seq
        self._events = RunEvent.objects.filter(run_id=run.pk, seq__lte=seq).order_by("seq")

    def of_object(self, entity: str) -> list[Event]:
        """By the index of objects."""
        return _events(self._events.filter(object=entity))

    def of_kind(self, kind: str, message: str, *, after: int, to: int) -> list[Event]:
        """By the index of kinds."""
        between = self._events.filter(kind=kind, seq__gt=after, seq__lte=to)
        return _events(between.filter(message__startswith=message))

    def causes(self, seq: int, *, after: int) -> list[Event]:
        """By the primary key, one look for each cause."""
        with connection.cursor() as cursor:
            cursor.execute(_CAUSES, {"run": self._run, "seq": seq, "after": after})
            seqs = [row[0] for row in cursor.fetchall()]
        return _events(self._events.filter(seq__in=seqs))


def _events(found: QuerySet[RunEvent]) -> list[Event]:
    return [Event(*row[:-1], data=None, changes=row[-1]) for row in found.values_list(*_FIELDS)]
