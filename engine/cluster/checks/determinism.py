"""Whether a scenario has one history, however the run is cut into slices, checkpoints and forks.

What breaks it: state outside of the cluster, state that a checkpoint loses, an order that depends on
memory addresses or hashes. The two runs share this process, so that what one leaves behind can reach
the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

from engine.cluster.cluster import Cluster, Slice
from engine.input.budget import Budget
from engine.input.scenario import Scenario
from engine.kernel.recorder import Event, EventRow
from engine.kernel.rng import Stream
from engine.versions.registry import DEFAULT

_CUTS = 12
_WAYS = ("slice", "rest", "checkpoint", "fork")


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two histories of one scenario part: at event `seq`.

    `straight` is that event in the run that was not cut, `cut` in the one that was; None where a
    history has ended before. `cuts` are the cuts up to there, as (steps, way): after how many
    callbacks, and whether the run was only sliced there, rested between two callbacks, was restored
    from a checkpoint, or went on beside a fork that played further.
    """

    seq: int
    straight: Event | None
    cut: Event | None
    cuts: tuple[tuple[int, str], ...]

    @property
    def component(self) -> str:
        """The component that recorded the event."""
        event = self.straight or self.cut
        return "" if event is None else event.component

    def __str__(self) -> str:
        last = "; ".join(f"{way} after {steps:,} steps" for steps, way in self.cuts[-1:])
        return (
            f"event {self.seq} of {self.component} differs when the run is cut ({last or 'not yet'})"
            f"\n  straight: {_shown(self.straight)}\n  cut:      {_shown(self.cut)}"
        )


@dataclass(slots=True)
class _History:
    """What was taken of a run. The rows are what the digest is made of."""

    events: list[Event]
    rows: list[EventRow]

    def add(self, taken: Slice) -> None:
        self.events += taken.events
        self.rows += taken.rows


def check_determinism(
    scenario: Scenario,
    seed: int = 0,
    *,
    profile: str = DEFAULT.name,
    until: int | None = None,
    budget: Budget | None = None,
    cuts: Stream | None = None,
) -> Parting | None:
    """Run *scenario* straight and once more cut at random; None if both have the same history.

    Both runs go up to *until* ns, by default to the end of the scenario, or to the end of *budget*.
    Where the second is cut, and how, is drawn from *cuts*, by default from *seed*. It calls no
    extenders. Raises what `Cluster.create` raises.
    """
    end = scenario.until if until is None else until
    cluster = Cluster.create(scenario, profile=profile, seed=seed)
    cluster.limit(budget)
    cluster.advance(end)
    straight = _History([], [])
    straight.add(cluster.take())
    cutter = _Cutter(Cluster.create(scenario, profile=profile, seed=seed), end, budget)
    cutter.run(cuts or Stream(seed), cluster.steps)
    return _parting(straight, cutter)


class _Cutter:
    """Plays a run in pieces."""

    def __init__(self, cluster: Cluster, end: int, budget: Budget | None) -> None:
        self._cluster = cluster
        self._end = end
        self._budget = budget
        self.history = _History([], [])
        # The number of events at each cut, with the cut.
        self.cuts: list[tuple[int, tuple[int, str]]] = []
        cluster.limit(budget)

    def run(self, draws: Stream, steps: int) -> None:
        """Play to the end, with cuts among the first *steps* callbacks."""
        for at in sorted(draws.below(steps + 1) for _ in range(_CUTS)):
            self._play_until(at)
            way = draws.choice(_WAYS)
            self.cuts.append((len(self.history.rows), (self._cluster.steps, way)))
            if way == "rest":
                self._rest(draws)
            elif way != "slice":
                self._restore(way, draws)
        self._cluster.advance(self._end)
        self.history.add(self._cluster.take())

    def _play_until(self, steps: int) -> None:
        cluster = self._cluster
        if cluster.steps < steps:
            cluster.advance(self._end, max_steps=steps - cluster.steps, rest=False)
        self.history.add(cluster.take())

    def _rest(self, draws: Stream) -> None:
        """Stop at an instant at which nothing is due."""
        cluster = self._cluster
        wait = min(cluster.next_at or 0, self._end) - cluster.now
        if wait > 1:
            cluster.advance(cluster.now + draws.below(wait))

    def _restore(self, way: str, draws: Stream) -> None:
        blob = self._cluster.checkpoint()
        other = Cluster.restore(blob)
        other.limit(self._budget)
        if way == "checkpoint":
            self._cluster = other
        else:
            other.advance(self._end, max_steps=draws.below(200))


def _parting(straight: _History, cutter: _Cutter) -> Parting | None:
    cut = cutter.history
    for place, (one, other) in enumerate(zip_longest(straight.rows, cut.rows)):
        if one != other:
            return Parting(
                place + 1,
                straight.events[place] if one is not None else None,
                cut.events[place] if other is not None else None,
                tuple(made for events, made in cutter.cuts if events <= place),
            )
    return None


def _shown(event: Event | None) -> str:
    if event is None:
        return "(the history has ended)"
    words = f"{event.kind} {event.object}: {event.message}"
    return (
        f"{words} at {event.at} ns, cause {event.cause}, data {event.data}, changes {event.changes}"
    )
