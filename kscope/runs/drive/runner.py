"""The runner: owns a run under a lease and moves it on, one committed slice after the other.

Killing it at any moment loses at most what was not committed (see committer.py), which the next
owner computes again identically (see replay.py). What the user wants (play, pause, steps, speed,
commands) is read from the run's row before each slice.
"""

import logging
import os
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import redis
from django.db import InterfaceError, OperationalError, connection
from django.db.models import Max

from kscope.logs import bind, bound
from kscope.runs import measures
from kscope.runs.drive import slices
from kscope.runs.drive.checkpoints import checkpoint_freeze, checkpoints_usable
from kscope.runs.drive.committer import Committer
from kscope.runs.drive.decided import ATTEMPT_STARTED, Wait
from kscope.runs.drive.forks import Journey, follows_another_engine, journey_of, parting_seq
from kscope.runs.drive.garbage import Collector, uncollected
from kscope.runs.drive.memory import Memory
from kscope.runs.drive.replay import Diverged, RecordedOtherwise, engine_at_head, engine_created
from kscope.runs.drive.stopping import Stopping, is_stopping
from kscope.runs.engine import Engine, wiring
from kscope.runs.models import Checkpoint, Command, Run, RunEvent
from kscope.runs.nudges import WakeListener, publish_head
from kscope.sim.input.budget import Budget, Stop

SLICE_SECONDS = 0.1  # of computing between two commits
CHUNK = 200  # callbacks between two looks at the wall clock
# After so long a run makes way, if another one waits for a worker: sooner when its engine is soon
# at hand again, as those of small clusters are.
TURN_SECONDS = 3.0
SHORTEST_TURN = 0.5
LINGER_SECONDS = 2.0  # an idle owner waits this long for the next wish
QUIET_COMMIT_SECONDS = 0.2  # how often time alone is worth a commit
CHECKPOINT_EVENTS = 10_000
CHECKPOINT_SHARE = 10  # checkpoints take at most one tenth of the time
SPEEDS = {"1": 1, "10": 10, "100": 100}

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Live:
    """An engine kept between two tasks of this process, and the head it stands at."""

    engine: Engine
    epoch: int
    commands: int


_live: dict[int, Live] = {}
_KEEP = 4


def run_drive(run_id: int) -> None:
    """Take the run if nobody has it, and drive it until it has nothing to do for a while.

    When other runs wait for a worker it stops after a turn and queues up again behind them; when
    this worker is asked to stop, another one goes on.
    """
    epoch = slices.lease_take(run_id, f"{socket.gethostname()}:{os.getpid()}")
    if epoch is None:
        return
    with bound(run=run_id, epoch=epoch, seq=None):
        end = _drive_owned(run_id, epoch)
        log.info("given back: %s", end)
    measures.OWNERSHIPS.labels(end).inc()
    _collector.look()


def _drive_owned(run_id: int, epoch: int) -> str:
    """Drive the run until it is to be given back; says in a word why it was."""
    try:
        driver = Driver(run_id, epoch)
        try:
            driver.drive()
        finally:
            driver.close()
        slices.lease_release(run_id, epoch)
        if driver.controls.stopped_by != "memory":
            _remember(run_id, Live(driver.engine, epoch, driver.commands))
        if driver.made_way and wiring.enqueue:
            wiring.enqueue(run_id)
        return "turn" if driver.made_way else "idle"
    except slices.LostLease as lost:
        log.warning("%s", lost)
        _live.pop(run_id, None)
        return "lost"
    except Stopping:
        slices.lease_release(run_id, epoch)
        if wiring.enqueue:
            wiring.enqueue(run_id)
        return "stopping"
    except (OperationalError, InterfaceError) as problem:
        # The database is away, or chose us in a deadlock: the run itself is well. The lease ends
        # by itself, and the sweeper gives the run to a worker again.
        log.warning("run %s is left to the sweeper: %s", run_id, problem)
        _live.pop(run_id, None)
        connection.close()
        return "database"
    except RecordedOtherwise as found:
        log.warning("%s", found)
        _live.pop(run_id, None)
        _stop_continuing(run_id, epoch, found)
        return "other_version"
    except EngineEnded as ended:
        _live.pop(run_id, None)
        slices.run_fail(run_id=run_id, epoch=epoch, error=str(ended))
        publish_head(run_id, 0)
        return "failed"
    except Exception as broken:
        log.exception("run %s failed", run_id)
        _live.pop(run_id, None)
        slices.run_fail(run_id=run_id, epoch=epoch, error=f"{type(broken).__name__}: {broken}")
        publish_head(run_id, 0)
        return "failed"


