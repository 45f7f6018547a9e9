"""Runs and streams when something around them breaks, is slow, or is short of workers."""

import asyncio
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from queue import Queue
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, connections
from django.db.models import F
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError as BrokerDown
from psycopg import Connection

from engine.cluster.cluster import Cluster
from engine.input.loader import load_files
from kscope.celery import app as celery
from kscope.runs import services
from kscope.runs.app_registry import registry
from kscope.runs.drive import engines, outage, slices
from kscope.runs.drive.beginning import clusters
from kscope.runs.drive.checkpoints import engine_bytes
from kscope.runs.drive.ending import cut_off
from kscope.runs.drive.ending.cut_off import sessions_end
from kscope.runs.drive.ending.stopping import stop_ask, stop_unask
from kscope.runs.drive.hosting import fleet
from kscope.runs.manifests.packer import Packer
from kscope.runs.models import Checkpoint, Run, RunEvent, Scenario
from kscope.runs.stream import streaming
from scheduling import tasks
from scheduling.tasks import adopt, sweep_runs
from tests.waiting import HANG_SECONDS, wait_for
from tests.web.conftest import CLUSTER, drive, in_thread, wait_until_beyond

Start = Callable[..., Run]
Answer = Callable[..., Any]


def test_uploading_a_demo_file_keeps_the_demo(scenario: Scenario) -> None:
    again = load_files([("small.yaml", CLUSTER.encode())])
    services.scenario_store(name="small", result=again, is_demo=True, position=3)
    services.scenario_store(name="small", result=again)
    scenario.refresh_from_db()
    assert (scenario.is_demo, scenario.position) == (True, 3)


@pytest.fixture
def stopping() -> Iterator[None]:
    """Whatever a test asked of the drivers, those of later tests drive on."""
    yield
    stop_unask()


def test_a_stopping_worker_gives_its_run_back(start: Start, stopping: None) -> None:
    run = start(play=True, speed="1")
    driver = in_thread(run)
    wait_until_beyond(run, 0)
    stop_ask()
    driver.join(HANG_SECONDS)
    assert not driver.is_alive()
    run.refresh_from_db()
    assert (run.status, run.lease_until) == (Run.Status.PLAYING, None)


def test_giving_a_run_back_leaves_its_history_unchanged(start: Start, stopping: None) -> None:
    whole, parted = start(play=True, speed="max"), start(play=True, speed="100")
    drive(whole.pk)
    while parted.status == Run.Status.PLAYING:
        stop_unask()
        driver = in_thread(parted)
        wait_until_beyond(parted, parted.head_at)
        stop_ask()
        driver.join()
        parted.refresh_from_db()
    whole.refresh_from_db()
    assert (parted.status, parted.head_digest) == (Run.Status.FINISHED, whole.head_digest)


def test_stopping_during_a_replay_changes_nothing(start: Start, stopping: None) -> None:
    run = start(play=True, speed="max")
    drive(run.pk)
    engines._live.clear()
    Run.objects.filter(pk=run.pk).update(status=Run.Status.PLAYING)
    before = Run.objects.get(pk=run.pk)
    stop_ask()
    drive(run.pk)
    run.refresh_from_db()
    assert (run.status, run.error, run.lease_until) == (Run.Status.PLAYING, "", None)
    assert (run.head_seq, run.head_digest) == (before.head_seq, before.head_digest)


