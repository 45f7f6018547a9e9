"""What a pod of a stored run waited for, read from the events that it takes.

No state is folded: each question is a look into an index of the events, and the number of questions
grows with the attempts and victims of the pod, not with the run.
"""

from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.shorter import changes_of
from engine.diagnosis.path.steps import Path
from engine.kernel.recorder import Event
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq

_FIELDS = ("seq", "at", "kind", "object", "component", "cause", "message", "changes")
_CAUSES = """
WITH RECURSIVE chain (seq, cause) AS (
    SELECT seq, cause FROM event_at(%(run)s, %(seq)s)
  UNION ALL
    SELECT event.seq, event.cause FROM chain CROSS JOIN LATERAL event_at(%(run)s, chain.cause) AS event
    WHERE chain.cause > %(after)s
)
SELECT seq FROM chain ORDER BY seq
"""


def pod_path(run: Run, pod: str, *, seq: int | None) -> dict[str, Any]:
    """The critical path of "NS/NAME" as seen after event *seq*, of None at the head.

    Raises ApplicationError where there is no such event or no such pod.
    """
    record, path = read_path(run, pod, seq)
    changes = changes_of(record, path.pod, path.steps, born=path.born)
    shorter = [change.to_dict() for change in changes]
    return {"seq": record.seq, **path.to_dict(), "shorter": shorter}


def read_path(run: Run, pod: str, seq: int | None) -> tuple["StoredRecord", Path]:
    """The path of "NS/NAME", and the record that it is read from. Raises as `pod_path`."""
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
