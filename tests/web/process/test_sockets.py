"""Sockets under the rule of access: closed when their visitor loses it, limited, of this site only."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from kscope.accounts import limits
from kscope.accounts.access import Role
from kscope.accounts.models import Token
from kscope.accounts.services import account_create, token_create
from kscope.env import Rate
from kscope.runs import services
from kscope.runs.models import Run, Scenario
from kscope.runs.stream import consumers, watching
from kscope.runs.stream.consumers import NO_SUCH_RUN, TOO_MANY
from tests.serving import application
from tests.waiting import HANG_SECONDS
from tests.web.drive.test_stream import message, opened

pytestmark = pytest.mark.django_db(transaction=True)

Headers = list[tuple[bytes, bytes]]


@pytest.fixture(autouse=True)
def checked_often(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On a server, where open sockets are looked at all the time."""
    settings.LOGIN_REQUIRED = True
    for module in (consumers, watching):
        monkeypatch.setattr(module, "RECHECK_SECONDS", 0.05)
    yield
    watching._known.clear()


@pytest.fixture
def user(transactional_db: Any) -> User:
    return account_create(name="eva", role=Role.EDITOR)[0]


@pytest.fixture
def run(user: User) -> Run:
    owner = account_create(name="tom", role=Role.EDITOR)[0]
    scenario = Scenario.objects.create(name="s", digest="s", header={})
    return Run.objects.create(scenario=scenario, name="r", owner=owner, visibility="shared")


def session_of(user: User) -> tuple[Client, Headers]:
    client = Client()
    client.force_login(user)
    return client, [(b"cookie", f"sessionid={client.cookies['sessionid'].value}".encode())]


async def code_after(run: Run, headers: Headers, act: Callable[[], Awaitable[Any]]) -> int:
    """The code that an open socket is closed with once *act* was done."""
    socket = opened(run.pk, headers=headers)
    await socket.send_input({"type": "websocket.connect"})
    await socket.receive_output(timeout=HANG_SECONDS)
    assert (await message(socket, "snapshot"))["seq"] == 0
    await act()
    while True:
        received = await socket.receive_output(timeout=10)
        if received["type"] == "websocket.close":
            break
    await socket.send_input({"type": "websocket.disconnect", "code": received["code"]})
    await socket.wait(timeout=HANG_SECONDS)
    await sync_to_async(connections.close_all)()
    return int(received["code"])


async def test_logging_out_closes_open_sockets(run: Run, user: User) -> None:
    client, headers = await sync_to_async(session_of)(user)
    logout = sync_to_async(lambda: client.post("/logout/"))
    assert await code_after(run, headers, logout) == NO_SUCH_RUN


async def test_a_run_made_private_closes_open_sockets(run: Run, user: User) -> None:
    _, headers = await sync_to_async(session_of)(user)

    def hide() -> None:
        services.owned_share(thing=run, visibility="private")

    assert await code_after(run, headers, sync_to_async(hide)) == NO_SUCH_RUN


async def test_a_revoked_token_closes_open_sockets(run: Run, user: User) -> None:
    _, text = await sync_to_async(token_create)(user=user, name="t")
    headers = [(b"authorization", f"Token {text}".encode())]
    revoke = sync_to_async(lambda: Token.objects.all().delete())
    assert await code_after(run, headers, revoke) == NO_SUCH_RUN


async def test_an_account_opens_only_so_many_sockets(run: Run, user: User, settings: Any) -> None:
    settings.SOCKETS_PER_ACCOUNT = 1
    _, headers = await sync_to_async(session_of)(user)
    first, second = (opened(run.pk, headers=headers) for _ in range(2))
    for socket in (first, second):
        await socket.send_input({"type": "websocket.connect"})
        assert (await socket.receive_output(timeout=HANG_SECONDS))["type"] == "websocket.accept"
    assert (await second.receive_output(timeout=HANG_SECONDS))["code"] == TOO_MANY
    for socket in (first, second):
        await socket.send_input({"type": "websocket.disconnect", "code": 1000})
        await socket.wait(timeout=HANG_SECONDS)
    assert not watching.open_sockets._open
    await sync_to_async(connections.close_all)()


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", "https://example.org"),
        ("localhost:8000", "http://localhost:9000"),
        ("localhost:8000", "null"),
        ("evil.example:8000", "http://evil.example:8000"),
        ("evil.example", ""),
        ("", ""),
    ],
)
async def test_pages_of_other_sites_open_no_socket(host: str, origin: str) -> None:
    assert await first_of(host, origin) == "websocket.close"


async def test_own_pages_and_programs_open_sockets(run: Run, user: User) -> None:
    for origin in ("http://localhost:8000", ""):
        assert await first_of("localhost:8000", origin) == "websocket.accept"


async def first_of(host: str, origin: str) -> str:
    """The type of the first answer to a handshake with the whole application."""
    headers = [(b"host", host.encode()), (b"origin", origin.encode())]
    scope = {
        "type": "websocket",
        "path": "/ws/runs/1/",
        "query_string": b"",
        "headers": [each for each in headers if each[1]],
        "subprotocols": [],
    }
    socket = ApplicationCommunicator(application, scope)
    await socket.send_input({"type": "websocket.connect"})
    answer = await socket.receive_output(timeout=HANG_SECONDS)
    await socket.send_input({"type": "websocket.disconnect", "code": 1000})
    await socket.wait(timeout=HANG_SECONDS)
    await sync_to_async(connections.close_all)()
    return str(answer["type"])


async def test_wrong_tokens_are_counted(
    run: Run, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_now", lambda: 10_000_000_120.0)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": Rate(2, 60)}
    codes = []
    for number in range(3):
        headers = [(b"authorization", b"Token kscope_%d" % number)]
        socket = opened(run.pk, headers=headers)
        await socket.send_input({"type": "websocket.connect"})
        await socket.receive_output(timeout=HANG_SECONDS)  # accepted, to tell the code
        codes.append((await socket.receive_output(timeout=HANG_SECONDS))["code"])
        await socket.send_input({"type": "websocket.disconnect", "code": codes[-1]})
        await socket.wait(timeout=HANG_SECONDS)
    assert codes == [NO_SUCH_RUN, NO_SUCH_RUN, TOO_MANY]
    await sync_to_async(connections.close_all)()
