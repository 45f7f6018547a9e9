"""The data of Secrets are sealed beside a run, and shown to those who may change it."""

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from kscope.runs.models import Command, OtherObject, Run, RunEvent, SealedData
from kscope.runs.served import sealed as rows_of_secrets
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.sealed import sealed_add
from kscope.runs.served.sealing import OtherKey, opened, sealed
from kscope.runs.services import run_fork
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import drive, driving

pytestmark = pytest.mark.django_db(transaction=True)

SECRETS = "/api/v1/namespaces/default/secrets"
HIDDEN = "hunter2-and-more"
ENCODED = base64.b64encode(HIDDEN.encode()).decode()
RELEASE = {
    "metadata": {"name": "sh.helm.release.v1.web.v1", "labels": {"owner": "helm", "name": "web"}},
    "type": "helm.sh/release.v1",
    "data": {"release": ENCODED},
}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def _made(kube: Kube, **parts: Any) -> Any:
    made = await kube.ask("POST", SECRETS, {**RELEASE, **parts})
    assert made.status == 201, made.json
    return made.json


async def test_data_come_back_and_are_listed_by_labels(kube: Kube) -> None:
    made = await _made(kube)
    assert made["data"] == {"release": ENCODED}
    assert "annotations" not in made["metadata"]
    one = f"{SECRETS}/{made['metadata']['name']}"
    assert (await kube.get(one)).json["data"] == {"release": ENCODED}
    listed = (await kube.get(f"{SECRETS}?labelSelector=owner=helm")).json["items"]
    assert [each["data"] for each in listed] == [{"release": ENCODED}]


async def test_no_history_has_the_data(kube: Kube, driven: Run) -> None:
    await _made(kube, stringData={"more": HIDDEN})

    @sync_to_async
    def texts() -> str:
        rows = [*OtherObject.objects.filter(run=driven), *Command.objects.filter(run=driven)]
        events = RunEvent.objects.filter(run=driven)
        kept = [bytes(one.sealed) for one in SealedData.objects.all()]
        assert kept
        assert not [one for one in kept if HIDDEN.encode() in one or ENCODED.encode() in one]
        return str([vars(one) for one in rows]) + str([vars(one) for one in events])

    found = await texts()
    assert "sh.helm.release.v1.web.v1" in found
    assert HIDDEN not in found
    assert ENCODED not in found


async def test_changes_of_the_data_make_versions(kube: Kube) -> None:
    made = await _made(kube)
    one = f"{SECRETS}/{made['metadata']['name']}"
    head = made["metadata"]["resourceVersion"]
    async with kube.watching(f"{SECRETS}?watch=1&resourceVersion={head}") as events:
        patch = {"stringData": {"more": "x"}}
        changed = (await kube.ask("PATCH", one, patch, content_type=MERGE)).json
        assert changed["data"] == {"release": ENCODED, "more": "eA=="}
        assert changed["metadata"]["resourceVersion"] != head
        told = await anext(events)
    assert (told["type"], told["object"]["data"]["more"]) == ("MODIFIED", "eA==")
    again = (await kube.ask("PATCH", one, patch, content_type=MERGE)).json
    assert again["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]
    whole = {**again, "data": {"other": "eA=="}}
    assert (await kube.ask("PUT", one, whole)).json["data"] == {"other": "eA=="}
    assert (await kube.ask("DELETE", one)).status == 200
    assert (await kube.get(one)).status == 404


async def test_data_can_be_applied(kube: Kube) -> None:
    one = f"{SECRETS}/mine?fieldManager=me"
    config = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "mine"},
        "data": {"a": "eA=="},
    }
    kind = "application/apply-patch+yaml"
    made = await kube.ask("PATCH", one, config, content_type=kind)
    assert (made.status, made.json["data"]) == (201, {"a": "eA=="}), made.json
    again = await kube.ask("PATCH", one, {**config, "data": {"b": "eQ=="}}, content_type=kind)
    assert again.json["data"] == {"b": "eQ=="}


