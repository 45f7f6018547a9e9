"""The page Agreement and its API: an external scheduler beside the simulation."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kscope.runs import services
from kscope.runs.models import Run
from kscope.sim.input.loader import load_files
from tests.web.conftest import CLUSTER, drive

pytestmark = pytest.mark.django_db(transaction=True)

EXTERNAL = "spec:\n  schedulers: [{name: default-scheduler, external: true}]\n"


@pytest.fixture
def compared(transactional_db: Any) -> Run:
    """A run in which one pod is bound to either of two nodes, and one is refused wrongly."""
    text = CLUSTER.replace("spec:\n", EXTERNAL, 1)
    scenario = services.scenario_store(
        name="outside", result=load_files([("outside.yaml", text.encode())])
    )
    run = services.run_create(scenario=scenario, play=True, speed="max")
    drive(run.pk)
    run.refresh_from_db()
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes: none",
    }
    refused = {"status": {"conditions": [condition]}}
    for body in (
        {"verb": "bind", "object": "pod/default/web", "node": "n2"},
        {"verb": "patch", "object": "pod/default/giant", "patch": refused},
    ):
        services.command_submit(run=run, body=body)
    drive(run.pk)
    run.refresh_from_db()
    return run


def test_the_api_counts_and_lists_decisions(client: Client, compared: Run) -> None:
    found = client.get(f"/api/runs/{compared.pk}/shadow-decisions/").json()
    assert found["counts"] == {"agrees": 0, "tied": 1, "differs": 1, "stale": 0}
    assert [one["pod"] for one in found["decisions"]] == ["default/giant", "default/web"]


def test_the_api_filters_by_verdict_pod_and_event(client: Client, compared: Run) -> None:
    address = f"/api/runs/{compared.pk}/shadow-decisions/"
    [tied] = client.get(f"{address}?verdict=tied").json()["decisions"]
    assert (tied["pod"], tied["node"], tied["best"]) == ("default/web", "n2", ["n1", "n2"])
    [differs] = client.get(f"{address}?pod=default/giant").json()["decisions"]
    assert differs["message"] == "0/2 nodes: none"
    assert client.get(f"{address}?seq={tied['seq'] - 1}").json()["decisions"] == []
    refused = client.get(f"{address}?verdict=wrong")
    assert refused.status_code == 400
    assert "agrees, tied, differs, stale" in refused.content.decode()


def test_the_page_shows_both_decisions(client: Client, compared: Run) -> None:
    text = client.get(f"/runs/{compared.pk}/agreement/?verdict=tied").content.decode()
    assert "n2 is one of 2 nodes with the best score" in text
    assert "0/2 nodes: none" not in text


def test_the_page_of_a_run_without_decisions_says_so(
    client: Client, start: Callable[..., Run]
) -> None:
    text = client.get(f"/runs/{start().pk}/agreement/").content.decode()
    assert "No external scheduler has decided yet." in text


def test_a_decision_is_an_attempt_with_evidence(client: Client, compared: Run) -> None:
    [attempt] = client.get(f"/api/runs/{compared.pk}/attempts/?pod=default/web").json()
    evidence = client.get(f"/api/runs/{compared.pk}/attempts/{attempt['id']}/").json()
    assert evidence["scores"].keys() == {"n1", "n2"}
