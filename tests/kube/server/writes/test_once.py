"""A write to the Kubernetes API with an `Idempotency-Key` happens once, whatever is lost meanwhile."""

import asyncio
import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from kscope.runs import write_keys
from kscope.runs.models import ClientLease, Command, Run, WriteKey
from kube.server.writes import engine_line
from tests.kube.server.client import MERGE, Answer, Kube
from tests.kube.server.faults import Faults
from tests.kube.server.writes.test_handover import LEASES, NAMESPACE, POD, WRITES
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = f"{NAMESPACE}/pods"
GENERATED = {**POD, "metadata": {"generateName": "m-"}}
ONCE = [
    *("create", "generate", "merge patch", "apply", "bind", "note", "evict", "delete"),
]


@pytest.fixture
def kube(kube_of: Callable[..., Kube], driven: Run) -> Kube:
    return kube_of(driven)


async def send(kube: Kube, write: str = "generate", key: str = "k", **other: Any) -> Answer:
    method, path, body, content_type = WRITES[write]
    return await kube.ask(
        other.get("method", method),
        other.get("path", path),
        other.get("body", body),
        content_type=other.get("content_type", content_type),
        **({"idempotency-key": key} if key else {}),
    )


@sync_to_async
def stored() -> int:
    return Command.objects.count()


async def test_two_equal_bodies_without_key_are_two_writes(kube: Kube, driven: Run) -> None:
    with driving(driven):
        names = {(await send(kube, key="")).json["metadata"]["name"] for _ in range(2)}
    assert len(names) == await stored() == 2


async def test_a_repetition_gets_the_first_answer(kube: Kube, driven: Run) -> None:
    with driving(driven):
        for write in ONCE:
            count = await stored()
            first, again = [await send(kube, write, key=write.replace(" ", "-")) for _ in range(2)]
            assert (write, first.status) in ((write, 200), (write, 201))
            assert first == again
            assert await stored() == count + 1


async def test_repetitions_at_the_same_time_are_one_write(kube: Kube, driven: Run) -> None:
    with driving(driven):
        answers = await asyncio.gather(*(send(kube) for _ in range(5)))
    assert [each.status for each in answers] == [201] * 5
    assert len({each.body for each in answers}) == await stored() == 1


async def test_write_whose_answer_is_lost_is_found_again(
    kube: Kube,
    faults: Faults,
    driven: Run,
) -> None:
    """The connection breaks when the commands are stored, and none of them is known."""
    for write in ONCE:
        faults.lose("WITH held", done=True)
        assert (await send(kube, write, key=write.replace(" ", "-"))).status == 504
        count = await stored()
        faults.at = ""
        with driving(driven):
            again, third = [await send(kube, write, key=write.replace(" ", "-")) for _ in range(2)]
        assert (write, again.status) in ((write, 200), (write, 201))
        assert again == third
        assert await stored() == count


async def test_write_is_answered_as_it_left_the_object(
    kube: Kube,
    faults: Faults,
    driven: Run,
) -> None:
    """Also from the database, after others have written the object."""
    path = f"{NAMESPACE}/pods/web"
    faults.lose("WITH held", done=True)
    assert (await send(kube, "merge patch")).status == 504
    faults.at = ""
    with driving(driven):
        other = {"metadata": {"labels": {"a": "c"}}}
        later = (await send(kube, "merge patch", key="", body=other)).json["metadata"]
        await kube.ask("DELETE", path, {"gracePeriodSeconds": 0})
        mine = (await send(kube, "merge patch")).json["metadata"]
    assert (mine["labels"]["a"], later["labels"]["a"]) == ("b", "c")
    assert int(mine["resourceVersion"]) < int(later["resourceVersion"])


async def test_repetition_does_a_write_that_was_not_stored(
    kube: Kube,
    faults: Faults,
    driven: Run,
) -> None:
    faults.lose("WITH held", done=False)
    assert (await send(kube)).status == 504
    faults.at = ""
    with driving(driven):
        assert (await send(kube)).status == 201
    assert await stored() == 1


