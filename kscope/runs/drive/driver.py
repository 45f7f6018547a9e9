"""The driver: moves one run on, slice by slice, for as long as this worker owns it.

What the user wants (play, pause, steps, speed, commands) is read from the run's row before each
slice. The driver decides what a slice holds: commands, and a step or a stretch of time.
"""

import logging
import sys
import time

import redis
from django.db import connection

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command as EngineCommand
from engine.input.budget import Stop
from engine.objects.objects import Manifest
from kscope.logs import bind
from kscope.runs import measures
from kscope.runs.drive import slices
from kscope.runs.drive.beginning.clusters import cluster_prepare
from kscope.runs.drive.checkpoints import CheckpointSchedule
from kscope.runs.drive.committer import Committer
from kscope.runs.drive.decided import Attempts
from kscope.runs.drive.ending.stopping import Stopping, is_stopping
from kscope.runs.drive.ending.stuck import moved_on
from kscope.runs.drive.engines import Progress, engine_for
from kscope.runs.drive.forks import GoalReplay, follows_another_engine, parting_seq, replay_to_goal
from kscope.runs.drive.garbage import GrowthCollector, Memory, uncollected
from kscope.runs.drive.keeper import Build, Keeper
from kscope.runs.drive.memory import BudgetGuard
from kscope.runs.drive.replay import Diverged, RecordedOtherwise
from kscope.runs.models import Run
from kscope.runs.nudges import WakeListener, publish_head

SLICE_SECONDS = 0.1  # of computing between two commits
CHUNK = 200  # callbacks between two looks at the wall clock
# After this time a run yields to another one that waits for a worker; after less time if its engine
# can be restored quickly, as those of small clusters can.
TURN_SECONDS = 3.0
SHORTEST_TURN = 0.5
LINGER_SECONDS = 2.0  # an idle owner waits this long for something to do
RENEWAL_SECONDS = 1.0  # how old a lease may be; each commit renews it
BUILDING_TIMES = 2  # the first state may take so many times the run's budget of memory
QUIET_COMMIT_SECONDS = 0.2  # how often time alone is worth a commit
SPEEDS = {"1": 1, "10": 10, "100": 100}

log = logging.getLogger(__name__)


class EngineEnded(Exception):
    """The engine's `failure`: the simulation cannot continue. Users see the reason."""


def _controls(run: Run) -> slices.Controls:
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
    )


