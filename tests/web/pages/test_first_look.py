"""The first look at files that were brought, over REST, and beginning again with another version."""

from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_files
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.versions.registry import DEFAULT
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run, Scenario
from scheduling.triages import first_look_parts_by_id

pytestmark = pytest.mark.django_db(transaction=True)

BROUGHT = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status:
  allocatable: {cpu: "2", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
  nodeInfo: {kubeletVersion: v1.20.15}
---
apiVersion: v1
kind: Pod
metadata: {name: giant}
spec: {containers: [{name: c, image: app:1, resources: {requests: {cpu: "3"}}}]}
status: {phase: Pending}
---
apiVersion: v1
kind: Event
metadata: {name: giant.1}
involvedObject: {kind: Pod, namespace: default, name: giant}
type: Warning
reason: FailedScheduling
message: "0/1 nodes are available: 1 Insufficient cpu."
lastTimestamp: "2026-11-27T10:00:00Z"
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
---
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: web}
"""
STEPS = (
    "apiVersion: kscope.dev/v1\nkind: Scenario\nspec: {steps: [{at: 1s, cordon: node/n1}]}\n---\n"
)


def stored(text: str) -> Scenario:
    """A scenario of a file with this text."""
    result = load_files([("brought.yaml", text.encode())], check=check_setup)
    return services.scenario_store(name="brought", result=result)


@pytest.fixture
def brought() -> Run:
    """A run of a small cluster as it stands, with one pod that fits nowhere."""
    return services.run_create(scenario=stored(BROUGHT))


def look_at(client: Client, run: Run) -> dict[str, Any]:
    return client.get(f"/api/v1/runs/{run.pk}/first-look/").json()


def test_a_first_look_names_the_cause(client: Client, brought: Run) -> None:
    look = look_at(client, brought)
    [cause] = look["causes"]
    assert "default/giant" in cause["cause"]
    assert (cause["holds"], look["headline"]) == ("1 pod", "1 cause holds 1 pod")
    assert cause["held"] == ["pod/default/giant"]
    assert look["instant"] == "2026-11-27T10:00:00Z"
    assert {"subject": "refusals", "same": 1, "of": 1, "all": 1} in look["trust"]


def test_what_was_read_comes_before_the_causes(client: Client, brought: Run) -> None:
    first, rest = first_look_parts_by_id(brought.pk)
    whole = look_at(client, brought)
    assert {"Pod", "Node"} <= {each["kind"] for each in first["read"]}
    assert "causes" not in first
    assert {**first, **rest} == whole
    assert not first.keys() & rest.keys()


def test_it_shows_what_was_left_aside_and_why(client: Client, brought: Run) -> None:
    report = look_at(client, brought)["report"]
    [file] = report["files"]
    assert (file["name"], file["bytes"]) == ("brought.yaml", len(BROUGHT))
    left = {each["kind"]: each for each in report["left_out"]}
    assert "requests stay as the pod says" in left["VerticalPodAutoscaler"]["note"]
    assert (left["Role"]["is_neutral"], left["Role"]["is_evidence"]) == (True, False)
    assert left["Event"]["is_evidence"]


def test_what_it_found_is_counted_among_the_runs(client: Client, brought: Run) -> None:
    triage = f'href="/runs/{brought.pk}/triage/"'
    for address in ("/", "/runs/"):
        assert triage not in client.get(address).content.decode()
    look_at(client, brought)
    for address in ("/", "/runs/"):
        page = client.get(address).content.decode()
        assert triage in page
        assert "1 stuck" in page
    [listed] = client.get("/api/v1/runs/").json()["items"]
    assert listed["stuck"] == 1


def test_a_scenario_with_steps_is_called_stuck_nowhere(client: Client) -> None:
    look = look_at(client, services.run_create(scenario=stored(STEPS + BROUGHT)))
    assert look["causes"] == []
    assert {each["kind"]: each["number"] for each in look["read"]} == {"Node": 1, "Pod": 1}


def test_the_kubelets_propose_the_version(client: Client, brought: Run) -> None:
    assert brought.profile == "v1.20"
    assert look_at(client, brought)["version"] == {
        "profile": "v1.20",
        "proposed": "v1.20",
        "because": "The kubelet says v1.20.15: that the scheduler is of the same is a guess.",
    }


def test_a_scenario_with_steps_keeps_the_default_version() -> None:
    assert services.run_create(scenario=stored(STEPS + BROUGHT)).profile == DEFAULT.name


# -- beginning again --------------------------------------------------------------------------------


def begin_again(client: Client, run: Run, **chosen: str) -> Run:
    """The run that is shown after the form was sent."""
    answer = client.post(f"/runs/{run.pk}/start-again/", chosen)
    return Run.objects.get(pk=int(answer.headers["Location"].split("/")[2]))


def test_an_untouched_run_is_replaced(client: Client, brought: Run) -> None:
    again = begin_again(client, brought, profile="v1.35")
    assert [each.pk for each in Run.objects.all()] == [again.pk]
    assert (again.profile, again.status, again.scenario_id) == (
        "v1.35",
        Run.Status.PAUSED,
        brought.scenario_id,
    )


def test_a_run_that_was_built_is_untouched_still(client: Client, brought: Run) -> None:
    runner.run_drive(brought.pk)
    begin_again(client, brought, profile="v1.35")
    assert Run.objects.count() == 1


def test_a_run_that_was_changed_is_kept(client: Client, brought: Run) -> None:
    services.command_submit(run=brought, body={"verb": "cordon", "object": "node/n1"})
    begin_again(client, brought, profile="v1.35")
    assert Run.objects.filter(pk=brought.pk).exists()


def test_a_run_with_forks_is_kept(client: Client, brought: Run) -> None:
    runner.run_drive(brought.pk)
    services.run_fork(run=brought)
    begin_again(client, brought, profile="v1.35")
    assert Run.objects.filter(pk=brought.pk).exists()


def test_a_bad_choice_replaces_nothing(client: Client, brought: Run) -> None:
    assert begin_again(client, brought, profile="v9.9").pk == brought.pk
    assert Run.objects.count() == 1
