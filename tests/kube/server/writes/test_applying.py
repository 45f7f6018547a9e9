"""Applying configurations to a run: fields have managers, who do not overwrite each other."""

from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from kscope.runs.models import Run
from tests.kube.server.client import JSON_PATCH, MERGE, Answer, Kube
from tests.kube.server.writes.test_writing import DEPLOYMENT, DEPLOYMENTS, POD, PODS, digests

pytestmark = pytest.mark.django_db(transaction=True)

APPLY = "application/apply-patch+yaml"
APP = f"{DEPLOYMENTS}/app"
MAPS = "/api/v1/namespaces/default/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "labels": {"a": "b"}}}


@pytest.fixture
def kube(live_kube: Kube) -> Kube:
    """A client of a run that a worker looks after meanwhile."""
    return live_kube


async def applied(kube: Kube, manager: str, config: Any, query: str = "") -> Answer:
    path = f"{APP}?fieldManager={manager}{query}"
    return await kube.ask("PATCH", path, config, content_type=APPLY)


def replicas(wanted: int) -> dict[str, Any]:
    """A configuration of nothing but the number of replicas."""
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "app"}}
    return {**named, "spec": {"replicas": wanted}}


def managers(answer: Answer) -> list[tuple[str, str]]:
    entries = answer.json["metadata"].get("managedFields", [])
    return [(one["manager"], one["operation"]) for one in entries]


async def test_applying_creates_what_is_missing(kube: Kube) -> None:
    created = await applied(kube, "one", DEPLOYMENT)
    assert created.status == 201
    assert managers(created) == [("one", "Apply")]


async def test_applying_the_same_again_changes_nothing(kube: Kube) -> None:
    path = f"{MAPS}/m?fieldManager=one"
    created = await kube.ask("PATCH", path, MAP, content_type=APPLY)
    again = await kube.ask("PATCH", path, MAP, content_type=APPLY)
    assert (created.status, again.status) == (201, 200)
    assert again.json == created.json