def test_runs_do_not_fill_the_sweepers_queue() -> None:
    route = celery.amqp.router.route({}, sweep_runs.name)
    assert route["queue"].name == "sweeps"
    assert celery.amqp.router.route({}, adopt.name)["queue"].name == "kscope"


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers leave their runs at once when the database is away."""
    monkeypatch.setattr(outage, "PATIENCE_SECONDS", 0.0)


@pytest.mark.usefixtures("no_patience")
def test_a_database_outage_does_not_fail_the_run(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(play=True, speed="max")
    with monkeypatch.context() as away:
        away.setattr(slices, "slice_commit", breaking(slices.slice_commit, {2}))
        in_thread(run).join()
    run.refresh_from_db()
    assert run.status == Run.Status.PLAYING
    Run.objects.update(lease_until=None)
    in_thread(run).join()
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED


def breaking(ask: Answer, when: Collection[int], *, afterwards: bool = False) -> Answer:
    """*ask*, with the connection lost at those times, counted from 1, before or after the answer."""
    calls: list[int] = []

    def broken(*args: Any, **named: Any) -> Any:
        calls.append(1)
        is_lost = len(calls) in when
        answer = None if is_lost and not afterwards else ask(*args, **named)
        if is_lost:
            raise OperationalError("server closed the connection unexpectedly")
        return answer

    return broken


def once_played(start: Start) -> Run:
    """A run that nothing has disturbed."""
    run = start(play=True, speed="max")
    in_thread(run).join()
    run.refresh_from_db()
    return run


@pytest.mark.parametrize("afterwards", [False, True], ids=["nothing written", "answer lost"])
def test_driver_keeps_its_run_through_an_outage(
    start: Start, monkeypatch: pytest.MonkeyPatch, afterwards: bool
) -> None:
    whole, run = once_played(start), start(play=True, speed="max")
    # Each slice at the first attempt, so also the one with a checkpoint.
    commit = breaking(slices.slice_commit, range(1, 1_000, 2), afterwards=afterwards)
    monkeypatch.setattr(slices, "slice_commit", commit)
    monkeypatch.setattr(outage, "PAUSE_SECONDS", 0.01)
    in_thread(run).join()
    run.refresh_from_db()
    assert (run.status, run.lease_epoch) == (Run.Status.FINISHED, 1)
    assert run.head_digest == whole.head_digest
    seqs = RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True)
    assert list(seqs) == list(range(1, run.head_seq + 1))
    newest = Checkpoint.objects.filter(run=run).latest("seq")
    assert Cluster.restore(engine_bytes(newest)).digest() == whole.head_digest


def test_commands_wait_until_the_database_is_back(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start()
    services.command_submit(run=run, body={"verb": "cordon", "object": "node/n1"})
    for name in ("commands_pending", "controls_read"):
        monkeypatch.setattr(slices, name, breaking(getattr(slices, name), {1, 2}))
    in_thread(run).join()
    run.refresh_from_db()
    assert (run.head_commands, run.lease_epoch) == (1, 1)


@pytest.mark.parametrize(
    "place",
    [
        "kscope.runs.drive.driver.wanted_of",
        "kscope.runs.drive.slices.lease_renew",
        "kscope.runs.drive.beginning.clusters.loaded_of",
        "kscope.runs.drive.driver.replay_to_goal",
        "kscope.runs.drive.slices.slice_commit",
    ],
)
def test_a_first_state_waits_for_the_database(
    start: Start, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    whole, run = once_played(start), start(play=True, speed="max")
    engines_of: list[int] = []
    prepare = clusters.cluster_prepare
    monkeypatch.setattr(
        clusters, "cluster_prepare", lambda *each: (engines_of.append(1), prepare(*each))
    )
    asked = breaking(import_string(place), {1, 2, 3})
    monkeypatch.setattr(place, asked)
    monkeypatch.setattr(outage, "PAUSE_SECONDS", 0.01)
    in_thread(run).join()
    run.refresh_from_db()
    assert (run.status, run.lease_epoch) == (Run.Status.FINISHED, 1)
    assert run.head_digest == whole.head_digest
    # What was built by then is not built again.
    assert engines_of == [1]


def test_a_first_state_does_not_wait_for_ever(
    start: Start, monkeypatch: pytest.MonkeyPatch, no_patience: None
) -> None:
    run = start(play=True, speed="max")
    with monkeypatch.context() as away:
        away.setattr(clusters, "loaded_of", breaking(clusters.loaded_of, range(1, 1_000)))
        in_thread(run).join()
    run.refresh_from_db()
    assert (run.status, run.error, run.is_started) == (Run.Status.PLAYING, "", False)
    Run.objects.update(lease_until=None)
    in_thread(run).join()
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED


def test_who_took_a_run_meanwhile_keeps_it(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run, commit = start(play=True, speed="max"), slices.slice_commit
    before: list[int] = []

    def be_late(*slice_: Any) -> slices.Controls:
        if len(before) == 1:
            Run.objects.update(lease_epoch=F("lease_epoch") + 1, lease_owner="another")
            before.append(Run.objects.get(pk=run.pk).head_seq)
            raise OperationalError("server closed the connection unexpectedly")
        if not before:
            before.append(0)
        return commit(*slice_)

    monkeypatch.setattr(slices, "slice_commit", be_late)
    in_thread(run).join()
    run.refresh_from_db()
    assert (run.status, run.lease_owner) == (Run.Status.PLAYING, "another")
    assert run.head_seq == before[1]


def test_a_connection_cut_during_commit_fails_no_run(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, write = start(play=True, speed="max"), slices._write_objects
    cut: list[int] = []

    def cut_once(link: Any, run_id: int, objects: Any, **how: bool) -> None:
        if not cut:
            cut.append(link.info.backend_pid)
            another = connection.copy()
            with another.cursor() as cursor:
                cursor.execute("SELECT pg_terminate_backend(%s, 10000)", cut)
            another.close()
        write(link, run_id, objects, **how)

    monkeypatch.setattr(slices, "_write_objects", cut_once)
    in_thread(run).join()
    run.refresh_from_db()
    assert cut
    assert (run.status, run.error, run.lease_epoch) == (Run.Status.FINISHED, "", 1)


def test_who_is_cut_off_lets_go(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_the_middle_of_a_slice(start(), monkeypatch) as (run, pid):
        sessions_end([run.pk])
        assert is_connected(pid)
        monkeypatch.setattr(cut_off, "CUT_OFF_SECONDS", 0)
        sessions_end([run.pk])
        wait_for(lambda: not is_connected(pid), "it is not let go", every=0.05)


def test_a_slow_owner_keeps_its_run(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    run = start()
    assert slices.lease_take(run.pk, "slow")
    run.refresh_from_db()
    monkeypatch.setattr(cut_off, "CUT_OFF_SECONDS", 0)
    with in_the_middle_of_a_slice(run, monkeypatch) as (_, pid):
        sessions_end([run.pk])
        assert is_connected(pid)


@contextmanager
def in_the_middle_of_a_slice(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Run, int]]:
    """A session that copies rows of the run, and waits for more; and its number."""
    pids, goes_on = Queue[int](), threading.Event()

    def hang(link: Connection, *rest: object) -> None:
        with suppress(psycopg.OperationalError), link.cursor().copy("COPY runs_run FROM STDIN"):
            pids.put(link.info.backend_pid)
            goes_on.wait()

    def write() -> None:
        commit = slices.Commit(packed=slices.rows_packed({}, Packer()), head=HEAD)
        with suppress(OperationalError):
            slices.slice_commit(run.pk, run.lease_epoch, commit)
        connection.close()

    monkeypatch.setattr(slices, "FEW_ROWS", -1)
    monkeypatch.setattr(slices, "events_add", hang)
    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield run, pids.get(timeout=HANG_SECONDS)
    finally:
        goes_on.set()
        thread.join()


HEAD = slices.Head(seq=1, at=1, steps=1, commands=0, digest="", next_at=None)


def is_connected(pid: int) -> bool:
    """Whether PostgreSQL has a process with this number, by another connection."""
    another = connection.copy()
    try:
        with another.cursor() as cursor:
            cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid])
            return cursor.fetchone() is not None
    finally:
        another.close()


def test_the_lease_holds_while_an_engine_is_built(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = engines.cluster_creating
    building, was_tried = threading.Event(), threading.Event()

    def slowly(run: Run) -> Any:
        building.set()
        was_tried.wait(HANG_SECONDS)
        return build(run)

    monkeypatch.setattr(slices, "LEASE", "0 seconds")
    monkeypatch.setattr(engines, "cluster_creating", slowly)
    run = start()
    owner = in_thread(run)
    try:
        assert building.wait(HANG_SECONDS)
        assert slices.lease_take(run.pk, "another") is None
    finally:
        was_tried.set()
        owner.join()


def test_a_run_is_queued_once_until_its_turn(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every sweep adds a message, and who comes last waits for all of them."""
    run, sent = start(), list[int]()
    monkeypatch.setattr(tasks.adopt, "delay", sent.append)
    for _ in range(3):
        tasks.enqueue(run.pk)
        tasks.sweep_runs()
    assert sent == [run.pk]
    monkeypatch.setattr(fleet, "fleet", fleet.Fleet(0, lambda death: None))
    tasks.adopt(run.pk)
    tasks.enqueue(run.pk)
    assert sent == [run.pk, run.pk]


