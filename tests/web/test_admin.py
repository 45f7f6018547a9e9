"""The admin: edits become commands; nobody writes a row behind the engine's back."""

import json
from html import unescape
from typing import Any

import pytest
from django.test import Client

from kscope.runs.models import Command, Run
from scheduling.models import Node, Pod
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def admin(transactional_db: Any, admin_client: Client) -> Client:
    return admin_client


def edit(admin: Client, run: Run, row: Any, **fields: Any) -> str:
    """Post the form of *row* while the run is being driven; the messages of the answer."""
    form = {
        "manifest": json.dumps(row.manifest),
        "taints": json.dumps(row.manifest.get("spec", {}).get("taints") or []),
        "labels": json.dumps(row.manifest["metadata"].get("labels") or {}),
        **fields,
    }
    path = f"/admin/{row._meta.app_label}/{row._meta.model_name}/{row.pk}/change/"
    with driving(run):
        return unescape(admin.post(path, form, follow=True).content.decode())


@pytest.mark.parametrize(
    "path",
    [
        "runs/run",
        "runs/eventrecord",
        "runs/scenario",
        "runs/command",
        "runs/checkpoint",
        "scheduling/node",
        "scheduling/pod",
        "scheduling/schedulingattempt",
        "volumes/persistentvolume",
        "volumes/persistentvolumeclaim",
        "volumes/storageclass",
    ],
)
def test_every_list_opens(admin: Client, driven: Run, path: str) -> None:
    assert admin.get(f"/admin/{path}/").status_code == 200


def test_events_can_be_searched(admin: Client, driven: Run) -> None:
    page = admin.get("/admin/runs/eventrecord/?q=FailedScheduling").content.decode()
    assert "0/2 nodes are available" in page


def test_tainting_a_node_is_a_command_that_says_what_came_of_it(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    taints = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    page = edit(admin, driven, node, taints=json.dumps(taints))
    command = Command.objects.get(run=driven)
    assert f"command {command.pk} applied at seq {command.outcome_seq}" in page
    node.refresh_from_db()
    assert node.manifest["spec"]["taints"] == taints


def test_what_the_engine_refuses_is_told_and_changes_nothing(admin: Client, driven: Run) -> None:
    pod = Pod.objects.get(run=driven, key="default/web")
    manifest = {**pod.manifest, "spec": {**pod.manifest["spec"], "nodeName": "n2"}}
    manifest["spec"]["hostNetwork"] = True
    page = edit(admin, driven, pod, manifest=json.dumps(manifest))
    assert "rejected: Invalid" in page
    assert Pod.objects.get(pk=pod.pk).manifest == pod.manifest


def test_an_edit_of_something_that_changed_meanwhile_is_a_conflict(
    admin: Client, driven: Run
) -> None:
    node = Node.objects.get(run=driven, key="n1")
    stale = {**node.manifest, "metadata": {**node.manifest["metadata"], "resourceVersion": "999"}}
    Node.objects.filter(pk=node.pk).update(manifest=stale)
    node.refresh_from_db()
    page = edit(admin, driven, node, unschedulable="on")
    assert "rejected: Conflict" in page


def test_a_manifest_of_another_object_is_refused_by_the_form(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    other = {**node.manifest, "metadata": {**node.manifest["metadata"], "name": "n9"}}
    page = edit(admin, driven, node, manifest=json.dumps(other))
    assert "it must stay" in page
    assert not Command.objects.exists()


def test_a_taint_without_an_effect_is_refused_by_the_form(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    page = edit(admin, driven, node, taints='[{"key": "k"}]')
    assert "taints[0].effect" in page
    assert not Command.objects.exists()


@pytest.mark.parametrize("text", ['{"a": NaN}', '["\\u0000"]', "[" * 5000])
def test_json_that_no_database_could_keep_is_refused_by_the_form(
    admin: Client, driven: Run, text: str
) -> None:
    page = edit(admin, driven, Node.objects.get(run=driven, key="n1"), taints=text)
    assert "Enter a valid JSON." in page
    assert not Command.objects.exists()


def test_saving_without_a_change_submits_nothing(admin: Client, driven: Run) -> None:
    page = edit(admin, driven, Node.objects.get(run=driven, key="n1"))
    assert "Nothing was changed" in page
    assert not Command.objects.exists()


def test_deleting_a_pod_is_a_command(admin: Client, driven: Run) -> None:
    pod = Pod.objects.get(run=driven, key="default/giant")
    with driving(driven):
        admin.post(f"/admin/scheduling/pod/{pod.pk}/delete/", {"post": "yes"})
    assert Command.objects.get(run=driven).status == Command.Status.APPLIED
    assert not Pod.objects.filter(pk=pod.pk).exists()


def test_nobody_adds_rows_by_hand(admin: Client, driven: Run) -> None:
    page = admin.get("/admin/scheduling/node/add/", follow=True)
    assert page.redirect_chain[-1][0] == "/admin/"
    assert "node/add/" not in admin.get("/admin/scheduling/node/").content.decode()
