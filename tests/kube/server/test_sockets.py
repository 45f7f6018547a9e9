"""Watches over a WebSocket: the same events, each in a frame of text."""

import pytest

from tests.kube.server.client import Kube

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # A client that leaves takes its transaction with it, and so a cursor that was open in it.
    pytest.mark.filterwarnings(
        "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
    ),
]

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
