"""Requests that make no sense: each is answered with a Status, and none is a defect of ours.

KSCOPE_HOSTILE=20000 has more of them sent.
"""

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import psutil
import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings
from starlette.datastructures import Headers

from kscope.accounts.services import account_create, token_create
from kscope.runs.models import Command, Run
from kube.resources import SERVED
from kube.server.visitors import check_origin
from kube.status import ApiError
from scheduling.models import Pod
from tests.kube.server.client import NOT_OURS, Answer, Kube
from tests.kube.server.hostile import Hostile, hostile
from tests.kube.server.writes.test_writing import POD, digests
from tests.web.conftest import driving

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # A client that leaves takes its transaction with it, and so a cursor that was open in it.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
    ),
]

PODS = "/api/v1/namespaces/default/pods"
COUNT = int(os.environ.get("KSCOPE_HOSTILE", "600"))
MEBIBYTE = 1_048_576
# Caches of texts and schemas are full after so many requests.
WARM = 500


def state_of(run: Run) -> tuple[Any, ...]:
    """What must stay as it is."""
    found = Run.objects.get(pk=run.pk)
    rows = [str(one) for one in Pod.objects.filter(run=run).order_by("key").values()]
    return found.head_seq, found.head_digest, found.status, rows, Command.objects.count()


def checked(request: Hostile, answer: Answer) -> None:
    """A clear answer, and no defect of ours."""
    if answer.status == NOT_OURS:
        return
    assert answer.status < 500, (request, answer.body)
    if answer.status >= 400:
        assert answer.json["kind"] == "Status", (request, answer.body)
        assert answer.json["message"], request


async def test_requests_that_make_no_sense_change_nothing(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    before = await sync_to_async(state_of)(driven)
    memory = 0
    for number in range(COUNT):
        if number == WARM:
            memory = psutil.Process().memory_info().rss
        request = hostile(number, tried=True)
        checked(request, await sent(kube, request))
    grown = psutil.Process().memory_info().rss - memory if memory else 0
    print(f"{COUNT:,} requests, memory grew by {grown / MEBIBYTE:.1f} MiB")
    assert grown < 32 * MEBIBYTE
    assert await sync_to_async(state_of)(driven) == before


async def test_writes_that_make_no_sense_break_no_run(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        for number in range(COUNT // 4):
            request = hostile(number, tried=False)
            checked(request, await sent(kube, request))
    run = await Run.objects.aget(pk=driven.pk)
    assert run.status != Run.Status.FAILED, run.error
    recorded, replayed = await sync_to_async(digests)(run)
    assert replayed == recorded


async def sent(kube: Kube, request: Hostile) -> Answer:
    headers = {name.replace("-", "_"): value for name, value in request.headers.items()}
    given = headers.pop("content_type", "")
    return await kube.ask(request.method, request.path, request.body, content_type=given, **headers)


INITIAL = "sendInitialEvents=1&resourceVersionMatch=NotOlderThan"


@override_settings(SOCKETS_PER_ACCOUNT=2)
async def test_watches_that_are_dropped_leave_nothing(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube, draw = kube_of(driven), Random(1)
    async with kube.watching(f"{PODS}?watch=1") as events:
        await anext(events)
    before = len(asyncio.all_tasks())
    for _ in range(COUNT // 4):
        query = draw.choice(("", "&resourceVersion=0", "&resourceVersion=5", f"&{INITIAL}"))
        async with kube.watching(f"{PODS}?watch=1{query}") as events:
            if draw.random() < 0.5:
                await anext(events)
    assert len(asyncio.all_tasks()) <= before


async def test_client_that_leaves_while_writing_is_let_go(
    kube_of: Callable[..., Kube], driven: Run, caplog: pytest.LogCaptureFixture
) -> None:
    kube = kube_of(driven)
    for length in range(0, 40, 3):
        answered = await kube.leave("POST", PODS, json.dumps(POD).encode()[:length])
        assert not answered
    assert caplog.records == []


async def test_senseless_addresses_are_refused_in_words(kube: Kube) -> None:
    paths = (
        "/api/v1/pods?labelSelector=((",
        "/api/v1/pods?fieldSelector=spec.nonsense=1",
        "/api/v1/pods?watch=1&resourceVersion=x",
        "/api/v1/pods?watch=1&timeoutSeconds=1s",
        "/api/v1/namespaces/default/pods/web/nonsense",
        "/api/v2/pods",
        "/apis/none/v1/nothing",
        "/apis/apps/v1/nodes",
        "/openapi/v3/apis/none/v1",
        "/api/v1/namespaces/a/b/c/d/e",
    )
    for path in paths:
        answer = await kube.get(path)
        assert 400 <= answer.status < 500, (path, answer.status)
        assert answer.json["kind"] == "Status"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
async def test_methods_that_an_address_lacks_are_refused(kube: Kube, method: str) -> None:
    answer = await kube.ask(method, "/version", {})
    assert answer.status in (200, 404, 405)


@override_settings(LOGIN_REQUIRED=True)
@pytest.mark.parametrize("who", ["nobody", "editor"])
async def test_clients_learn_nothing_of_hidden_runs(
    kube_of: Callable[..., Kube], driven: Run, who: str
) -> None:
    """Whatever is asked, in whatever way: a run of another account is as one that is not there."""

    def token_of_another() -> str:
        owner, other = (account_create(name=name, role="editor")[0] for name in ("eva", "otto"))
        Run.objects.filter(pk=driven.pk).update(owner=owner, visibility="private")
        return token_create(user=other, name="t", scope="write")[1]

    token = await sync_to_async(token_of_another)()
    headers = {"authorization": f"Bearer {token}"} if who == "editor" else {}
    clients = {run.pk: kube_of(run) for run in (driven, Run(pk=987_654))}
    for path in ("", "/version", "/openapi/v2", "/api/v1", "/none", *_sampled()):
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"):
            told = [
                _told(await kube.ask(method, path, {}, **headers), run_id)
                for run_id, kube in clients.items()
            ]
            assert told[0] == told[1], (method, path)
            assert told[0][0] in (401, 403, 404), (method, path)


def _sampled() -> Iterator[str]:
    for one in SERVED[::15]:
        group = f"apis/{one.group}" if one.group else "api"
        place = "namespaces/default/" if one.namespaced else ""
        whole = f"/{group}/{one.version}/{place}{one.plural}"
        yield from (whole, f"{whole}?watch=1", f"{whole}/web", f"{whole}/web/status")


def _told(answer: Answer, run_id: int) -> tuple[int, dict[str, str], bytes]:
    """The answer, in which the run is called N."""
    body = re.sub(rb"\b%d\b" % run_id, b"N", answer.body)
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    return answer.status, headers, body


async def test_a_review_has_no_address_of_its_own(kube: Kube) -> None:
    for path in ("tokenreviews/web", "tokenreviews/web/status", "selfsubjectreviews/x"):
        answer = await kube.ask("POST", f"/apis/authentication.k8s.io/v1/{path}", {})
        assert (answer.status, answer.json["reason"]) == (404, "NotFound")


def test_two_hosts_are_refused() -> None:
    check_origin(Headers(raw=[(b"host", b"localhost")]))
    with pytest.raises(ApiError, match="is not one of this server"):
        check_origin(Headers(raw=[(b"host", b"localhost"), (b"host", b"localhost")]))
