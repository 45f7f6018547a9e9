"""Reads two runs for a comparison: their first difference, and their states at two instants."""

from dataclasses import asdict
from itertools import pairwise
from typing import Any, TypedDict

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext

from engine.kernel.view import State
from kscope.runs.app_registry import registry
from kscope.runs.compare import comparison
from kscope.runs.compare.answer import (
    Axis,
    Beside,
    Comparison,
    Divergence,
    Placement,
    Placements,
    SpotTold,
    WholeHistories,
)
from kscope.runs.compare.boards import boards
from kscope.runs.compare.comparison import Decision, Difference
from kscope.runs.compare.deciding import RuleBetween, decided_apart, rule_between, waiting
from kscope.runs.compare.times import bindings
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import (
    Instant,
    event_dict,
    run_dict,
    run_seq_at,
    run_seqs_before,
    run_state_at,
)

BUCKETS = 120
SHOWN = 200  # pods elsewhere
BESIDE = 60  # events of each run beside each other
EVICTIONS = ("PodEvicted", "TaintManagerEviction", "NodeControllerEviction")


class Instants(TypedDict, total=False):
    """Where two runs are compared: at a virtual time, or after an event of each.

    Without any, at the newest moment that both have reached. Events are listed from where the runs
    part, or after event `after` of the first and `with_after` of the other.
    """

    at: int | None
    seq: int | None
    with_seq: int | None
    after: int | None
    with_after: int | None


def runs_compared(run_id: int, with_id: int, instants: Instants) -> Comparison:
    """Two runs compared at *instants*; docs/compare.md.

    Raises ApplicationError for a run, moment or event that does not exist.
    """
    a, b = _found(run_id), _found(with_id)
    at, seq, with_seq = instants.get("at"), instants.get("seq"), instants.get("with_seq")
    after, with_after = instants.get("after"), instants.get("with_after")
    whole = _whole_kept(a, b)
    parting, shared = whole["divergence"], whole["shared"]
    if seq is None and with_seq is None:
        seq, with_seq, at = _places(a, b, parting, at)
    one = run_state_at(a, seq=a.head_seq if seq is None else seq)
    other = run_state_at(b, seq=b.head_seq if with_seq is None else with_seq)
    parted = parting["at"] if parting else min(one.at, other.at) if a.pk == b.pk else 0
    differences = _differences((a, b), (one, other), parted)
    first = differences[0] if differences else None
    kept = _attempts_kept(first, (a, b), (one.seq, other.seq)) if first else (None, None)
    names = _names(a, b)
    why = comparison.reason(first.a.node, first.b.node, *kept, names) if first else ""
    left, right = comparison.totals(one.state), comparison.totals(other.state)
    return Comparison(
        **whole,
        a={**run_dict(a), "seq": one.seq, "at": one.at if at is None else at},
        b={**run_dict(b), "seq": other.seq, "at": other.at if at is None else at},
        at=at,
        reached=both_reached(a, b),
        placing=comparison.placing(first, why, names),
        version_change=_version_change(first, a, b, kept) if first else None,
        measures=comparison.measures(left, right, _history_measures(a, b, one.seq, other.seq)),
        utilisation=comparison.utilisation(left, right),
        placements=Placements(
            count=len(differences),
            rows=[
                _placement(each, parted, (one.state, other.state)) for each in differences[:SHOWN]
            ],
        ),
        boards=boards(
            one.state, other.state, frozenset(difference.pod for difference in differences)
        ),
        events=events_beside(
            a, b, (shared if after is None else after, shared if with_after is None else with_after)
        ),
    )


# What does not change with the moment

_KEPT_PAIRS = 8
_kept: dict[tuple[Any, ...], WholeHistories] = {}


def _whole_kept(a: Run, b: Run) -> WholeHistories:
    """As `_whole`; kept while neither run goes on, as it reads both histories from end to end."""
    key = tuple(
        part
        for run in (a, b)
        for part in (run.pk, run.head_seq, run.head_at, run.head_digest, run.status)
    )
    if key not in _kept:
        while len(_kept) >= _KEPT_PAIRS:
            del _kept[next(iter(_kept))]
        _kept[key] = _whole(a, b)
    return _kept[key]


def _whole(a: Run, b: Run) -> WholeHistories:
    parting = divergence(a, b)
    shared = parting["seq"] - 1 if parting else min(a.head_seq, b.head_seq)
    heads = {"a": [a.head_seq, a.head_at], "b": [b.head_seq, b.head_at]}
    return WholeHistories(
        **decided_apart(a, b, shared if parting else max(a.head_seq, b.head_seq)),
        shared=shared,
        divergence=parting,
        parting=comparison.parting(parting, shared, _names(a, b), heads),
        axis=_axis(a, b),
    )


def _names(a: Run, b: Run) -> tuple[str, str]:
    return f"#{a.pk}", f"#{b.pk}"


