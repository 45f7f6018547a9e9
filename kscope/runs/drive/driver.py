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
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from django.db import InterfaceError, OperationalError

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command as EngineCommand
from engine.input.budget import Stop
from engine.kernel.loop import NEVER
from engine.kernel.sentences import Sentence, grouped, say
from engine.objects.objects import Manifest
from kscope.logs import bind
from kscope.runs import measures
from kscope.runs.drive import outage, slices
from kscope.runs.drive.beginning.clusters import cluster_prepare
from kscope.runs.drive.checkpoints import CheckpointSchedule
from kscope.runs.drive.decided import Attempts
from kscope.runs.drive.ending.stopping import Stopping, is_stopping
from kscope.runs.drive.ending.stuck import moved_on
from kscope.runs.drive.engines import engine_for
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
from kscope.runs.drive.tables.unwritten import Part, Unwritten
from kscope.runs.models import Run
from kscope.runs.nudges import publish_head

T = TypeVar("T")
# The times, by the monotonic clock, until which a driver waits; it may be woken earlier.
Turns = Generator[float, None, T]
AT_ONCE = 0.0  # after the others whose time has come
WHEN_WOKEN = float("inf")

SLICE_SECONDS = 0.1  # of computing between two commits
CHUNK = 200  # callbacks between two looks at the wall clock, at most
CHUNK_SECONDS = 0.01  # after which others should have a turn
LINGER_SECONDS = 2.0  # an idle owner waits this long for something to do
PASSING_SECONDS = 1.0  # between two commits while nothing is due, and time alone goes on
BUILDING_TIMES = 2  # the first state may take so many times the run's budget of memory
SPEEDS = {"1": 1, "10": 10, "100": 100}

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

    def _begin(self) -> Turns[None]:
        run = yield from self._answered(self._read)
        if not run.is_started:
            self.build = Build(run.building)
            if self.build.why_not:
                raise EngineEnded(self.build.why_not)
        self._engine = yield from _built(self, run)
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
        if wait < -SLICE_SECONDS:
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
            yield from self._stretch()
            done = yield from self._commands.carry_out(self.engine, even_halted=False)
        else:
            self._pace = None  # the clock stands meanwhile
            done = yield from self._commands.carry_out(self.engine, even_halted=True)
            if self.wanted.steps_wanted > 0:
                steps = yield from self._step()
            elif self.wanted.status == Run.Status.PLAYING:
                decided = yield from _stretch_to_decision(self)
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
    def _time(self) -> "Time":
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

    def _step(self) -> Turns[int]:
        """Advance to the next event, or the end of the next cycle; if there is none, to the end."""
        unit = "cycle" if self.wanted.step_unit == Run.StepUnit.CYCLE else "event"
        while (due := self.engine.next_at) is not None and due <= self._time.end:
            if self.engine.advance(due, stop=unit) or is_halted(self.engine):
                break
            moved_on()
            yield AT_ONCE
        return 1

    def _stretch(self) -> Turns[None]:
        """As much virtual time as the speed gives, for at most SLICE_SECONDS of computing.

        It ends early for a command, whose sender waits.
        """
        if self._pace is None or self._pace.speed != self.wanted.speed:
            self._pace = Pace(self.engine.now, self.wanted.speed)
        stint = Stint()
        while self._pace.advance(self.engine, self._time.end, self._time.passes_to):
            if self.is_nudged or not (yield from stint.pause()):
                return

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


