"""Values that a table or an index cannot hold are refused by name, or never get there."""

import string
from random import Random
from typing import Any

import pytest
from django.test import Client

from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Command, Run

pytestmark = pytest.mark.django_db(transaction=True)

# No compression makes it short enough for an index.
LONG = "".join(Random(1).choices(string.ascii_lowercase, k=6_000))
POD_SPEC = {"containers": [{"name": "c"}]}


def posted(client: Client, run: Run, path: str, body: Any) -> Any:
    return client.post(f"/api/v1/runs/{run.pk}/{path}/", body, content_type="application/json")


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "delete", "object": f"pod/{LONG}"},
        {"verb": "create", "manifest": {"kind": "ConfigMap", "metadata": {"name": LONG}}},
        {"verb": "create", "manifest": {"kind": LONG, "metadata": {"name": "a"}}},
        {
            "verb": "create",
            "manifest": {
                "kind": "Pod",
                "metadata": {"name": "a"},
                "spec": {**POD_SPEC, "volumes": [{"name": LONG, "ephemeral": {}}]},
            },
        },
        {"verb": "fault", "patch": {"vanish": f"pod/{LONG}"}},
        {"verb": "fault", "patch": {"fail": "mount", "text": LONG}},
        {"verb": "patch", "object": "node/n1", "patch": {"metadata": {"labels": {"a": LONG}}}},
    ],
)
def test_a_run_outlives_the_longest_names(client: Client, driven: Run, body: Any) -> None:
    if "manifest" in body:
        body["manifest"]["apiVersion"] = "v1"
    services.command_wait.__kwdefaults__["seconds"] = 0.0
    try:
        answer = posted(client, driven, "commands", body)
    finally:
        services.command_wait.__kwdefaults__["seconds"] = services.ANSWER_SECONDS
    assert answer.status_code in (202, 400)
    runner.run_drive(driven.pk)
    driven.refresh_from_db()
    assert driven.status != Run.Status.FAILED, driven.error
    assert not Command.objects.filter(status=Command.Status.PENDING).exists()


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("commands", {"verb": "delete", "object": "pod/a/b", "grace_seconds": 2**63}, "grace_s"),
        ("commands", {"verb": "delete", "object": "pod/a/b", "grace_seconds": 1e300}, "grace_s"),
        ("commands", {"verb": "v" * 300, "object": "node/n1"}, "verb"),
        ("fork", {"name": "n" * 201}, "name"),
        ("fork", {"seed": 2**62}, "seed"),
        ("fork", {"profile": "v" * 300}, "profile"),
        ("transport", {"action": "play", "speed": "s" * 300}, "speed"),
        ("transport", {"action": "play", "until_pod": "p" * 400}, "until_pod"),
    ],
)
def test_an_overlong_value_is_refused_by_name(
    client: Client, driven: Run, path: str, body: Any, field: str
) -> None:
    answer = posted(client, driven, path, body)
    assert answer.status_code == 400
    assert field in answer.content.decode()


@pytest.mark.parametrize("text", ['"a\\u0000b"', '"\\ud800"', "[" * 5_000, "NaN", "1e400"])
def test_json_that_no_column_holds_is_refused(client: Client, driven: Run, text: str) -> None:
    body = f'{{"verb": "patch", "object": "node/n1", "patch": {{"a": {text}}}}}'
    answer = posted(client, driven, "commands", body)
    assert answer.status_code == 400
    assert answer.json()["detail"]
    assert not Command.objects.exists()