def _places(a: Run, b: Run, parting: Divergence | None, at: int | None) -> tuple[int, int, int]:
    """The event of each run after which they are compared, and the moment."""
    reached = both_reached(a, b)
    at = reached if at is None else at
    if parting is None and at >= reached:
        # One run may have stopped between two events of this moment.
        shorter = min(a, b, key=lambda run: run.head_seq)
        if shorter.status != Run.Status.FINISHED:
            return shorter.head_seq, shorter.head_seq, at
    return run_seq_at(a, at=at), run_seq_at(b, at=at), at


def _found(run_id: int) -> Run:
    run = Run.described().filter(pk=run_id).first()
    if run is None:
        raise ApplicationError(
            gettext("There is no run {number}.").format(number=run_id), status=404
        )
    return run


def both_reached(a: Run, b: Run) -> int:
    """The newest moment that can be compared: nothing more happens in a run that is finished."""
    going = [run.head_at for run in (a, b) if run.status != Run.Status.FINISHED]
    return min(going, default=max(a.head_at, b.head_at))


# Where they part

# Different uids are no difference, because they are drawn from the seed. Neither is the choice of
# profile and seed, which RunCreated records.
_CONTENT = """md5(ROW(at, kind, object, component, data,
    CASE WHEN kind <> 'RunCreated' THEN changes END, regexp_replace(message,
    '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '', 'g'))::text)"""
_RANGE = "FROM events_between(%s, %s, %s)"
_DIGEST = f"SELECT md5(string_agg({_CONTENT}, '' ORDER BY seq)) {_RANGE}"
_DIGESTS = f"SELECT {_CONTENT} {_RANGE} ORDER BY seq"
_FIRST_BLOCK, _LARGEST_BLOCK = 1_000, 16_000

_COMMON_CHECKPOINT = (
    "SELECT max(a.seq) FROM runs_runpart AS mine JOIN runs_checkpoint AS a"
    "  ON a.run_id = mine.source AND a.seq > mine.after AND a.seq <= mine.upto"
    " JOIN runs_checkpoint AS b ON a.seq = b.seq AND a.digest = b.digest"
    " JOIN runs_runpart AS theirs"
    "  ON b.run_id = theirs.source AND b.seq > theirs.after AND b.seq <= theirs.upto"
    " WHERE mine.run_id = %s AND theirs.run_id = %s"
)


def divergence(a: Run, b: Run) -> Divergence | None:
    """{seq, at, a, b}: the first events whose content differs; None where none do.

    A checkpoint's digest covers the whole history before it, so events before a checkpoint that
    both runs share are not compared. Runs do not differ if one of them merely goes on longer.
    """
    if a.pk == b.pk:
        return None
    with connection.cursor() as cursor:
        cursor.execute(_COMMON_CHECKPOINT, [a.pk, b.pk])
        [after] = cursor.fetchone()
    seq = _first_difference(a, b, after or 0, min(a.head_seq, b.head_seq))
    if seq is None:
        return None
    left, right = (event_dict(RunEvent.objects.get(run_id=run.pk, seq=seq)) for run in (a, b))
    return Divergence(seq=seq, at=min(left["at"], right["at"]), a=left, b=right)


def _first_difference(a: Run, b: Run, after: int, upto: int) -> int | None:
    """The first seq at which the histories differ; None if there is none.

    Compares one digest for each block of events, and single events only in the block that differs.
    """
    size = _FIRST_BLOCK
    while after < upto:
        end = min(after + size, upto)
        if _digests(_DIGEST, a, after, end) != _digests(_DIGEST, b, after, end):
            pairs = zip(
                _digests(_DIGESTS, a, after, end), _digests(_DIGESTS, b, after, end), strict=True
            )
            return after + 1 + next(i for i, (one, other) in enumerate(pairs) if one != other)
        after, size = end, min(2 * size, _LARGEST_BLOCK)
    return None


def _digests(query: str, run: Run, after: int, upto: int) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(query, [run.pk, after, upto])
        return [row[0] for row in cursor.fetchall()]


# What is elsewhere


def _differences(
    runs: tuple[Run, Run], instants: tuple[Instant, Instant], parted: int
) -> list[Difference]:
    pods = comparison.pods_elsewhere(instants[0].state, instants[1].state)
    pairs = [
        (_decisions(run, pods, instant.seq), instant.state)
        for run, instant in zip(runs, instants, strict=True)
    ]
    found = (
        Difference(
            pod, *(comparison.spot(state.get(pod), decided.get(pod)) for decided, state in pairs)
        )
        for pod in pods
    )
    return comparison.in_order(found, parted)


def _decisions(run: Run, pods: list[str], seq: int) -> dict[str, Decision]:
    """By pod the newest event up to *seq* that bound, refused or deleted it."""
    if not pods:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (object) object, kind, seq, at, message"
            " FROM events_of_kinds(%s, 0, %s, ARRAY['PodBound', 'FailedScheduling', 'PodDeleted'])"
            " WHERE object = ANY(%s) ORDER BY object, seq DESC",
            [run.pk, seq, pods],
        )
        return {pod: Decision(*decided) for pod, *decided in cursor.fetchall()}


