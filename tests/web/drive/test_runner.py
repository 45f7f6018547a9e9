"""The runner: slices, steps, commands, leases and what a crash leaves."""

import time
from collections.abc import Callable
from random import Random

import pytest

from engine.input.generate import synthetic
from engine.kernel.view import State, fold
from kscope.runs import services
from kscope.runs.drive import checkpoints, runner, slices, writer
from kscope.runs.drive.beginning.clusters import cluster_create
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.drive.turns import stint
from kscope.runs.models import Command, Run, RunEvent
from kscope.runs.nudges import Outcome
from kscope.runs.selectors import run_state_at
from scheduling.findings.record_checks import run_findings
from scheduling.models import Node, Pod, SchedulingAttempt
from tests.web.conftest import kept_scenario
from tests.web.drive.workers import Worker, begun, committed

pytestmark = pytest.mark.django_db(transaction=True)


def seqs(run: Run) -> list[int]:
    return list(RunEvent.objects.filter(run=run).order_by("seq").values_list("seq", flat=True))


def test_a_run_played_out_is_finished_and_whole(driven: Run) -> None:
    assert driven.status == Run.Status.FINISHED
    assert seqs(driven) == list(range(1, driven.head_seq + 1))


def test_object_rows_show_the_final_state(driven: Run) -> None:
    assert Pod.objects.get(run=driven, key="default/web").phase == "Running"
    assert Pod.objects.get(run=driven, key="default/giant").node_name == ""
    assert set(Node.objects.filter(run=driven).values_list("zone", flat=True)) == {"za", "zb"}


def test_attempts_are_kept_with_their_evidence(driven: Run) -> None:
    attempt = SchedulingAttempt.objects.filter(run=driven, pod="default/giant").first()
    assert attempt is not None
    assert attempt.result == "unschedulable"
    assert attempt.evidence


def test_the_history_equals_one_without_database(driven: Run) -> None:
    cluster = cluster_create(driven)
    cluster.advance(60 * 10**9)
    cluster.take()
    assert driven.head_digest == cluster.digest()


def test_a_paused_run_takes_one_step_when_asked(start: Callable[..., Run]) -> None:
    run = start()
    runner.run_drive(run.pk)
    run.refresh_from_db()
    before = run.head_seq
    services.run_transport(run=run, action="step", unit="event")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.head_seq > before
    assert run.status == Run.Status.PAUSED
    assert run.steps_wanted == 0


def test_stepping_one_cycle_adds_one_attempt(start: Callable[..., Run]) -> None:
    run = start()
    services.run_transport(run=run, action="step", unit="cycle")
    runner.run_drive(run.pk)
    assert SchedulingAttempt.objects.filter(run=run).count() == 1


def test_commands_of_one_slice_keep_their_own_results(
    start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[Outcome]] = []
    monkeypatch.setattr(writer, "publish_slice", lambda _run, outcomes: told.append(outcomes))
    run = start()
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"v": "0"}}
    commands = [services.command_submit(run=run, body={"verb": "create", "manifest": one})]
    for value in "12":
        patch = {"verb": "patch", "object": "configmap/default/c", "patch": {"data": {"v": value}}}
        commands.append(services.command_submit(run=run, body=patch))
    commands.append(services.command_submit(run=run, body={**patch, "verb": "delete"}))
    runner.run_drive(run.pk)
    (outcomes,) = [each for each in told if each]
    assert [one.left and one.left[2]["data"]["v"] for one in outcomes] == ["0", "1", "2", None]
    for command, outcome in zip(commands, outcomes, strict=True):
        command.refresh_from_db()
        kept = (command.written_seq, command.created_seq, command.manifest)
        assert kept == (outcome.left or (None, None, None))


