"""The configuration of a run's scheduler: chosen when it is made, changed in a fork, shown on its page."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine.kernel.units import HOUR, MINUTE
from kscope.runs import services
from kscope.runs.compare.deciding import inputs_apart
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario
from scheduling.models import SchedulingAttempt
from tests.web.pages.test_forks import drive, play

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podInitialBackoffSeconds: 7
"""
CONFIGURATION: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 7,
}


def backoffs(client: Client, run: Run) -> int:
    """The first backoff that the page of the configuration shows."""
    answer = client.get(f"/runs/{run.pk}/configuration/")
    return answer.context["given"]["in_force"]["schedulers"][0]["initial_backoff"] // 10**9


def test_a_run_begins_with_its_own_configuration(scenario: Scenario, client: Client) -> None:
    usual = services.run_create(scenario=scenario)
    run = services.run_create(scenario=scenario, configuration=CONFIGURATION)
    assert (backoffs(client, usual), backoffs(client, run)) == (1, 7)


def test_the_engine_follows_it(scenario: Scenario) -> None:
    # No scheduler answers to the name that the pods have.
    nobody = {**CONFIGURATION, "profiles": [{"schedulerName": "nobody"}]}
    usual, run = (
        play(drive(services.run_create(scenario=scenario, configuration=each)))
        for each in (None, nobody)
    )
    bound = SchedulingAttempt.objects.exclude(node="")
    assert bound.filter(run=usual).exists()
    assert not bound.filter(run=run).exists()


def test_a_fork_keeps_it_or_has_another(scenario: Scenario, client: Client) -> None:
    run = drive(services.run_create(scenario=scenario, configuration=CONFIGURATION))
    same = services.run_fork(run=run)
    assert (same.configuration, same.goal_seq is None) == (CONFIGURATION, False)
    other = {**CONFIGURATION, "podInitialBackoffSeconds": 3}
    fork = services.run_fork(run=run, configuration=other)
    # The history is another one: it is computed from the beginning.
    assert fork.goal_seq is None
    assert backoffs(client, fork) == 3


def test_a_text_is_read_as_a_mapping(scenario: Scenario, client: Client) -> None:
    for given in (TEXT, CONFIGURATION):
        body = {"scenario": scenario.pk, "configuration": given}
        answer = client.post("/api/v1/runs/", json.dumps(body), content_type="application/json")
        assert Run.objects.get(pk=answer.json()["id"]).configuration == CONFIGURATION
        assert answer.json()["configured"] is True


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("kind: Pod", "expected KubeSchedulerConfiguration or Policy, found"),
        ("a: [", "configuration, line"),
        (f"{TEXT}---\n{TEXT}", "found 2"),
        (TEXT.replace("7", "-1"), "configuration.podInitialBackoffSeconds"),
        (TEXT.replace("/v1", "/v1beta1"), "v1beta1"),
    ],
)
def test_a_bad_configuration_says_what_is_wrong(
    scenario: Scenario, client: Client, given: str, words: str
) -> None:
    body = {"scenario": scenario.pk, "configuration": given}
    answer = client.post("/api/v1/runs/", json.dumps(body), content_type="application/json")
    assert answer.status_code == 400
    assert words in answer.json()["detail"]
    assert not Run.objects.exists()


def test_schedulers_of_a_scenario_stay_configured(scenario: Scenario) -> None:
    scenario.header["schedulers"] = [{"name": "default-scheduler"}]
    scenario.save()
    with pytest.raises(ApplicationError, match="how each of its schedulers is configured"):
        services.run_create(scenario=scenario, configuration=CONFIGURATION)


def test_a_form_starts_a_run_with_all_options(scenario: Scenario, client: Client) -> None:
    form: dict[str, Any] = {
        "options": "on",
        "profile": "v1.34",
        "seed": "41",
        "speed": "100",
        "duration": "12h",
        "configuration_file": SimpleUploadedFile("c.yaml", TEXT.encode()),
    }
    client.post(f"/scenarios/{scenario.pk}/start/", form)
    run = Run.objects.get()
    assert (run.profile, run.seed, run.speed) == ("v1.34", 41, "100")
    assert run.duration == 12 * HOUR
    assert run.configuration == CONFIGURATION


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("seed", "many"),
        ("speed", "7"),
        ("duration", "soon"),
        ("duration", "0s"),
        ("configuration", "kind: Pod"),
        ("profile", "v9"),
    ],
)
def test_a_refused_form_is_shown_again(
    scenario: Scenario, client: Client, field: str, value: str
) -> None:
    answer = client.post(f"/scenarios/{scenario.pk}/start/", {"options": "on", field: value})
    assert answer.status_code == 400
    assert field in answer.context["refusal"]
    assert value in answer.content.decode()
    assert not Run.objects.exists()


def test_the_form_shows_a_scenarios_own_duration(scenario: Scenario, client: Client) -> None:
    address = f"/scenarios/{scenario.pk}/start/"
    assert "as the scenario says: 1m0s" in client.get(address).content.decode()
    client.post(address, {"options": "on"})
    assert Run.objects.get().duration == MINUTE
    del scenario.header["until"]
    scenario.save()
    assert "until nothing is due" in client.get(address).content.decode()


def test_the_api_takes_how_long_a_run_lasts(scenario: Scenario, client: Client) -> None:
    def made(**more: Any) -> Any:
        body = {"scenario": scenario.pk, **more}
        return client.post("/api/v1/runs/", body, content_type="application/json")

    assert made(duration="12h").json()["duration"] == 12 * HOUR
    assert made().json()["duration"] == MINUTE  # the scenario's
    refused = made(duration="soon")
    assert (refused.status_code, "duration is 'soon'" in refused.json()["detail"]) == (400, True)


def test_a_comparison_names_the_configurations(scenario: Scenario) -> None:
    a, b = (
        services.run_create(scenario=scenario, configuration=each)
        for each in (CONFIGURATION, {**CONFIGURATION, "podInitialBackoffSeconds": 3})
    )
    found = inputs_apart(a, b, 0)
    assert [one["what"] for one in found] == ["podInitialBackoffSeconds"]
    assert (found[0]["kind"], found[0]["a"], found[0]["b"]) == ("configuration", 7, 3)


def test_readers_are_not_shown_the_text(scenario: Scenario, client: Client, settings: Any) -> None:
    run = services.run_create(scenario=scenario, configuration=CONFIGURATION)
    address = f"/runs/{run.pk}/configuration/"
    assert "podInitialBackoffSeconds" in client.get(address).context["given"]["configuration_text"]
    Run.objects.update(visibility="public")
    settings.LOGIN_REQUIRED = True
    assert client.get(address).context["given"]["configuration_text"] == ""
