"""How many pods waited where, and how many were bound when: what the board's small charts draw.

Counted on a fixed grid of virtual time, so that the counts depend on the history alone: not on the
pace of the run, nor on how its events were cut into slices and frames, nor on when a page was
opened. A sample is [at, bound, active, backoff, unschedulable]: how many pods got their node in the
grid's interval that ends at `at`, and how long the queues were at its end. An interval in which
nothing of that changed has none. `static/js/model/run/counters.js` counts single events in the same way.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from django.db import connection

from engine.kernel.units import MILLISECOND, SECOND
from engine.kernel.view import Attributes, Changes, State, fold
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq, run_seq_at, run_state_at

GRID = 100 * MILLISECOND
# Twenty seconds are drawn; what was bound within a second takes one more.
WINDOW = 21 * SECOND
# A window with more events than that counts only the state at its end.
MOST_EVENTS = 200_000

QUEUES = ("active", "backoff", "unschedulable")
_PODS = "pod/"

Sample = list[int]


def grid_end(at: int) -> int:
    """The end of the grid's interval that *at* is in."""
    return -(-at // GRID) * GRID


class Tally:
    """Folds events into a state and keeps count of the queues of its pods meanwhile."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._sizes = dict.fromkeys(QUEUES, 0)
        for entity, shown in state.items():
            if entity.startswith(_PODS):
                self._count(shown, 1)

    @property
    def sizes(self) -> list[int]:
        """How many pods are active, in backoff and unschedulable."""
        return [*self._sizes.values()]

    def fold(self, changes: Changes) -> int:
        """Fold the *changes* of one event; returns how many pods got their node by it."""
        state = self._state
        pods = {entity: state.get(entity) for entity in changes if entity.startswith(_PODS)}
        fold(state, changes)
        bound = 0
        for entity, before in pods.items():
            after = state.get(entity)
            self._count(before, -1)
            self._count(after, 1)
            if before is not None and after is not None:
                bound += bool(after.get("node")) and not before.get("node")
        return bound

    def _count(self, pod: Attributes | None, by: int) -> None:
        queue = None if pod is None else pod.get("queue")
        if queue in self._sizes:
            self._sizes[queue] += by


class Samples:
    """The samples of a stretch of time, the first one for its beginning."""

    def __init__(self, tally: Tally, since: int | None = None) -> None:
        self._tally = tally
        self.taken: list[Sample] = []
        self._sizes = tally.sizes
        if since is not None:
            self.taken.append([since, 0, *self._sizes])

    def fold(self, at: int, changes: Changes) -> None:
        """Fold and count the *changes* of an event at time *at*."""
        bound = self._tally.fold(changes)
        sizes = self._tally.sizes
        if bound or sizes != self._sizes:
            self._sizes = sizes
            extend(self.taken, [[grid_end(at), bound, *sizes]])


def extend(samples: list[Sample], later: Iterable[Sample]) -> None:
    """Put *later* samples after *samples*; two of one interval become one."""
    for at, bound, *sizes in later:
        if samples and samples[-1][0] == at:
            samples[-1] = [at, samples[-1][1] + bound, *sizes]
        else:
            samples.append([at, bound, *sizes])


def window(samples: Sequence[Sample], at: int) -> list[Sample]:
    """Those of *samples* that are drawn at time *at*: in the window, and the one before it."""
    start = grid_end(at) - WINDOW
    outside = sum(sample[0] <= start for sample in samples)
    return [*samples[max(0, outside - 1) :]]


def run_counters(run: Run, *, seq: int) -> dict[str, Any]:
    """The samples of the window that ends with event *seq*: {seq, since, samples}.

    Nothing before `since` is counted. Raises ApplicationError when there is no such event.
    """
    check_seq(run, seq)
    newest = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True)
    end = grid_end(newest.first() or 0)
    since = max(0, end - WINDOW)
    first = run_seq_at(run, at=since) if since else 0
    if seq - first > MOST_EVENTS:
        first, since = seq, end
    tally = Tally(run_state_at(run, seq=first).state if first else {})
    samples = Samples(tally, since)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT at, changes_text FROM events_between(%s, %s, %s)"
            " WHERE changes_text IS NOT NULL ORDER BY last_seq, seq",
            [run.pk, first, seq],
        )
        while rows := cursor.fetchmany(2_000):
            for at, changes in rows:
                samples.fold(at, orjson.loads(changes))
    return {"seq": seq, "since": since, "samples": samples.taken}
