"""A driver that computes for long keeps its run; one that hangs, or builds in vain, says so."""

import gc
import io
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from django.db import connection

from engine.cluster import initial_objects
from kscope.runs.drive import engines, garbage, keeper, runner, slices
from kscope.runs.drive.ending import stuck
from kscope.runs.drive.ending.stopping import stop_ask, stop_unask
from kscope.runs.drive.garbage import GROWTH_BYTES, GrowthCollector
from kscope.runs.drive.hosting.fleet import Member
from kscope.runs.drive.hosting.loop import Loop
from kscope.runs.drive.keeper import Build, Keeper
from kscope.runs.drive.replay import Making
from kscope.runs.models import Run

Start = Callable[..., Run]


class Clocks:
    """What a keeper measures, and the ends of processes that it asks for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = self.cpu = 0.0
        self.ended = 0
        monkeypatch.setattr(keeper, "monotonic", lambda: self.now)
        monkeypatch.setattr(keeper, "_cpu_clock_of_this_thread", lambda: lambda: self.cpu)
        monkeypatch.setattr(keeper, "_end_process", self._end)

    def _end(self) -> None:
        self.ended += 1

    def pass_by(self, kept: Keeper, seconds: float, *, cpu: float) -> None:
        """Let *seconds* pass, during which the driver takes *cpu* of the processor."""
        for _ in range(round(seconds * 2)):
            self.now += 0.5
            self.cpu += cpu / (seconds * 2)
            kept.look()
            if self.ended:
                return


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@dataclass
class Owned:
    """A driver that has taken a run, and builds its first state."""

    run_id: int
    epoch: int
    build: Build | None = field(default_factory=lambda: Build(None))
    controls: slices.Controls | None = None
    renewed_at: float = 0.0
    writing_since: float | None = None

    @property
    def progress(self) -> int:
        return self.build.objects if self.build else 0


class Owners:
    """A loop that has this one, whose turn it is."""

    def __init__(self, owner: Owned) -> None:
        self.owner = owner
        self.lost: list[tuple[int, int]] = []
        self.nudged: list[int] = []

    def owned(self) -> list[Owned]:
        return [self.owner]

    def current(self) -> Owned:
        return self.owner

    def lose(self, run_id: int, epoch: int) -> None:
        self.lost.append((run_id, epoch))

    def nudge(self, run_id: int) -> None:
        self.nudged.append(run_id)


class Kept(Keeper):
    """A keeper that looks when it is told to, and what it keeps."""

    def __init__(self, owner: Owned) -> None:
        self.owner = owner
        self.owners = Owners(owner)
        super().__init__(self.owners)


def owned(run: Run) -> Kept:
    epoch = slices.lease_take(run.pk, "worker")
    assert epoch is not None
    return Kept(Owned(run.pk, epoch))


def seconds_left(run: Run) -> float:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM lease_until - clock_timestamp())::float8 FROM runs_run"
            " WHERE id = %s",
            [run.pk],
        )
        return cursor.fetchone()[0]


def forget_lease(run: Run) -> None:
    """Let it end now."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runs_run SET lease_until = clock_timestamp() WHERE id = %s", [run.pk]
        )