def _placement(difference: Difference, parted: int, states: tuple[State, State]) -> Placement:
    a, b = (
        SpotTold(**asdict(spot), **comparison.health_facts(difference.pod, state))
        for spot, state in zip((difference.a, difference.b), states, strict=True)
    )
    return Placement(pod=difference.pod, at=difference.since(parted), a=a, b=b)


def _attempts_kept(
    first: Difference, runs: tuple[Run, Run], seqs: tuple[int, int]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The evidence of the attempt of each run that decided on the pod, where it was kept."""
    left, right = (
        registry.attempt_kept(run.pk, first.pod, seq if spot.seq is None else spot.seq)
        for run, spot, seq in zip(runs, (first.a, first.b), seqs, strict=True)
    )
    return left, right


def _version_change(
    first: Difference, a: Run, b: Run, kept: tuple[dict[str, Any] | None, dict[str, Any] | None]
) -> RuleBetween | None:
    """The rule in which the profiles of the runs differ and that decided on the pod; or None."""
    if a.profile == b.profile:
        return None
    plugin = comparison.deciding_plugin(first.a.node, first.b.node, *kept)
    return rule_between(plugin, a, b)


# Numbers


def _history_measures(a: Run, b: Run, seq_a: int, seq_b: int) -> list[tuple[str, str, Any, Any]]:
    left, right = _history(a, seq_a), _history(b, seq_b)
    units = {"time to bind, median": "ns", "time to bind, worst": "ns"}
    return [(key, units.get(key, "count"), left[key], right[key]) for key in left]


def _history(run: Run, seq: int) -> dict[str, int | None]:
    """What events up to *seq* add up to. A pod's time to bind counts from its creation."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FILTER (WHERE kind = 'AttemptStarted'),"
            " count(*) FILTER (WHERE kind = ANY(%s)) FROM events_of_kinds(%s, 0, %s, %s)",
            [list(EVICTIONS), run.pk, seq, ["AttemptStarted", *EVICTIONS]],
        )
        attempts, evicted = cursor.fetchone()
    bound, median, worst = bindings(run, seq)
    return {
        "bindings": bound,
        "time to bind, median": median,
        "time to bind, worst": worst,
        "attempts": attempts,
        "evicted": evicted,
    }


def _axis(a: Run, b: Run) -> Axis:
    """The number of each run's events in BUCKETS equal parts of the time up to the later head."""
    end = max(a.head_at, b.head_at, 1)
    starts = [-(-end * bucket // BUCKETS) for bucket in range(1, BUCKETS)]
    counts = {
        side: [
            later - earlier
            for earlier, later in pairwise([0, *run_seqs_before(run, moments=starts), run.head_seq])
        ]
        for side, run in (("a", a), ("b", b))
    }
    waits = {side: waiting(run, end, BUCKETS) for side, run in (("a", a), ("b", b))}
    return Axis(to=end, a=counts["a"], b=counts["b"], waiting=waits)


# Events


def events_beside(a: Run, b: Run, after: tuple[int, int]) -> Beside:
    """A page of both runs' events side by side, after one event of each.

    `next` holds the two events after which the next page begins; it is None at the end.
    """
    pages = [_events_after(run, seq) for run, seq in zip((a, b), after, strict=True)]
    # A run whose page is full may have more events, so rows end where the first full page ends.
    cuts = [page[-1]["at"] for page in pages if len(page) > BESIDE]
    if not cuts:
        return Beside(rows=comparison.aligned(*pages), next=None)
    shown = [[event for event in page if event["at"] < min(cuts)] for page in pages]
    if not any(shown):  # more in one moment than goes on a page
        shown = [[event for event in page[:BESIDE] if event["at"] == min(cuts)] for page in pages]
    following = [
        events[-1]["seq"] if events else seq for events, seq in zip(shown, after, strict=True)
    ]
    return Beside(rows=comparison.aligned(*shown), next=following)


def _events_after(run: Run, seq: int) -> list[dict[str, Any]]:
    events = RunEvent.objects.filter(run_id=run.pk, seq__gt=seq).order_by("seq")[: BESIDE + 1]
    return [event_dict(event) for event in events]


# Which runs to compare with


def runs_to_compare(
    run: Run, candidates: QuerySet[Run], *, limit: int = 100
) -> list[dict[str, Any]]:
    """Other runs of the candidates with their relation to *run*, the nearest relatives first."""
    others = candidates.exclude(pk=run.pk).order_by("-pk")
    of_scenario = list(others.filter(scenario_id=run.scenario_id)[:limit])
    rest = list(others.exclude(scenario_id=run.scenario_id)[: max(0, limit - len(of_scenario))])
    listed = [
        {**run_dict(other), "relation": _relation(run, other)} for other in of_scenario + rest
    ]
    return sorted(listed, key=lambda each: _RELATIONS.index(each["relation"]))


_RELATIONS = ("fork", "parent", "sibling", "scenario", "other")


def _relation(run: Run, other: Run) -> str:
    if other.parent_id == run.pk:
        return "fork"
    if run.parent_id == other.pk:
        return "parent"
    if run.parent_id is not None and run.parent_id == other.parent_id:
        return "sibling"
    return "scenario" if run.scenario_id == other.scenario_id else "other"
