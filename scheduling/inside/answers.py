"""What went on inside a scheduler: a cycle played again with a trace on (docs/inside.md)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.cluster.cluster import Cluster
from engine.cluster.replicas import SchedulerHeld
from engine.diagnosis.inside.what_if import what_if
from engine.kernel.trace import Trace
from engine.objects.objects import Pod
from engine.scheduler.cycle.inside.answer import ENDS, STARTED, cycle_inside, number_in
from kscope.runs.aside.kept import answered_whole
from kscope.runs.drive.replay import engine_at_seq, replay_refused
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from scheduling.selectors import cluster_at

# So many events before the cycle are played again to hear how its pod came to be popped.
_MOST_BEFORE = 20_000


@dataclass(frozen=True, slots=True)
class _Began:
    """The event with which a cycle began: of which pod, and its number."""

    seq: int
    entity: str
    cycle: int


def cycle_by_id(run_id: int, cycle: int | None, pod: str, seq: int | None) -> dict[str, Any]:
    """The inside of scheduling cycle *cycle*, or of the pod's newest cycle up to event *seq*.

    An answer that is kept is given again. Raises ApplicationError: 404 for a cycle that there is not, 409 for one that several schedulers
    have, and for a run that cannot be played again.
    """
    run = Run.described().get(pk=run_id)
    if seq is not None:
        check_seq(run, seq, first=1)
    # The head says how far the cycle has come.
    question = "cycle", cycle, pod, seq
    return answered_whole(run, None, question, lambda: _cycle(run, cycle, pod, seq))


def _cycle(run: Run, cycle: int | None, pod: str, seq: int | None) -> dict[str, Any]:
    began = _began(run, cycle, pod, run.head_seq if seq is None else seq)
    trace = _traced(run, began)
    found = cycle_inside(trace.entries, run.profile, began.entity, began.cycle)
    if found is None:
        raise ApplicationError(
            gettext("Cycle {cycle} could not be computed again.").format(cycle=began.cycle),
            status=409,
        )
    fork_seq = _fork_seq(run, began)
    names = {"run": run.pk, "seq": began.seq, "cycle": began.cycle, "fork_seq": fork_seq}
    return {**names, **asdict(found)}


@dataclass(frozen=True, slots=True)
class Caches:
    """What the schedulers of a run hold in memory after event `seq`, at `at` ns."""

    run: int
    seq: int
    at: int
    version: str
    schedulers: tuple[SchedulerHeld, ...]


def caches_by_id(run_id: int, seq: int | None) -> dict[str, Any]:
    """What the schedulers hold after event *seq*, or at the head. Raises ApplicationError."""
    run = Run.objects.select_related("scenario").get(pk=run_id)
    if seq is not None:
        check_seq(run, seq, first=1)
    cluster = cluster_at(run, seq)
    held = tuple(each.held() for each in cluster.replicas)
    return asdict(
        Caches(run.pk, run.head_seq if seq is None else seq, cluster.now, run.profile, held)
    )


def what_if_by_id(run_id: int, cycle: int, pod: str, resource: str) -> dict[str, Any]:
    """What cycle *cycle* would have decided, had its pod asked for other amounts of *resource*.

    An answer that is kept is given again. Raises ApplicationError as `cycle_by_id`, and 409 where
    the cycle came to no search.
    """
    run = Run.described().get(pk=run_id)
    question = "what if", cycle, pod, resource
    return answered_whole(run, None, question, lambda: _what_if(run, cycle, pod, resource))


def _what_if(run: Run, cycle: int, pod: str, resource: str) -> dict[str, Any]:
    began = _began(run, cycle, pod, run.head_seq)
    # The cycle decides in the step that recorded its beginning, and assumes the pod later.
    trace, cluster = _played(run, began, start=began.seq - 1, end=began.seq)
    inside = cycle_inside(trace.entries, run.profile, began.entity, began.cycle)
    cluster.loop.trace = None
    found = cluster.store.find(Pod.KIND, began.entity.removeprefix("pod/"))
    if inside is None or inside.order is None or not isinstance(found, Pod):
        raise ApplicationError(
            gettext("Cycle {cycle} ended before any node was looked at.").format(cycle=cycle),
            status=409,
        )
    answer = what_if(cluster, found, resource, inside.order.searched)
    if answer is None:
        raise ApplicationError(
            gettext("No scheduler of the run knows {name}.").format(name=found.scheduler_name),
            status=409,
        )
    return {"run": run.pk, "cycle": began.cycle, "pod": found.key, **asdict(answer)}


def _began(run: Run, cycle: int | None, pod: str, seq: int) -> _Began:
    events = RunEvent.objects.filter(run_id=run.pk, kind=STARTED, seq__lte=seq)
    if pod:
        events = events.filter(object=f"pod/{pod}")
    if cycle is not None:
        events = events.filter(message__startswith=f"cycle {cycle}, ")
    found = list(events.order_by("-seq")[:2])
    if not found:
        raise ApplicationError(_no_cycle(cycle, pod, seq), status=404)
    if not pod and len(found) > 1:
        message = gettext(
            "Several schedulers have a cycle {cycle}, of {one} and {other}: name the pod, too."
        )
        one, other = (event.object for event in found)
        raise ApplicationError(message.format(cycle=cycle, one=one, other=other), status=409)
    return _Began(found[0].seq, found[0].object, number_in(found[0].message))


def _no_cycle(cycle: int | None, pod: str, seq: int) -> str:
    if cycle is None:
        words = gettext("There is no cycle of pod {pod} up to event {seq}.")
    elif pod:
        words = gettext("There is no cycle {cycle} of pod {pod} up to event {seq}.")
    else:
        words = gettext("There is no cycle {cycle} up to event {seq}.")
    return words.format(cycle=cycle, pod=pod, seq=seq)


def _fork_seq(run: Run, began: _Began) -> int | None:
    """The newest event before the instant of the cycle; None if there is no such pod then."""
    events = RunEvent.objects.filter(run_id=run.pk)
    at = events.values_list("at", flat=True).get(seq=began.seq)
    seq = _first_seq(events.filter(seq__lt=began.seq, at__lt=at).order_by("-seq"))
    made = events.filter(object=began.entity, kind="PodCreated", seq__lte=seq or 0)
    return seq if made.exists() else None


def _first_seq(events: QuerySet[RunEvent]) -> int | None:
    return events.values_list("seq", flat=True).first()


def _traced(run: Run, began: _Began) -> Trace:
    """The trace of the run played again from the pod's last attempt up to the end of this one.

    The cache is listened to since the cycle before, of whichever pod.
    """
    started = RunEvent.objects.filter(run_id=run.pk, kind=STARTED)
    before = started.filter(seq__lt=began.seq).order_by("-seq")
    of_pod = before.filter(object=began.entity, seq__gt=began.seq - _MOST_BEFORE)
    firsts = [found for found in (_first_seq(before), _first_seq(of_pod)) if found]
    ends = RunEvent.objects.filter(
        run_id=run.pk, object=began.entity, kind__in=ENDS, seq__gt=began.seq
    )
    end = _first_seq(ends.order_by("seq")) or run.head_seq
    return _played(run, began, start=min(firsts, default=1) - 1, end=end)[0]


def _played(run: Run, began: _Began, *, start: int, end: int) -> tuple[Trace, Cluster]:
    """What the pod's scheduler did from event *start* to event *end*, and the engine there."""
    made: list[Trace] = []

    def begin(engine: Cluster) -> None:
        trace = engine.loop.trace = Trace(engine.loop, engine.recorder, (began.entity,))
        made.append(trace)

    with replay_refused():
        engine = engine_at_seq(run, seq=end, start=start, begin=begin)
    return made[0], engine
