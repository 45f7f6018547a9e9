"""The page Agreement and its API: an external scheduler beside the simulation."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_files
from engine.kernel.stepwise import finished
from engine.scheduler.cycle import state
from kscope.runs import services
from kscope.runs.drive.checkpoints import checkpoint_freeze, checkpoint_insert
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.models import Run
from scheduling.models import SchedulingAttempt
from tests.web.conftest import CLUSTER, drive

pytestmark = pytest.mark.django_db(transaction=True)

EXTERNAL = "spec:\n  schedulers: [{name: default-scheduler, external: true}]\n"
LATE_VOLUME = """
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], storageClassName: late, hostPath: {path: /disk}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: late, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: db}
spec:
  containers: [{name: c, image: app:1}]
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""


def outside(text: str = CLUSTER) -> Run:
    """A run whose pods a client schedules, played up to where nothing is due."""
    text = text.replace("spec:\n", EXTERNAL, 1)
    scenario = services.scenario_store(
        name="outside", result=load_files([("outside.yaml", text.encode())])
    )
    run = services.run_create(scenario=scenario, play=True, speed="max")
    drive(run.pk)
    run.refresh_from_db()
    return run


def carry_out(run: Run, **body: Any) -> None:
    """Have the engine carry a command out."""
    services.command_submit(run=run, body=body)
    drive(run.pk)
    run.refresh_from_db()


@pytest.fixture
def compared(transactional_db: Any) -> Run:
    """A run in which one pod is bound to either of two nodes, and one is refused wrongly."""
    return _compared()


def _compared() -> Run:
    run = outside()
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/2 nodes: none",
    }
    refused = {"status": {"conditions": [condition]}}
    carry_out(run, verb="bind", object="pod/default/web", node="n2")
    carry_out(run, verb="patch", object="pod/default/giant", patch=refused)
    return run


def test_the_api_counts_and_lists_decisions(client: Client, compared: Run) -> None:
    found = client.get(f"/api/v1/runs/{compared.pk}/shadow-decisions/").json()
    assert found["counts"] == {"agrees": 0, "tied": 1, "differs": 1, "stale": 0}
    assert [one["pod"] for one in found["items"]] == ["default/giant", "default/web"]


def test_the_api_filters_by_verdict_pod_and_event(client: Client, compared: Run) -> None:
    address = f"/api/v1/runs/{compared.pk}/shadow-decisions/"
    [tied] = client.get(f"{address}?verdict=tied").json()["items"]
    assert (tied["pod"], tied["node"], tied["best"]) == ("default/web", "n2", ["n1", "n2"])
    [differs] = client.get(f"{address}?pod=default/giant").json()["items"]
    assert differs["message"] == "0/2 nodes: none"
    assert client.get(f"{address}?seq={tied['seq'] - 1}").json()["items"] == []
    refused = client.get(f"{address}?verdict=wrong")
    assert refused.status_code == 400
    assert "agrees, tied, differs, stale" in refused.content.decode()


def test_the_page_shows_both_decisions(client: Client, compared: Run) -> None:
    text = client.get(f"/runs/{compared.pk}/agreement/?verdict=tied").content.decode()
    assert "n2 is one of 2 nodes with the best score" in text
    assert "0/2 nodes: none" not in text


def test_page_of_a_run_without_decisions_says_so(client: Client, start: Callable[..., Run]) -> None:
    text = client.get(f"/runs/{start().pk}/agreement/").content.decode()
    assert "No external scheduler has decided yet." in text


def test_a_decision_is_an_attempt_with_evidence(client: Client, compared: Run) -> None:
    [evidence] = evidence_of(client, compared, "default/web")
    assert evidence["scores"].keys() == {"n1", "n2"}


def evidence_of(client: Client, run: Run, pod: str) -> list[dict[str, Any]]:
    """The evidence of each attempt on the pod."""
    address = f"/api/v1/runs/{run.pk}/attempts/"
    attempts = client.get(f"{address}?pod={pod}").json()["items"]
    return [client.get(f"{address}{attempt['id']}/").json() for attempt in attempts]


def test_evidence_of_many_nodes_is_made_on_request(
    client: Client, compared: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "EAGER_EVIDENCE_NODES", 0)
    again = _compared()
    assert not SchedulingAttempt.objects.filter(run=again, evidence__isnull=False).exists()
    for pod in ("default/web", "default/giant"):
        found = evidence_of(client, again, pod)
        assert found == evidence_of(client, compared, pod)
        assert len(found) == 1


def test_evidence_may_be_older_than_the_newest_checkpoint(
    client: Client, transactional_db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "EAGER_EVIDENCE_NODES", 0)
    run = outside(CLUSTER + LATE_VOLUME)
    # The client decides on the pod, and says so with its volume only.
    claim = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data"}
    carry_out(run, verb="patch", object="volume/disk", patch={"spec": {"claimRef": claim}})
    engine = engine_at_head(run)
    freezing = checkpoint_freeze(run_id=run.pk, engine=engine, commands=run.head_commands)
    frozen = finished(freezing)
    checkpoint_insert(frozen)
    carry_out(run, verb="bind", object="pod/default/db", node="n1")
    [evidence] = evidence_of(client, run, "default/db")
    assert evidence["scores"].keys() == {"n1", "n2"}
