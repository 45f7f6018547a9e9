"""Runs that are made to leave controllers to a client, and the verdicts on what it writes."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.models import ImportedRun, Run, Scenario
from tests.web.conftest import CLUSTER, drive
from tests.web.exports.test_run_files import brought, exported

pytestmark = pytest.mark.django_db(transaction=True)

SET = """
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: front, uid: front-1}
spec:
  replicas: 1
  selector: {matchLabels: {app: front}}
  template:
    metadata: {labels: {app: front}}
    spec: {containers: [{name: c, image: app:1}]}
"""
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "front-abcde",
        "generateName": "front-",
        "namespace": "default",
        "labels": {"app": "front"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "front",
                "uid": "front-1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    },
    "spec": {"containers": [{"name": "c", "image": "app:1"}]},
}


@pytest.fixture
def front(transactional_db: Any) -> Scenario:
    return services.scenario_store(
        name="front", result=load_files([("front.yaml", (CLUSTER + SET).encode())])
    )


def carried_out(run: Run, **body: Any) -> Run:
    services.command_submit(run=run, body=body)
    drive(run.pk)
    run.refresh_from_db()
    return run


@pytest.fixture
def compared(front: Scenario) -> Run:
    """A run whose ReplicaSet controller is a client: it made a right pod, and a wrong status."""
    run = services.run_create(
        scenario=front, external_controllers=["replicaset"], play=True, speed="max"
    )
    drive(run.pk)
    carried_out(run, verb="create", manifest=POD)
    status = {"status": {"replicas": 7, "observedGeneration": 1}}
    return carried_out(run, verb="patch", object="replicaset/default/front", patch=status)


def writes(client: Client, run: Run, query: str = "") -> dict[str, Any]:
    return client.get(f"/api/v1/runs/{run.pk}/shadow-writes/{query}").json()


def test_verdicts_are_listed_with_fields(client: Client, compared: Run) -> None:
    found = writes(client, compared)
    assert found["counts"] == {"agrees": 1, "differs": 1, "stale": 0}
    wrong, right = found["items"]
    assert (right["object"], right["verb"]) == ("pod/default/front-abcde", "create")
    assert (wrong["controller"], wrong["of"]) == ("replicaset", "default/front")
    assert {"field": "status.replicas", "written": 7, "expected": 1} in wrong["fields"]


def test_verdicts_are_chosen_and_come_in_pages(client: Client, compared: Run) -> None:
    assert [one["verdict"] for one in writes(client, compared, "?verdict=agrees")["items"]] == [
        "agrees"
    ]
    assert writes(client, compared, "?controller=job")["items"] == []
    first = writes(client, compared, "?limit=1")
    rest = writes(client, compared, f"?limit=1&continue={first['continue']}")
    assert [first["items"][0]["verdict"], rest["items"][0]["verdict"]] == ["differs", "agrees"]


def test_page_shows_verdicts_beside_the_writes(client: Client, compared: Run) -> None:
    text = client.get(f"/runs/{compared.pk}/agreement/").content.decode()
    assert "Controllers of your own beside kscope" in text
    assert "An external scheduler beside kscope" not in text
    assert "<code>status.replicas</code>" in text
    chosen = client.get(f"/runs/{compared.pk}/agreement/?written=agrees").content.decode()
    assert "front-abcde" in chosen
    assert "status.replicas" not in chosen


def test_form_and_api_leave_controllers_to_a_client(client: Client, front: Scenario) -> None:
    address = f"/scenarios/{front.pk}/start/"
    assert 'value="replicaset"' in client.get(address).content.decode()
    client.post(address, {"external_controllers": ["job", "replicaset"], "options": "on"})
    run = Run.objects.get()
    assert (run.external_controllers, run.speed) == (["job", "replicaset"], Run.Speed.REAL)
    body = {"scenario": front.pk, "external_controllers": ["job"]}
    made = client.post("/api/v1/runs/", body, content_type="application/json").json()
    assert (made["external_controllers"], made["speed"]) == (["job"], "1")


def test_unknown_controller_is_refused(client: Client, front: Scenario) -> None:
    body = {"scenario": front.pk, "external_controllers": ["scheduler"]}
    refused = client.post("/api/v1/runs/", body, content_type="application/json")
    assert refused.status_code == 400
    form = {"external_controllers": "scheduler", "options": "on"}
    answer = client.post(f"/scenarios/{front.pk}/start/", form)
    assert answer.status_code == 400
    assert "external_controllers: &#x27;scheduler&#x27; is unknown" in answer.content.decode()


def test_fork_and_file_keep_what_is_left(client: Client, compared: Run) -> None:
    fork = services.run_fork(run=compared, profile="v1.34")
    drive(fork.pk)
    fork.refresh_from_db()
    assert (fork.external_controllers, fork.error) == (["replicaset"], "")
    assert writes(client, fork)["counts"]["agrees"] == 1
    told = brought(client, exported(client, compared))["run"]
    drive(told["id"])
    run = Run.objects.get(pk=told["id"])
    assert run.external_controllers == ["replicaset"]
    assert ImportedRun.objects.get(run=run).verdict == "same"
    assert run.head_digest == compared.head_digest


def test_scenario_and_choice_are_left_together(client: Client, start: Callable[..., Run]) -> None:
    text = CLUSTER.replace("spec:\n", "spec:\n  externalControllers: [job]\n", 1)
    scenario = services.scenario_store(
        name="said", result=load_files([("said.yaml", text.encode())])
    )
    run = services.run_create(scenario=scenario, external_controllers=["deployment"])
    connect = client.get(f"/runs/{run.pk}/connect/").content.decode()
    assert "deployment, job" in connect
    usual = client.get(f"/runs/{start().pk}/connect/").content.decode()
    assert "This run does the work of all controllers itself." in usual