def test_worker_that_drains_leaves_runs_to_others(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    draining = fleet.Fleet(0, lambda death: None)
    draining.drain()
    monkeypatch.setattr(fleet, "fleet", draining)
    sent: list[list[int]] = []
    monkeypatch.setattr(tasks.adopt, "apply_async", lambda told, countdown: sent.append(told))
    run = start()
    tasks.adopt(run.pk)
    assert sent == [[run.pk]]


def test_a_refused_command_leaves_a_finished_run_finished(start: Start) -> None:
    run = start(play=True, speed="max")
    in_thread(run).join()
    command = services.command_submit(run=run, body={"verb": "delete", "object": "node/nowhere"})
    in_thread(run).join()
    run.refresh_from_db()
    command.refresh_from_db()
    assert (command.status, run.status) == ("rejected", "finished")


def test_a_run_deleted_while_playing_leaves_no_rows(start: Start) -> None:
    run = start(play=True, speed="100")
    number, owner = run.pk, in_thread(run)
    wait_until_beyond(run, 0)
    services.run_delete(run=run)
    owner.join()
    assert not RunEvent.objects.filter(run_id=number).exists()
    assert not Checkpoint.objects.filter(run_id=number).exists()


def test_no_slice_follows_one_that_the_database_lost(start: Start, stopping: None) -> None:
    run = start(play=True, speed="1")
    owner = in_thread(run)
    wait_until_beyond(run, 0)
    Run.objects.filter(pk=run.pk).update(head_steps=F("head_steps") + 1000)
    try:
        wait_for(lambda: not owner.is_alive())
    finally:
        stop_ask()
        owner.join()
    run.refresh_from_db()
    assert run.head_steps > 1000
    assert (run.status, run.error) == (Run.Status.PLAYING, "")


def test_a_run_is_made_without_the_broker(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_run_id: int) -> None:
        raise BrokerDown("no broker")

    monkeypatch.setattr(tasks.adopt, "delay", refuse)
    monkeypatch.setattr(registry, "enqueue", tasks.enqueue)
    assert start().pk


def test_a_stream_that_could_not_load_tries_again(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, instant = start(), streaming._instant
    in_thread(run).join()
    calls: list[int] = []

    def break_once(run_id: int) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise OperationalError("server closed the connection")
        return instant(run_id)

    async def load() -> None:
        hub = streaming.Hub(run.pk, streaming.Room(streaming.hubs.memory))
        hub.start()
        try:
            await asyncio.wait_for(hub.ready.wait(), HANG_SECONDS)
        finally:
            await hub.stop()
            await hub.room.close()
            await sync_to_async(connections.close_all)()

    monkeypatch.setattr(streaming, "_instant", break_once)
    asyncio.run(load())
    assert len(calls) == 2