async def test_a_field_of_another_manager_conflicts(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    refused = await applied(kube, "two", replicas(3))
    assert refused.status == 409
    assert refused.json["message"] == (
        'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    )
    assert refused.json["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "one"',
            "field": ".spec.replicas",
        }
    ]
    assert (await kube.get(APP)).json["spec"]["replicas"] == 1


async def test_force_takes_the_field_over(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    forced = await applied(kube, "two", replicas(3), "&force=true")
    assert (forced.status, forced.json["spec"]["replicas"]) == (200, 3)
    refused = await applied(kube, "one", DEPLOYMENT)
    assert 'conflict with "two": .spec.replicas' in refused.json["message"]


async def test_a_field_that_is_no_longer_applied_goes(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    labelled = {**DEPLOYMENT, "metadata": {"name": "app", "labels": {"a": "b"}}}
    answer = await applied(kube, "one", labelled)
    assert answer.json["metadata"]["labels"] == {"a": "b"}


async def test_a_field_that_another_shares_stays(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    label = replicas(1) | {"metadata": {"name": "app", "labels": {"c": "d"}}}
    assert (await applied(kube, "two", label)).status == 200
    bare = {**DEPLOYMENT, "metadata": {"name": "app"}}
    answer = await applied(kube, "one", bare)
    assert answer.json["metadata"]["labels"] == {"c": "d"}


async def test_other_writes_take_what_they_change(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    path, patch = f"{APP}?fieldManager=editor", {"spec": {"replicas": 2}}
    changed = await kube.ask("PATCH", path, patch, content_type=MERGE)
    assert managers(changed) == [("one", "Apply"), ("editor", "Update")]
    refused = await applied(kube, "one", DEPLOYMENT)
    assert 'conflict with "editor" using apps/v1: .spec.replicas' in refused.json["message"]


async def test_scaling_has_a_manager_of_its_own(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    patch = {"spec": {"replicas": 4}}
    agent = {"content_type": MERGE, "user_agent": "scaler/v1 (test)"}
    assert (await kube.ask("PATCH", f"{APP}/scale", patch, **agent)).status == 200
    refused = await applied(kube, "one", DEPLOYMENT)
    assert refused.json["message"].endswith(
        'conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas'
    )


async def test_what_was_there_before_has_a_manager(kube: Kube) -> None:
    assert "managedFields" not in (await kube.get(f"{PODS}/web")).json["metadata"]
    label = {**POD, "metadata": {"name": "web", "labels": {"x": "y"}}}
    del label["spec"]
    path = f"{PODS}/web?fieldManager=one"
    answer = await kube.ask("PATCH", path, label, content_type=APPLY)
    assert managers(answer) == [("one", "Apply"), ("before-first-apply", "Update")]


async def test_managed_fields_can_be_cleared(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    cleared = {"metadata": {"managedFields": [{}]}}
    answer = await kube.ask("PATCH", APP, cleared, content_type=MERGE)
    assert managers(answer) == []


async def test_managed_fields_can_be_replaced(kube: Kube) -> None:
    """As kubectl does when it takes over what it once applied without the server."""
    created = (await kube.ask("POST", f"{MAPS}?fieldManager=old", MAP)).json
    entry = created["metadata"]["managedFields"][0] | {"manager": "new", "operation": "Apply"}
    version = created["metadata"]["resourceVersion"]
    patch = [
        {"op": "replace", "path": "/metadata/managedFields", "value": [entry]},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]
    answer = await kube.ask("PATCH", f"{MAPS}/m", patch, content_type=JSON_PATCH)
    assert managers(answer) == [("new", "Apply")]
    stale = await kube.ask("PATCH", f"{MAPS}/m", patch, content_type=JSON_PATCH)
    assert stale.status == 409


@pytest.mark.parametrize(
    ("query", "code", "message"),
    [
        ("", 422, "fieldManager: Required value: is required for apply patch"),
        (f"fieldManager={'a' * 129}", 422, "Too long: may not be more than 128 bytes"),
        ("fieldManager=a%07", 422, "invalid character U+0007 (at position 1)"),
    ],
)
async def test_a_manager_needs_a_proper_name(
    kube: Kube, query: str, code: int, message: str
) -> None:
    answer = await kube.ask("PATCH", f"{APP}?{query}", DEPLOYMENT, content_type=APPLY)
    assert answer.status == code
    assert message in answer.json["message"]


async def test_only_configurations_are_forced(kube: Kube) -> None:
    patch = {"metadata": {"labels": {"x": "y"}}}
    answer = await kube.ask("PATCH", f"{PODS}/web?force=true", patch, content_type=MERGE)
    assert answer.status == 422
    assert "force: Forbidden: may not be specified for non-apply patch" in answer.json["message"]


async def test_unknown_fields_are_not_applied(kube: Kube) -> None:
    wrong = {**DEPLOYMENT, "spec": {**DEPLOYMENT["spec"], "replicaz": 2}}
    answer = await applied(kube, "one", wrong)
    assert ".spec.replicaz: field not declared in schema" in answer.json["message"]
    listed = {**DEPLOYMENT, "metadata": {"name": "app", "managedFields": []}}
    answer = await applied(kube, "one", listed)
    assert (answer.status, answer.json["message"]) == (400, "metadata.managedFields must be nil")


async def test_a_tried_configuration_is_not_kept(kube: Kube) -> None:
    tried = await applied(kube, "one", DEPLOYMENT, "&dryRun=All")
    assert tried.status == 201
    assert managers(tried) == [("one", "Apply")]
    assert (await kube.get(APP)).status == 404


async def test_the_past_has_the_managers_of_its_time(
    kube: Kube, kube_of: Callable[..., Kube], driven: Run
) -> None:
    first = await applied(kube, "one", DEPLOYMENT)
    await applied(kube, "two", replicas(3), "&force=true")
    past = kube_of(driven, first.json["metadata"]["resourceVersion"])
    assert managers(await past.get(APP)) == [("one", "Apply")]


async def test_managers_are_the_same_after_a_replay(kube: Kube, driven: Run) -> None:
    other = MAP | {"metadata": {"name": "m", "labels": {"a": "c"}}}
    for manager, config in (("one", MAP), ("two", other)):
        path = f"{MAPS}/m?fieldManager={manager}&force=true"
        assert (await kube.ask("PATCH", path, config, content_type=APPLY)).status < 300
    digest, replayed = await sync_to_async(digests)(driven)
    assert replayed == digest


async def test_pages_do_not_show_managers(kube: Kube, driven: Run, async_client: Any) -> None:
    path = f"{MAPS}/m?fieldManager=one"
    await kube.ask("PATCH", path, MAP, content_type=APPLY)
    address = f"/api/v1/runs/{driven.pk}/objects/configmap/default/m/"
    shown = (await async_client.get(address)).json()
    assert shown["metadata"]["labels"] == {"a": "b"}
    assert "managedFields" not in shown["metadata"]


async def test_a_scale_can_be_applied(kube: Kube) -> None:
    await applied(kube, "one", DEPLOYMENT)
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}
    path = f"{APP}/scale?fieldManager=two"
    refused = await kube.ask("PATCH", path, scale, content_type=APPLY)
    assert 'conflict with "one": .spec.replicas' in refused.json["message"]
    forced = await kube.ask("PATCH", f"{path}&force=true", scale, content_type=APPLY)
    assert (forced.status, forced.json["spec"]) == (200, {"replicas": 3})


async def test_a_status_has_managers_of_its_own(kube: Kube) -> None:
    config = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "giant"}}
    config |= {"status": {"message": "hello"}}
    path = f"{PODS}/giant/status?fieldManager=one&force=true"
    answer = await kube.ask("PATCH", path, config, content_type=APPLY)
    assert answer.json["status"]["message"] == "hello"
    entry = answer.json["metadata"]["managedFields"][0]
    assert entry["subresource"] == "status"
    assert entry["fieldsV1"] == {"f:status": {"f:message": {}}}


async def test_configurations_in_cbor_are_refused(kube: Kube) -> None:
    path = f"{APP}?fieldManager=one"
    answer = await kube.ask("PATCH", path, b"", content_type="application/apply-patch+cbor")
    assert answer.status == 415
