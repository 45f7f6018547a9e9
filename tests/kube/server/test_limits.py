"""Limits of the Kubernetes API: requests, wrong tokens, lists, bodies."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from kscope.accounts import limits
from kscope.accounts.access import Role
from kscope.accounts.services import account_create, token_create
from kscope.env import Rate
from kscope.runs.models import Run
from kscope.runs.served.versions import Version
from kscope.runs.web import bodies as gate
from kscope.runs.web.bodies import bodies
from kube.server.application import kubernetes_api
from kube.server.objects.instants import TURN, in_turns
from kube.server.writes import engine_line, heavy
from kube.server.writes.applying import ObjectFields
from tests.kube.server.client import Kube, not_ours
from tests.waiting import HANG_SECONDS
from tests.web.process.test_bodies import Sender

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
EVICTION = {"metadata": {"name": "nobody"}}


@pytest.fixture
def rate(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Sets limits; the clock stands still, in a window of its own."""
    monkeypatch.setattr(limits, "_now", lambda: 20_000_000_000.0)

    def set_rates(**rates: int) -> None:
        wanted = {name: Rate(number, 60) for name, number in rates.items()}
        settings.RATE_LIMITS = {**settings.RATE_LIMITS, **wanted}

    yield set_rates
    for alias in ("default", "process"):
        limits.caches[alias].clear()


async def statuses(kube: Kube, method: str, path: str, number: int, **headers: str) -> list[int]:
    return [(await kube.ask(method, path, EVICTION, **headers)).status for _ in range(number)]


async def test_reads_of_an_address_are_limited(kube: Kube, rate: Callable[..., None]) -> None:
    rate(kube_read=3)
    assert await statuses(kube, "GET", PODS, 4) == [200, 200, 200, 429]
    answer = await kube.get("/version")
    assert (answer.status, answer.json["reason"]) == (429, "TooManyRequests")
    assert int(answer.headers["retry-after"]) > 0


async def test_writes_are_counted_apart_from_reads(kube: Kube, rate: Callable[..., None]) -> None:
    rate(kube_write=2)
    assert await statuses(kube, "POST", f"{PODS}/nobody/eviction", 3) == [404, 404, 429]
    assert await statuses(kube, "GET", PODS, 1) == [200]


async def test_missing_runs_are_counted_as_well(
    kube_of: Callable[..., Kube], rate: Callable[..., None], transactional_db: Any
) -> None:
    rate(kube_read=2)
    kube = kube_of(Run(pk=999_999))
    assert await statuses(kube, "GET", PODS, 3) == [404, 404, 429]


async def test_wrong_tokens_have_to_wait(kube: Kube, rate: Callable[..., None]) -> None:
    rate(login=2)
    found = [await statuses(kube, "GET", PODS, 1, authorization=f"Bearer k{n}") for n in range(3)]
    assert found == [[401], [401], [429]]
    assert await statuses(kube, "GET", PODS, 1) == [200]


async def test_a_watch_with_a_wrong_token_is_counted(kube: Kube, rate: Callable[..., None]) -> None:
    rate(login=0)
    assert await statuses(kube, "GET", f"{PODS}?watch=1", 1, authorization="Bearer no") == [429]


async def test_an_account_is_limited_at_all_addresses(
    kube: Kube, rate: Callable[..., None], driven: Run, settings: Any
) -> None:
    rate(kube_read=1)
    settings.LOGIN_REQUIRED = True
    make = sync_to_async(lambda: account_create(name="eva", role=Role.ADMIN)[0])
    token = (await sync_to_async(token_create)(user=await make(), name="t"))[1]
    bearer = {"authorization": f"Bearer {token}"}
    assert await statuses(kube, "GET", PODS, 2, **bearer) == [200, 429]


async def test_lists_of_one_account_leave_places(kube: Kube, driven: Run) -> None:
    one = ("127.0.0.1", "nobody at 127.0.0.1")
    for _ in range(2):
        await kube.server._lists.take(one)
    waits = asyncio.ensure_future(kube.get(PODS))
    single = await asyncio.wait_for(kube.get(f"{PODS}/web"), HANG_SECONDS)
    assert (single.status, waits.done()) == (200, False)
    async with asyncio.timeout(HANG_SECONDS):
        async with kube.server._lists.hold(("2.2.2.2", "account 2")):
            pass  # another account has a place at once
        kube.server._lists.give_back(one)
        assert (await waits).status == 200