_collector = Collector()


def _stop_continuing(run_id: int, epoch: int, found: RecordedOtherwise) -> None:
    """The run stays as it was recorded; a fork that was to begin there cannot be made."""
    fork = Run.objects.filter(pk=run_id, goal_at__isnull=False).first()
    if fork is not None:
        error = (
            f"Run {fork.parent_id} was recorded by another version of kscope, which decided "
            f"differently from event {found.seq:,} on. It cannot be forked there; repeat it instead."
        )
        slices.run_fail(run_id=run_id, epoch=epoch, error=error)
    else:
        with suppress(slices.LostLease):
            slices.run_stop_continuing(
                run_id=run_id, epoch=epoch, differs_from=found.seq, reason=str(found)
            )
    publish_head(run_id, 0)


def _remember(run_id: int, live: Live) -> None:
    _live.pop(run_id, None)
    _live[run_id] = live
    while len(_live) > _KEEP:
        del _live[next(iter(_live))]


class EngineEnded(Exception):
    """What is simulated has ended for good, in the middle of the run; the reason is for people."""


def _controls(run: Run) -> slices.Controls:
    """What the user wants of *run*, as it was read."""
    wanted = (run.status, run.speed, run.step_unit, run.steps_wanted, run.until, run.until_pod)
    trial = run.trial or {}
    return slices.Controls(
        *wanted, trial.get("at"), trial.get("by"), run.stopped_by, **run.budget.to_dict()
    )