class Driver:
    """Drives one run for as long as this worker owns it."""

    def __init__(self, run_id: int, epoch: int) -> None:
        self.run_id = run_id
        self.epoch = epoch
        self.yielded = False
        run = Run.objects.select_related("scenario").get(pk=run_id)
        self.commands = run.head_commands
        self.controls = _controls(run)
        self._attempts = Attempts(run_id)
        self._checkpoints = CheckpointSchedule(run_id, run.head_seq)
        self._head = _head_on_record(run)
        self._committed = self._began = time.monotonic()
        self._memory = Memory()
        self._keeper = Keeper(run_id, epoch, None if run.is_started else Build(run.building))
        began = time.monotonic()
        self._keeper.start()
        try:
            self.engine = self._keeper.engine = self._built(run, epoch)
        except BaseException:
            self._keeper.stop()
            raise
        self._unexpected = self.engine.unexpected
        self._turn = min(TURN_SECONDS, max(SHORTEST_TURN, 10 * (time.monotonic() - began)))
        self._pace = Pace(self.engine.now, self.controls.speed)
        self._committer = Committer(run_id, epoch)
        self._is_started = run.is_started
        self._goal_replay: GoalReplay | None = replay_to_goal(run)
        self._follows_another_engine = follows_another_engine(run)
        self._budget = BudgetGuard(self.engine)
        self._growth = GrowthCollector()

    def _built(self, run: Run, epoch: int) -> Cluster:
        """The engine. Raises EngineEnded where it cannot be built."""
        build = self._keeper.build
        if build and build.why_not:
            raise EngineEnded(build.why_not)
        # An engine has half a million long-lived objects in cycles, none of which is garbage.
        with uncollected():
            return engine_for(run, epoch, Progress(self._alive, self._note_objects))

    def _note_objects(self, done: int, of: int) -> None:
        """So many objects of the first state are there. Raises LostLease, Stopping, EngineEnded."""
        build = self._keeper.build
        if build:
            build.objects, build.of = done, of
        if is_stopping():
            raise Stopping
        if self._keeper.is_lost:
            raise slices.LostLease(f"run {self.run_id} has another owner than epoch {self.epoch}")
        most = BUILDING_TIMES * self.controls.memory
        if self._memory.is_over(most) and self._memory.measure_again() > most:
            raise EngineEnded(
                f"The first state could not be built: at object {done:,} of {of:,} it takes "
                f"{self._memory.text}, more than {BUILDING_TIMES} times the run's budget of memory."
            )

    def _alive(self) -> None:
        """Renew the lease before and during long work. Raises LostLease, Stopping."""
        if is_stopping():
            raise Stopping
        slices.lease_renew(self.run_id, self.epoch, lease=slices.LONG_LEASE)
        moved_on()

    def close(self) -> None:
        """End what was started for this ownership."""
        self._committer.close()
        self._keeper.stop()

    def drive(self) -> None:
        """Slices, until nothing was wanted for a while or another run has waited for a turn."""
        # The committing thread needs the interpreter a dozen times per slice, for a moment each.
        # With Python's default it would wait 5 ms for it after every answer of the database.
        sys.setswitchinterval(0.001)
        listener = WakeListener()
        try:
            # An engine has half a million long-lived objects and makes hardly any cyclic garbage:
            # the garbage collector took a tenth of the time.
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
            moved_on()
            if is_stopping():
                self.yielded = True
                return
            if time.monotonic() - turn_began > self._turn:
                turn_began = time.monotonic()
                self.yielded = _others_wait()
                if self.yielded:
                    return
            if self._slice():
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > LINGER_SECONDS or _others_wait():
                return
            else:
                self._sleep(listener, 0.25)
            self._rest(listener)

    def _sleep(self, listener: WakeListener, seconds: float) -> None:
        _sleep_until_woken(listener, seconds)
        self._look()

    def _rest(self, listener: WakeListener) -> None:
        """Wait between two slices of a paced run: until something is due, for at most 0.1 s."""
        if self.controls.until_pod:
            return
        if self.controls.status == Run.Status.PLAYING and self.controls.speed in SPEEDS:
            wait = self._pace.seconds_until(self.engine.next_at)
            self._sleep(listener, min(max(wait, 0.005), 0.1))

    def _hold_to_budget(self) -> None:
        """Limit the engine to the budget, except along its parent's history."""
        replay = self._goal_replay
        along_parent = replay is not None and replay.is_along_parent
        self._budget.hold(None if along_parent else self.controls.budget)

    def _look(self) -> None:
        """Read what the user wants now, and renew the lease unless that was done a moment ago."""
        self._committer.wait()
        renews = self._keeper.renewed_ago > RENEWAL_SECONDS
        self.controls = slices.controls_read(self.run_id, self.epoch, renews=renews)
        if renews:
            self._keeper.renewed()

    # One slice

    def _slice(self) -> bool:
        """Commands, and a step or a stretch of time, then one commit; False when idle."""
        self._began = time.monotonic()
        self._hold_to_budget()
        if self._goal_replay:
            if self.controls.stopped_by:
                return False
            self._replay_slice(self._goal_replay)
            return True
        steps, decided = 0, False
        if self._plays_on:
            done = self._stretch_and_carry_out()
        else:
            done = self._carry_out()
            if self.controls.steps_wanted > 0:
                steps = self._step()
            elif self.controls.status == Run.Status.PLAYING:
                decided = self._stretch_to_decision()
            elif not done:
                return False
        self._growth.look(self._budget.memory.used)
        if self.engine.failure:
            self._commit(done, steps)
            self._committer.wait()
            raise EngineEnded(self.engine.failure)
        wants_more = self.controls.status == Run.Status.PLAYING or self.controls.steps_wanted > 0
        stop = self._budget.stop(self.controls.budget) if wants_more and not decided else None
        at_end = self._is_at_end()
        quiet = time.monotonic() - self._committed < QUIET_COMMIT_SECONDS
        has_news = self.engine.seq > self._head.seq
        if not (done or steps or at_end or decided or stop or has_news or not quiet):
            return True
        self._commit(done, steps, at_end=at_end, at_decision=decided, stop=stop)
        return True

    @property
    def _plays_on(self) -> bool:
        """Whether time goes on by itself, and not up to something that the user waits for."""
        wanted = self.controls
        is_playing = wanted.status == Run.Status.PLAYING
        return is_playing and not wanted.steps_wanted and not wanted.until_pod

    def _stretch_and_carry_out(self) -> list[slices.Done]:
        """First the time that has passed, so that the outcome of commands is written at once.

        What follows from them belongs to the next slice.
        """
        self._stretch()
        return [] if is_halted(self.engine) else self._carry_out()

    def _is_at_end(self) -> bool:
        """Whether the run is over: at its `until`, or, without one, where nothing more is due."""
        until = self.controls.until
        return self.engine.next_at is None if until is None else self.engine.now >= until

    def _carry_out(self) -> list[slices.Done]:
        """The users' commands, as many as fit into a slice; the lease ends without a commit."""
        done: list[slices.Done] = []
        deadline = time.monotonic() + SLICE_SECONDS
        for key, entity, body in slices.commands_pending(self.run_id):
            done.append(self._apply(key, entity, body))
            if time.monotonic() > deadline:
                break
        return done

    def _apply(self, key: int, entity: str, body: Manifest) -> slices.Done:
        position, at = self.engine.steps, self.engine.now
        outcome = self.engine.apply(EngineCommand.from_dict(body))
        self.commands += 1
        return slices.Done(
            key,
            self.engine.left(entity) if outcome.applied else None,
            outcome.applied,
            outcome.reason,
            outcome.seq,
            self.commands,
            position,
            at,
        )

    def _replay_slice(self, replay: GoalReplay) -> None:
        """Replay one slice of a fork's past. Its user's commands wait until the replay is over."""
        done: list[slices.Done] = []
        deadline = time.monotonic() + SLICE_SECONDS
        while not replay.is_over(self.engine) and time.monotonic() < deadline:
            self._advance_replay(replay)
            due = replay.take_commands(self.engine)
            done += [self._apply(one.pk, one.object, one.body) for one in due]
            if self.engine.budget_stop:
                break
        over = replay.is_over(self.engine)
        if over and self._follows_another_engine:
            self._check_parent(done)
            done = []
        self._commit(
            done, at_goal=over, stop=None if over else self._budget.stop(self.controls.budget)
        )
        if over or replay.has_parted:
            self._committer.wait()
            replay.settle()
            self._goal_replay = None
            self._pace = Pace(self.engine.now, self.controls.speed)
            cluster_prepare(self.engine, self.run_id)
            publish_head(self.run_id, self.engine.seq)

    def _advance_replay(self, replay: GoalReplay) -> None:
        try:
            replay.advance(self.engine)
        except Diverged as problem:
            if not self._follows_another_engine:
                raise
            fork = Run.objects.get(pk=self.run_id)
            raise RecordedOtherwise(fork, self.engine.seq + 1) from problem

    def _check_parent(self, done: list[slices.Done]) -> None:
        """Raises RecordedOtherwise if the replay differs from the history of the parent."""
        self._commit(done)
        self._committer.wait()
        fork = Run.objects.get(pk=self.run_id)
        parted = parting_seq(fork)
        if parted is not None:
            raise RecordedOtherwise(fork, parted)

    def _step(self) -> int:
        """Advance to the next event, or the end of the next cycle; if there is none, to the end."""
        unit = "cycle" if self.controls.step_unit == Run.StepUnit.CYCLE else "event"
        renewed = time.monotonic()
        while (due := self.engine.next_at) is not None and due <= self._end():
            if self.engine.advance(due, stop=unit) or is_halted(self.engine):
                break
            if time.monotonic() - renewed > 1:
                self._alive()
                renewed = time.monotonic()
        self._pace = Pace(self.engine.now, self.controls.speed)
        return 1

    def _end(self) -> int:
        """The last moment that the user wants to see."""
        until = self.controls.until
        return _FAR if until is None else until

    def _stretch(self) -> None:
        """As much virtual time as the speed gives, for at most SLICE_SECONDS of computing."""
        if self._pace.speed != self.controls.speed:
            self._pace = Pace(self.engine.now, self.controls.speed)
        self._pace.advance(self.engine, self._end())

    def _stretch_to_decision(self) -> bool:
        """Advance until the pod is bound or refused, or until `until_pod_by`; whether that came."""
        engine, controls = self.engine, self.controls
        at, by = controls.until_pod_at or 0, controls.until_pod_by
        wait = self._attempts.wait(controls.awaited_pod, at, by)
        deadline = time.monotonic() + SLICE_SECONDS
        while time.monotonic() < deadline:
            due = engine.next_at
            if due is None or is_halted(engine):
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
            if self._attempts.decide(wait, events, engine.now):
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
        measures.UNEXPECTED.inc(engine.unexpected - self._unexpected)
        self._unexpected = engine.unexpected
        piece = engine.take()
        if self._goal_replay is not None:
            at_goal = self._goal_replay.hear(piece.rows, at_goal=at_goal)
        head = _head_of(engine, self.commands, self._budget.memory.used)
        before, self._head = self._head, head
        commit = slices.Commit(
            packed=slices.slice_packed(piece),
            head=head,
            before=before,
            done=done or (),
            outcomes=slices.outcomes_of(done or ()),
            steps_taken=steps,
            wake=any(each.applied for each in done or ()) and engine.next_at is not None,
            at_end=at_end,
            at_goal=at_goal,
            at_decision=at_decision,
            stop=stop,
            saved=self._checkpoints.take(
                engine, self.commands, self._alive, at_rest=at_end or at_decision or bool(stop)
            ),
        )
        self._keeper.renewed()
        known = self._committer.begin(commit)
        waits = done or steps or at_end or at_decision or stop
        if waits or self.controls.status != Run.Status.PLAYING:
            known = self._committer.wait()
        self.controls = known or self.controls
        self._committed = time.monotonic()


