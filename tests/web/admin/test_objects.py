"""The admin: edits become commands; nobody writes a row behind the engine's back."""

import json
import re
from html import unescape

import pytest
from django.test import Client

from kscope.runs import services
from kscope.runs.manifest_edits import is_resize, resize_patch
from kscope.runs.models import Command, Run
from scheduling.models import Node, Pod, SchedulingAttempt
from tests.web.admin.pages import FormReader, edit, injected, opened, submitted
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("view", ["change", "history"])
def test_attempt_that_a_fork_shares_is_shown(admin: Client, driven: Run, view: str) -> None:
    services.run_fork(run=driven)
    attempt = SchedulingAttempt.objects.filter(run=driven).earliest("id")
    assert SchedulingAttempt.objects.filter(id=attempt.pk).count() == 2
    answer = admin.get(f"/admin/scheduling/schedulingattempt/{attempt.pk}/{view}/")
    assert answer.status_code == 200


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
def test_every_list_of_the_admin_opens(admin: Client, driven: Run, path: str) -> None:
    assert admin.get(f"/admin/{path}/").status_code == 200


def test_the_list_calls_a_deleted_pod_terminating(admin: Client, driven: Run) -> None:
    row = Pod.objects.get(run=driven, key="default/web")
    assert "Terminating" not in admin.get("/admin/scheduling/pod/").content.decode()
    row.manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    row.save(update_fields=["manifest"])
    assert "Terminating" in admin.get("/admin/scheduling/pod/").content.decode()


