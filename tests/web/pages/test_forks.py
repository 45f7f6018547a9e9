"""Forks: the same history up to an instant, and another way from there."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from django.test import Client

from engine.input.generate import synthetic
from engine.kernel.recorder import Event
from kscope.runs import services
from kscope.runs.drive import checkpoints, runner
from kscope.runs.drive.decided import pod_is_decided
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Checkpoint, Command, Run, RunEvent, Scenario
from scheduling.models import Node, Pod, SchedulingAttempt
from tests.web.conftest import driving, kept_scenario
from tests.web.drive.test_runner import drive_and_kill

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")


def events(run: Run, upto: int | None = None) -> list[tuple[Any, ...]]:
    found = RunEvent.objects.filter(run=run).order_by("seq").values_list(*FIELDS)
    return list(found if upto is None else found.filter(seq__lte=upto))


def drive(run: Run) -> Run:
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def forked(run: Run, **choice: Any) -> Run:
    return drive(services.run_fork(run=run, **choice))


def play(run: Run) -> Run:
    services.run_transport(run=run, action="play", speed="max")
    return drive(run)


def command(run: Run, **body: Any) -> Command:
    found = services.command_submit(run=run, body=body)
    drive(run)
    found.refresh_from_db()
    return found


def objects(run: Run) -> dict[str, Any]:
    rows = [*Pod.objects.filter(run=run), *Node.objects.filter(run=run)]
    return {row.entity: row.manifest for row in rows}


def test_a_fork_of_the_head_equals_the_run(driven: Run) -> None:
    fork = forked(driven)
    assert events(fork) == events(driven)
    assert fork.head_digest == driven.head_digest
    assert (fork.head_at, fork.head_steps) == (driven.head_at, driven.head_steps)
    assert objects(fork) == objects(driven)
    assert (fork.status, fork.goal_at) == (Run.Status.PAUSED, None)


def test_a_fork_remembers_where_it_came_from(driven: Run) -> None:
    seq = driven.head_seq // 2
    fork = forked(driven, seq=seq, name="what if")
    assert (fork.parent, fork.forked_seq, fork.name) == (driven, seq, "what if")
    assert fork.forked_at == RunEvent.objects.get(run=driven, seq=seq).at


def test_a_fork_has_its_parents_events_and_rests(driven: Run) -> None:
    for seq in range(0, driven.head_seq + 1, 5):
        fork = forked(driven, seq=seq)
        assert fork.head_seq >= seq
        assert events(fork) == events(driven, fork.head_seq)
        # Beyond the event it has at most what the same step recorded.
        assert {row[1] for row in events(fork)[seq:]} <= {fork.forked_at}
        assert fork.status == Run.Status.PAUSED


def test_a_played_fork_follows_its_parents_history(driven: Run) -> None:
    fork = play(forked(driven, seq=driven.head_seq // 2))
    assert fork.head_digest == driven.head_digest
    assert objects(fork) == objects(driven)


def test_attempts_come_along_and_go_on(driven: Run) -> None:
    fork = play(forked(driven, seq=driven.head_seq // 2))
    names = ("pod", "number", "seq", "at", "result", "node", "evidence")
    told = [
        list(SchedulingAttempt.objects.filter(run=run).order_by("id").values_list(*names))
        for run in (driven, fork)
    ]
    assert [[bytes(row[-1]) for row in rows] for rows in told][0]
    assert [row[:-1] for row in told[0]] == [row[:-1] for row in told[1]]


def test_after_a_command_a_fork_goes_another_way(driven: Run) -> None:
    before_late = RunEvent.objects.filter(run=driven, at__lt=2_000_000_000).order_by("-seq")[0].seq
    fork = forked(driven, seq=before_late)
    assert command(fork, verb="cordon", object="node/n2").status == Command.Status.APPLIED
    assert command(fork, verb="cordon", object="node/n1").status == Command.Status.APPLIED
    fork = play(fork)
    assert events(fork, before_late) == events(driven, before_late)
    assert Pod.objects.get(run=driven, key="default/late").node_name
    assert Pod.objects.get(run=fork, key="default/late").node_name == ""


def test_a_fork_repeats_its_parents_commands_in_place(
    start: Callable[..., Run],
) -> None:
    run = drive(start())
    for _ in range(8):
        services.run_transport(run=run, action="step", unit="event")
    drive(run)
    command(run, verb="cordon", object="node/n1")
    command(run, verb="delete", object="node/nobody")
    run = play(run)
    middle = Command.objects.filter(run=run)[0].outcome_seq or 0
    for seq in (middle - 1, middle, middle + 3, run.head_seq):
        fork = forked(run, seq=seq)
        assert events(fork) == events(run, fork.head_seq)
        names = ("verb", "status", "reason", "ordinal", "position", "at", "outcome_seq")
        done = list(
            Command.objects.filter(run=run, outcome_seq__lte=fork.head_seq).values_list(*names)
        )
        assert list(Command.objects.filter(run=fork).values_list(*names)) == done


def test_a_fork_of_a_fork_keeps_both_histories(driven: Run) -> None:
    third, half = driven.head_seq // 3, driven.head_seq // 2
    fork = forked(driven, seq=third)
    command(fork, verb="cordon", object="node/n2")
    fork = play(fork)
    second = forked(fork, seq=half)
    assert events(second) == events(fork, second.head_seq)
    assert second.parent == fork
    assert play(second).head_digest == fork.head_digest


def test_a_fork_begins_where_a_command_came(driven: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its checkpoint stands exactly there, so that there is nothing to replay before the command."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_EVENTS", 1)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SHARE", 0)
    fork = forked(driven, seq=driven.head_seq // 3)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_EVENTS", 10**9)
    command(fork, verb="cordon", object="node/n2")
    fork = play(fork)
    second = forked(fork, seq=driven.head_seq // 2)
    assert play(second).head_digest == fork.head_digest


def test_another_profile_gets_the_commands_in_time(driven: Run) -> None:
    command(driven, verb="cordon", object="node/n1")
    fork = forked(driven, profile="v1.16", seed=7)
    assert (fork.profile, fork.seed, fork.head_at) == ("v1.16", 7, driven.head_at)
    assert RunEvent.objects.get(run=fork, seq=1).changes["run"]["profile"] == "v1.16"
    done = Command.objects.get(run=fork)
    assert (done.status, done.at) == (Command.Status.APPLIED, Command.objects.get(run=driven).at)
    assert Node.objects.get(run=fork, key="n1").unschedulable


def test_commands_during_a_replay_wait_until_its_end(driven: Run) -> None:
    fork = services.run_fork(run=driven, seq=driven.head_seq // 2)
    wish = services.command_submit(run=fork, body={"verb": "cordon", "object": "node/n1"})
    fork = drive(fork)
    wish.refresh_from_db()
    assert wish.outcome_seq is not None
    assert wish.outcome_seq > (fork.forked_seq or 0)
    assert events(fork, fork.forked_seq) == events(driven, fork.forked_seq)


def test_a_run_plays_until_a_pod_is_bound(driven: Run) -> None:
    fork = forked(driven, seq=1)
    services.run_transport(run=fork, action="play", until_pod="pod/default/late")
    fork = drive(fork)
    bound = RunEvent.objects.get(run=driven, kind="PodBound", object="pod/default/late")
    assert (fork.status, fork.until_pod, fork.head_at) == (Run.Status.PAUSED, "", bound.at)
    assert events(fork, bound.seq) == events(driven, bound.seq)
    assert fork.head_seq - bound.seq < 5


def test_a_run_plays_until_the_next_refusal(driven: Run) -> None:
    refused = RunEvent.objects.filter(run=driven, kind="FailedScheduling").order_by("seq")[0]
    fork = forked(driven, seq=1)
    services.run_transport(run=fork, action="play", until_pod=refused.object)
    fork = drive(fork)
    assert (fork.status, fork.head_at) == (Run.Status.PAUSED, refused.at)


def test_waiting_for_a_pod_in_vain_ends(driven: Run) -> None:
    fork = forked(driven, seq=1)
    services.run_transport(run=fork, action="play", until_pod="pod/default/nobody")
    fork = drive(fork)
    assert (fork.status, fork.until_pod) == (Run.Status.FINISHED, "")
    assert fork.head_digest == driven.head_digest


def test_a_nominated_pod_is_not_decided_on() -> None:
    def told(kind: str, **data: Any) -> Event:
        return Event(1, 0, kind, "pod/x/a", "scheduler", None, "", data or None, None)

    refused, nominated = told("FailedScheduling", type="Warning"), told("PodNominated")
    assert pod_is_decided([refused], "pod/x/a")
    assert not pod_is_decided([refused, nominated], "pod/x/a")
    assert not pod_is_decided([told("FailedScheduling", type="Normal")], "pod/x/a")
    assert not pod_is_decided([told("PodBound")], "pod/x/b")


def test_a_missing_event_is_refused_in_words(driven: Run) -> None:
    with pytest.raises(ApplicationError, match=f"the run has events 1 to {driven.head_seq}"):
        services.run_fork(run=driven, seq=driven.head_seq + 1)
    with pytest.raises(ApplicationError, match="seq is -1"):
        services.run_fork(run=driven, seq=-1)
    with pytest.raises(ApplicationError, match="v1.34"):
        services.run_fork(run=driven, profile="v9")
    assert Run.objects.count() == 1


def test_a_run_with_forks_can_be_deleted(driven: Run) -> None:
    fork = forked(driven)
    services.run_delete(run=driven)
    fork.refresh_from_db()
    assert (fork.parent_id, fork.forked_seq) == (None, fork.head_seq)


def test_an_unreadable_checkpoint_costs_time_only(driven: Run) -> None:
    Checkpoint.objects.filter(run=driven).update(engine=b"")
    fork = forked(driven, seq=driven.head_seq // 2)
    assert events(fork) == events(driven, fork.head_seq)
    assert "pod/default/web" in objects(fork)


def test_an_http_fork_answers_when_it_exists(client: Client, driven: Run) -> None:
    fork = services.run_fork(run=driven)
    assert fork.goal_at == driven.head_at
    with driving(Run(pk=fork.pk + 1)):
        body = {"seq": 20, "name": "other", "seed": 3}
        path = f"/api/v1/runs/{driven.pk}/fork/"
        answer = client.post(path, json.dumps(body), content_type="application/json")
    told = answer.json()
    assert answer.status_code == 201
    assert (told["parent"], told["forked_seq"], told["name"]) == (driven.pk, 20, "other")
    assert (told["seed"], told["goal_at"]) == (3, None)
    answer = client.post(path, '{"seq": 99999}', content_type="application/json")
    assert (answer.status_code, answer.json()["head"]) == (404, driven.head_seq)


@pytest.mark.slow
def test_a_worker_killed_while_forking_costs_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scenario = kept_scenario(synthetic(nodes=40, pods=500, seed=3))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    monkeypatch.setattr(checkpoints, "CHECKPOINT_EVENTS", 10**9)
    drive(run)
    seq = run.head_seq - 100
    fork = services.run_fork(run=run, seq=seq)
    chance, hits = Random(5), 0
    while hits < 8 and Run.objects.get(pk=fork.pk).goal_at is not None:
        hits += drive_and_kill(fork, chance)
    fork = drive(fork)
    assert fork.goal_at is None
    assert events(fork) == events(run, fork.head_seq)
    assert seq <= fork.head_seq < seq + 20
    assert hits >= 3


# Feature gates


GATE = "NodeDeclaredFeatures"


def test_a_fork_keeps_the_gates_of_its_parent(scenario: Scenario) -> None:
    run = services.run_create(
        scenario=scenario, profile="v1.36", feature_gates={GATE: False}, play=True, speed="max"
    )
    drive(run)
    created = RunEvent.objects.get(run=run, kind="RunCreated")
    assert created.changes is not None
    assert created.changes["run"]["feature_gates"] == {GATE: False}
    fork = forked(run)
    assert fork.feature_gates == {GATE: False}
    assert events(fork) == events(run)


def test_a_fork_with_other_gates_begins_anew(scenario: Scenario) -> None:
    run = drive(services.run_create(scenario=scenario, profile="v1.36", play=True, speed="max"))
    fork = forked(run, feature_gates={GATE: False})
    assert (fork.feature_gates, fork.goal_seq) == ({GATE: False}, None)


def test_another_profile_drops_gates_it_lacks(scenario: Scenario) -> None:
    run = services.run_create(scenario=scenario, profile="v1.36", feature_gates={GATE: False})
    assert services.run_fork(run=run, profile="v1.34").feature_gates == {}
    with pytest.raises(ApplicationError, match="v1.34 does not have this feature gate"):
        services.run_fork(run=run, profile="v1.34", feature_gates={GATE: False})


def test_the_gates_of_a_run_are_shown(client: Client, scenario: Scenario) -> None:
    asked = {"profile": "v1.36", "feature_gates": f"{GATE}=false"}
    client.post(f"/scenarios/{scenario.pk}/start/", asked)
    run = Run.objects.latest("pk")
    assert run.feature_gates == {GATE: False}
    assert f"{GATE}=false" in client.get(f"/runs/{run.pk}/").content.decode()
    answer = client.get(f"/api/v1/runs/{run.pk}/").json()
    assert answer["feature_gates"] == {GATE: False}
    client.post(f"/scenarios/{scenario.pk}/start/", {"feature_gates": "nonsense"})
    assert Run.objects.latest("pk") == run