def test_a_driver_that_computes_keeps_its_run(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    clocks.pass_by(kept, 200, cpu=50)
    forget_lease(run)
    clocks.pass_by(kept, 2, cpu=1)
    assert seconds_left(run) > 0
    assert clocks.ended == 0


def test_driver_that_waits_lets_others_take_its_run(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    clocks.pass_by(kept, 10, cpu=0)
    forget_lease(run)
    clocks.pass_by(kept, 10, cpu=0)
    assert seconds_left(run) < 0


def test_a_driver_that_waits_in_vain_is_ended(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    clocks.pass_by(kept, stuck.STUCK_SECONDS - 1, cpu=0)
    assert clocks.ended == 0
    clocks.pass_by(kept, 2, cpu=0)
    run.refresh_from_db()
    # What it waits for is not the run's fault: the next worker goes on with it.
    assert (clocks.ended, run.status) == (1, "playing")


def test_progress_gives_a_driver_new_time(start: Start, clocks: Clocks) -> None:
    kept = owned(start(play=True))
    for done in range(5):
        kept.owner.build.objects = done  # type: ignore[union-attr]
        clocks.pass_by(kept, stuck.STUCK_SECONDS - 1, cpu=0)
        stuck.moved_on()
        clocks.pass_by(kept, 300, cpu=stuck.STUCK_CPU_SECONDS - 1)
    assert clocks.ended == 0


def test_stuck_build_is_an_error_of_the_run(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    clocks.pass_by(kept, 10_000, cpu=stuck.STUCK_CPU_SECONDS + 1)
    assert clocks.ended == 1
    run.refresh_from_db()
    assert run.status == Run.Status.FAILED
    assert "no further for 300 s of CPU time while its first state was built" in run.error


def test_database_that_writes_for_long_ends_no_driver(
    start: Start, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = owned(start(play=True))
    monkeypatch.setattr(keeper, "leases_keep", lambda owners: {kept.owner.run_id: "locked"})
    kept.owner.writing_since = 0.0
    # The loop hosts others meanwhile.
    clocks.pass_by(kept, 5 * stuck.STUCK_SECONDS, cpu=50)
    assert clocks.ended == 0
    clocks.pass_by(kept, 6 * stuck.STUCK_SECONDS, cpu=50)
    assert clocks.ended == 1


def test_slice_lost_on_its_way_ends_the_driver(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    kept.owner.writing_since = 0.0
    clocks.pass_by(kept, 6, cpu=1)
    forget_lease(run)
    clocks.pass_by(kept, stuck.STUCK_SECONDS - 7, cpu=20)
    assert seconds_left(run) < 0
    assert clocks.ended == 0
    clocks.pass_by(kept, 2, cpu=1)
    assert clocks.ended == 1


def test_row_being_written_is_neither_kept_nor_taken(start: Start) -> None:
    run = start(play=True)
    kept = owned(run)
    forget_lease(run)
    others = connection.copy()
    with others.cursor() as cursor:
        cursor.execute("BEGIN; SELECT FROM runs_run FOR UPDATE")
        assert keeper.leases_keep([kept.owner]) == {run.pk: "locked"}
        assert slices.lease_take(run.pk, "another") is None
        cursor.execute("ROLLBACK")
    others.close()
    assert isinstance(keeper.leases_keep([kept.owner])[run.pk], keeper.Polled)


def test_keeper_leaves_a_longer_lease_as_it_is(start: Start) -> None:
    run = start(play=True)
    kept = owned(run)
    keeper.leases_keep([kept.owner])
    assert seconds_left(run) > 20


def test_lease_that_was_given_back_stays_so(start: Start) -> None:
    run = start(play=True)
    kept = owned(run)
    slices.lease_release(run.pk, kept.owner.epoch)
    keeper.leases_keep([kept.owner])
    assert slices.lease_take(run.pk, "another") == kept.owner.epoch + 1


def test_driver_whose_run_was_taken_builds_no_further(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    forget_lease(run)
    assert slices.lease_take(run.pk, "another") == 2
    clocks.pass_by(kept, 2, cpu=1)
    assert (run.pk, 1) in kept.owners.lost


def test_run_says_how_far_its_first_state_is(start: Start, clocks: Clocks) -> None:
    run = start(play=True)
    kept = owned(run)
    kept.owner.build.objects, kept.owner.build.of = 40_000, 155_000  # type: ignore[union-attr]
    clocks.pass_by(kept, 3, cpu=3)
    run.refresh_from_db()
    assert run.building is not None
    assert (run.building["objects"], run.building["of"]) == (40_000, 155_000)
    forget_lease(run)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert (run.is_started, run.building) == (True, None)


@pytest.fixture
def stopping() -> Any:
    yield
    stop_unask()


def told(monkeypatch: pytest.MonkeyPatch, then: Callable[[], None]) -> None:
    """Have *then* called whenever a build tells of its progress."""
    build = engines.cluster_creating

    def slowly(run: Run) -> Making:
        making = build(run)
        while True:
            then()
            try:
                yield next(making)
            except StopIteration as end:
                return end.value

    monkeypatch.setattr(initial_objects, "TOLD_EVERY", 1)
    monkeypatch.setattr(engines, "cluster_creating", slowly)


def test_a_stopping_worker_leaves_a_build(
    start: Start, monkeypatch: pytest.MonkeyPatch, stopping: None
) -> None:
    run = start(play=True)
    told(monkeypatch, stop_ask)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert (run.status, run.lease_until, run.head_seq) == ("playing", None, 0)


def test_build_that_needs_too_much_memory_says_so(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(play=True)
    monkeypatch.setattr(garbage, "resident_bytes", lambda: 9 * run.budget_memory)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FAILED
    assert run.error.startswith("The first state could not be built: at object 0 of 4 it takes")


def test_a_build_is_not_begun_again_for_ever(start: Start) -> None:
    run = start(play=True)
    for lost in range(keeper.MOST_LOST_BUILDS):
        assert Build(run.building).why_not == ""
        fields = {"lost": lost, "objects": 90, "of": 100, "seconds": 60.0, "memory": 2**31}
        Run.objects.filter(pk=run.pk).update(building=fields)
        run.refresh_from_db()
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FAILED
    assert "3 processes that built it ended without a word" in run.error
    assert "after 60 s, at object 90 of 100, with 2,048 MiB" in run.error


def test_build_that_was_killed_soon_is_not_counted() -> None:
    assert Build({"lost": 2, "objects": 0, "of": 9, "seconds": 9.0, "memory": 1}).why_not == ""


def test_no_garbage_is_collected_while_runs_are_made(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[bool] = []
    told(monkeypatch, lambda: looked.append(gc.isenabled()))
    runner.run_drive(start().pk)
    assert looked
    assert not any(looked)
    assert gc.isenabled()


def test_garbage_is_looked_for_as_memory_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    monkeypatch.setattr("kscope.runs.drive.garbage.gc.collect", lambda: collected.append(1))
    growth, used = GrowthCollector(), GROWTH_BYTES
    assert not growth.look(0)
    while used < 100 * GROWTH_BYTES:
        growth.look(used)
        used += GROWTH_BYTES // 10
    # So seldom that it costs nothing, so often that garbage stays below half of what is used.
    assert 5 < len(collected) < 20


@pytest.mark.parametrize("runs", [1, 2])
def test_only_a_full_process_of_several_frees_memory(
    start: Start, monkeypatch: pytest.MonkeyPatch, settings: Any, runs: int
) -> None:
    freed: list[int] = []
    settings.DRIVER_MEMORY_MIB = 1
    monkeypatch.setattr(garbage, "MEASURE_SECONDS", 0.0)
    monkeypatch.setattr(garbage, "give_back", lambda: freed.append(1))
    engines.engines_forget()
    loop = Loop()
    for _ in range(runs):
        loop.adopt(start(play=True, speed="max").pk)
    loop.run()
    assert bool(freed) == (runs > 1)


def test_engine_that_may_be_asked_is_kept(
    start: Start, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.DRIVER_MEMORY_MIB = 1
    engines.engines_forget()
    loop, run = Loop(), start(play=True, speed="max")
    loop.adopt(run.pk)
    loop.run()
    engines._live[run.pk].memory = 2**30
    loop._look_at_memory(0.0)
    assert loop.engine_at_head(run.pk) is not None
    monkeypatch.setattr(engines, "ASKED_SECONDS", -1.0)
    loop._look_at_memory(0.0)
    assert loop.engine_at_head(run.pk) is None


def test_kept_engine_gives_way_to_another_run(start: Start, settings: Any) -> None:
    settings.DRIVER_MEMORY_MIB = 1
    engines.engines_forget()
    loop, run = Loop(), start(play=True, speed="max")
    loop.adopt(run.pk)
    loop.run()
    engines._live[run.pk].memory = 2**30
    loop = Loop()
    loop.adopt(run.pk)
    loop._look_at_memory(0.0)
    assert engines.engine_kept_of(run.pk) is not None
    loop.adopt(start(play=True, speed="max").pk)
    loop._look_at_memory(0.0)
    assert engines.engine_kept_of(run.pk) is None
    loop.run()


def test_process_with_kept_engine_takes_other_runs(settings: Any) -> None:
    settings.DRIVER_MEMORY_MIB = 100
    member = Member(cast("Any", None), io.BytesIO(), cast("Any", None), memory_mib=200)
    assert not member.is_full
    assert member.load > (False, 99, 99)
    member.runs.add(1)
    assert member.is_full


def test_growth_of_a_first_state_is_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    monkeypatch.setattr("kscope.runs.drive.garbage.gc.collect", lambda: collected.append(1))
    growth = GrowthCollector()
    for used in range(1, 100):
        growth.expect(used * GROWTH_BYTES)
    assert not growth.look(100 * GROWTH_BYTES)
    assert growth.look(200 * GROWTH_BYTES)
    assert len(collected) == 1


def test_thread_of_a_keeper_ends_with_its_driver(start: Start) -> None:
    run = start(play=True, speed="max")
    runner.run_drive(run.pk)
    assert not [one for one in threading.enumerate() if one.name == "keep"]