def test_old_zone_label_counts_without_the_new(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    old = "failure-domain.beta.kubernetes.io/zone"
    new = "topology.kubernetes.io/zone"
    for labels, zone in (({old: "old"}, "old"), ({old: "old", new: "new"}, "new"), ({}, "")):
        edit(admin, driven, node, labels=json.dumps(labels))
        node.refresh_from_db()
        assert node.zone == zone


def test_events_can_be_searched(admin: Client, driven: Run) -> None:
    page = admin.get("/admin/runs/eventrecord/?q=FailedScheduling").content.decode()
    assert "0/2 nodes are available" in page


def test_tainting_a_node_reports_the_commands_outcome(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    taints = [{"key": "k", "value": "v", "effect": "NoSchedule"}]
    page = edit(admin, driven, node, taints=json.dumps(taints))
    command = Command.objects.get(run=driven)
    assert f"command {command.pk} applied at seq {command.outcome_seq}" in page
    node.refresh_from_db()
    assert node.manifest["spec"]["taints"] == taints


def test_fault_from_the_list_is_a_command(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    page = injected(admin, driven, node, "fail_attach", times="3")
    command = Command.objects.get(run=driven)
    assert command.body["patch"] == {"fail": "attach", "node": "n1", "times": 3}
    assert f"command {command.pk} applied" in page


def test_missing_secret_can_be_there_again(admin: Client, driven: Run) -> None:
    pod = Pod.objects.get(run=driven, key="default/web")
    for action in ("missing_secret", "present_secret"):
        injected(admin, driven, pod, action, asked="tls")
    patches = [each.body["patch"] for each in Command.objects.filter(run=driven).order_by("pk")]
    assert patches == [{"missing": "secret/default/tls"}, {"present": "secret/default/tls"}]


def test_fault_without_the_name_it_needs_does_nothing(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    page = injected(admin, driven, node, "unregister")
    assert "This field is required." in page
    assert "driver:" in page
    assert not Command.objects.filter(run=driven).exists()


def test_an_engine_refusal_is_shown_and_changes_nothing(admin: Client, driven: Run) -> None:
    pod = Pod.objects.get(run=driven, key="default/web")
    manifest = {**pod.manifest, "spec": {**pod.manifest["spec"], "nodeName": "n2"}}
    manifest["spec"]["hostNetwork"] = True
    page = edit(admin, driven, pod, manifest=json.dumps(manifest))
    assert "rejected: Invalid" in page
    assert Pod.objects.get(pk=pod.pk).manifest == pod.manifest


def test_admin_names_the_field_of_a_wrong_type(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    manifest = {**node.manifest, "spec": {"podCIDRs": "10.0.0.0/8"}}
    page = edit(admin, driven, node, manifest=json.dumps(manifest))
    assert 'spec.podCIDRs: Invalid value: expected a list, found "10.0.0.0/8"' in page


def test_the_admin_notes_what_is_left_out(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    manifest = {**node.manifest, "spec": {"taint": []}}
    page = edit(admin, driven, node, manifest=json.dumps(manifest))
    assert "spec.taint: unknown field, which is left out; the nearest is spec.taints" in page


def test_new_requests_of_a_placed_pod_resize_it(admin: Client, driven: Run) -> None:
    pod = Pod.objects.get(run=driven, key="default/web")
    manifest = json.loads(json.dumps(pod.manifest))
    manifest["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    edit(admin, driven, pod, manifest=json.dumps(manifest))
    command = Command.objects.get(run=driven)
    assert (command.verb, command.status) == ("resize", Command.Status.APPLIED)
    pod.refresh_from_db()
    assert pod.manifest["metadata"]["generation"] == 2


def test_resize_is_distinguished_from_another_edit() -> None:
    containers = [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    manifest = {"spec": {"containers": containers}}
    larger = {"containers": [{"name": "c", "image": "i", "resources": {}}]}
    other_image = {"containers": [{"name": "c", "image": "j", "resources": {}}]}
    assert is_resize(manifest, {"spec": larger})
    assert resize_patch(manifest, {"spec": larger}) == {
        "spec": {"containers": [{"name": "c", "resources": {"requests": None}}]}
    }
    assert not is_resize(manifest, {"spec": other_image})
    assert not is_resize(manifest, {"spec": larger, "metadata": {"labels": {}}})


TAINT = {"key": "newer", "effect": "NoSchedule"}


def test_an_older_form_cannot_wipe_a_newer_taint(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    older, newer = opened(admin, node), opened(admin, node)
    submitted(admin, driven, node, {**newer, "taints": json.dumps([TAINT])})
    answer = submitted(admin, driven, node, {**older, "labels": '{"typed": "here"}'})
    page = unescape(answer.content.decode())
    assert answer.status_code == 409
    assert "Nothing was saved: Conflict" in page
    row = page.partition("Changed by")[2]
    assert '"newer"' in row.partition("others")[0]
    assert FormReader(page).fields["labels"] == '{"typed": "here"}'
    node.refresh_from_db()
    assert node.manifest["spec"]["taints"] == [TAINT]
    assert "typed" not in node.manifest["metadata"]["labels"]


def test_a_resubmitted_form_changes_only_its_own_fields(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    older = opened(admin, node)
    edit(admin, driven, node, taints=json.dumps([TAINT]))
    refused = submitted(admin, driven, node, {**older, "labels": '{"typed": "here"}'})
    again = FormReader(refused.content.decode()).fields
    assert submitted(admin, driven, node, again).redirect_chain
    node.refresh_from_db()
    assert node.manifest["spec"]["taints"] == [TAINT]
    assert node.manifest["metadata"]["labels"] == {"typed": "here"}


def test_typed_values_survive_a_refusal_by_the_engine(admin: Client, driven: Run) -> None:
    pod = Pod.objects.get(run=driven, key="default/web")
    typed = json.dumps({**pod.manifest, "spec": {**pod.manifest["spec"], "hostNetwork": True}})
    page = edit(admin, driven, pod, manifest=typed)
    assert "Nothing was saved: Invalid" in page
    assert "Newest version" not in page
    assert json.loads(FormReader(page).fields["manifest"]) == json.loads(typed)


@pytest.mark.parametrize("what", ["change", "delete"])
def test_the_list_filter_survives_saving_and_deleting(
    admin: Client, driven: Run, what: str
) -> None:
    pod = Pod.objects.get(run=driven, key="default/giant")
    wanted = f"run__id__exact={driven.pk}"
    page = admin.get(f"/admin/scheduling/pod/?{wanted}").content.decode()
    found = re.search(rf'href="([^"]*/{pod.pk}/change/[^"]*)"', page)
    assert found is not None
    link = unescape(found[1])
    page = admin.get(link).content.decode()
    form = FormReader(page).fields
    if what == "delete":
        found = re.search(r'href="([^"]*/delete/[^"]*)"', page)
        assert found is not None
        link = unescape(found[1])
    with driving(driven):
        answer = admin.post(link, form)
    assert answer.headers["Location"].endswith(f"/admin/scheduling/pod/?{wanted}")


def test_the_form_refuses_a_manifest_of_another_object(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    other = {**node.manifest, "metadata": {**node.manifest["metadata"], "name": "n9"}}
    page = edit(admin, driven, node, manifest=json.dumps(other))
    assert "it must stay" in page
    assert not Command.objects.exists()


def test_the_form_refuses_a_taint_without_effect(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    page = edit(admin, driven, node, taints='[{"key": "k"}]')
    assert "taints[0].effect" in page
    assert not Command.objects.exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[{"key": "a", "value": NaN}]', "taints[0].effect is None"),
        ('{"a": NaN}', "expected a list of mappings"),
        ('["\\u0000"]', "a text holds the character U+0000"),
        ("[" * 5000, "nested more than 100 levels deep"),
    ],
)
def test_the_form_refuses_what_cannot_be_stored(
    admin: Client, driven: Run, text: str, why: str
) -> None:
    page = edit(admin, driven, Node.objects.get(run=driven, key="n1"), taints=text)
    assert why in page
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


def test_nobody_adds_records_by_hand(admin: Client, driven: Run) -> None:
    assert admin.get("/admin/runs/eventrecord/add/").status_code == 403
    assert "eventrecord/add/" not in admin.get("/admin/runs/eventrecord/").content.decode()
