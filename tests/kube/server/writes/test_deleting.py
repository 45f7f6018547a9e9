"""Deletions: their options, and what of an object changes while it is being deleted."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Command, Run
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
MAPS = "/api/v1/namespaces/default/configmaps"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
HELD: dict[str, Any] = {"metadata": {"name": "held", "finalizers": ["a.b/c"]}}
CLAIM: dict[str, Any] = {
    **HELD,
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "none",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
DRY_RUN = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


def eviction(**parts: Any) -> dict[str, Any]:
    return {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "web"}, **parts}


async def test_deletion_is_tried_where_its_body_says_so(kube: Kube, driven: Run) -> None:
    for path in (f"{PODS}/web", PODS):
        assert (await kube.ask("DELETE", path, DRY_RUN)).status == 200
    assert (await kube.ask("DELETE", f"{PODS}/web?dryRun=All")).status == 200
    tried = eviction(deleteOptions={"dryRun": ["All"]})
    assert (await kube.ask("POST", f"{PODS}/web/eviction", tried)).status == 201
    assert await Command.objects.filter(run=driven).acount() == 0


async def test_a_dry_run_of_another_kind_is_refused(kube: Kube) -> None:
    for dry_run in (["Some"], "All"):
        answer = await kube.ask("DELETE", f"{PODS}/web", {**DRY_RUN, "dryRun": dry_run})
        assert answer.status == 400
    assert (await kube.get(f"{PODS}/web")).status == 200


async def test_options_in_a_body_outweigh_those_in_queries(kube: Kube) -> None:
    options = {"gracePeriodSeconds": 0}
    await kube.ask("DELETE", f"{PODS}/web?gracePeriodSeconds=600", options)
    assert (await kube.get(f"{PODS}/web")).status == 404


@pytest.mark.parametrize("is_in_body", [True, False], ids=["body", "query"])
async def test_dependents_are_orphaned_for_older_clients(kube: Kube, is_in_body: bool) -> None:
    owner = (await kube.ask("POST", MAPS, {"metadata": {"name": "owner"}})).json["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["uid"]}
    owned = {"metadata": {"name": "owned", "ownerReferences": [reference]}}
    await kube.ask("POST", MAPS, owned)
    query = "" if is_in_body else "?orphanDependents=true"
    body = {"orphanDependents": True} if is_in_body else None
    gone = await kube.ask("DELETE", f"{MAPS}/owner{query}", body)
    assert "orphan" in gone.json["metadata"]["finalizers"]


async def test_an_eviction_heeds_its_name_and_its_preconditions(kube: Kube) -> None:
    other = eviction(deleteOptions={"preconditions": {"uid": "another"}})
    refused = await kube.ask("POST", f"{PODS}/web/eviction", other)
    assert (refused.status, "UID in precondition: another" in refused.json["message"]) == (
        409,
        True,
    )
    renamed = await kube.ask("POST", f"{PODS}/web/eviction", eviction(metadata={"name": "other"}))
    assert (renamed.status, renamed.json["message"]) == (
        400,
        "name in URL does not match name in Eviction object",
    )
    absent = eviction(metadata={"name": "absent"})
    assert (await kube.ask("POST", f"{PODS}/absent/eviction?dryRun=All", absent)).status == 404
    assert "deletionTimestamp" not in (await kube.get(f"{PODS}/web")).json["metadata"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("DELETE", "/api/v1/pods", 405),
        ("POST", "/api/v1/pods", 405),
        ("DELETE", "/api/v1/namespaces", 405),
        ("GET", "/api/v1/pods/web", 404),
        ("DELETE", "/api/v1/pods/web", 404),
    ],
)
async def test_resources_across_all_namespaces_can_only_be_listed(
    kube: Kube, driven: Run, method: str, path: str, status: int
) -> None:
    body = {"metadata": {"name": "mine"}} if method == "POST" else None
    assert (await kube.ask(method, path, body)).status == status
    assert await Command.objects.filter(run=driven).acount() == 0


async def test_a_new_object_is_not_being_deleted(kube: Kube) -> None:
    marks = {"deletionTimestamp": "2020-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3}
    metadata = {"name": "mine", "generation": 77, **marks}
    containers = {"containers": [{"name": "c", "image": "app:1"}]}
    created = await kube.ask("POST", PODS, {"metadata": metadata, "spec": containers})
    assert created.status == 201
    assert not {*marks} & created.json["metadata"].keys()
    assert created.json["metadata"]["generation"] == 1


@pytest.mark.parametrize(("address", "held"), [(MAPS, HELD), (CLAIMS, CLAIM)], ids=["map", "claim"])
async def test_no_update_takes_a_deletion_back(
    kube: Kube, address: str, held: dict[str, Any]
) -> None:
    await kube.ask("POST", address, held)
    marked = (await kube.ask("DELETE", f"{address}/held")).json["metadata"]
    replaced = await kube.ask("PUT", f"{address}/held", held)
    assert (replaced.status, replaced.json["metadata"].get("deletionTimestamp")) == (
        200,
        marked["deletionTimestamp"],
    )
    unmarked = {"metadata": {"deletionTimestamp": None}}
    await kube.ask("PATCH", f"{address}/held", unmarked, content_type=MERGE)
    found = (await kube.get(f"{address}/held")).json["metadata"]
    assert found["deletionTimestamp"] == marked["deletionTimestamp"]


async def test_no_update_begins_a_deletion(kube: Kube) -> None:
    await kube.ask("POST", MAPS, HELD)
    assert await refused(kube, {"deletionTimestamp": "2020-01-01T00:00:00Z"}) == (
        422,
        'ConfigMap "held" is invalid: metadata.deletionTimestamp: Invalid value: '
        '"2020-01-01T00:00:00Z": field is immutable',
    )


async def test_what_is_being_deleted_gets_no_new_finalizer(kube: Kube) -> None:
    await kube.ask("POST", MAPS, HELD)
    await kube.ask("DELETE", f"{MAPS}/held")
    assert await refused(kube, {"finalizers": ["a.b/c", "d.e/f"]}) == (
        422,
        'ConfigMap "held" is invalid: metadata.finalizers: Forbidden: no new finalizers can be '
        'added if the object is being deleted, found new finalizers []string{"d.e/f"}',
    )


async def refused(kube: Kube, metadata: dict[str, Any]) -> tuple[int, str]:
    """The status and the message with which a patch of the held map's metadata is answered."""
    answer = await kube.ask("PATCH", f"{MAPS}/held", {"metadata": metadata}, content_type=MERGE)
    return answer.status, answer.json["message"]