def test_consequences_of_commands_are_written_after_their_outcome(
    start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    slices_written: list[tuple[bool, set[str]]] = []
    commit = slices.slice_commit

    def noted(run_id: int, epoch: int, one: slices.Commit) -> slices.Controls:
        kinds = {row[2] for row in one.packed.rows if row[3] == "pod/default/mine"}
        slices_written.append((bool(one.done), kinds))
        return commit(run_id, epoch, one)

    monkeypatch.setattr(writer.slices, "slice_commit", noted)
    run = start(play=True, speed="max")
    spec = {"containers": [{"name": "c", "image": "app:1"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine"}, "spec": spec}
    services.command_submit(run=run, body={"verb": "create", "manifest": pod})
    runner.run_drive(run.pk)
    (answered,) = [kinds for done, kinds in slices_written if done]
    assert "PodBound" not in answered
    assert any("PodBound" in kinds for _, kinds in slices_written)


def test_a_command_is_applied_even_while_paused(start: Callable[..., Run]) -> None:
    run = start()
    command = services.command_submit(run=run, body={"verb": "cordon", "object": "node/n1"})
    runner.run_drive(run.pk)
    command.refresh_from_db()
    assert command.status == Command.Status.APPLIED
    assert RunEvent.objects.get(run=run, seq=command.outcome_seq).kind == "NodeCordoned"
    assert Node.objects.get(run=run, key="n1").unschedulable


def test_a_refused_command_says_why(start: Callable[..., Run]) -> None:
    run = start()
    command = services.command_submit(run=run, body={"verb": "delete", "object": "node/nobody"})
    runner.run_drive(run.pk)
    command.refresh_from_db()
    assert command.status == Command.Status.REJECTED
    assert command.reason == 'NotFound: Node "nobody" not found'


def test_who_lost_the_lease_writes_nothing(start: Callable[..., Run]) -> None:
    run = start()
    epoch = slices.lease_take(run.pk, "first")
    assert epoch is not None
    with begun(run.pk, epoch) as driver:
        Run.objects.filter(pk=run.pk).update(lease_until=None)
        assert slices.lease_take(run.pk, "second") == epoch + 1
        head = Run.objects.get(pk=run.pk).head_seq
        driver.engine.advance(10**10)
        with pytest.raises(slices.LostLease):
            committed(driver)
    assert Run.objects.get(pk=run.pk).head_seq == head == len(seqs(run))


def test_a_second_driver_leaves_an_owned_run_alone(start: Callable[..., Run]) -> None:
    run = start(play=True, speed="max")
    assert slices.lease_take(run.pk, "owner")
    runner.run_drive(run.pk)
    assert Run.objects.get(pk=run.pk).head_seq == 0


def test_commands_longer_than_slices_spread_over_commits(
    start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start()
    for name in ("one", "two", "three"):
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        services.command_submit(run=run, body={"verb": "create", "manifest": manifest})
    committed: list[int] = []

    def commit(run_id: int, epoch: int, kept: slices.Commit) -> slices.Controls:
        committed.append(len(kept.done))
        return slice_commit(run_id, epoch, kept)

    slice_commit = slices.slice_commit
    monkeypatch.setattr(slices, "slice_commit", commit)
    monkeypatch.setattr(stint, "SLICE_SECONDS", 0)
    runner.run_drive(run.pk)
    assert [count for count in committed if count] == [1, 1, 1]


def test_the_state_at_any_event_is_the_fold(driven: Run) -> None:
    state: State = {}
    for event in RunEvent.objects.filter(run=driven).order_by("seq"):
        fold(state, event.changes or {})
        if event.seq % 7 == 0 or event.seq == driven.head_seq:
            assert run_state_at(driven, seq=event.seq).state == state


def test_the_end_of_a_run_is_saved(
    start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "END_EVENTS", 1)
    run = start(play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    assert run.checkpoints.latest("seq").seq == run.head_seq


def test_each_checkpoint_has_a_keyframe(driven: Run) -> None:
    keyframes = set(driven.keyframes.values_list("seq", flat=True))
    assert set(driven.checkpoints.values_list("seq", flat=True)) <= keyframes != set()


def test_equal_scenario_and_seed_give_equal_digests(start: Callable[..., Run]) -> None:
    runs = [start(play=True, speed="max") for _ in range(2)]
    for run in runs:
        runner.run_drive(run.pk)
        run.refresh_from_db()
    assert runs[0].head_digest == runs[1].head_digest


def drive_and_kill(run: Run, chance: Random) -> bool:
    """Drive the run in a process of its own and kill -9 it at some moment; whether it was hit."""
    chunk = chance.randint(1, 40)
    worker = Worker(run.pk, chunk, hash_seed=chance.randint(0, 1))
    time.sleep(chance.random() * 0.25)
    hit = worker.kill()
    # What five seconds would do.
    Run.objects.filter(pk=run.pk).update(lease_until=None)
    return hit


def test_a_first_state_is_kept_without_engine(start: Callable[..., Run]) -> None:
    run = start()
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert [each.seq for each in run.keyframes.all()] == [run.head_seq]
    assert not run.checkpoints.exists()
    engine = engine_at_head(run)
    engine.take()
    assert engine.digest() == run.head_digest
    assert engine.view() == run_state_at(run, seq=run.head_seq).state


@pytest.mark.slow
def test_killing_the_worker_twenty_times_changes_nothing() -> None:
    scenario = kept_scenario(synthetic(nodes=60, pods=900, seed=3))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    chance = Random(20)
    hits = 0
    while hits < 20 and Run.objects.get(pk=run.pk).status == Run.Status.PLAYING:
        hits += drive_and_kill(run, chance)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    assert hits >= 15
    assert seqs(run) == list(range(1, run.head_seq + 1))
    cluster = cluster_create(run)
    while (due := cluster.next_at) is not None:
        cluster.advance(due)
    cluster.take()
    assert run.head_digest == cluster.digest()
    assert run_findings(run, cluster) == []
    assert run.rows_seq is None
