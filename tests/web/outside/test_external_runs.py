"""Runs that are made to leave their pods to a client of the Kubernetes API."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.models import Command, Run, RunEvent, Scenario
from kscope.runs.selectors import run_is_external
from tests.web.conftest import CLUSTER, drive

pytestmark = pytest.mark.django_db(transaction=True)

OPTION = "Leave pods to a scheduler of your own"
BUTTON = "Start such a run"


def stored(spec: str) -> Scenario:
    """The small scenario with more in its spec."""
    text = CLUSTER.replace("spec:\n", f"spec:\n  {spec}\n", 1)
    return services.scenario_store(name="other", result=load_files([("other.yaml", text.encode())]))


def driven(run: Run) -> Run:
    drive(run.pk)
    run.refresh_from_db()
    return run


def nodes(run: Run) -> dict[str, str]:
    """The pods that were bound, and where."""
    bound = RunEvent.objects.filter(run=run, kind="PodBound").order_by("seq")
    return {event.object: (event.data or {}).get("node", "") for event in bound}


@pytest.fixture
def outside(start: Callable[..., Run]) -> Run:
    """An external run of the small scenario, in which a client has bound one pod."""
    run = driven(start(external_scheduler=True, play=True, speed="max"))
    body = {"verb": "bind", "object": "pod/default/web", "node": "n2"}
    services.command_submit(run=run, body=body)
    return driven(run)


def shadow_decisions(run: Run) -> list[str]:
    events = RunEvent.objects.filter(run=run, kind="ShadowDecision").order_by("seq")
    return [(event.data or {})["verdict"] for event in events]


def test_only_a_client_decides_in_an_external_run(outside: Run) -> None:
    assert list(nodes(outside)) == ["pod/default/web"]
    assert shadow_decisions(outside) == ["tied"]


def test_run_is_external_only_when_asked_for(start: Callable[..., Run]) -> None:
    run = start()
    assert (run.external_scheduler, run.speed) == (False, Run.Speed.TEN)


def test_external_run_plays_in_wall_clock_time(start: Callable[..., Run]) -> None:
    assert start(external_scheduler=True).speed == Run.Speed.REAL
    assert start(external_scheduler=True, speed="100").speed == Run.Speed.HUNDRED


def test_replicas_are_refused_before_anything_is_saved(client: Client) -> None:
    scenario = stored("schedulers: [{name: default-scheduler, replicas: 2}]")
    body = {"scenario": scenario.pk, "external_scheduler": True}
    refused = client.post("/api/v1/runs/", body, content_type="application/json")
    assert refused.status_code == 400
    assert "spec.schedulers[0].replicas: with external_scheduler" in refused.json()["detail"]
    assert not Run.objects.exists()


def test_a_fork_is_external_as_its_parent_is(outside: Run) -> None:
    fork = driven(services.run_fork(run=outside))
    assert fork.external_scheduler
    assert fork.goal_at is None
    assert nodes(fork) == nodes(outside)


def test_client_commands_are_replayed_under_another_profile(outside: Run) -> None:
    fork = driven(services.run_fork(run=outside, profile="v1.34"))
    assert (fork.external_scheduler, fork.error) == (True, "")
    assert nodes(fork) == nodes(outside)
    assert shadow_decisions(fork) == ["tied"]
    assert Command.objects.get(run=fork).status == Command.Status.APPLIED


def test_a_fork_that_is_to_differ_is_refused(
    client: Client, start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"/api/v1/runs/{start().pk}/fork/"
    monkeypatch.setitem(services.run_wait_for_goal.__kwdefaults__, "seconds", 0.0)
    refused = client.post(address, {"external_scheduler": True}, content_type="application/json")
    assert refused.status_code == 400
    assert refused.json()["detail"].startswith("external_scheduler: ")
    made = client.post(address, {"external_scheduler": False}, content_type="application/json")
    assert made.json()["external_scheduler"] is False


def test_external_run_is_compared_with_an_internal_one(
    client: Client, outside: Run, start: Callable[..., Run]
) -> None:
    other = driven(start(play=True, speed="max"))
    found = client.get(f"/api/v1/runs/{outside.pk}/compare/?with={other.pk}").json()
    assert (found["a"]["external_scheduler"], found["b"]["external_scheduler"]) == (True, False)
    assert found["divergence"]["seq"] > 1


def test_the_api_takes_and_shows_the_choice(client: Client, scenario: Scenario) -> None:
    body = {"scenario": scenario.pk, "external_scheduler": True}
    made = client.post("/api/v1/runs/", body, content_type="application/json").json()
    assert (made["external_scheduler"], made["speed"]) == (True, "1")
    assert client.get(f"/api/v1/runs/{made['id']}/").json()["external_scheduler"] is True
    schema = client.get("/api/v1/schema/", HTTP_ACCEPT="application/json").json()
    for name in ("NewRun", "Run"):
        assert schema["components"]["schemas"][name]["properties"]["external_scheduler"]


def test_a_run_is_started_with_the_choice(client: Client, scenario: Scenario) -> None:
    address = f"/scenarios/{scenario.pk}/start/"
    client.post(address, {"profile": "", "external_scheduler": "on"})
    run = Run.objects.get()
    assert (run.external_scheduler, run.speed) == (True, Run.Speed.REAL)
    assert "external scheduler" in client.get(f"/runs/{run.pk}/").content.decode()
    client.post(address, {"profile": ""})
    assert not Run.objects.latest("pk").external_scheduler


def test_the_start_form_shows_a_refusal(client: Client) -> None:
    scenario = stored("schedulers: [{name: default-scheduler, replicas: 2}]")
    address = f"/scenarios/{scenario.pk}/start/"
    refused = client.post(address, {"external_scheduler": "on"}, follow=True)
    assert "spec.schedulers[0].replicas" in refused.content.decode()
    assert not Run.objects.exists()


def test_connect_says_whether_a_run_is_external(client: Client, start: Callable[..., Run]) -> None:
    text = client.get(f"/runs/{start(external_scheduler=True).pk}/connect/").content.decode()
    assert "This run leaves pods to a scheduler of your own" in text
    assert BUTTON not in text


def test_connect_makes_an_external_run_of_the_scenario(
    client: Client, start: Callable[..., Run]
) -> None:
    run = start(profile="v1.36", feature_gates={"NodeDeclaredFeatures": False})
    text = client.get(f"/runs/{run.pk}/connect/").content.decode()
    assert OPTION in text
    assert BUTTON in text
    fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text)
    client.post(f"/scenarios/{run.scenario_id}/start/", dict(fields))
    made = Run.objects.latest("pk")
    assert made.external_scheduler
    assert (made.profile, made.feature_gates) == (run.profile, run.feature_gates)


def test_a_scenario_may_say_the_same(scenario: Scenario) -> None:
    said = stored("schedulers: [{name: batch}, {name: default-scheduler, external: true}]")
    assert run_is_external(services.run_create(scenario=said))
    assert run_is_external(services.run_create(scenario=scenario, external_scheduler=True))
    assert not run_is_external(services.run_create(scenario=scenario))