async def test_the_last_finalizer_goes_with_the_object(kube: Kube) -> None:
    await kube.ask("POST", MAPS, HELD)
    await kube.ask("DELETE", f"{MAPS}/held")
    none = {"metadata": {"finalizers": None}}
    answer = await kube.ask("PATCH", f"{MAPS}/held", none, content_type=MERGE)
    assert answer.status == 200
    assert answer.json["metadata"]["deletionTimestamp"]
    assert "finalizers" not in answer.json["metadata"]
    assert (await kube.get(f"{MAPS}/held")).status == 404


TEMPLATE = {
    "metadata": {"labels": {"app": "made"}},
    "spec": {"containers": [{"name": "c", "image": "app:1"}]},
}
CONTROLLER = {"metadata": {"name": "made"}, "spec": {"replicas": 0, "template": TEMPLATE}}
ONCE = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
JOB = {"metadata": {"name": "made"}, "spec": {"template": ONCE}}
REPLICA_SET = {
    **CONTROLLER,
    "spec": {**CONTROLLER["spec"], "selector": {"matchLabels": {"app": "made"}}},
}


@pytest.mark.parametrize(
    ("path", "body", "is_orphaning"),
    [
        ("/api/v1/namespaces/default/replicationcontrollers", CONTROLLER, True),
        ("/apis/batch/v1/namespaces/default/jobs", JOB, True),
        ("/apis/apps/v1beta2/namespaces/default/replicasets", REPLICA_SET, True),
        ("/apis/apps/v1/namespaces/default/replicasets", REPLICA_SET, False),
    ],
    ids=["controller", "job", "older", "newer"],
)
async def test_older_versions_orphan_dependents_by_default(
    kube: Kube, driven: Run, path: str, body: dict[str, Any], is_orphaning: bool
) -> None:
    assert (await kube.ask("POST", path, body)).status == 201
    answer = await kube.ask("DELETE", f"{path}/made")
    assert answer.status == 200
    command = await Command.objects.filter(run=driven).alast()
    assert command is not None
    assert command.body.get("propagation") == ("Orphan" if is_orphaning else None)
    is_job = "jobs" in path
    assert ("child pods are preserved by default" in answer.headers.get("warning", "")) is is_job


async def test_a_policy_that_a_client_names_counts(kube: Kube, driven: Run) -> None:
    path = "/api/v1/namespaces/default/replicationcontrollers"
    await kube.ask("POST", path, CONTROLLER)
    await kube.ask("DELETE", f"{path}/made", {"propagationPolicy": "Background"})
    command = await Command.objects.filter(run=driven).alast()
    assert command is not None
    assert command.body["propagation"] == "Background"