class Driver:
    """One ownership of one run."""

    def __init__(self, run_id: int, epoch: int) -> None:
        self.run_id = run_id
        self.epoch = epoch
        self.made_way = False
        run = Run.objects.select_related("scenario").get(pk=run_id)
        self.commands = run.head_commands
        self.controls = _controls(run)
        # Events with which attempts of the pods that are waited for have begun.
        self._attempts_begun: dict[str, int] = {}
        saved = checkpoints_usable(run_id, seq=run.head_seq).values_list("seq", flat=True)
        self._checkpoint_seq: int = saved.first() or 0
        self._checkpoint_allowed = 0.0
        self._head = slices.Head(
            seq=run.head_seq,
            at=run.head_at,
            steps=run.head_steps,
            commands=run.head_commands,
            digest=run.head_digest,
            next_at=run.next_at,
        )
        self._committed = self._began = time.monotonic()
        began = time.monotonic()
        self.engine = self._engine(run)
        self._turn = min(TURN_SECONDS, max(SHORTEST_TURN, 10 * (time.monotonic() - began)))
        self._pace = Pace(self.engine.now, self.controls.speed)
        self._committer = Committer(run_id, epoch)
        self._is_started = run.is_started
        self._journey: Journey | None = journey_of(run)
        self._follows_another_engine = follows_another_engine(run)
        self._memory = Memory()
        # A kept engine may still be held to what the run could take before.
        self.engine.limit(None)
        self._held_to: Budget | None = None

    def _engine(self, run: Run) -> Engine:
        live = _live.pop(run.pk, None)
        if (
            live is not None
            and live.epoch == self.epoch - 1
            and (live.engine.seq, live.engine.now) == (run.head_seq, run.head_at)
            and live.engine.digest() == run.head_digest  # a restored database has other runs
        ):
            return live.engine
        if run.is_started:
            return engine_at_head(run, alive=self._alive)
        if run.head_seq == 0:
            return engine_created(run)
        return self._engine_of_copy(run)

    def _engine_of_copy(self, run: Run) -> Engine:
        """The engine of a fork whose first events are copies; rows of objects it has none yet."""
        engine = engine_at_head(run, alive=self._alive)
        assert wiring.touch_objects, "no engine is registered"
        wiring.touch_objects(engine)
        return engine

    def _alive(self) -> None:
        """Called during what takes long. Raises LostLease, Stopping."""
        if is_stopping():
            raise Stopping
        slices.lease_renew(self.run_id, self.epoch, lease=slices.LONG_LEASE)

    def close(self) -> None:
        """End what was started for this ownership."""
        self._committer.close()

    def drive(self) -> None:
        """Slices, until nothing was wanted for a while or another run has waited for a turn."""
        # The committing thread needs the interpreter a dozen times per slice, each time for a moment;
        # after every answer of the database it would else wait 5 ms for its turn.
        sys.setswitchinterval(0.001)
        listener = WakeListener()
        try:
            # An engine is half a million objects that live long and leave hardly any garbage in
            # circles: looking through them again and again took a tenth of the time.
            with uncollected(), slices.renewals_unwaited():
                if not self._is_started:
                    self._commit()
                self._drive(listener)
                self._committer.wait()
        finally:
            listener.close()

    def _drive(self, listener: WakeListener) -> None:
        idle_since = turn_began = time.monotonic()
        while True:
            if is_stopping():
                self.made_way = True
                return
            if time.monotonic() - turn_began > self._turn:
                turn_began = time.monotonic()
                self.made_way = self._others_wait()
                if self.made_way:
                    return
            if self._slice():
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > LINGER_SECONDS or self._others_wait():
                return
            else:
                self._sleep(listener, 0.25)
            self._rest(listener)

    def _others_wait(self) -> bool:
        with connection.cursor() as cursor:
            return bool(slices.run_needs_driver(cursor))

    def _sleep(self, listener: WakeListener, seconds: float) -> None:
        try:
            listener.sleep(seconds)
        except redis.RedisError as problem:
            log.warning("no nudges: %s", problem)
            time.sleep(min(seconds, 0.2))
        self._look()

    def _rest(self, listener: WakeListener) -> None:
        """Between two slices of a paced run: until the next thing is due, or a tenth of a second."""
        if self.controls.until_pod:
            return
        if self.controls.status == Run.Status.PLAYING and self.controls.speed in SPEEDS:
            wait = self._pace.seconds_until(self.engine.next_at)
            self._sleep(listener, min(max(wait, 0.005), 0.1))

    def _hold_to_budget(self) -> None:
        """Let the engine stop where the budget is used up; not on its parent's way once more."""
        journey = self._journey
        along_parent = journey is not None and journey.is_along_parent
        budget = None if along_parent else self.controls.budget
        if budget != self._held_to:
            self.engine.limit(budget)
            self._held_to = budget

    def _stop(self) -> Stop | None:
        """What of the budget is used up, if anything is and there is more to do."""
        if self.engine.next_at is None:
            return None
        budget = self.controls.budget
        if self._memory.is_over(budget.memory) and self._free_memory() > budget.memory:
            return Stop.at("memory", budget.memory, f"It takes {self._memory.text}")
        stop = self.engine.budget_stop
        if stop is not None and stop.part == "time":
            # At every speed it stops at the very moment.
            self.engine.advance(budget.time)
        return stop

    def _free_memory(self) -> int:
        """Let go of the engines of other runs; how much is taken after that."""
        _live.clear()
        return self._memory.measure_again()

    def _look(self) -> None:
        """What the user wants now; keeps the lease, too."""
        self._committer.wait()
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE runs_run SET lease_until = clock_timestamp() + %s::interval"
                " WHERE id = %s AND lease_epoch = %s"
                f" RETURNING {slices.CONTROLS}",
                [slices.LEASE, self.run_id, self.epoch],
            )
            row = cursor.fetchone()
        if row is None:
            raise slices.LostLease(f"run {self.run_id} has another owner than {self.epoch}")
        self.controls = slices.Controls(*row)

    # One slice

    def _slice(self) -> bool:
        """Commands, then a step or a stretch of time, then one commit; False when idle."""
        self._began = time.monotonic()
        self._hold_to_budget()
        if self._journey:
            if self.controls.stopped_by:
                return False
            self._travel(self._journey)
            return True
        done = self._carry_out()
        steps, decided = 0, False
        if self.controls.steps_wanted > 0:
            steps = self._step()
        elif self.controls.status == Run.Status.PLAYING and self.controls.until_pod:
            decided = self._stretch_to_decision(self._wait())
        elif self.controls.status == Run.Status.PLAYING:
            self._stretch()
        elif not done:
            return False
        if self.engine.failure:
            self._commit(done, steps)
            self._committer.wait()
            raise EngineEnded(self.engine.failure)
        wants_more = self.controls.status == Run.Status.PLAYING or self.controls.steps_wanted > 0
        stop = self._stop() if wants_more and not decided else None
        at_end = self.engine.next_at is None or self._is_past_end()
        quiet = time.monotonic() - self._committed < QUIET_COMMIT_SECONDS
        if not (done or steps or at_end or decided or stop or self._has_news() or not quiet):
            return True
        self._commit(done, steps, at_end=at_end, at_decision=decided, stop=stop)
        return True

    def _has_news(self) -> bool:
        return self.engine.seq > self._head.seq

    def _is_past_end(self) -> bool:
        until = self.controls.until
        return until is not None and self.engine.now >= until

    def _carry_out(self) -> list[slices.Done]:
        pending = Command.objects.filter(run_id=self.run_id, status=Command.Status.PENDING)
        return [self._apply(command) for command in pending.order_by("id")]

    def _apply(self, command: Command) -> slices.Done:
        position, at = self.engine.steps, self.engine.now
        outcome = self.engine.apply(wiring.parse_command(command.body))
        self.commands += 1
        return slices.Done(
            command.pk,
            outcome.applied,
            outcome.reason,
            outcome.seq,
            self.commands,
            position,
            at,
        )

    def _travel(self, journey: Journey) -> None:
        """One slice on the way to where a fork begins, whatever its user wants meanwhile."""
        done: list[slices.Done] = []
        deadline = time.monotonic() + SLICE_SECONDS
        while not journey.is_over(self.engine) and time.monotonic() < deadline:
            self._go_on(journey)
            done += [self._apply(command) for command in journey.take_commands(self.engine)]
            if self.engine.budget_stop:
                break
        over = journey.is_over(self.engine)
        if over and self._follows_another_engine:
            self._check_parent(done)
            done = []
        self._commit(done, at_goal=over, stop=None if over else self._stop())
        if over:
            self._committer.wait()
            self._journey = None
            self._pace = Pace(self.engine.now, self.controls.speed)
            if wiring.prepare:
                wiring.prepare(self.engine, self.run_id)
            publish_head(self.run_id, self.engine.seq)

    def _go_on(self, journey: Journey) -> None:
        try:
            journey.go_on(self.engine)
        except Diverged as problem:
            if not self._follows_another_engine:
                raise
            fork = Run.objects.get(pk=self.run_id)
            raise RecordedOtherwise(fork, self.engine.seq + 1) from problem

    def _check_parent(self, done: list[slices.Done]) -> None:
        """Raises RecordedOtherwise when the way to the goal was not the one that the parent took."""
        self._commit(done)
        self._committer.wait()
        fork = Run.objects.get(pk=self.run_id)
        parted = parting_seq(fork)
        if parted is not None:
            raise RecordedOtherwise(fork, parted)

    def _step(self) -> int:
        """To the next event, or the end of the next scheduling cycle; to the end without one."""
        unit: Any = self.controls.step_unit or "event"
        renewed = time.monotonic()
        while (due := self.engine.next_at) is not None and due <= self._end():
            if self.engine.advance(due, stop=unit) or self._is_halted:
                break
            if time.monotonic() - renewed > 1:
                self._alive()
                renewed = time.monotonic()
        self._pace = Pace(self.engine.now, self.controls.speed)
        return 1

    @property
    def _is_halted(self) -> bool:
        """Whether the engine goes no further, for now or for ever."""
        return bool(self.engine.failure) or self.engine.budget_stop is not None

    def _end(self) -> int:
        """The last moment that the user wants to see."""
        until = self.controls.until
        return _FAR if until is None else until

    def _stretch(self) -> None:
        """As much virtual time as the speed gives, for at most SLICE_SECONDS of computing."""
        engine = self.engine
        if self._pace.speed != self.controls.speed:
            self._pace = Pace(engine.now, self.controls.speed)
        deadline = time.monotonic() + SLICE_SECONDS
        while time.monotonic() < deadline:
            due = engine.next_at
            target = self._pace.now()
            if due is None or self._is_halted:
                return
            if target is not None and due > target:
                engine.advance(min(target, self._end()))
                return
            if due > self._end():
                engine.advance(self._end())
                return
            # Without resting: where the run ends must not depend on how late it is by the clock.
            limit = self._end() if target is None else min(target, self._end())
            engine.advance(limit, max_steps=CHUNK, rest=False)

    def _wait(self) -> Wait:
        """What is waited for, since the newest command that was carried out."""
        controls = self.controls
        done = Command.objects.filter(run_id=self.run_id, status=Command.Status.APPLIED)
        since = done.aggregate(newest=Max("outcome_seq"))["newest"] or 0
        if controls.until_pod not in self._attempts_begun:
            began = RunEvent.objects.filter(
                run_id=self.run_id, object=controls.until_pod, kind=ATTEMPT_STARTED
            )
            newest = began.aggregate(newest=Max("seq"))["newest"]
            self._attempts_begun[controls.until_pod] = newest or 0
        at, by = controls.until_pod_at or 0, controls.until_pod_by
        return Wait(controls.until_pod, since, at, by)

    def _stretch_to_decision(self, wait: Wait) -> bool:
        """Up to where the pod is decided on, as fast as possible; whether that was reached."""
        engine = self.engine
        deadline = time.monotonic() + SLICE_SECONDS
        while time.monotonic() < deadline:
            due = engine.next_at
            if due is None or self._is_halted:
                return False
            if due > self._end():
                engine.advance(self._end())
                return False
            if wait.by is not None and due > wait.by:
                engine.advance(wait.by)
                self._pace = Pace(engine.now, self.controls.speed)
                return True
            known = len(engine.untaken)
            engine.advance(due, max_steps=1)
            events = engine.untaken[known:]
            over = wait.is_over(events, self._attempts_begun[wait.pod], engine.now)
            self._attempts_begun[wait.pod] = (
                wait.newest_attempt(events) or self._attempts_begun[wait.pod]
            )
            if over:
                self._pace = Pace(engine.now, self.controls.speed)
                return True
        return False

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
    ) -> None:
        engine = self.engine
        bind(seq=engine.seq)
        measures.SLICE_SECONDS.observe(time.monotonic() - self._began)
        piece = engine.take()
        head = slices.Head(
            seq=engine.seq,
            at=engine.now,
            steps=engine.steps,
            commands=self.commands,
            digest=engine.digest(),
            next_at=engine.next_at,
            objects=engine.objects,
            memory=self._memory.used,
        )
        before, self._head = self._head, head
        known = self._committer.begin(
            head,
            before=before,
            piece=piece,
            done=done or (),
            steps_taken=steps,
            wake=any(each.applied for each in done or ()) and engine.next_at is not None,
            at_end=at_end,
            at_goal=at_goal,
            at_decision=at_decision,
            stop=stop,
            checkpoint=self._checkpoint_if_due(),
        )
        waits = done or steps or at_end or at_decision or stop
        if waits or self.controls.status != Run.Status.PLAYING:
            known = self._committer.wait()
        self.controls = known or self.controls
        self._committed = time.monotonic()

    def _checkpoint_if_due(self) -> Checkpoint | None:
        engine = self.engine
        started = time.monotonic()
        if self._checkpoint_seq and (
            engine.seq - self._checkpoint_seq < CHECKPOINT_EVENTS
            or started < self._checkpoint_allowed
        ):
            return None
        self._alive()
        checkpoint = checkpoint_freeze(run_id=self.run_id, engine=engine, commands=self.commands)
        took = time.monotonic() - started
        self._checkpoint_seq = engine.seq
        self._checkpoint_allowed = time.monotonic() + took * CHECKPOINT_SHARE
        return checkpoint


_FAR = 2**62


class Pace:
    """Where virtual time should be by the wall clock, at one speed since one moment."""

    def __init__(self, at: int, speed: str) -> None:
        self.speed = speed
        self._factor = SPEEDS.get(speed)
        self._at = at
        self._since = time.monotonic()

    def now(self) -> int | None:
        """The virtual time to have reached by now; None at full speed."""
        if self._factor is None:
            return None
        return self._at + int((time.monotonic() - self._since) * self._factor * 1e9)

    def seconds_until(self, at: int | None) -> float:
        """Wall seconds until virtual time *at* should be reached; 1 for never."""
        now = self.now()
        if at is None or now is None or self._factor is None:
            return 1.0
        return (at - now) / 1e9 / self._factor