_FAR = 2**62


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


def _sleep_until_woken(listener: WakeListener, seconds: float) -> None:
    try:
        listener.sleep(seconds)
    except redis.RedisError as problem:
        log.warning("no nudges: %s", problem)
        time.sleep(min(seconds, 0.2))


def _others_wait() -> bool:
    """Whether another run waits for a worker."""
    with connection.cursor() as cursor:
        return bool(slices.run_needs_driver(cursor))


def is_halted(engine: Cluster) -> bool:
    """Whether the engine goes no further, for now or for good."""
    return bool(engine.failure) or engine.budget_stop is not None


class Pace:
    """The virtual time that a run should have reached, by the wall clock and its speed."""

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

    def advance(self, engine: Cluster, end: int) -> None:
        """Bring the *engine* to where it should be by now, but no further than *end*.

        Stops after SLICE_SECONDS of computing. Where nothing is due any more, time still moves on
        to an *end*; without one it stays.
        """
        deadline = time.monotonic() + SLICE_SECONDS
        while time.monotonic() < deadline:
            due = engine.next_at
            target = self.now()
            if is_halted(engine) or (due is None and end == _FAR):
                return
            limit = end if target is None else min(target, end)
            if due is None or due > limit:
                engine.advance(limit)
                return
            # rest=False: where the run ends must not depend on the wall clock.
            engine.advance(limit, max_steps=CHUNK, rest=False)

    def seconds_until(self, at: int | None) -> float:
        """Wall seconds until virtual time *at* should be reached; 1 for never."""
        now = self.now()
        if at is None or now is None or self._factor is None:
            return 1.0
        return (at - now) / 1e9 / self._factor
