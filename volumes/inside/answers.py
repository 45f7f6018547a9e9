"""What went on inside the components that look after volumes: a run played again with a trace on."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from django.utils.translation import gettext

from engine.cluster.cluster import Cluster
from engine.diagnosis.inside.steps import inside_volumes
from engine.diagnosis.inside.trace import Asked, VolumesTrace
from kscope.runs.drive.replay import engine_at_seq, replay_refused
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq

# So many events before the one asked for are played again: some seconds of a busy cluster.
WINDOW: Final = 20_000


def inside_volumes_by_id(
    run_id: int, claim: str, pod: str, node: str, seq: int | None
) -> dict[str, Any]:
    """What was done about the claim, the pod or the node up to event *seq* (None: now).

    From its first event on, at most WINDOW events back. Raises ApplicationError: 404 for an object
    without any event up to there, 409 for a run that cannot be played again.
    """
    run = Run.objects.select_related("scenario").get(pk=run_id)
    seq = run.head_seq if seq is None else seq
    check_seq(run, seq)
    asked = Asked(claim, pod, node)
    first = _first_event(run, asked, seq)
    trace, since = _traced(run, asked, max(first - 1, seq - WINDOW), seq)
    answer = asdict(inside_volumes(trace, run.profile))
    _name_their_events(run, answer["steps"])
    return {"run": run.pk, "seq": seq, "from_seq": since if since > first else 0, **answer}


def _first_event(run: Run, asked: Asked, seq: int) -> int:
    events = RunEvent.objects.filter(run_id=run.pk, object=asked.entity, seq__lte=seq)
    first = events.order_by("seq").values_list("seq", flat=True).first()
    if first is None:
        raise ApplicationError(
            gettext("There is no {entity} up to event {seq}.").format(entity=asked.entity, seq=seq),
            status=404,
        )
    return first


def _name_their_events(run: Run, steps: Sequence[dict[str, Any]]) -> None:
    """Give a step before the first event of its instant that event as its `seq`.

    Whoever looks at that event sees the time of the step.
    """
    seqs = {step["seq"] + more for step in steps for more in (0, 1)}
    events = RunEvent.objects.filter(run_id=run.pk, seq__in=seqs)
    times = dict(events.values_list("seq", "at"))
    for step in steps:
        seq, at = step["seq"], step["at"]
        if times.get(seq, at) < at == times.get(seq + 1):
            step["seq"] = seq + 1


def _traced(run: Run, asked: Asked, start: int, seq: int) -> tuple[VolumesTrace, int]:
    """The trace of the run played again up to *seq*, and the event after which that began.

    That is 0 if it was played from its beginning.
    """
    made: list[tuple[VolumesTrace, int]] = []

    def begin(engine: Cluster) -> None:
        trace = engine.loop.trace = VolumesTrace(engine, asked)
        made.append((trace, engine.seq if engine.steps else 0))

    with replay_refused():
        engine_at_seq(run, seq=seq, start=start, begin=begin)
    return made[0]
