"""How many pods waited where, and how many were bound when: what the board's small charts draw.

Counted on a fixed grid of virtual time, so that the counts depend on the history alone: not on the
pace of the run, nor on how its events were cut into slices and frames, nor on when a page was
opened. A sample is [at, bound, active, backoff, unschedulable]: how many pods got their node in the
grid's interval that ends at `at`, and how long the queues were at its end. An interval in which
nothing of that changed has none. `static/js/model/run/counters.js` counts single events in the same way.
"""

from collections.abc import Iterable, Sequence
from typing import TypedDict

from engine.kernel.units import MILLISECOND, SECOND
from engine.kernel.view import Attributes, Changes, State, fold
from kscope.runs.history.changes import changes_between
from kscope.runs.history.chunks import Texts
from kscope.runs.history.states import Base, base_before, read
from kscope.runs.models import Keyframe
from kscope.runs.record.parts import in_history

GRID = 100 * MILLISECOND
# Twenty seconds are drawn; what was bound within a second takes one more.
WINDOW = 21 * SECOND
QUEUES = ("active", "backoff", "unschedulable")
_PODS = "pod/"

Sample = list[int]


class Counted(TypedDict):
    """What is kept of the events between two keyframes: the queues at the end, and the samples."""

    sizes: list[int]
    samples: list[Sample]


def grid_end(at: int) -> int:
    """The end of the grid's interval that *at* is in."""
    return -(-at // GRID) * GRID


class Tally:
    """Folds events into a state and keeps count of the queues of its pods meanwhile."""

    def __init__(self, state: State, sizes: Sequence[int] | None = None) -> None:
        """*sizes* are those of the queues where *state* has only some of the pods."""
        self._state = state
        self._sizes = dict(zip(QUEUES, sizes or (0, 0, 0), strict=True))
        if sizes is None:
            for entity, shown in state.items():
                if entity.startswith(_PODS):
                    self.count(shown)

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
            self.count(before, -1)
            self.count(after)
            if before is not None and after is not None:
                bound += bool(after.get("node")) and not before.get("node")
        return bound

    def count(self, pod: Attributes | None, by: int = 1) -> None:
        """A *pod* more, or one less."""
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


def samples_between(run_id: int, first: int, seq: int, since: int) -> list[Sample]:
    """The samples of the events after *first* up to *seq*, the first one for moment *since*.

    *first* is the newest event at or before *since*. What lies between two keyframes is counted once
    and kept with the later one.
    """
    start = base_before(run_id, first)
    later = Keyframe.objects.filter(in_history(run_id)).filter(seq__gte=start.seq, seq__lte=seq)
    known: dict[int, Counted | None] = dict(later.order_by("seq").values_list("seq", "samples"))
    if start.whole or not known:
        return _counted(start, first, seq, since)
    at_start = known.pop(start.seq, None)
    sizes = at_start["sizes"] if at_start else _sizes(start.texts())
    samples: list[Sample] = [[since, 0, *sizes]]
    for upto, found in known.items():
        counted = found or _counted_from(start, upto, sizes)
        if not found:
            later.filter(seq=upto).update(samples=counted)
        _take(samples, counted["samples"], since)
        sizes = counted["sizes"]
        start = base_before(run_id, upto)
    _take(samples, _counted_from(start, seq, sizes)["samples"], since)
    return samples


def _take(samples: list[Sample], found: Sequence[Sample], since: int) -> None:
    """Put those that are *found* after *samples*, which begin at *since*."""
    for sample in found:
        # At the beginning nothing is too early to be counted.
        if sample[0] > since or since == 0:
            extend(samples, [sample])
        else:
            samples[0] = [since, 0, *sample[2:]]


def _counted(base: Base, first: int, seq: int, since: int) -> list[Sample]:
    """The samples from *first* on, of a state that is folded up to there."""
    state: State = {}
    for entity, text in base.texts().items():
        shown = read(text)
        if shown is not None and entity.startswith(_PODS):
            state[entity] = shown
    for _, _, changes in changes_between(base.run_id, base.seq, first):
        fold(state, changes)
    samples = Samples(Tally(state), since)
    for _, at, changes in changes_between(base.run_id, first, seq):
        samples.fold(at, changes)
    return samples.taken


def _counted_from(base: Base, seq: int, sizes: list[int]) -> Counted:
    """What is counted after *base* up to event *seq*; the queues have these *sizes* before that."""
    events = [
        (at, {each: patch for each, patch in changes.items() if each.startswith(_PODS)})
        for _, at, changes in changes_between(base.run_id, base.seq, seq)
    ]
    texts = base.some({entity for _, changes in events for entity in changes})
    pods = {entity: shown for entity, text in texts.items() if (shown := read(text)) is not None}
    tally = Tally(pods, sizes)
    samples = Samples(tally)
    for at, changes in events:
        samples.fold(at, changes)
    return {"sizes": tally.sizes, "samples": samples.taken}


def _sizes(texts: Texts) -> list[int]:
    """How many pods wait where."""
    found = Tally({})
    for entity, text in texts.items():
        # Most pods wait nowhere; what a text does not have need not be read.
        if entity.startswith(_PODS) and b'"queue"' in text:
            found.count(read(text))
    return found.sizes
