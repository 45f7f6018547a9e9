"""What a drain would do is told before it is done."""

from typing import Any

import pytest
from django.test import Client

from kscope.runs.models import OtherObject, Run, Scenario
from scheduling.models import Node, Pod

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    scenario = Scenario.objects.create(name="s", digest="s", header={})
    run = Run.objects.create(scenario=scenario, name="run")
    Node.objects.create(run=run, key="n1", manifest={"kind": "Node", "metadata": {"name": "n1"}})
    return run


def pod(run: Run, name: str, *, owner: str = "ReplicaSet", phase: str = "Running") -> None:
    metadata: dict[str, Any] = {"name": name, "namespace": "shop", "labels": {"app": "web"}}
    metadata["ownerReferences"] = [{"kind": owner, "name": "owner", "uid": "u"}]
    manifest = {"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1", "containers": []}}
    Pod.objects.create(
        run=run, key=f"shop/{name}", manifest=manifest | {"status": {"phase": phase}}
    )


def budget(run: Run, *, allowed: int, generation: int = 1) -> None:
    manifest = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop", "generation": generation},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": allowed, "observedGeneration": 1},
    }
    OtherObject.objects.create(run=run, key="poddisruptionbudget/shop/web", manifest=manifest)


def told(client: Client, run: Run, node: str = "n1") -> Any:
    return client.get(f"/api/v1/runs/{run.pk}/nodes/{node}/drain/").json()


def test_a_drain_counts_what_goes_and_what_stays(client: Client, run: Run) -> None:
    pod(run, "web-1")
    pod(run, "web-2")
    pod(run, "log", owner="DaemonSet")
    assert told(client, run) == {"evicted": 2, "daemon": 1, "budgets": []}


def test_a_budget_says_how_many_pods_may_go(client: Client, run: Run) -> None:
    pod(run, "web-1")
    pod(run, "web-2")
    budget(run, allowed=1)
    assert told(client, run)["budgets"] == [{"name": "shop/web", "pods": 2, "allowed": 1}]


def test_ended_pods_are_held_by_no_budget(client: Client, run: Run) -> None:
    pod(run, "done", phase="Succeeded")
    budget(run, allowed=0)
    assert told(client, run) == {"evicted": 1, "daemon": 0, "budgets": []}


def test_a_budget_that_was_just_changed_allows_nothing(client: Client, run: Run) -> None:
    pod(run, "web-1")
    budget(run, allowed=1, generation=2)
    assert told(client, run)["budgets"] == [{"name": "shop/web", "pods": 1, "allowed": 0}]


def test_a_node_that_is_gone_cannot_be_drained(client: Client, run: Run) -> None:
    assert told(client, run, "n2")["detail"] == "node/n2 does not exist now"
