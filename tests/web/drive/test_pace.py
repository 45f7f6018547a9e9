"""What a run comes to depends on its history, not on how fast and in what slices it is played."""

import itertools
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from kscope.runs import selectors, services
from kscope.runs.drive import driver, keeper, runner
from kscope.runs.drive.hosting import loop
from kscope.runs.drive.moving import clock as moving_clock
from kscope.runs.drive.turns import stint
from kscope.runs.models import Run
from kscope.runs.stream.counters import run_counters

pytestmark = pytest.mark.django_db(transaction=True)


class SimulatedClock:
    """A monotonic clock that every look at it moves on by *step* seconds, more or less."""

    def __init__(self, step: float, seed: int) -> None:
        self.now = 0.0
        self._steps: Iterator[float] = (step * chance for chance in _chances(seed))

    def monotonic(self) -> float:
        self.now += next(self._steps)
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += max(seconds, 0.0)


def _chances(seed: int) -> Iterator[float]:
    random = Random(seed)
    return (random.uniform(0.1, 2) for _ in itertools.count())


@pytest.fixture
def played(start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """A run played by a clock whose looks take so long, to its end or until a moment."""

    def _played(speed: str, step: float, until: int | None = None) -> Run:
        clock = SimulatedClock(step, seed=len(speed))
        hear = loop.Loop._hear

        def hear_in_time(self: loop.Loop, seconds: float) -> None:
            # Waiting takes the time of the simulated clock, unless a slice is being written.
            is_writing = any(one.writing_since is not None for one in self.owned())
            hear(self, 0.01 if is_writing else 0.0)
            clock.sleep(seconds)

        for module in (driver, loop, moving_clock, stint):
            monkeypatch.setattr(module, "time", clock)
        # It looks from a thread of its own, and is not to move the clock on.
        monkeypatch.setattr(keeper, "monotonic", lambda: clock.now)
        monkeypatch.setattr(loop.Loop, "_hear", hear_in_time)
        run = start()
        Run.objects.filter(pk=run.pk).update(until=until)
        services.run_transport(run=run, action="speed", speed=speed)
        services.run_transport(run=run, action="play")
        for _ in range(100):
            runner.run_drive(run.pk)
            run.refresh_from_db()
            if run.status == Run.Status.FINISHED:
                break
        return run

    return _played


PACES = [("max", 0.001), ("1", 0.05), ("10", 0.013), ("100", 0.004), ("100", 0.03), ("max", 0.06)]


@pytest.mark.parametrize("until", [None, 2_500_000_000], ids=["to its end", "until 2.5 s"])
def test_runs_end_alike_at_every_speed(played: Callable[..., Run], until: int | None) -> None:
    """At full speed the clock does not jump to the end of its duration, where nothing is due."""
    ends: list[Any] = []
    moments: dict[bool, set[Any]] = {True: set(), False: set()}
    for speed, step in PACES:
        run = played(speed, step, until)
        assert run.status == Run.Status.FINISHED
        ends.append((run.head_digest, run.head_steps, run_counters(run, seq=run.head_seq)))
        drawn = selectors.run_histogram(run, buckets=60)
        moments[speed == "max"].add((run.head_at, str(drawn)))
    assert all(end == ends[0] for end in ends)
    assert [len(each) for each in moments.values()] == [1, 1]
