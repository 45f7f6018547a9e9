"""What every cluster has is there in a run, too, and no history knows of it."""

from collections.abc import AsyncIterator, Callable

import pytest

from kscope.runs.models import Command, Run
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
MAPS = "/api/v1/namespaces/{}/configmaps"
ROOT = "kube-root-ca.crt"


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def test_each_namespace_has_its_account_and_certificate(kube: Kube, driven: Run) -> None:
    for namespace in ("default", "kube-system"):
        account = await kube.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
        assert (account.status, account.json["metadata"]["namespace"]) == (200, namespace)
        assert account.json["metadata"]["uid"]
        assert ROOT in (await kube.get(MAPS.format(namespace))).names
    assert (await kube.get("/api/v1/namespaces/none/serviceaccounts/default")).status == 404
    assert (await kube.get(ACCOUNTS + "/other")).status == 404
    service = (await kube.get("/api/v1/namespaces/default/services/kubernetes")).json
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert await Command.objects.filter(run=driven).acount() == 0


async def test_they_come_with_a_namespace_and_go(kube: Kube) -> None:
    version = (await kube.get(ACCOUNTS)).json["metadata"]["resourceVersion"]
    path = f"/api/v1/serviceaccounts?watch=1&resourceVersion={version}"
    async with kube.watching(path) as events:
        made = {"metadata": {"name": "new"}}
        assert (await kube.ask("POST", "/api/v1/namespaces", made)).status == 201
        told = await anext(events)
        named = told["object"]["metadata"]
        assert (told["type"], named["namespace"], named["name"]) == ("ADDED", "new", "default")
        assert (await kube.get("/api/v1/namespaces/new/serviceaccounts")).names == ["default"]
        assert (await kube.ask("DELETE", "/api/v1/namespaces/new")).status == 200
        assert (await anext(events))["type"] == "DELETED"


async def test_one_that_is_changed_belongs_to_the_run(kube: Kube, driven: Run) -> None:
    before = (await kube.get(f"{ACCOUNTS}/default")).json["metadata"]
    patch = {"metadata": {"labels": {"a": "b"}}}
    changed = await kube.ask("PATCH", f"{ACCOUNTS}/default", patch, content_type=MERGE)
    assert (changed.status, changed.json["metadata"]["labels"]) == (200, {"a": "b"})
    assert changed.json["metadata"]["uid"] == before["uid"]
    assert await Command.objects.filter(run=driven).acount() == 2
    assert (await kube.get(ACCOUNTS)).names == ["default"]
    assert (await kube.ask("DELETE", f"{ACCOUNTS}/default")).status == 200
    assert "labels" not in (await kube.get(f"{ACCOUNTS}/default")).json["metadata"]


async def test_none_can_be_made_a_second_time(kube: Kube) -> None:
    for path, name in ((ACCOUNTS, "default"), (MAPS.format("default"), ROOT)):
        again = await kube.ask("POST", path, {"metadata": {"name": name}})
        assert (again.status, again.json["reason"]) == (409, "AlreadyExists")
    assert (await kube.ask("DELETE", f"{ACCOUNTS}/default")).status == 200
    assert (await kube.get(f"{ACCOUNTS}/default")).status == 200


async def test_the_past_has_them_as_well(kube_of: Callable[..., Kube], driven: Run) -> None:
    past = kube_of(driven, str(driven.head_seq))
    assert (await past.get(f"{ACCOUNTS}/default")).status == 200
    assert ROOT in (await past.get(MAPS.format("default"))).names
