"""The driver: moves one run on, slice by slice, for as long as this process owns it.

What the user wants (play, pause, steps, speed, commands) is read from the run's row when somebody
says that it has changed, and comes back with each commit. The driver decides what a slice holds:
commands, and a step or a stretch of time.

A driver takes turns with those of other runs (see `hosting.loop`): it is a generator that yields
until when it waits, by the monotonic clock. It holds nothing meanwhile but its engine.
"""

import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from typing import Protocol, TypeVar

from engine.cluster.cluster import Cluster
from engine.input.budget import Stop
from engine.kernel.sentences import Sentence, grouped, say
from kscope.logs import bind
from kscope.runs import measures
from kscope.runs.drive import outage, slices
from kscope.runs.drive.beginning.clusters import cluster_prepare
from kscope.runs.drive.checkpoints import CheckpointSchedule
from kscope.runs.drive.decided import Attempts
from kscope.runs.drive.ending.stopping import is_stopping
from kscope.runs.drive.ending.stuck import moved_on
from kscope.runs.drive.engines import engine_in_turns
from kscope.runs.drive.forks import (
    GoalReplay,
    follows_another_engine,
    own_slice,
    parent_check,
    replay_advance,
    replay_to_goal,
)
from kscope.runs.drive.garbage import Memory
from kscope.runs.drive.keeper import Build
from kscope.runs.drive.memory import BudgetGuard
from kscope.runs.drive.moving.clock import PASSING_SECONDS, Pace, Time
from kscope.runs.drive.moving.commands import Commands
from kscope.runs.drive.moving.steps import step, stretch, stretch_to_decision
from kscope.runs.drive.tables.unwritten import Part, Unwritten
from kscope.runs.drive.turns import stint
from kscope.runs.drive.turns.stint import AT_ONCE, WHEN_WOKEN, Stint, Turns
from kscope.runs.models import Run
from kscope.runs.nudges import publish_head

T = TypeVar("T")
LINGER_SECONDS = 2.0  # an idle owner waits this long for something to do
BUILDING_TIMES = 2  # the first state may take so many times the run's budget of memory

log = logging.getLogger(__name__)


class EngineEnded(Exception):
    """The engine's `failure`: the simulation cannot continue. Users see the reason."""


def _too_large(done: int, of: int, memory: str) -> Sentence:
    return say(
        "The first state could not be built: at object {done} of {all} it takes {memory}, more than "
        "{times} times the run's budget of memory.",
        done=grouped(done),
        all=grouped(of),
        memory=memory,
        times=BUILDING_TIMES,
    )


class Host(Protocol):
    """What a driver has in common with those of other runs."""

    @property
    def quiet_seconds(self) -> float:
        """How often time alone is worth a commit."""
        ...

    @property
    def gap_seconds(self) -> float:
        """The least time between two slices of a run that keeps up with the clock."""
        ...

    def write(self, run_id: int, epoch: int, commit: slices.Commit) -> "Future[slices.Controls]":
        """Begin to write a slice. The driver is woken when it is written."""
        ...

    def before_long_step(self, run_id: int, epoch: int) -> None:
        """Renew all leases for what no thread can interrupt. Raises LostLease if this one is lost."""
        ...

    def memory_of_others(self, run_id: int) -> int:
        """The bytes of this process that other runs take."""
        ...


def wanted_of(run: Run) -> slices.Controls:
    """What the user wants of *run*, as it was read."""
    wanted = (run.status, run.speed, run.step_unit, run.steps_wanted, run.until, run.until_pod)
    trial = run.trial or {}
    return slices.Controls(
        *wanted,
        trial.get("at"),
        trial.get("by"),
        trial.get("node"),
        run.stopped_by,
        **run.budget.to_dict(),
        duration=run.duration,
        is_used=run.is_used,
        reads_rows=run.is_read,
    )


