"""Writing to a run: each write is a command, refused in the words of an API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from engine.cluster.cluster import Cluster
from kscope.runs import nudges
from kscope.runs.drive.replay import engine_at_head
from kscope.runs.models import Checkpoint, Command, Run
from kube.server.writes import engine_line
from tests.kube.server.client import JSON_PATCH, MERGE, STRATEGIC, Kube
from tests.waiting import HANG_SECONDS
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "mine"},
    "spec": {"containers": [{"name": "c", "image": "app:1"}]},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "app", "labels": {"a": "b", "c": "d"}},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "app"}},
        "template": {
            "metadata": {"labels": {"app": "app"}},
            "spec": {"containers": [{"name": "c", "image": "app:1"}]},
        },
    },
}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def test_created_object_is_answered_as_it_is_stored(kube: Kube) -> None:
    answer = await kube.ask("POST", PODS, POD)
    assert answer.status == 201
    created = answer.json
    assert created["metadata"]["uid"]
    assert int(created["metadata"]["resourceVersion"]) > 25
    again = await kube.ask("POST", PODS, POD)
    assert (again.status, again.json["message"]) == (409, 'pods "mine" already exists')


@pytest.mark.parametrize("longest", [0, nudges.LONGEST_MESSAGE], ids=["asked", "told"])
async def test_write_is_answered_with_its_own_result(
    kube: Kube, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nudges, "LONGEST_MESSAGE", longest)
    address = "/api/v1/namespaces/default/configmaps"
    made = {"metadata": {"name": "mine"}, "data": {"a": "b"}}
    created = (await kube.ask("POST", address, made)).json
    assert created == (await kube.get(f"{address}/mine")).json
    changed = (
        await kube.ask("PATCH", f"{address}/mine", {"data": {"c": "d"}}, content_type=MERGE)
    ).json
    assert changed == (await kube.get(f"{address}/mine")).json
    assert int(changed["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])


@pytest.mark.parametrize("version", ["0", "", None])
async def test_a_put_of_any_version_is_no_conflict(kube: Kube, version: str | None) -> None:
    address = "/api/v1/namespaces/default/configmaps"
    await kube.ask("POST", address, {"metadata": {"name": "mine"}, "data": {"a": "b"}})
    put = {"metadata": {"name": "mine", "resourceVersion": version}, "data": {"c": "d"}}
    answer = await kube.ask("PUT", f"{address}/mine", put)
    assert (answer.status, answer.json["data"]) == (200, {"c": "d"})


async def test_unknown_field_is_a_warning_or_a_refusal(
    kube: Kube,
) -> None:
    odd = {**POD, "spec": {**POD["spec"], "nodeNam": "n1", "kö\n": 1}}
    refused = await kube.ask("POST", f"{PODS}?fieldValidation=Strict", odd)
    assert (refused.status, 'unknown field "spec.nodeNam"' in refused.json["message"]) == (
        400,
        True,
    )
    ignored = await kube.ask("POST", f"{PODS}?fieldValidation=Ignore&dryRun=All", odd)
    assert "nodeNam" not in ignored.headers["warning"]
    made = await kube.ask("POST", PODS, odd)
    found = {name.lower(): value for name, value in made.headers.items()}["warning"]
    assert made.status == 201
    assert '299 - "unknown field \\"spec.nodeNam\\""' in found
    assert found.isascii()
    patched = await kube.ask("PATCH", f"{PODS}/mine", {"status": {"fase": "x"}}, content_type=MERGE)
    warned = {name.lower(): value for name, value in patched.headers.items()}["warning"]
    assert 'unknown field \\"status.fase\\"' in warned
    assert "nodeNam" not in warned


async def test_field_that_does_not_exist_is_not_stored(kube: Kube) -> None:
    # Nobody binds it, which would change its spec meanwhile.
    spec = {**POD["spec"], "nodeNam": "n1", "schedulerName": "nobody"}
    made = (await kube.ask("POST", PODS, {**POD, "spec": spec})).json
    assert "nodeNam" not in made["spec"]
    # Without a version: the scheduler writes the pod's condition at any time.
    put = {**made, "metadata": {**made["metadata"], "label": {}, "resourceVersion": ""}}
    assert (await kube.ask("PUT", f"{PODS}/mine", put)).status == 200
    for content_type, patch in (
        (MERGE, {"metadata": {"annotation": {}}}),
        (STRATEGIC, {"spec": {"nodeNam": "n1"}}),
        (JSON_PATCH, [{"op": "add", "path": "/spec/nodeNam", "value": "n1"}]),
    ):
        answer = await kube.ask("PATCH", f"{PODS}/mine", patch, content_type=content_type)
        assert (answer.status, "unknown field" in str(answer.headers)) == (200, True)
    after = (await kube.get(f"{PODS}/mine")).json
    assert {"nodeNam", "label", "annotation"}.isdisjoint((*after["spec"], *after["metadata"]))


_STATEFUL_SETS = "/apis/apps/v1/namespaces/default/statefulsets"
_TEXT = {"persistentVolumeClaimRetentionPolicy": "text"}
_NOT_READ = (
    "json: cannot unmarshal string into Go struct field "
    "StatefulSetSpec.spec.persistentVolumeClaimRetentionPolicy of type "
    "v1.StatefulSetPersistentVolumeClaimRetentionPolicy"
)


@pytest.mark.parametrize(
    ("method", "content_type", "code"),
    [
        ("POST", "application/json", 400),
        ("PUT", "application/json", 400),
        ("PATCH", MERGE, 422),
        ("PATCH", STRATEGIC, 422),
        ("PATCH", JSON_PATCH, 422),
        ("PATCH", "application/apply-patch+yaml", 500),
    ],
)
async def test_a_wrong_type_is_refused_by_every_method(
    kube: Kube, method: str, content_type: str, code: int
) -> None:
    whole = {**DEPLOYMENT, "kind": "StatefulSet", "metadata": {"name": "s"}}
    spec = {**DEPLOYMENT["spec"], "serviceName": "s"}
    assert (await kube.ask("POST", _STATEFUL_SETS, {**whole, "spec": spec})).status == 201
    body: Any = {**whole, "spec": {**spec, **_TEXT}}
    if method == "PATCH" and code == 422:
        body = {"spec": _TEXT}
    if content_type == JSON_PATCH:
        [(name, value)] = _TEXT.items()
        body = [{"op": "add", "path": f"/spec/{name}", "value": value}]
    address = _STATEFUL_SETS if method == "POST" else f"{_STATEFUL_SETS}/s?fieldManager=me"
    answer = await kube.ask(method, address, body, content_type=content_type)
    said = "expected map, got &{text}" if code == 500 else _NOT_READ
    assert (answer.status, said in answer.json["message"]) == (code, True), answer.json["message"]


async def test_version_of_the_run_says_which_fields_exist(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    gated = {**POD, "spec": {**POD["spec"], "schedulingGates": [{"name": "a"}]}}
    strict = f"{PODS}?fieldValidation=Strict&dryRun=All"
    for profile, status in ("v1.20", 400), ("v1.36", 201):
        await sync_to_async(Run.objects.filter(pk=driven.pk).update)(profile=profile)
        assert (await kube_of(driven).ask("POST", strict, gated)).status == status


async def test_name_is_made_where_a_prefix_is_given(kube: Kube) -> None:
    prefixed = {**POD, "metadata": {"generateName": "mine-"}}
    name = (await kube.ask("POST", PODS, prefixed)).json["metadata"]["name"]
    assert name.startswith("mine-")
    assert len(name) == len("mine-") + 5


async def test_what_makes_no_sense_is_refused(kube: Kube) -> None:
    wrong = await kube.ask("POST", PODS, {**POD, "kind": "Node"})
    assert wrong.status == 400
    nameless = await kube.ask("POST", PODS, {**POD, "metadata": {}})
    assert nameless.status == 422
    invalid = await kube.ask("POST", PODS, {**POD, "spec": {"containers": "none"}})
    assert invalid.status == 400
    unread = await kube.ask("POST", PODS, b"{", content_type="text/plain")
    assert unread.status == 415


async def test_unreadable_body_is_refused_before_it_is_decoded(kube: Kube) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "1x"}}}
    wrong = {"metadata": {"name": "mine"}, "spec": {"containers": [container]}}
    refused = await kube.ask("POST", PODS, wrong)
    assert (refused.status, refused.json["message"]) == (
        400,
        'Pod in version "v1" cannot be handled as a Pod: quantities must match the regular '
        "expression '^([+-]?[0-9.]+)([eEinumkKMGTPE]*[-+]?[0-9]*)$'",
    )
    patch = {"status": {"conditions": "x"}}
    patched = await kube.ask("PATCH", "/api/v1/nodes/n1/status", patch, content_type=MERGE)
    assert (patched.status, patched.json["details"]["causes"][0]["field"]) == (422, "patch")


async def test_an_old_version_is_a_conflict(kube: Kube) -> None:
    web = (await kube.get(f"{PODS}/web")).json
    web["metadata"]["labels"] = {"x": "y"}
    assert (await kube.ask("PUT", f"{PODS}/web", web)).status == 200
    again = await kube.ask("PUT", f"{PODS}/web", web)
    assert again.status == 409
    assert "the object has been modified" in again.json["message"]


async def test_each_kind_of_patch_changes_the_object(kube: Kube) -> None:
    patches = (
        (MERGE, {"metadata": {"labels": {"a": "1"}}}),
        (STRATEGIC, {"metadata": {"labels": {"b": "2"}}}),
        (JSON_PATCH, [{"op": "add", "path": "/metadata/labels/c", "value": "3"}]),
    )
    for content_type, patch in patches:
        answer = await kube.ask("PATCH", f"{PODS}/giant", patch, content_type=content_type)
        assert answer.status == 200, answer.json
    labels = (await kube.get(f"{PODS}/giant")).json["metadata"]["labels"]
    assert labels == {"a": "1", "b": "2", "c": "3"}


async def test_annotations_may_come_with_a_status(kube: Kube) -> None:
    said = {"annotations": {"a": "b"}, "labels": {"c": "d"}}
    patch = {"metadata": said, "status": {"message": "hello"}}
    pod = (await kube.ask("PATCH", f"{PODS}/giant/status", patch, content_type=MERGE)).json
    assert (pod["metadata"]["annotations"]["a"], pod["metadata"]["labels"]["c"]) == ("b", "d")
    assert pod["status"]["message"] == "hello"
    await kube.ask("POST", DEPLOYMENTS, DEPLOYMENT)
    path = f"{DEPLOYMENTS}/app/status"
    made = (await kube.ask("PATCH", path, {"metadata": said}, content_type=MERGE)).json
    assert made["metadata"]["annotations"]["a"] == "b"
    # As upstream, the status of a Deployment comes without labels.
    assert made["metadata"]["labels"] == {"a": "b", "c": "d"}


async def test_the_status_has_an_address_of_its_own(kube: Kube) -> None:
    message = {"status": {"message": "hello"}}
    await kube.ask("PATCH", f"{PODS}/giant", message, content_type=MERGE)
    assert "message" not in (await kube.get(f"{PODS}/giant")).json["status"]
    await kube.ask("PATCH", f"{PODS}/giant/status", message, content_type=MERGE)
    assert (await kube.get(f"{PODS}/giant")).json["status"]["message"] == "hello"


async def test_a_workload_is_scaled(kube: Kube) -> None:
    await kube.ask("POST", DEPLOYMENTS, DEPLOYMENT)
    patch = {"spec": {"replicas": 3}}
    scale = await kube.ask("PATCH", f"{DEPLOYMENTS}/app/scale", patch, content_type=MERGE)
    assert (scale.json["kind"], scale.json["spec"]) == ("Scale", {"replicas": 3})
    assert (await kube.get(f"{DEPLOYMENTS}/app")).json["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"name": "app", "resourceVersion": "1"}, 409),
        ({"name": "app", "uid": "another"}, 409),
        ({"name": "other"}, 400),
        ({}, 400),
    ],
    ids=["version", "uid", "name", "no name"],
)
async def test_scale_is_that_of_the_object_it_names(
    kube: Kube, metadata: dict[str, str], status: int
) -> None:
    await kube.ask("POST", DEPLOYMENTS, DEPLOYMENT)
    scale = {"metadata": metadata, "spec": {"replicas": 3}}
    answer = await kube.ask("PUT", f"{DEPLOYMENTS}/app/scale", scale)
    assert answer.status == status
    if metadata:
        answer = await kube.ask("PATCH", f"{DEPLOYMENTS}/app/scale", scale, content_type=MERGE)
        assert answer.status == status
    assert (await kube.get(f"{DEPLOYMENTS}/app")).json["spec"]["replicas"] == 1


async def test_an_object_with_another_uid_is_another_object(kube: Kube) -> None:
    web = (await kube.get(f"{PODS}/web")).json
    web["metadata"] = {**web["metadata"], "uid": "another", "labels": {"x": "y"}}
    replaced = await kube.ask("PUT", f"{PODS}/web", web)
    assert replaced.status == 409
    assert "Precondition failed: UID in precondition: another" in replaced.json["message"]
    patch = {"metadata": {"uid": "another", "labels": {"x": "y"}}}
    patched = await kube.ask("PATCH", f"{PODS}/web", patch, content_type=MERGE)
    assert (patched.status, patched.json["message"]) == (
        422,
        'Pod "web" is invalid: metadata.uid: Invalid value: "another": field is immutable',
    )


async def test_patches_of_one_object_wait_for_each_other(kube: Kube) -> None:
    address = "/api/v1/namespaces/default/configmaps"
    await kube.ask("POST", address, {"metadata": {"name": "mine"}})
    answers = await asyncio.gather(
        *(
            kube.ask("PATCH", f"{address}/mine", {"data": {f"k{n}": "v"}}, content_type=MERGE)
            for n in range(20)
        )
    )
    assert {one.status for one in answers} == {200}
    found = (await kube.get(f"{address}/mine")).json
    assert len(found["data"]) == 20


async def test_apply_removes_what_the_file_no_longer_has(kube: Kube) -> None:
    noted = {**DEPLOYMENT["metadata"], "annotations": {LAST_APPLIED: '{"kind":"Deployment"}'}}
    created = await kube.ask("POST", DEPLOYMENTS, {**DEPLOYMENT, "metadata": noted})
    assert LAST_APPLIED in created.json["metadata"]["annotations"]
    # What kubectl sends when the label c has gone from the file.
    patch = {"metadata": {"labels": {"c": None}}}
    await kube.ask("PATCH", f"{DEPLOYMENTS}/app", patch, content_type=STRATEGIC)
    assert (await kube.get(f"{DEPLOYMENTS}/app")).json["metadata"]["labels"] == {"a": "b"}


async def test_a_scheduler_binds_a_pod_once(kube: Kube) -> None:
    await kube.ask("POST", PODS, {**POD, "spec": {**POD["spec"], "schedulerName": "mine"}})
    binding = {"metadata": {"name": "mine"}, "target": {"kind": "Node", "name": "n2"}}
    other = {**binding, "metadata": {"name": "mine", "uid": "another"}}
    assert (await kube.ask("POST", f"{PODS}/mine/binding", other)).status == 409
    assert (await kube.ask("POST", f"{PODS}/mine/binding", binding)).status == 201
    assert (await kube.get(f"{PODS}/mine")).json["spec"]["nodeName"] == "n2"
    again = await kube.ask("POST", f"{PODS}/mine/binding", binding)
    assert again.status == 409
    assert 'is already assigned to node "n2"' in again.json["message"]


async def test_a_budget_forbids_an_eviction(kube: Kube) -> None:
    labelled = {"metadata": {"labels": {"app": "web"}}}
    await kube.ask("PATCH", f"{PODS}/web", labelled, content_type=MERGE)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    assert (await kube.ask("POST", budgets, budget)).status == 201
    eviction = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "web"}}
    answer = await kube.ask("POST", f"{PODS}/web/eviction", eviction)
    assert answer.status == 429
    assert "disruption budget" in answer.json["message"]


async def test_a_deletion_heeds_its_preconditions(kube: Kube) -> None:
    options = {"preconditions": {"uid": "another"}}
    assert (await kube.ask("DELETE", f"{PODS}/web", options)).status == 409
    options = {"gracePeriodSeconds": 0}
    assert (await kube.ask("DELETE", f"{PODS}/web", options)).status == 200
    assert (await kube.get(f"{PODS}/web")).status == 404


async def test_a_try_leaves_the_run_as_it_is(kube: Kube, driven: Run) -> None:
    made = (await kube.ask("POST", f"{PODS}?dryRun=All", POD)).json["metadata"]
    assert made["uid"]
    assert made["creationTimestamp"]
    assert "resourceVersion" not in made
    binding = {"metadata": {"name": "absent"}, "target": {"kind": "Node", "name": "n2"}}
    bound = await kube.ask("POST", f"{PODS}/absent/binding?dryRun=All", binding)
    assert bound.status == 404
    patch = {"metadata": {"labels": {"x": "y"}}}
    tried = await kube.ask("PATCH", f"{PODS}/giant?dryRun=All", patch, content_type=MERGE)
    assert tried.json["metadata"]["labels"] == {"x": "y"}
    assert await Command.objects.filter(run=driven).acount() == 0


async def test_containers_run_no_processes(kube: Kube) -> None:
    answer = await kube.ask("POST", f"{PODS}/web/exec?command=ls")
    assert (answer.status, answer.json["message"]) == (405, "simulated containers run no processes")


async def test_events_of_clients_are_kept(kube: Kube) -> None:
    event = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": "web.1", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
        "reason": "Seen",
        "message": "by a controller",
        "type": "Normal",
        "source": {"component": "mine"},
    }
    assert (await kube.ask("POST", "/api/v1/namespaces/default/events", event)).status == 201
    listed = await kube.get("/api/v1/namespaces/default/events?fieldSelector=reason=Seen")
    assert [one["message"] for one in listed.json["items"]] == ["by a controller"]


async def test_leases_of_clients_stay_outside_the_run(kube: Kube, driven: Run) -> None:
    address = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    lease = {"metadata": {"name": "mine"}, "spec": {"holderIdentity": "a"}}
    created = (await kube.ask("POST", address, lease)).json
    assert created["metadata"]["uid"]
    again = await kube.ask("POST", address, lease)
    assert (again.status, again.json["reason"]) == (409, "AlreadyExists")
    created["spec"] = {"holderIdentity": "b", "renewTime": "2026-11-24T10:00:00.123456Z"}
    renewed = (await kube.ask("PUT", f"{address}/mine", created)).json
    assert renewed["spec"] == created["spec"]
    late = await kube.ask("PUT", f"{address}/mine", {**created, "spec": {"holderIdentity": "c"}})
    assert (late.status, late.json["reason"]) == (409, "Conflict")
    assert (await kube.get(address)).names == ["mine"]
    assert (await kube.get(f"{address}/mine")).json["spec"] == created["spec"]
    assert (await kube.ask("DELETE", f"{address}/mine")).status == 200
    assert (await kube.get(f"{address}/mine")).status == 404
    assert not await sync_to_async(driven.commands.exists)()


async def test_a_run_is_replayed_without_its_clients(kube: Kube, driven: Run) -> None:
    await kube.ask("POST", PODS, POD)
    await kube.ask("DELETE", f"{PODS}/web")
    digest, replayed = await sync_to_async(digests)(driven)
    assert replayed == digest


def digests(run: Run) -> tuple[str, str]:
    """The digest of the history, and that of one computed from the scenario and the commands."""
    Checkpoint.objects.filter(run=run).delete()
    recorded = Run.objects.select_related("scenario").get(pk=run.pk)
    engine = engine_at_head(recorded)
    engine.take()
    return recorded.head_digest, engine.digest()


async def test_write_that_ends_the_run_is_answered_immediately(
    kube: Kube, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no more")

    monkeypatch.setattr(Cluster, "apply", broken)
    monkeypatch.setattr(engine_line, "WAIT_SECONDS", HANG_SECONDS)
    with driving(driven):
        answer = await kube.ask("DELETE", f"{PODS}/web")
    assert answer.status == 500
    assert "has ended with an error: RuntimeError: no more" in answer.json["message"]
