"""The rows of a large first state: written in steps, of which a killed driver loses none."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from django.db import connection

from engine.input.generate import synthetic
from engine.kernel.stepwise import finished
from kscope.runs import services
from kscope.runs.drive import runner, slices
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.drive.tables import unwritten
from kscope.runs.models import Run, RunEvent
from scheduling.findings.record_checks import run_findings
from scheduling.models import Pod
from tests.web.conftest import kept_scenario
from tests.web.drive.workers import Worker, begun
from tests.web.record.test_rows_at_rest import agree

pytestmark = pytest.mark.django_db(transaction=True)
ALL = Run.objects
STEP = 500


@pytest.fixture(autouse=True)
def steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps of so many rows that they are worth COPY."""
    monkeypatch.setattr(unwritten, "STEP", STEP)


def made(*, pods: int = 2_200, play: bool = False, like: Run | None = None) -> Run:
    """A run that nobody has driven, of the scenario of the one that it is *like*."""
    scenario = like.scenario if like else kept_scenario(synthetic(nodes=4, pods=pods, seed=1))
    return services.run_create(scenario=scenario, play=play, speed="max")


def taken(run: Run) -> int:
    epoch = slices.lease_take(run.pk, "another")
    assert epoch is not None
    return epoch


def forget_lease(run: Run) -> None:
    ALL.filter(pk=run.pk).update(lease_until=None)


def rows_of(run: Run) -> dict[str, tuple[str, bytes]]:
    """Of the row of each pod the transaction that wrote it, and what it says."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT key, xmin::text, manifest FROM scheduling_pod WHERE run_id = %s", [run.pk]
        )
        return {key: (xmin, bytes(manifest)) for key, xmin, manifest in cursor.fetchall()}


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each commit from now on writes."""
    found: list[int] = []
    commit = slices.slice_commit

    def noting(run_id: int, epoch: int, one: slices.Commit) -> slices.Controls:
        found.append(sum(len(each.rows) for each in one.packed.projections))
        return commit(run_id, epoch, one)

    monkeypatch.setattr(slices, "slice_commit", noting)
    return found


def undisturbed(monkeypatch: pytest.MonkeyPatch) -> tuple[Run, dict[str, bytes]]:
    """A run whose first state was written at once, and its rows."""
    with monkeypatch.context() as whole:
        whole.setattr(unwritten, "STEP", 1_000_000)
        run = made()
        runner.run_drive(run.pk)
    run.refresh_from_db()
    return run, {key: manifest for key, (_, manifest) in rows_of(run).items()}


def test_rows_of_first_states_come_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, rows = undisturbed(monkeypatch)
    run, written = made(like=whole), counted(monkeypatch)
    runner.run_drive(run.pk)
    assert written == [0, STEP, STEP, STEP, STEP, sum(written) - 4 * STEP]
    assert agree(run)
    assert run.head_digest == whole.head_digest
    assert {key: manifest for key, (_, manifest) in rows_of(run).items()} == rows


def test_each_step_is_a_state_of_its_event() -> None:
    run = made()
    seen: list[int] = []
    with begun(run.pk, taken(run)) as driver:
        finished(driver._commit())
        while (found := ALL.get(pk=run.pk)).rows_seq is not None:
            seen.append(found.rows_seq)
            engine = engine_at_head(found)
            assert run_findings(found, engine) == []
            events_of = engine.store.record.events_of
            pods = engine.store.objects("Pod")
            there = {pod.key for pod in pods if events_of(pod.id).newest <= found.rows_seq}
            assert {*Pod.objects.filter(run=run).values_list("key", flat=True)} == there
            finished(driver._slice())
    assert seen[0] == -1
    assert seen == sorted({*seen})
    assert agree(run)


def test_a_killed_driver_leaves_only_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, rows = undisturbed(monkeypatch)
    run = made(like=whole)
    worker = Worker(run.pk, STEP, hash_seed=0, does="build")
    for _ in range(2):
        worker.wait_for_step()
    assert worker.kill()
    run.refresh_from_db()
    assert run.rows_seq is not None
    before = rows_of(run)
    assert 0 < len(before) < len(rows)
    assert RunEvent.objects.filter(run=run).count() == run.head_seq == whole.head_seq
    forget_lease(run)
    written = counted(monkeypatch)
    runner.run_drive(run.pk)
    after = rows_of(run)
    # The same versions of the rows: no other transaction has written them.
    assert before.items() <= after.items()
    objects = ALL.get(pk=run.pk).head_objects
    assert sum(written) == objects - sum(1 for _ in _all_before(before, run))
    assert agree(run)
    assert run.head_digest == whole.head_digest
    assert {key: manifest for key, (_, manifest) in after.items()} == rows


def _all_before(pods: dict[str, Any], run: Run) -> Sequence[str]:
    """The pods, and the nodes, which come first of all."""
    return [*pods, *(f"node-{number}" for number in range(4))]


@pytest.mark.parametrize("play", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_commands_and_deaths_between_steps_lose_nothing(
    seed: int, play: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unwritten, "STEP", 20)
    chance = Random(seed)
    run = made(pods=200, play=play)
    for _ in range(3):
        with begun(run.pk, taken(run)) as driver:
            for _ in range(chance.randint(1, 4)):
                _change_something(run, driver.engine, chance)
                done = finished(driver._commands.carry_out(driver.engine, even_halted=True))
                finished(driver._commit(done, writes_rows=chance.random() < 0.8))
                driver.nudge()
                if play:
                    driver.engine.advance(driver.engine.now + 10**9, max_steps=30)
            finished(driver._commit())
            finished(driver._written())
            found = ALL.get(pk=run.pk)
            assert run_findings(found, driver.engine) == []
        forget_lease(run)
    ALL.filter(pk=run.pk).update(status=Run.Status.PAUSED)
    runner.run_drive(run.pk)
    assert agree(run)


def _change_something(run: Run, engine: Any, chance: Random) -> None:
    """Delete a pod for good, or delete it and create it again."""
    pod = chance.choice(engine.store.objects("Pod"))
    body: dict[str, Any] = {"verb": "delete", "object": pod.id, "grace_seconds": 0}
    services.command_submit(run=run, body=body)
    if chance.random() < 0.5:
        names = {"name": pod.name, "namespace": pod.namespace}
        spec = {"containers": [{"name": "c", "image": "another"}]}
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": names, "spec": spec}
        services.command_submit(run=run, body={"verb": "create", "manifest": manifest})
