"""Plays a run file again: to the same digest, or to the first event that comes out otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.cluster.cluster import Cluster, Slice
from engine.cluster.commands import Command
from engine.input.budget import Budget, Stop
from engine.run_file.contents import RunFile
from engine.run_file.trail import Parting, TrailCheck

_CHUNK = 20_000  # callbacks between two slices
Hear = Callable[[Slice], bool]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a replay: where it parted, what of its budget was used up, or neither of both."""

    parting: Parting | None = None
    stop: Stop | None = None
    is_whole: bool = True


def cluster_of(file: RunFile) -> Cluster:
    """The cluster at the beginning of a file. Raises SimError, ValueError where it cannot be made."""
    chosen = file.choices
    cluster = Cluster.create(
        file.scenario, profile=chosen.profile, seed=chosen.seed, tie_break=chosen.tie_break
    )
    for answer in file.answers:
        cluster.extender_calls.remember(answer)
    return cluster


class Replay:
    """The replay of one file by one cluster.

    *hear* gets each slice, and says whether to go on; *memory_stop* is asked after each.
    """

    def __init__(
        self,
        file: RunFile,
        cluster: Cluster,
        hear: Hear,
        memory_stop: Callable[[], Stop | None],
    ) -> None:
        self._file, self._cluster = file, cluster
        self._hear, self._memory_stop = hear, memory_stop
        self._check = TrailCheck(file.trail, file.end.events)
        self._came_to: Replayed | None = None

    def play(self, budget: Budget) -> Replayed:
        """Go to the end of the file, as far as *budget* allows."""
        self._cluster.limit(budget)
        for steps, at, command in self._stops():
            if not self._go_to(steps, at) or not self._passes(steps, at):
                return self._came_to or self._parted()
            if command is not None:
                self._cluster.apply(command)
        self._take()
        return self._came_to or Replayed(self._check.finish(self._file.end.digest))

    def _stops(self) -> Iterator[tuple[int, int, Command | None]]:
        for each in self._file.commands:
            yield each.steps, each.at, Command.from_dict(each.body)
        yield self._file.end.steps, self._file.end.at, None

    def _go_to(self, steps: int, at: int) -> bool:
        cluster = self._cluster
        while cluster.steps < steps:
            before = cluster.steps
            cluster.advance(at, max_steps=min(_CHUNK, steps - before))
            if not self._take():
                return False
            if cluster.steps == before:
                break
        if cluster.steps == steps and cluster.now < at:
            cluster.advance(at)
        return True

    def _passes(self, steps: int, at: int) -> bool:
        return (self._cluster.steps, self._cluster.now) == (steps, at)

    def _take(self) -> bool:
        """Compare and hand on what was recorded; whether to go on."""
        taken = self._cluster.take()
        parting = self._check.take(taken.rows)
        goes_on = self._hear(taken)
        stop = self._memory_stop() or self._cluster.budget_stop
        if parting is not None or not goes_on or stop is not None:
            self._came_to = Replayed(parting, stop, is_whole=goes_on)
        return self._came_to is None

    def _parted(self) -> Replayed:
        """It does not pass where the file stands: it parts after what was recorded."""
        return Replayed(Parting(min(self._cluster.seq, self._file.end.events) + 1, None))