async def test_a_watch_that_has_begun_holds_no_place(kube: Kube) -> None:
    async with kube.watching(f"{PODS}?watch=1") as events, kube.watching(f"{PODS}?watch=1") as more:
        await asyncio.wait_for(anext(events), HANG_SECONDS)
        await asyncio.wait_for(anext(more), HANG_SECONDS)
        assert (await kube.get(PODS)).status == 200


async def test_a_long_list_lets_others_run() -> None:
    turns: list[int] = []

    async def one_batch() -> Any:
        yield [Version(number, {}) for number in range(3 * TURN)]

    async def other() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    others = asyncio.ensure_future(other())
    lengths = [len(piece) async for piece in in_turns(one_batch())]
    others.cancel()
    assert (lengths, len(turns)) == ([TURN] * 3, 3)


async def test_body_is_limited_as_by_an_api_server(kube: Kube) -> None:
    sender = Sender(4 * 1_048_576, path=f"{kube.root}{PODS}")
    sender.headers["content-type"] = "application/json"
    await sender.ask(bodies(kubernetes_api(not_ours, kube.server)))
    assert (sender.status, sender.taken) == (413, 0)
    assert "Request entity is too large: limit is 3145728" in sender.text


async def test_body_is_read_by_those_who_may_write(kube: Kube, settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    sender = Sender(1_048_576, path=f"{kube.root}{PODS}")
    await sender.ask(bodies(kubernetes_api(not_ours, kube.server)))
    assert (sender.status, sender.taken) == (404, 0)


async def test_a_slow_body_gets_a_status(kube: Kube, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "GRACE_SECONDS", 0.01)
    sender = Sender(1_000, path=f"{kube.root}{PODS}")
    sender.headers["content-type"] = "application/json"
    sender.comes.clear()
    await sender.ask(bodies(kubernetes_api(not_ours, kube.server)))
    assert (sender.status, '"reason":"Timeout"' in sender.text) == (408, True)


async def test_a_question_by_a_reader_is_short(kube: Kube) -> None:
    review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    sender = Sender(100_000, path=f"{kube.root}{review}")
    sender.headers["content-type"] = "application/json"
    await sender.ask(bodies(kubernetes_api(not_ours, kube.server)))
    assert (sender.status, sender.taken) == (413, 0)


def _pod(name: str, labels: int) -> dict[str, Any]:
    metadata = {"name": name, "labels": {f"l{number}": "x" for number in range(labels)}}
    spec = {"containers": [{"name": "c", "image": "app:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(("labels", "is_in_thread"), [(10, False), (heavy.LARGE_PARTS, True)])
async def test_a_large_object_is_made_in_a_thread(
    kube: Kube, monkeypatch: pytest.MonkeyPatch, labels: int, is_in_thread: bool
) -> None:
    threads: set[bool] = set()
    made = ObjectFields.created

    def created(fields: ObjectFields, manifest: Any) -> Any:
        threads.add(threading.current_thread() is not threading.main_thread())
        return made(fields, manifest)

    monkeypatch.setattr(ObjectFields, "created", created)
    answer = await kube.ask("POST", f"{PODS}?dryRun=All", _pod("big", labels))
    assert (answer.status, threads) == (201, {is_in_thread})
    assert len(answer.json["metadata"]["labels"]) == labels


@pytest.mark.parametrize("instant", ["", "20"])
async def test_watches_count_as_sockets(
    kube_of: Callable[..., Kube], driven: Run, settings: Any, instant: str
) -> None:
    settings.SOCKETS_PER_ACCOUNT = 1
    kube = kube_of(driven, instant)
    async with kube.watching(f"{PODS}?watch=1&resourceVersion=0") as events:
        await asyncio.wait_for(anext(events), HANG_SECONDS)
        answer = await kube.get(f"{PODS}?watch=1")
        assert (answer.status, answer.json["reason"]) == (429, "TooManyRequests")


async def test_an_engine_that_does_not_answer_is_reported(
    kube_of: Callable[..., Kube], start: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_line, "WAIT_SECONDS", 0.01)
    kube = kube_of(await sync_to_async(start)())  # nobody drives it
    answer = await kube.ask("POST", PODS, _pod("late", 1))
    assert (answer.status, answer.json["reason"]) == (504, "Timeout")
