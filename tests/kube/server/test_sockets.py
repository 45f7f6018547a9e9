"""Watches over a WebSocket: the same events, each in a frame of text."""

from base64 import urlsafe_b64encode

import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings

from kscope.accounts.services import account_create, token_create
from kscope.runs.models import Run
from kube.server.visitors import without_token
from tests.kube.server.client import Kube

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # A client that leaves takes its transaction with it, and so a cursor that was open in it.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
    ),
]

TOKEN_PROTOCOL = "base64url.bearer.authorization.k8s.io."
PODS = "/api/v1/namespaces/default/pods"


async def test_each_event_is_a_frame_of_text(kube: Kube) -> None:
    async with kube.socket(f"{PODS}?watch=1&resourceVersion=0", "base64.binary.k8s.io") as socket:
        assert socket.first["type"] == "websocket.accept"
        assert socket.first["subprotocol"] == "base64.binary.k8s.io"
        events = [await socket.receive() for _ in range(3)]
    names = [one["object"]["metadata"]["name"] for one in events]
    assert names == (await kube.get(PODS)).names
    assert {one["type"] for one in events} == {"ADDED"}


async def test_frames_of_a_client_are_ignored(kube: Kube) -> None:
    async with kube.socket(f"{PODS}?watch=1&resourceVersion=0") as socket:
        for frame in (b"", b"\xff" * 5_000, "{", "\0", "x" * 5_000):
            await socket.send(frame)
        assert (await socket.receive())["type"] == "ADDED"


async def test_sockets_are_for_watches_only(kube: Kube) -> None:
    for path in (PODS, "/version", "/nonsense", f"{PODS}/web/exec?command=ls"):
        async with kube.socket(path) as socket:
            assert 400 <= socket.first["status"] < 500


def offered(token: str) -> str:
    """The protocol by which a program in a browser says who it is."""
    return TOKEN_PROTOCOL + urlsafe_b64encode(token.encode()).decode().rstrip("=")


@override_settings(LOGIN_REQUIRED=True)
async def test_a_token_among_the_protocols_counts(kube: Kube, driven: Run) -> None:
    def token_of_the_owner() -> str:
        owner = account_create(name="owner", role="editor")[0]
        Run.objects.filter(pk=driven.pk).update(owner=owner, visibility="private")
        return token_create(user=owner, name="t")[1]

    token, path = await sync_to_async(token_of_the_owner)(), f"{PODS}?watch=1&resourceVersion=0"
    async with kube.socket(path, offered(token), "base64.binary.k8s.io") as socket:
        assert socket.first["subprotocol"] == "base64.binary.k8s.io"
    for protocols in ([offered(token)], [offered(token[:-1]), "a"], [offered(token)] * 2 + ["a"]):
        async with kube.socket(path, *protocols) as socket:
            assert socket.first["status"] == 401


def test_no_answer_names_a_protocol_with_a_token() -> None:
    assert without_token([offered("secret"), "a"]) == ["a"]
