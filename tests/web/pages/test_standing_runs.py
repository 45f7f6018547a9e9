"""Clusters that are brought: they stand still, and are asked what is stuck before they play."""

import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client

from engine.input.loader import load_files
from engine.kernel.units import SECOND, nanoseconds_of
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run, Scenario, Triage
from kscope.runs.triages import document_of
from scheduling import triages
from scheduling.triages import first_look_by_id, triage_parts_by_id

pytestmark = pytest.mark.django_db(transaction=True)

BROUGHT = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "2", memory: 4Gi, pods: "10"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: giant}
spec: {containers: [{name: c, image: app:1, resources: {requests: {cpu: "3"}}}]}
status: {phase: Pending}
---
apiVersion: example.com/v1
kind: Gizmo
metadata:
  {name: held, namespace: default, finalizers: [example.com/hold], deletionTimestamp: "2026-11-27T09:00:00Z"}
---
apiVersion: v1
kind: Event
metadata: {name: giant.1}
involvedObject: {kind: Pod, namespace: default, name: giant}
type: Warning
reason: FailedScheduling
message: "0/1 nodes are available: 1 Insufficient cpu."
lastTimestamp: "2026-11-27T10:00:00Z"
count: 7
"""


@pytest.fixture
def files() -> Scenario:
    """A small cluster as it stands, with one pod that fits nowhere."""
    result = load_files([("brought.yaml", BROUGHT.encode())], check=check_setup)
    return services.scenario_store(name="brought", result=result)


@pytest.fixture
def brought(files: Scenario) -> Run:
    """A run of it that was built, and not played."""
    run = services.run_create(scenario=files)
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def test_a_cluster_that_is_brought_stands_still(client: Client, files: Scenario) -> None:
    answer = client.post(f"/scenarios/{files.pk}/start/")
    run = Run.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/runs/{run.pk}/triage/")
    assert (run.status, run.stands) == (Run.Status.PAUSED, True)


def test_a_demo_plays_unless_something_was_observed(client: Client) -> None:
    plain = BROUGHT.partition("---\napiVersion: example.com")[0]
    for name, text, status in (("sick", BROUGHT, "paused"), ("plain", plain, "playing")):
        result = load_files([(f"{name}.yaml", text.encode())], check=check_setup)
        demo = services.scenario_store(name=name, result=result, is_demo=True)
        client.post(f"/scenarios/{demo.pk}/start/")
        assert Run.objects.get(scenario=demo).status == status


REFUSED = (
    BROUGHT
    + """
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}
status: {phase: Pending}
---
apiVersion: v1
kind: Event
metadata: {name: disk.1}
involvedObject: {kind: PersistentVolumeClaim, namespace: default, name: disk}
type: Warning
reason: ProvisioningFailed
message: no space
lastTimestamp: "2026-11-27T09:58:00Z"
"""
)


def test_pages_rest_and_triage_agree_before_play(client: Client) -> None:
    result = load_files([("refused.yaml", REFUSED.encode())], check=check_setup)
    run = services.run_create(scenario=services.scenario_store(name="refused", result=result))
    runner.run_drive(run.pk)
    run.refresh_from_db()
    shown = client.get(f"/api/v1/runs/{run.pk}/state/").json()["state"]["claim/default/disk"][
        "trouble"
    ]
    groups = client.get(f"/api/v1/runs/{run.pk}/triage/").json()["groups"]
    why = client.get(f"/api/v1/runs/{run.pk}/why/persistentvolumeclaim/default/disk/").json()
    assert run.stands
    assert (shown["name"], shown["failures"], shown["failed"]) == (
        "ProvisioningFailed",
        1,
        -120 * SECOND,
    )
    assert any(shown["error"] in each["cause"] for each in groups if each["claims"])
    assert shown["error"] in why["sentence"]


def test_what_was_played_stands_no_longer(brought: Run) -> None:
    assert brought.stands
    services.run_transport(run=brought, action="play")
    brought.refresh_from_db()
    assert not brought.stands


def test_triage_says_what_is_stuck_and_what_helps(client: Client, brought: Run) -> None:
    groups = client.get(f"/api/v1/runs/{brought.pk}/triage/").json()["groups"]
    [group] = [each for each in groups if each["kind"] == "pending"]
    assert (group["kind"], group["pods"]) == ("pending", ["default/giant"])
    assert "Insufficient cpu" in group["observed"]
    assert [(each["places"], each["of"]) for each in group["changes"]][0] == (1, 1)


def test_command_and_rest_say_the_same(
    client: Client, brought: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "brought.yaml"
    file.write_text(BROUGHT)
    with pytest.raises(SystemExit):
        call_command("triage", str(file), "--json")
    said = json.loads(capsys.readouterr().out)
    assert client.get(f"/api/v1/runs/{brought.pk}/triage/").json() == {**said, "is_whole": True}


def test_causes_come_before_changes_were_tried(brought: Run) -> None:
    first, *rest = triage_parts_by_id(brought.pk)
    assert not first["is_whole"]
    assert not first["groups"][0]["changes"]
    told, last = rest
    assert told["group"] == 0
    assert told["changes"]
    assert last == {"together": None}


def test_causes_of_a_first_look_are_not_awaited(
    brought: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = json.dumps([*triage_parts_by_id(brought.pk)], sort_keys=True)
    Triage.objects.all().delete()
    first_look_by_id(brought.pk)
    parts, make = triage_parts_by_id(brought.pk), triages.engine_created
    monkeypatch.setattr(triages, "engine_created", None)
    causes = next(parts)
    monkeypatch.setattr(triages, "engine_created", make)
    assert json.dumps([causes, *parts], sort_keys=True) == alone


def test_triage_is_kept_for_the_next_who_asks(client: Client, brought: Run) -> None:
    assert client.get(f"/api/v1/runs/{brought.pk}/").json()["stuck"] is None
    told = client.get(f"/api/v1/runs/{brought.pk}/triage/").json()
    assert document_of(Triage.objects.get())["groups"] == told["groups"]
    assert client.get(f"/api/v1/runs/{brought.pk}/triage/").json() == told
    [again] = triage_parts_by_id(brought.pk)
    assert again == told
    [listed] = client.get("/api/v1/runs/").json()["items"]
    assert (listed["stuck"], listed["standing"]) == (2, True)


def test_why_shows_what_was_observed_after_playing(client: Client, brought: Run) -> None:
    told = client.get(f"/api/v1/runs/{brought.pk}/why/pod/default/giant/").json()
    assert any("Insufficient cpu" in each for each in told["observed"])
    services.run_transport(run=brought, action="play", speed="max")
    runner.run_drive(brought.pk)
    played = client.get(f"/api/v1/runs/{brought.pk}/why/pod/default/giant/").json()
    before = {each["text"]: each["at"] for each in told["observed_facts"]}
    assert {each["text"]: each["at"] for each in played["observed_facts"]} == before
    assert played["at"] > 0


def test_any_object_of_the_files_can_be_asked(client: Client, brought: Run) -> None:
    told = client.get(f"/api/v1/runs/{brought.pk}/why/gizmo/default/held/").json()
    assert told["sentence"].startswith("Gizmo default/held cannot go: it keeps the finalizer")
    assert client.get(f"/api/v1/runs/{brought.pk}/why/gizmo/default/gone/").status_code == 404
    assert client.get(f"/api/v1/runs/{brought.pk}/why/thing/default/held/").status_code == 404


def test_triage_marks_what_the_run_has_superseded(client: Client, brought: Run) -> None:
    before = client.get(f"/api/v1/runs/{brought.pk}/triage/").json()["groups"]
    assert not any("superseded" in each for each in before)
    services.command_submit(run=brought, body={"verb": "delete", "object": "pod/default/giant"})
    services.run_transport(run=brought, action="play", speed="max")
    runner.run_drive(brought.pk)
    brought.refresh_from_db()
    assert brought.head_at > 0
    marks = [
        each["superseded"]["text"]
        for each in client.get(f"/api/v1/runs/{brought.pk}/triage/").json()["groups"]
        if each["pods"]
    ]
    assert len(marks) == 1
    assert marks[0].endswith(": 1 of 1 pod is gone")


def test_a_scenario_with_steps_has_no_triage(client: Client, driven: Run) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/triage/")
    assert answer.status_code == 409
    assert "has steps" in answer.json()["detail"]


def test_other_evidence_makes_another_scenario(files: Scenario) -> None:
    other = load_files([("b.yaml", BROUGHT.replace("count: 7", "count: 8").encode())])
    assert services.scenario_store(name="brought", result=other).pk != files.pk


def test_a_brought_cluster_runs_in_its_own_time(brought: Run) -> None:
    assert brought.scenario.instant == "2026-11-27T10:00:00Z"
    fork = services.run_fork(run=brought, seq=brought.head_seq)
    assert fork.clock == brought.clock == nanoseconds_of("2026-11-27T10:00:00Z")


@pytest.mark.parametrize("kept", ["uid: 7f", "labels: {a: b}"])
def test_files_without_times_are_one_scenario(kept: str) -> None:
    text = f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: a, {kept}}}\n"
    result = load_files([("a.yaml", text.encode())])
    first, again = (
        services.scenario_store(name="a", result=result, at=f"2026-11-28T0{hour}:00:00Z")
        for hour in (1, 2)
    )
    assert first == again
    assert first.instant == ("2026-11-28T01:00:00Z" if "uid" in kept else "")