async def test_done_write_without_a_kept_answer_is_open(
    kube: Kube,
    faults: Faults,
    driven: Run,
) -> None:
    faults.lose("UPDATE runs_writekey SET status", done=False)
    with driving(driven):
        assert (await send(kube)).status == 504
        faults.at = ""
        assert (await send(kube)).status == 201
    assert await stored() == 1


async def test_a_server_that_was_overtaken_writes_nothing(
    kube: Kube, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is about to store its command when a repetition takes its key over."""
    line = engine_line.EngineLine
    carry_out, reached, may_go_on = line.carry_out, asyncio.Event(), asyncio.Event()

    async def slow(self: Any, *arguments: Any) -> Any:
        if not reached.is_set():
            reached.set()
            await may_go_on.wait()
        return await carry_out(self, *arguments)

    monkeypatch.setattr(line, "carry_out", slow)
    with driving(driven):
        first = asyncio.create_task(send(kube))
        await reached.wait()
        again = await send(kube)
        may_go_on.set()
        assert await first == again
    assert (again.status, await stored()) == (201, 1)


async def test_refusal_is_kept_unless_it_is_temporary(
    kube: Kube,
    faults: Faults,
    driven: Run,
) -> None:
    faults.refuse("WITH held")
    refused = await send(kube)
    assert (refused.status, "retry-after" in refused.headers) == (503, True)
    faults.at = ""
    mine: dict[str, Any] = {"body": {**POD, "metadata": {"name": "web"}}}
    with driving(driven):
        first = await send(kube, key="other", **mine)
        assert (await kube.ask("DELETE", f"{PODS}/web")).status == 200
        again = await send(kube, key="other", **mine)
    assert (first.status, first.body) == (again.status, again.body)
    assert (first.status, first.json["reason"]) == (409, "AlreadyExists")


async def test_another_request_with_the_same_key_is_refused(kube: Kube, driven: Run) -> None:
    with driving(driven):
        await send(kube)
        others = [
            await send(kube, path=f"{PODS}?fieldManager=me"),
            await send(kube, body={**GENERATED, "kind": "Pod"}),
            await send(kube, content_type="application/yaml"),
            await send(kube, "delete"),
        ]
    assert [(each.status, each.json["message"]) for each in others] == [
        (422, write_keys.REUSED)
    ] * 4
    malformed = await send(kube, key="é")
    assert (malformed.status, malformed.json["message"]) == (400, write_keys.MALFORMED)


async def test_a_lease_is_written_once(
    kube: Kube,
    faults: Faults,
) -> None:
    body = {"metadata": {"name": "mine"}, "spec": {}}
    faults.lose("UPDATE runs_writekey SET status", done=False)
    assert (await send(kube, path=LEASES, body=body)).status == 504
    faults.at = ""
    again, third = [await send(kube, path=LEASES, body=body) for _ in range(2)]
    assert (again.status, again) == (201, third)
    assert await sync_to_async(ClientLease.objects.count)() == 1


async def test_a_repetition_that_waits_too_long_is_open(
    kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kube.server.writes.once.WAIT_SECONDS", 0.2)
    monkeypatch.setattr(engine_line, "WAIT_SECONDS", 0.1)
    answers = [await send(kube) for _ in range(2)]
    assert [(each.status, "retry-after" in each.headers) for each in answers] == [(504, False)] * 2
    assert await stored() == 1


async def test_a_collection_is_deleted_once(
    kube: Kube,
    faults: Faults,
    driven: Run,
) -> None:
    """What comes into the collection after the first request stays."""
    faults.lose("WITH held", done=True)
    assert (await send(kube, "delete all")).status == 504
    faults.at = ""
    with driving(driven):
        assert (await send(kube, "create", key="new")).status == 201
        again, third = [await send(kube, "delete all") for _ in range(2)]
        left = (await kube.get(PODS)).names
    assert again == third
    assert sorted(again.names) == ["giant", "late", "web"]
    assert "mine" in left


SECRETS = f"{NAMESPACE}/secrets"
HIDDEN = "hunter2-and-more"
ENCODED = base64.b64encode(HIDDEN.encode()).decode()
NOTED = json.dumps({"kind": "Secret", "data": {"a": ENCODED}, "stringData": {"b": HIDDEN}})
SECRET: dict[str, Any] = {
    "metadata": {
        "name": "mine",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": NOTED},
    },
    "data": {"a": ENCODED},
}
APPLIED = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "yours"},
    "stringData": {"b": HIDDEN},
}
# In this order, each write of Secrets whose answer or promise has their data.
SECRET_WRITES: dict[str, tuple[str, str, Any, str]] = {
    "try": ("POST", f"{SECRETS}?dryRun=All", SECRET, "application/json"),
    "create": ("POST", SECRETS, SECRET, "application/json"),
    "replace": (
        "PUT",
        f"{SECRETS}/mine",
        {**SECRET, "stringData": {"b": HIDDEN}},
        "application/json",
    ),
    "patch": ("PATCH", f"{SECRETS}/mine", {"stringData": {"c": HIDDEN}}, MERGE),
    "apply": ("PATCH", f"{SECRETS}/yours?fieldManager=me", APPLIED, "application/apply-patch+yaml"),
    "again": (
        "PATCH",
        f"{SECRETS}/yours?fieldManager=me",
        {**APPLIED, "data": {"d": ENCODED}},
        "application/apply-patch+yaml",
    ),
    "empty": ("DELETE", SECRETS, None, "application/json"),
}


async def send_secret(kube: Kube, write: str) -> Answer:
    method, path, body, content_type = SECRET_WRITES[write]
    headers = {"idempotency-key": write}
    return await kube.ask(method, path, body, content_type=content_type, **headers)


@sync_to_async
def check_sealed() -> None:
    """No column of a key tells of the data of Secrets."""
    for one in WriteKey.objects.all():
        body = zlib.decompress(one.body) if one.body else b""
        columns = [
            bytes(part) if isinstance(part, memoryview) else part for part in vars(one).values()
        ]
        found = f"{columns} {body!r}"
        assert not [text for text in (HIDDEN, ENCODED) if text in found], one


@pytest.mark.parametrize("is_lost", [False, True])
async def test_keys_tell_nothing_of_secrets(
    kube: Kube, faults: Faults, driven: Run, *, is_lost: bool
) -> None:
    """Neither by what is answered, nor by what is promised while the answer is open."""
    with driving(driven):
        for write in SECRET_WRITES:
            if is_lost and write != "try":
                faults.lose("WITH held", done=True)
                assert (await send_secret(kube, write)).status == 504
                faults.at = ""
                await check_sealed()
            first, again = [await send_secret(kube, write) for _ in range(2)]
            assert (write, first.status) in ((write, 200), (write, 201)), first.json
            assert first == again
            assert ENCODED in first.body.decode()
            await check_sealed()
    promises = await sync_to_async(lambda: [*WriteKey.objects.values_list("promise", flat=True)])()
    assert len([one for one in promises if one]) == len(SECRET_WRITES) - 1


@pytest.mark.parametrize("is_lost", [False, True])
async def test_answer_sealed_by_another_key_is_open(
    kube: Kube, faults: Faults, driven: Run, settings: Any, *, is_lost: bool
) -> None:
    with driving(driven):
        if is_lost:
            faults.lose("WITH held", done=True)
        assert (await send_secret(kube, "create")).status == (504 if is_lost else 201)
        faults.at = ""
        settings.SEALING_KEY = "another"
        again = await send_secret(kube, "create")
    assert (again.status, "retry-after" in again.headers) == (504, False)
    assert "sealed by another key" in again.json["message"]


async def test_promise_of_a_pod_has_no_values(kube: Kube, driven: Run) -> None:
    container = {"name": "a", "image": "a", "env": [{"name": "A", "value": HIDDEN}]}
    body = {**GENERATED, "spec": {"containers": [container]}}
    with driving(driven):
        assert (await send(kube, body=body)).status == 201
    await check_sealed()


@sync_to_async
def unsealed() -> None:
    """Keep the answer as versions before did."""
    one = WriteKey.objects.get()
    one.body = zlib.compress(b'{"kind":"Secret"}')
    one.save()


async def test_unsealed_answer_of_a_version_before_is_read(kube: Kube, driven: Run) -> None:
    with driving(driven):
        await send_secret(kube, "create")
        await unsealed()
        assert (await send_secret(kube, "create")).json == {"kind": "Secret"}
