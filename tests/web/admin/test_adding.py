"""Objects are created in the admin: each begins with a text that the engine takes."""

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import pytest
from django.test import Client

from engine.objects.kinds import entity_id
from kscope.runs.app_registry import registry
from kscope.runs.editing.beginnings import BEGINNINGS
from kscope.runs.models import Command, OtherObject, Run
from kube.resources import AUTOSCALING_V1, SERVED
from scheduling.models import Node, Pod
from tests.web.admin.pages import FormReader
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)


# Another object behind that of the page.
SECOND = {
    "memory: 128Mi": "memory: 128Mi\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}"
}


def add_address(model: type[Any], run: Run, kind: str) -> str:
    """Where an object of that kind is begun."""
    meta = model._meta
    return f"/admin/{meta.app_label}/{meta.model_name}/add/?run={run.pk}&kind={kind}"


def created(
    admin: Client,
    model: type[Any],
    run: Run,
    kind: str,
    words: Mapping[str, str] | None = None,
    **fields: str,
) -> Any:
    """Open the page, put other words into its text, and send it; the answer."""
    address = add_address(model, run, kind)
    form = FormReader(admin.get(address).content.decode()).fields
    for old, new in (words or {}).items():
        assert old in form["manifest"]
        form["manifest"] = form["manifest"].replace(old, new)
    with driving(run):
        return admin.post(address, {**form, **fields}, follow=True)


def test_each_kind_of_the_api_has_a_beginning() -> None:
    served = {
        f"{one.api_version} {one.kind}"
        for one in SERVED
        if "create" in one.verbs and "list" in one.verbs
    }
    # Of a kind that is served in two versions, the newer one.
    assert set(BEGINNINGS) == served - {f"{AUTOSCALING_V1} HorizontalPodAutoscaler"}


@pytest.mark.parametrize("key", BEGINNINGS)
def test_what_a_kind_begins_with_is_taken(admin: Client, driven: Run, key: str) -> None:
    beginning = BEGINNINGS[key]
    model, _ = registry.place_of(entity_id(beginning.kind, ""))
    answer = created(admin, model, driven, key)
    page = unescape(answer.content.decode())
    command = Command.objects.get(run=driven)
    assert (command.verb, command.status) == ("create", Command.Status.APPLIED), command.reason
    assert command.reason == ""
    assert f"{beginning.name}: command {command.pk} applied" in page
    _, name = registry.place_of(command.object)
    assert model.objects.filter(run=driven, key=name).exists()


def test_run_and_kind_are_asked_for_first(admin: Client, driven: Run) -> None:
    page = admin.get("/admin/runs/otherobject/add/").content.decode()
    assert f'<option value="{driven.pk}">' in page
    assert "Deployment (apps/v1)" in page
    assert "Pod (v1)" not in page
    assert 'name="manifest"' not in page


@pytest.mark.parametrize("run", ["9" * 20, "9" * 5000, "nothing"])
def test_run_that_is_not_there_is_told(admin: Client, driven: Run, run: str) -> None:
    page = admin.get(f"/admin/runs/otherobject/add/?run={run}").content.decode()
    assert "That choice is not one of the available choices." in page


def test_list_of_one_run_leads_to_its_text(admin: Client, driven: Run) -> None:
    page = admin.get(f"/admin/scheduling/node/?run__id__exact={driven.pk}").content.decode()
    found = re.search(r'href="(/admin/scheduling/node/add/[?][^"]*)"', page)
    assert found is not None
    page = admin.get(unescape(found[1])).content.decode()
    assert "name: new-node\n" in FormReader(page).fields["manifest"]
    assert f'data-run="{driven.pk}"' in page


def test_created_object_is_opened_if_wanted(admin: Client, driven: Run) -> None:
    answer = created(admin, Pod, driven, "v1 Pod", _continue="1")
    pod = Pod.objects.get(run=driven, key="default/new-pod")
    assert answer.redirect_chain[-1][0].startswith(f"/admin/scheduling/pod/{pod.pk}/change/")
    answer = created(admin, Pod, driven, "v1 Pod")
    assert answer.redirect_chain[-1][0] == f"/admin/scheduling/pod/?run__id__exact={driven.pk}"
    assert Pod.objects.filter(run=driven, key="default/new-pod-2").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"cpu: 100m": "cpu: lots"}, "Line 12, spec.containers[0].resources.requests.cpu: "),
        ({"name: new-pod\n": "name:\n"}, "Line 4, metadata.name: expected a name, found nothing"),
        ({"kind: Pod": "kind: Node"}, "kind: expected Pod, found Node"),
        (SECOND, "there are 2 documents; expected one"),
        ({"spec:": "spec: ["}, "not YAML"),
    ],
)
def test_faults_are_told_with_their_place(
    admin: Client, driven: Run, words: dict[str, str], why: str
) -> None:
    answer = created(admin, Pod, driven, "v1 Pod", words)
    page = unescape(answer.content.decode())
    assert answer.status_code == 400
    assert "Nothing was created" in page
    assert why in page
    assert next(iter(words.values())) in FormReader(page).fields["manifest"]
    assert not Command.objects.exists()


def test_engine_refuses_and_the_text_stays(admin: Client, driven: Run) -> None:
    words = {"name: new-node": "name: n1", "cpu: 4": "cpu: 5"}
    answer = created(admin, Node, driven, "v1 Node", words)
    page = unescape(answer.content.decode())
    assert answer.status_code == 409
    assert "Nothing was created: AlreadyExists" in page
    assert "cpu: 5" in FormReader(page).fields["manifest"]
    assert Node.objects.filter(run=driven).count() == 2


def test_nobody_adds_to_a_run_that_failed(admin: Client, driven: Run) -> None:
    Run.objects.filter(pk=driven.pk).update(status=Run.Status.FAILED)
    page = admin.get(add_address(OtherObject, driven, "v1 Namespace")).content.decode()
    assert "Select a valid choice" in page
    assert 'name="manifest"' not in page