async def test_writes_at_a_time_keep_within_the_limit(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second waits for the first, and counts what that has kept."""
    monkeypatch.setattr(rows_of_secrets, "MOST_BYTES", 500)
    links = SnapshotLinks()
    try:
        async with links.link() as one, links.link() as other:
            async with one.transaction():
                assert await sealed_add(one, driven.pk, str(uuid.uuid4()), b"x" * 300)
                second = sealed_add(other, driven.pk, str(uuid.uuid4()), b"x" * 300)
                waiting = asyncio.create_task(second)
                await asyncio.sleep(0.2)
            assert not await waiting
    finally:
        await links.close()


async def test_faulty_data_are_refused(kube: Kube) -> None:
    refused = await kube.ask("POST", SECRETS, {**RELEASE, "data": {"a": "%"}})
    assert (refused.status, "illegal base64" in refused.json["message"]) == (400, True)
    tls = {"metadata": {"name": "t"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "eA=="}}
    refused = await kube.ask("POST", SECRETS, tls)
    assert refused.json["message"] == 'Secret "t" is invalid: data[tls.key]: Required value'
    made = await _made(kube, immutable=True)
    one = f"{SECRETS}/{made['metadata']['name']}"
    refused = await kube.ask("PATCH", one, {"data": {"a": "eA=="}}, content_type=MERGE)
    assert "field is immutable when `immutable` is set" in refused.json["message"]


async def test_token_of_another_secret_opens_nothing(kube: Kube) -> None:
    await _made(kube)
    token = await sync_to_async(SealedData.objects.values_list("token", flat=True).get)()
    stolen = {"metadata": {"name": "s", "annotations": {"kscope.dev/sealed-data": token}}}
    made = await kube.ask("POST", SECRETS, stolen)
    assert made.status == 201
    assert "data" not in (await kube.get(f"{SECRETS}/s")).json


async def test_other_key_leaves_the_secret_readable(kube: Kube, settings: Any) -> None:
    made = await _made(kube)
    one = f"{SECRETS}/{made['metadata']['name']}"
    settings.SEALING_KEY = "another"
    found = await kube.get(one)
    assert found.status == 200
    assert "data" not in found.json
    note = found.json["metadata"]["annotations"]["kscope.dev/sealed-data"]
    assert note == "sealed by another key: the data cannot be read"
    labels = {"metadata": {"labels": {"a": "b"}}}
    assert (await kube.ask("PATCH", one, labels, content_type=MERGE)).status == 200
    del settings.SEALING_KEY
    settings.SEALING_KEY = settings.SECRET_KEY
    assert (await kube.get(one)).json["data"] == {"release": ENCODED}


async def test_past_and_own_forks_have_the_data(
    kube: Kube, kube_of: Callable[..., Kube], driven: Run
) -> None:
    made = await _made(kube)
    name, seq = made["metadata"]["name"], made["metadata"]["resourceVersion"]
    then = kube_of(driven, seq)
    assert (await then.get(f"{SECRETS}/{name}")).json["data"] == {"release": ENCODED}
    mine = await sync_to_async(run_fork)(run=driven, owner_id=driven.owner_id)
    await sync_to_async(drive)(mine.pk)
    assert (await kube_of(mine).get(f"{SECRETS}/{name}")).json["data"] == {"release": ENCODED}
    other = await sync_to_async(User.objects.create_user)("other")
    fork = await sync_to_async(run_fork)(run=driven, owner_id=other.pk)
    assert not await sync_to_async(SealedData.objects.filter(run=fork).exists)()
    kept = SealedData.objects.filter(run=mine.pk)
    assert await sync_to_async(kept.exists)()
    await sync_to_async(Run.objects.filter(pk=mine.pk).delete)()
    assert not await sync_to_async(kept.exists)()


def test_data_are_opened_at_their_place_alone() -> None:
    text = sealed({"a": "eA=="}, "token")
    assert opened(text, "token") == {"a": "eA=="}
    with pytest.raises(OtherKey):
        opened(text, "other")
    with pytest.raises(OtherKey):
        opened(text[:-1] + bytes([text[-1] ^ 1]), "token")
