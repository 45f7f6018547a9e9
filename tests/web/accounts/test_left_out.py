"""Secrets and values of environment variables reach no table, whichever way they come in."""

import json
import zlib
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kscope.runs import services
from kscope.runs.drive.checkpoints import engine_bytes
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.models import (
    Checkpoint,
    Command,
    ManifestDictionary,
    OtherObject,
    Run,
    RunEvent,
    Scenario,
    ScenarioPiece,
    ViewChunk,
)
from scheduling.models import Pod
from tests.web.conftest import drive, driving

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "hunter2"
CONTAINER = {"name": "c", "args": [SECRET], "env": [{"name": "A", "value": SECRET}]}
META = {"name": "bearer", "namespace": "default"}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": META, "spec": {"containers": [CONTAINER]}}
HIDDEN = {"apiVersion": "v1", "kind": "Secret", "metadata": META, "stringData": {"k": SECRET}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}


def kept_texts() -> list[str]:
    """Everything that the tables hold, as text."""
    rows = [*Scenario.objects.values_list("header", "report")]
    rows += [*Command.objects.values_list("body")]
    rows += [*Pod.objects.values_list("manifest"), *OtherObject.objects.values_list("manifest")]
    rows += [*RunEvent.objects.values_list("message", "data", "changes")]
    texts = [json.dumps(row) for row in rows]
    blobs = [
        *ScenarioPiece.objects.values_list("lines", flat=True),
        *ViewChunk.objects.values_list("body", flat=True),
    ]
    texts += [zlib.decompress(blob).decode("latin-1") for blob in blobs]
    plain = [
        *map(engine_bytes, Checkpoint.objects.all()),
        *ManifestDictionary.objects.values_list("content", flat=True),
    ]
    texts += [bytes(each).decode("latin-1") for each in plain]
    for run in Run.objects.select_related("scenario").filter(is_started=True):
        # What the next checkpoint would hold.
        live = engine_at_head(run)
        live.take()
        texts.append(live.checkpoint().decode("latin-1"))
    return texts


@pytest.mark.parametrize(
    "body",
    [
        {"verb": "create", "manifest": POD},
        {"verb": "create", "manifest": HIDDEN},
        {"verb": "apply", "manifest": {**POD, "metadata": {"name": "web"}}},
        {"verb": "create", "manifest": {**POD, "spec": {**POD["spec"], "nodeSelector": "x"}}},
        {"verb": "patch", "object": "pod/default/web", "patch": {"spec": POD["spec"]}},
    ],
    ids=["pod", "secret", "refused", "invalid", "patch"],
)
def test_no_command_leaves_a_value_in_a_table(driven: Run, body: dict[str, Any]) -> None:
    with driving(driven):
        services.command_wait(command=services.command_submit(run=driven, body=body))
    assert Command.objects.get().status != Command.Status.PENDING
    assert not [text for text in kept_texts() if SECRET in text]


def test_no_file_or_step_stores_a_value(client: Client) -> None:
    step = {"at": 1, "create": {**POD, "metadata": {"name": "later"}}}
    header = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "spec": {"steps": [step]}}
    files = [
        SimpleUploadedFile(f"{place}.json", json.dumps(each).encode())
        for place, each in enumerate((header, POD, HIDDEN, NODE))
    ]
    assert client.post("/scenarios/upload/", {"files": files}).status_code == 302
    assert not [text for text in kept_texts() if SECRET in text]
    run = services.run_create(scenario=Scenario.objects.get(), play=True, speed="max")
    drive(run.pk)
    assert Pod.objects.filter(run=run, key="default/later").exists()
    assert not [text for text in kept_texts() if SECRET in text]