@dataclass(frozen=True, slots=True)
class Time:
    """How the clock of a run goes on: what is wanted of it, and the engine where it stands."""

    wanted: slices.Controls
    engine: Cluster

    @property
    def plays_on(self) -> bool:
        """Whether time goes on by itself, and not up to something that the user waits for."""
        wanted = self.wanted
        is_playing = wanted.status == Run.Status.PLAYING
        return is_playing and not wanted.steps_wanted and not wanted.until_pod

    @property
    def end(self) -> int:
        """The last moment that the user wants to see."""
        return NEVER if self.wanted.until is None else self.wanted.until

    @property
    def is_at_end(self) -> bool:
        """Whether the run is over: at its `until`, or where nothing more is due and time ends, too."""
        until = self.wanted.until
        if until is not None:
            return self.engine.now >= until
        return self.engine.next_at is None and not self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether a run that plays goes on though nothing is due.

        Clients use it, or it keeps up with the clock of the wall and its duration is not over.
        """
        wanted = self.wanted
        lasts = wanted.speed in SPEEDS and not wanted.until_pod
        return wanted.is_used or (lasts and self.engine.now < (wanted.duration or 0))

    @property
    def stands(self) -> bool:
        """Whether the clock stands because nothing is due: at full speed it does not jump."""
        is_full = self.wanted.speed not in SPEEDS and self.wanted.until is None
        return is_full and self.engine.next_at is None

    @property
    def open_until(self) -> int:
        """Up to which instant things are due, also beyond the horizon.

        At full speed retries that repeat themselves would never let the clock stand.
        """
        wanted = self.wanted
        return NEVER if wanted.is_used and wanted.speed in SPEEDS else wanted.duration or 0

    @property
    def passes_to(self) -> int | None:
        """Up to when time passes though nothing is due; None for no end."""
        wanted = self.wanted
        if wanted.until is None and not wanted.is_used:
            return wanted.duration or 0
        return wanted.until

    @property
    def goal(self) -> int | None:
        """What time goes on to next: what is due, or else where it ends."""
        due = self.engine.next_at
        return self.passes_to if due is None else due

    @property
    def quiet_seconds(self) -> float:
        """How often time alone is worth a commit, at most."""
        return PASSING_SECONDS if self.engine.next_at is None else 0.0


def _built(driver: Driver, run: Run) -> Turns[Cluster]:
    """The engine. Raises EngineEnded where it cannot be built."""
    # What is read of a checkpoint before it is restored is one step.
    driver._alive()
    making, away = engine_for(run, driver.epoch), outage.Outage(f"the engine of run {run.pk}")
    try:
        while True:
            due = AT_ONCE
            try:
                told = next(making)
            except StopIteration as end:
                return end.value
            except (OperationalError, InterfaceError) as problem:
                # It is asked before the engine is computed, and hardly ever later.
                making, told, due = engine_for(run, driver.epoch), None, away.meet(problem)
            if told is not None:
                driver._note_objects(*told)
            if is_stopping() or driver.is_unwanted:
                raise Stopping
            moved_on()
            yield due
    finally:
        # A lease may be lost in the middle. Whoever keeps that exception, as a log may, would
        # keep the half of an engine, and the thread that waits to go on with it.
        making.close()


def _stretch_to_decision(driver: Driver) -> Turns[bool]:
    """Advance until the pod is bound or refused, or until `until_pod_by`; whether that came."""
    engine, wanted = driver.engine, driver.wanted
    by = wanted.until_pod_by
    wait = driver._attempts.wait(wanted.awaited_pod, wanted.until_pod_at or 0, by)
    stint = Stint()
    while True:
        for _ in range(CHUNK):
            due = engine.next_at
            if is_halted(engine):
                return False
            if due is None:
                # What is waited for does not come; who uses the run may yet bring it about.
                return driver._time.goes_on
            if due > driver._time.end:
                engine.advance(driver._time.end)
                return False
            if wait.by is not None and due > wait.by:
                engine.advance(wait.by)
                return True
            known = len(engine.untaken)
            engine.advance(due, max_steps=1)
            events = engine.untaken[known:]
            if driver._attempts.decide(wait, events, engine.now):
                return True
        if not (yield from stint.pause()):
            return False


def rows_of_broken(driver: Driver) -> Turns[None]:
    """Have the rows of objects say what is on record of a run whose engine has broken since."""
    if not driver.unwritten:
        return
    part = driver.unwritten.part(whole=True)
    packed = slices.rows_packed(part.objects, driver.unwritten.packer)
    commit = slices.Commit(packed=packed, head=driver._head, before=driver._head, rows="newest")
    driver.unwritten.note_written(part)
    driver._writing = driver._host.write(driver.run_id, driver.epoch, commit)
    yield from driver.settled()


def engine_at_head(driver: Driver) -> Cluster | None:
    """The engine, if all that it has recorded is written; another thread may ask."""
    engine, writing = driver._engine, driver._writing
    if engine is None or driver.build or not (writing is None or writing.done()):
        return None
    return engine if engine.seq == driver._head.seq else None


class Commands:
    """What users want done in a run, as its driver carries it out."""

    def __init__(self, run_id: int, count: int) -> None:
        self._run_id = run_id
        self.count = count
        """How many the engine has seen."""
        self.may_wait = True
        """Whether there may be some that it has not seen."""

    def carry_out(self, engine: Cluster, *, even_halted: bool) -> Turns[list[slices.Done]]:
        """Carry out as many as fit into a slice; the lease ends without a commit."""
        done: list[slices.Done] = []
        if not self.may_wait or (is_halted(engine) and not even_halted):
            return done
        ask = partial(slices.commands_pending, self._run_id)
        pending = yield from outage.answered(ask, f"run {self._run_id}")
        deadline = time.monotonic() + SLICE_SECONDS
        for key, entity, body in pending:
            done.append(self.apply(engine, key, entity, body))
            if time.monotonic() > deadline:
                break
        self.may_wait = len(done) < len(pending)
        return done

    def apply(self, engine: Cluster, key: int, entity: str, body: Manifest) -> slices.Done:
        """Carry out or refuse one."""
        position, at = engine.steps, engine.now
        outcome = engine.apply(EngineCommand.from_dict(body))
        self.count += 1
        return slices.Done(
            key,
            engine.left(entity) if outcome.applied else None,
            outcome.applied,
            outcome.reason,
            outcome.seq,
            self.count,
            position,
            at,
        )


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


def is_halted(engine: Cluster) -> bool:
    """Whether the engine goes no further, for now or for good."""
    return bool(engine.failure) or engine.budget_stop is not None


class Stint:
    """The computing of one slice, in which others have turns; what they do does not count."""

    def __init__(self) -> None:
        self._left = SLICE_SECONDS
        self._since = time.monotonic()

    def pause(self) -> Turns[bool]:
        """Let others have a turn, unless SLICE_SECONDS are over; whether they are not."""
        self._left -= time.monotonic() - self._since
        if self._left <= 0:
            return False
        yield AT_ONCE
        self._since = time.monotonic()
        return True


class Pace:
    """The virtual time that a run should have reached, by the wall clock and its speed."""

    def __init__(self, at: int, speed: str) -> None:
        self.speed = speed
        self._factor = SPEEDS.get(speed)
        self._at = at
        self._since = time.monotonic()
        self._chunk = CHUNK

    def now(self) -> int | None:
        """The virtual time to have reached by now; None at full speed."""
        if self._factor is None:
            return None
        return self._at + int((time.monotonic() - self._since) * self._factor * 1e9)

    def advance(self, engine: Cluster, end: int, last: int | None) -> bool:
        """Bring the *engine* nearer to where it should be by now, but no further than *end*.

        Returns whether it is not there yet. Where nothing is due any more, time still moves on to
        *last*, or without an end, and at full speed to an *end* that is wanted; else it stays.
        """
        if is_halted(engine):
            return False
        due = engine.next_at
        target = self.now()
        limit = end if target is None else min(target, end)
        if due is None:
            limit = limit if target is None or last is None else min(limit, last)
            if engine.now < limit < NEVER:
                engine.advance(limit)
            return False
        if due > limit:
            engine.advance(limit)
            return False
        began = time.monotonic()
        # rest=False: where the run ends must not depend on the wall clock.
        engine.advance(limit, max_steps=self._chunk, rest=False)
        is_long = time.monotonic() - began > CHUNK_SECONDS
        self._chunk = max(self._chunk // 2, 1) if is_long else min(self._chunk * 2, CHUNK)
        return True

    def seconds_until(self, at: int | None) -> float:
        """Wall seconds until virtual time *at* should be reached; 1 for never, less than 0 at full speed."""
        now = self.now()
        if now is None or self._factor is None:
            return -1.0
        if at is None:
            return 1.0
        return (at - now) / 1e9 / self._factor