class Driver:
    """Drives one run for as long as this process owns it."""

    def __init__(self, run_id: int, epoch: int, host: Host) -> None:
        self.run_id, self.epoch = run_id, epoch
        self.build: Build | None = None
        """The first state, while it is built."""
        self.is_nudged = False
        self.is_unwanted = False
        """Another process is to go on with the run."""
        self.grown = 0
        """The bytes by which this process grew for the run."""
        self.renewed_at = time.monotonic()
        self.writing_since: float | None = None
        self._host = host
        # Renews the lease before a long step. Raises LostLease.
        self._alive = partial(host.before_long_step, run_id, epoch)
        self.controls: slices.Controls | None = None
        self._engine: Cluster | None = None
        self._memory = Memory(lambda: host.memory_of_others(run_id))
        self._writing: Future[slices.Controls] | None = None
        self.unwritten = Unwritten()
        """The objects whose rows are still to be written."""

    def turns(self) -> Turns[str]:
        """Everything, until nothing was wanted for a while; why it ends, in a word.

        Raises LostLease, Stopping, EngineEnded, RecordedOtherwise, and errors of the database.
        """
        yield from self._begin()
        if not self._is_started:
            yield from self._commit()
        end = yield from self._drive()
        if self.unwritten.are_few:
            yield from self._commit(writes_rows=True)
        yield from self._written()
        return end

    def nudge(self) -> None:
        """The user may want something else, or there may be commands."""
        self.is_nudged = True
        if self._engine is not None:
            self._commands.may_wait = True

    def settled(self) -> Turns[None]:
        """Until nothing is being written any more, however that ends."""
        while self._writing is not None and not self._writing.done():
            yield WHEN_WOKEN
        self._writing = None

    @property
    def progress(self) -> tuple[int, int]:
        """Changes whenever the run gets on."""
        return self._engine.steps if self._engine else 0, self.build.objects if self.build else 0

    @property
    def wanted(self) -> slices.Controls:
        """What the user wants, once the run was read."""
        assert self.controls is not None
        return self.controls

    @property
    def engine(self) -> Cluster:
        """The engine, which is there once `turns` has made it."""
        assert self._engine is not None
        return self._engine

    def rows_of_broken(self) -> Turns[None]:
        """Have the rows of objects say what is on record of a run whose engine has broken since."""
        if not self.unwritten:
            return
        part = self.unwritten.part(whole=True)
        packed = slices.rows_packed(part.objects, self.unwritten.packer)
        commit = slices.Commit(packed=packed, head=self._head, before=self._head, rows="newest")
        self.unwritten.note_written(part)
        self._writing = self._host.write(self.run_id, self.epoch, commit)
        yield from self.settled()

    def engine_at_head(self) -> Cluster | None:
        """The engine, if all that it has recorded is written; another thread may ask."""
        engine, writing = self._engine, self._writing
        if engine is None or self.build or not (writing is None or writing.done()):
            return None
        return engine if engine.seq == self._head.seq else None

    def _begin(self) -> Turns[None]:
        run = yield from self._answered(self._read)
        if not run.is_started:
            self.build = Build(run.building)
            if self.build.why_not:
                raise EngineEnded(self.build.why_not)
        # What is read of a checkpoint before it is restored is one step.
        self._alive()
        self._engine = yield from engine_in_turns(
            run, self.epoch, self._note_objects, lambda: self.is_unwanted
        )
        self.build = None
        self._unexpected = self.engine.unexpected
        self._pace: Pace | None = None
        self._is_started = run.is_started
        yield from self._answered(partial(self._read_on, run))
        self._budget = BudgetGuard(self.engine, self._memory)

    def _read(self) -> Run:
        """The run, and what is known of it before there is an engine."""
        run = Run.objects.select_related("scenario").get(pk=self.run_id)
        self._commands = Commands(self.run_id, run.head_commands)
        self.controls = wanted_of(run)
        self._attempts = Attempts(self.run_id)
        self._borrowed = run.borrowed_seq
        self._checkpoints = CheckpointSchedule(self.run_id, run.head_seq, self._borrowed)
        self._head = _head_on_record(run)
        self._committed = self._began = time.monotonic()
        return run

    def _read_on(self, run: Run) -> None:
        """What of the record belongs to an engine that stands at the head of *run*."""
        self.unwritten.begin(run, self.engine)
        self._goal_replay: GoalReplay | None = replay_to_goal(run)
        self._follows_another_engine = follows_another_engine(run)

    def _answered(self, ask: Callable[[], T]) -> Turns[T]:
        return outage.answered(ask, f"run {self.run_id}")

    def _note_objects(self, done: int, of: int) -> None:
        """So many objects of the first state are there. Raises EngineEnded."""
        if self.build:
            self.build.objects, self.build.of = done, of
        most = BUILDING_TIMES * self.wanted.memory
        if self._memory.is_over(most) and self._memory.measure_again() > most:
            raise EngineEnded(_too_large(done, of, self._memory.text))

    def _drive(self) -> Turns[str]:
        idle_since = time.monotonic()
        while True:
            moved_on()
            if is_stopping():
                return "stopping"
            if self.is_unwanted:
                return "moved"
            if self.is_nudged:
                yield from self._look()
            if (yield from self._slice()):
                idle_since = time.monotonic()
                yield from self._rest()
            elif time.monotonic() - idle_since > LINGER_SECONDS:
                return "idle"
            else:
                yield from self._sleep(idle_since + LINGER_SECONDS)

    def _sleep(self, until: float) -> Turns[None]:
        """Until that moment, or a nudge."""
        while time.monotonic() < until and not (self.is_nudged or self.is_unwanted):
            if is_stopping():
                return
            yield until

    def _rest(self) -> Turns[None]:
        """Let others have a turn; a paced run waits until something is due, or time is worth a commit."""
        is_paced = self._time.plays_on and self._pace is not None and not self._goal_replay
        if is_paced and self._time.stands:
            return (yield from self._sleep(time.monotonic() + PASSING_SECONDS))
        wait = self._pace.seconds_until(self._time.goal) if is_paced and self._pace else -1.0
        if wait < -stint.SLICE_SECONDS:
            return (yield AT_ONCE)
        now = time.monotonic()
        quiet = self._committed + max(self._host.quiet_seconds, self._time.quiet_seconds) - now
        yield from self._sleep(now + max(min(wait, quiet), self._host.gap_seconds))

    def _look(self) -> Turns[None]:
        """Read what the user wants now."""
        yield from self._written()
        self.is_nudged = False
        self.controls = yield from self._answered(
            partial(slices.controls_read, self.run_id, self.epoch)
        )

    def _written(self) -> Turns[None]:
        """Until nothing is being written. Raises what went wrong: LostLease, or a database error."""
        while self._writing is not None and not self._writing.done():
            yield WHEN_WOKEN
        if self._writing is not None:
            writing, self._writing, self.writing_since = self._writing, None, None
            self.controls = writing.result()
            self.unwritten.packer.note_saved()

    # One slice

    def _slice(self) -> Turns[bool]:
        """Commands, and a step or a stretch of time, then one commit; False when idle."""
        self._began = time.monotonic()
        self.engine.open_until = self._time.open_until
        # The history of its parent stayed within its budget.
        replay = self._goal_replay
        along_parent = replay is not None and replay.is_along_parent
        self._budget.hold(None if along_parent else self.wanted.budget)
        if replay:
            if self.wanted.stopped_by:
                return False
            yield from self._replay_slice(replay)
            return True
        steps, decided = 0, False
        if self._time.plays_on:
            # First the time that has passed, so that the outcome of commands is written at once.
            # What follows from them belongs to the next slice.
            if self._pace is None or self._pace.speed != self.wanted.speed:
                self._pace = Pace(self.engine.now, self.wanted.speed)
            yield from stretch(self._time, self._pace, lambda: self.is_nudged)
            done = yield from self._commands.carry_out(self.engine, even_halted=False)
        else:
            self._pace = None  # the clock stands meanwhile
            done = yield from self._commands.carry_out(self.engine, even_halted=True)
            if self.wanted.steps_wanted > 0:
                steps = yield from step(self._time)
            elif self.wanted.status == Run.Status.PLAYING:
                decided = yield from stretch_to_decision(self._time, self._attempts)
            elif not done and not self._rows_are_due():
                return False
        if self.engine.failure:
            yield from self._commit(done, steps)
            yield from self._written()
            raise EngineEnded(self.engine.failure)
        at_end = self._time.is_at_end
        wants_more = self.wanted.status == Run.Status.PLAYING or self.wanted.steps_wanted > 0
        goes_on, is_held = self._time.goes_on, wants_more and not decided
        stop = self._budget.stop(self.wanted.budget, goes_on=goes_on) if is_held else None
        quiet = self._time.stands or time.monotonic() - self._committed < max(
            self._host.quiet_seconds, self._time.quiet_seconds
        )
        has_news = self.engine.seq > self._head.seq or self._rows_are_due()
        if not (done or steps or at_end or decided or stop or has_news or not quiet):
            return True
        yield from self._commit(done, steps, at_end=at_end, at_decision=decided, stop=stop)
        return True

    def _rows_are_due(self, *, waits: bool = False) -> bool:
        """Whether rows of objects are to be written; somebody *waits* for what is being committed."""
        rests = (waits or self.wanted.status != Run.Status.PLAYING) and self._goal_replay is None
        return self.unwritten.is_due(rests or self.wanted.reads_rows)

    @property
    def _time(self) -> Time:
        return Time(self.wanted, self.engine)

    def _replay_slice(self, replay: GoalReplay) -> Turns[None]:
        """Replay one slice of a fork's past. Its user's commands wait until the replay is over."""
        done: list[slices.Done] = []
        stint = Stint()
        while not replay.is_over(self.engine):
            replay_advance(
                replay, self.engine, self.run_id if self._follows_another_engine else None
            )
            due = replay.take_commands(self.engine)
            done += [self._commands.apply(self.engine, one.pk, one.object, one.body) for one in due]
            if self.engine.budget_stop or not (yield from stint.pause()):
                break
        over = replay.is_over(self.engine)
        if over and self._follows_another_engine:
            yield from self._commit(done)
            yield from self._written()
            parent_check(self.run_id)
            done = []
        stop = None if over else self._budget.stop(self.wanted.budget)
        yield from self._commit(done, at_goal=over, stop=stop)
        if over or replay.has_parted:
            yield from self._written()
            replay.settle()
            self._goal_replay = None
            self._pace = None
            cluster_prepare(self.engine, self.run_id)
            publish_head(self.run_id, self.engine.seq)

    # Writing

    def _commit(
        self,
        done: list[slices.Done] | None = None,
        steps: int = 0,
        *,
        at_end: bool = False,
        at_goal: bool = False,
        at_decision: bool = False,
        stop: Stop | None = None,
        writes_rows: bool = False,
    ) -> Turns[None]:
        engine = self.engine
        bind(seq=engine.seq)
        measures.SLICE_SECONDS.observe(time.monotonic() - self._began)
        # The engine is at most one slice ahead of what is written.
        yield from self._written()
        measures.UNEXPECTED.inc(engine.unexpected - self._unexpected)
        self._unexpected = engine.unexpected
        piece = engine.take()
        if self._goal_replay is not None:
            at_goal = self._goal_replay.hear(piece.rows, at_goal=at_goal)
        waits = bool(done or steps or at_end or at_decision or stop)
        self.unwritten.add(piece)
        writes_rows |= bool(at_goal or stop or engine.failure) or self._rows_are_due(waits=waits)
        if not self._is_started:
            self._is_started = True
            # Its events come first: pages show it then, and its rows are kept step by step.
            writes_rows &= not self.unwritten.plan_first(engine.seq)
        whole = bool(at_goal or engine.failure)
        part = self.unwritten.part(whole=whole) if writes_rows else Part({})
        is_newest = writes_rows and part.upto is None
        rows = "newest" if is_newest else "behind" if self.unwritten else "as before"
        count = self._commands.count
        head = _head_of(engine, count, self._budget.memory.used)
        own = own_slice(self.run_id, piece, self._borrowed)
        saved = yield from _by_turns(
            self._checkpoints.take(engine, count, self._alive, at_end=at_end)
        )
        commit = slices.Commit(
            packed=slices.slice_packed(own, part.objects, self.unwritten.packer),
            head=head,
            before=self._head,
            done=done or (),
            outcomes=slices.outcomes_of(done or ()),
            steps_taken=steps,
            wake=any(each.applied for each in done or ()) and not self._time.is_at_end,
            at_end=at_end,
            at_goal=at_goal,
            at_decision=at_decision,
            stop=stop,
            saved=saved,
            rows=rows,
            rows_upto=part.upto,
            rows_are_new=part.are_new,
        )
        # Only now: what breaks before leaves the head on record, and the rows that wait.
        self._head = head
        if writes_rows:
            self.unwritten.note_written(part)
        self._writing = self._host.write(self.run_id, self.epoch, commit)
        self._committed = self.writing_since = self.renewed_at = time.monotonic()
        if waits or self.wanted.status != Run.Status.PLAYING:
            yield from self._written()


def _by_turns(steps: Generator[None, None, T]) -> Turns[T]:
    """What *steps* return; after each of them others have a turn."""
    with closing(steps):
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value
            moved_on()
            yield AT_ONCE


def _head_on_record(run: Run) -> slices.Head:
    return slices.Head(
        seq=run.head_seq,
        at=run.head_at,
        steps=run.head_steps,
        commands=run.head_commands,
        digest=run.head_digest,
        next_at=run.next_at,
    )


def _head_of(engine: Cluster, commands: int, memory: int) -> slices.Head:
    return slices.Head(
        seq=engine.seq,
        at=engine.now,
        steps=engine.steps,
        commands=commands,
        digest=engine.digest(),
        next_at=engine.next_at,
        objects=engine.objects,
        memory=memory,
    )
