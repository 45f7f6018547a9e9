"""Texts that people write: read with lines, and made into commands; nothing is written by reading."""

import json
from typing import Any

import pytest
from django.test import Client

from kscope.runs.editing import texts
from kscope.runs.models import Command, Run
from tests.web.pages.test_forks import command, objects

POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: edited
  namespace: default
spec:
  containers:
  - name: main
    resources:
      requests: {cpu: 100m}
"""


def created(text: str, profile: str = "v1.36") -> texts.Asked:
    return texts.created(text, profile=profile)


def changed(text: str, base: str = POD) -> texts.Asked:
    return texts.changed(text, base=base, entity="pod/default/edited", profile="v1.36")


def test_each_document_is_an_object_to_create() -> None:
    asked = created(f"{POD}---\n{POD.replace('edited', 'api')}")
    assert [one["verb"] for one in asked.commands] == ["create", "create"]
    assert asked.commands[1]["manifest"]["metadata"]["name"] == "api"


def test_a_fault_has_its_line_and_field() -> None:
    asked = created(POD.replace("100m", "lots"))
    assert asked.commands == []
    (problem,) = asked.problems
    assert (problem.line, problem.field) == (10, "spec.containers[0].resources.requests.cpu")
    assert "is not a quantity" in problem.message


def test_the_second_document_has_lines_of_the_text() -> None:
    asked = created(f"{POD}---\n{POD.replace('100m', 'lots')}")
    assert [problem.line for problem in asked.problems] == [21]


def test_an_unknown_field_is_noted_not_refused() -> None:
    asked = created(POD.replace("spec:", "spec:\n  nodeSelektor: {}"))
    assert len(asked.commands) == 1
    (note,) = asked.notes
    assert (note.line, note.field) == (7, "spec.nodeSelektor")
    assert "the nearest is spec.nodeSelector" in note.message


def test_fields_are_those_of_the_runs_version() -> None:
    text = POD.replace("spec:", "spec:\n  schedulingGates: []")
    assert created(text, "v1.36").notes == []
    assert created(text, "v1.20").notes[0].field == "spec.schedulingGates"


@pytest.mark.parametrize(
    ("text", "line"), [("kind: [", 2), ("", 0), ("just words", 0), ("kind: Pod", 1)]
)
def test_what_is_no_manifest_is_a_problem(text: str, line: int) -> None:
    asked = created(text)
    assert asked.commands == []
    assert asked.problems[0].line == pytest.approx(line, abs=1)


@pytest.mark.parametrize("base", ["", "just words", "- a", "kind: [", f"{POD}---\n{POD}"])
def test_base_that_is_no_manifest_is_told(base: str) -> None:
    asked = changed(POD, base=base)
    assert asked.commands == []
    assert [problem.message for problem in asked.problems] == [
        "what was edited cannot be read; open it again"
    ]


def test_only_what_was_changed_is_asked_for() -> None:
    asked = changed(POD.replace("name: edited", "name: edited\n  labels: {app: shop}"))
    patch = {"metadata": {"labels": {"app": "shop"}}}
    assert asked.commands == [{"verb": "patch", "object": "pod/default/edited", "patch": patch}]


def test_requests_of_a_placed_pod_are_a_resize() -> None:
    base = POD.replace("spec:", "spec:\n  nodeName: n1")
    (body,) = changed(base.replace("100m", "200m"), base).commands
    assert body["verb"] == "resize"


def test_an_edited_object_keeps_its_name() -> None:
    asked = changed(POD.replace("name: edited", "name: api"))
    assert asked.commands == []
    assert (asked.problems[0].line, asked.problems[0].field) == (4, "metadata.name")


def test_a_text_as_it_was_asks_for_nothing() -> None:
    assert changed(POD) == texts.Asked()


@pytest.mark.django_db(transaction=True)
def test_reading_a_text_writes_nothing(driven: Run, client: Client) -> None:
    address = f"/api/v1/runs/{driven.pk}/edits/"
    before = Command.objects.count()
    answer = client.post(address, json.dumps({"text": POD}), content_type="application/json")
    body: dict[str, Any] = answer.json()["commands"][0]
    assert (body["verb"], Command.objects.count()) == ("create", before)
    outcome = command(driven, **body)
    assert (outcome.status, outcome.reason) == (Command.Status.APPLIED, "")
    assert "pod/default/edited" in objects(driven)


@pytest.mark.django_db(transaction=True)
def test_a_schema_is_of_the_runs_version(driven: Run, client: Client) -> None:
    address = f"/api/v1/runs/{driven.pk}/schema/"
    kinds = client.get(address).json()["kinds"]
    assert {"api_version": "apps/v1", "kind": "Deployment", "namespaced": True} in kinds
    for profile, has_gates in (("v1.36", True), ("v1.20", False)):
        Run.objects.filter(pk=driven.pk).update(profile=profile)
        found = client.get(address, {"api_version": "v1", "kind": "Pod"}).json()
        assert found["root"] == "io.k8s.api.core.v1.Pod"
        spec = found["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
        assert ("schedulingGates" in spec) is has_gates
    assert client.get(address, {"api_version": "v1", "kind": "Nothing"}).status_code == 404
