"""What the REST API does not know, it refuses, and names what may be meant."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.views import SpectacularAPIView
from rest_framework.views import APIView

from kscope.runs.models import Run, Scenario
from kscope.runs.web.contract.fields import Body, unknown_names
from kscope.runs.web.rest import RestView

pytestmark = pytest.mark.django_db(transaction=True)

BODIES = [
    ("post", "commands", {"verb": "cordon", "object": "node/n1", "manifst": {}}, "manifest"),
    ("post", "transport", {"action": "pause", "sped": "10"}, "speed"),
    ("post", "fork", {"forked_seq": 1, "seeds": 1}, "seed"),
    ("put", "kept", {"kept": True, "keep": True}, "kept"),
    ("patch", "budget", {"event": 10}, "events"),
    ("patch", "", {"visibility": "public", "visible": True}, "visibility"),
]
QUERIES = {
    "": "runs",
    "state/": "sek",
    "events/": "ordr",
    "histogram/": "bucket",
    "counters/": "sec",
    "objects/node/n1/": "formt",
    "commands/": "limi",
    "objects/": "kin",
    "diff/": "form",
    "wait/": "sek",
    "events/export/": "formt",
    "compare/": "whith",
    "attempts/": "pods",
    "attempts/1/": "seq",
    "shadow-decisions/": "verdicts",
    "checks/": "seq",
    "nodes/n1/drain/": "pod",
    "pods/default/web/why/": "part",
    "why/node/n1/": "part",
    "claims/default/data/candidates/": "nodes",
    "volumes/v1/claimants/": "node",
}


def faults_of(answer: Any) -> dict[str, str]:
    """What the answer says of each field."""
    return {each["name"]: each["detail"] for each in answer.json()["errors"]}


def sent(client: Client, method: str, path: str, body: Any) -> Any:
    return getattr(client, method)(path, json.dumps(body), content_type="application/json")


def test_a_new_run_with_unknown_fields_is_refused(client: Client, scenario: Scenario) -> None:
    answer = sent(
        client, "post", "/api/v1/runs/", {"scenario": scenario.pk, "profil": "v1.20", "x": 1}
    )
    assert answer.status_code == 400
    faults = faults_of(answer)
    assert "the nearest is profile; known are scenario, profile," in faults["profil"]
    assert faults["x"].startswith("unknown field; known are scenario,")
    assert not Run.objects.exists()


def test_a_missing_field_is_named_beside_it(client: Client) -> None:
    faults = faults_of(sent(client, "post", "/api/v1/runs/", {"scenarioo": 1}))
    assert faults["scenario"] == "This field is required."
    assert "the nearest is scenario;" in faults["scenarioo"]


@pytest.mark.parametrize(("method", "path", "body", "meant"), BODIES)
def test_every_body_refuses_unknown_fields(
    client: Client, driven: Run, method: str, path: str, body: Any, meant: str
) -> None:
    before = Run.objects.values().get(pk=driven.pk)
    answer = sent(client, method, f"/api/v1/runs/{driven.pk}/{path}{'/' if path else ''}", body)
    assert answer.status_code == 400
    assert f"the nearest is {meant};" in answer.json()["detail"]
    assert Run.objects.values().get() == before


def test_unknown_parts_of_a_trial_are_refused(client: Client, driven: Run) -> None:
    body = {"action": "play", "trial": {"order": "x", "nod": "n1"}}
    answer = sent(client, "post", f"/api/v1/runs/{driven.pk}/transport/", body)
    assert "the nearest is node;" in faults_of(answer)["trial.nod"]


def test_an_upload_refuses_fields_it_does_not_know(client: Client) -> None:
    file = SimpleUploadedFile("a.yaml", b"kind: Node")
    answer = client.post("/api/v1/scenarios/", {"files": file, "nmae": "mine"})
    message = (
        "unknown field 'nmae'; the nearest is name; known are files, name, nodes, namespaces, kinds, "
        "selector, ignore_unknown_plugins, watch, case, seed"
    )
    assert (answer.status_code, answer.json()["detail"]) == (400, message)


@pytest.mark.parametrize(("path", "name"), QUERIES.items())
def test_every_address_refuses_unknown_parameters(
    client: Client, driven: Run, path: str, name: str
) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/{path}?{name}=1")
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(f"unknown parameter '{name}'; ")


def test_lists_refuse_unknown_parameters(client: Client) -> None:
    for path in ("runs", "scenarios", "operations"):
        message = client.get(f"/api/v1/{path}/?limits=1").json()["detail"]
        assert message.startswith("unknown parameter 'limits'; "), path


def test_the_nearest_known_name_comes_first() -> None:
    assert unknown_names(["befor", "limit"], ["limit", "before"]) == {
        "befor": "the nearest is before; known are limit, before"
    }
    assert unknown_names(["q"], []) == {"q": "there are none"}


def test_no_view_or_body_goes_past_the_check() -> None:
    views = [*_views(get_resolver().url_patterns)]
    assert len(views) > 20
    assert [one for one in views if not issubclass(one, RestView | SpectacularAPIView)] == []
    assert len(Body.__subclasses__()) >= 7


def _views(patterns: list[URLPattern | URLResolver]) -> Any:
    for one in patterns:
        if isinstance(one, URLResolver):
            yield from _views(one.url_patterns)
        else:
            view = getattr(one.callback, "cls", None)
            if view is not None and issubclass(view, APIView):
                yield view
