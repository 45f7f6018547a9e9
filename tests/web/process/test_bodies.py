"""Bodies of requests: who may send one is asked first, where it waits, and how fast it must come."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connections
from django.test import Client

from kscope.accounts import limits
from kscope.accounts.access import Role, Scope
from kscope.accounts.services import account_create, token_create
from kscope.env import Rate
from kscope.runs.models import Run, Scenario
from kscope.runs.web import bodies as gate
from kscope.runs.web.bodies import REFUSED, SHORT_BYTES, bodies
from tests.serving import application
from tests.waiting import HANG_SECONDS

Message = dict[str, Any]
MIB = 1_048_576


class Sender:
    """A client with a body of *size* bytes: what was taken of it, and what was answered."""

    def __init__(
        self, size: int, *, path: str = "/api/v1/scenarios/", method: str = "POST"
    ) -> None:
        self.size = size
        self.taken = 0
        self.comes = asyncio.Event()
        self.comes.set()
        self.path, self.method = path, method
        self.headers: dict[str, str] = {"content-length": str(size)}
        self.address = "1.1.1.1"
        self.status = 0
        self.text = ""
        self.scope: Message = {}

    async def receive(self) -> Message:
        await self.comes.wait()
        piece = min(65_536, self.size - self.taken)
        self.taken += piece
        return {"type": "http.request", "body": bytes(piece), "more_body": self.taken < self.size}

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        self.text += message.get("body", b"").decode()

    async def ask(self, asgi: Any) -> None:
        headers = {"host": "localhost", "content-type": "multipart/form-data; boundary=b"}
        headers |= self.headers
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "path": self.path,
            "query_string": b"",
            "client": (self.address, 1),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        await asyncio.wait_for(asgi(self.scope, self.receive, self.send), HANG_SECONDS)


@pytest.fixture(autouse=True)
async def nothing_open(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Threads that ask the database let go of it."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
    yield
    await sync_to_async(connections.close_all)()


async def turns() -> None:
    """Let everything run that can."""
    for _ in range(30):
        await asyncio.sleep(0)


# Who may send


@pytest.fixture
def user(transactional_db: Any, settings: Any) -> User:
    settings.LOGIN_REQUIRED = True
    return account_create(name="eva", role=Role.EDITOR, password="a long enough phrase")[0]


def session(user: User) -> dict[str, str]:
    client = Client()
    client.force_login(user)
    return {"cookie": f"sessionid={client.cookies['sessionid'].value}"}


def token(user: User, scope: str = Scope.WRITE) -> dict[str, str]:
    return {"authorization": f"Token {token_create(user=user, name='t', scope=scope)[1]}"}


def as_viewer(user: User) -> dict[str, str]:
    return session(account_create(name="vic", role=Role.VIEWER)[0])


REFUSALS: dict[str, tuple[Callable[[User], dict[str, str]], int, str]] = {
    "nobody": (lambda user: {}, 401, "log in, or send a token"),
    "a wrong token": (lambda user: {"authorization": "Token kscope_x"}, 401, "is not valid"),
    "a token to read": (lambda user: token(user, Scope.READ), 403, "may only read"),
    "a viewer": (as_viewer, 403, "your account may only read"),
    "another site": (lambda user: {**session(user), "origin": "http://a"}, 403, "another site"),
}


@pytest.mark.parametrize("who", REFUSALS)
async def test_nobody_without_the_right_sends_a_body(who: str, user: User) -> None:
    headers, status, words = REFUSALS[who]
    sender = Sender(58 * MIB)
    sender.headers |= await sync_to_async(headers)(user)
    await sender.ask(application)
    assert (sender.status, sender.taken) == (status, 0)
    assert words in sender.text


async def test_a_form_without_a_login_leads_to_it(user: User) -> None:
    sender = Sender(58 * MIB, path="/scenarios/upload/")
    await sender.ask(application)
    assert (sender.status, sender.taken) == (302, 0)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/nothing/here/", 404),
        ("PUT", "/api/v1/runs/", 405),
        ("POST", "/api/v1/runs/99/commands/", 404),
        ("POST", "/api/v1/runs/", 413),
        ("GET", "/readyz", 413),
        ("GET", "/healthz", 200),
    ],
)
async def test_an_address_that_takes_none_gets_none(
    method: str, path: str, status: int, transactional_db: Any
) -> None:
    sender = Sender(MIB if status in (404, 405) else 58 * MIB, path=path, method=method)
    await sender.ask(application)
    assert (sender.status, sender.taken) == (status, 0)


async def test_a_hidden_run_takes_no_body(user: User) -> None:
    def hidden() -> int:
        owner = account_create(name="tom", role=Role.EDITOR)[0]
        scenario = Scenario.objects.create(name="s", digest="s", header={})
        return Run.objects.create(scenario=scenario, name="r", owner=owner).pk

    run = await sync_to_async(hidden)()
    sender = Sender(MIB, path=f"/api/v1/runs/{run}/commands/")
    sender.headers |= await sync_to_async(session)(user)
    await sender.ask(application)
    assert (sender.status, sender.taken) == (404, 0)
    assert f"there is no run {run}" in sender.text


async def test_a_quota_is_compared_with_the_length(user: User, settings: Any) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "upload_bytes": 10 * MIB}
    sender = Sender(16 * MIB)
    sender.headers |= await sync_to_async(session)(user)
    await sender.ask(application)
    assert (sender.status, sender.taken) == (403, 0)
    assert "it may keep 10,485,760" in sender.text


async def swallow(scope: Any, receive: Any, send: Any) -> None:
    """An application that takes the whole body."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200 if REFUSED not in scope else 413})


async def test_an_editor_sends_less_than_an_admin(user: User, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES, settings.UPLOAD_MAX_ADMIN_BYTES = 10 * MIB, 100 * MIB
    sender = Sender(16 * MIB)
    sender.headers |= await sync_to_async(session)(user)
    await sender.ask(application)
    assert (sender.status, sender.taken) == (413, 0)
    assert "16.0 MiB were sent; an upload may hold 10 MiB in all" in sender.text
    admin = await sync_to_async(lambda: account_create(name="ada", role=Role.ADMIN)[0])()
    sender = Sender(16 * MIB)
    sender.headers |= await sync_to_async(session)(admin)
    await sender.ask(bodies(swallow))
    assert (sender.status, sender.taken) == (200, 16 * MIB)


async def test_a_rate_is_looked_at_before_the_body(
    user: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_now", lambda: 10_000_000_000.0)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "write": Rate(0, 60)}
    sender = Sender(16 * MIB)
    sender.headers |= await sync_to_async(session)(user)
    await sender.ask(application)
    assert (sender.status, sender.taken) == (429, 0)


async def test_wrong_tokens_with_bodies_are_counted(
    user: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_now", lambda: 10_000_000_060.0)
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": Rate(2, 60)}
    found = []
    for number in range(3):
        sender = Sender(MIB)
        sender.address = "3.3.3.3"
        sender.headers["authorization"] = f"Token kscope_{number}"
        await sender.ask(application)
        found.append(sender.status)
    assert found == [401, 401, 429]


# Where bodies wait


class Receiver:
    """An application that receives bodies, and keeps requests until it may end."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.received: list[str] = []
        self.may_end = asyncio.Event()

    async def __call__(self, scope: Message, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        self.received.append(scope["client"][0])
        await self.may_end.wait()


@pytest.fixture
def anyone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends, and how much they may, is asked elsewhere."""
    monkeypatch.setattr(gate, "refuse_sender", lambda scope, **_: 100 * MIB)


async def received(receiver: Receiver, count: int, asked: "list[asyncio.Task[None]]") -> None:
    """Wait until so many bodies are there; what ends a request early ends the test."""
    while len(receiver.received) < count:
        for task in asked:
            if task.done():
                task.result()
        await asyncio.sleep(0.001)


async def test_an_address_sends_few_uploads_at_once(anyone: None, settings: Any) -> None:
    settings.WEB_UPLOADS = 4
    receiver = Receiver()
    asgi = bodies(receiver)
    heavy = [Sender(MIB) for _ in range(8)]
    asked = [asyncio.ensure_future(sender.ask(asgi)) for sender in heavy]
    await received(receiver, 2, asked)
    await turns()
    assert [sender.taken > 0 for sender in heavy] == [True, True] + [False] * 6
    other = Sender(MIB)
    other.address = "2.2.2.2"
    asked.append(asyncio.ensure_future(other.ask(asgi)))
    await received(receiver, 3, asked)
    assert receiver.received == ["1.1.1.1", "1.1.1.1", "2.2.2.2"]
    receiver.may_end.set()
    await asyncio.gather(*asked)
    assert len(receiver.received) == 9


async def test_short_bodies_wait_for_no_upload(anyone: None, settings: Any) -> None:
    settings.WEB_UPLOADS = 1
    receiver = Receiver()
    asgi = bodies(receiver)
    asked = [asyncio.ensure_future(Sender(size).ask(asgi)) for size in (MIB, MIB, SHORT_BYTES)]
    await received(receiver, 2, asked)
    receiver.may_end.set()
    await asyncio.gather(*asked)


async def test_a_body_that_waits_too_long_is_refused(
    anyone: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.WEB_UPLOADS = 1
    monkeypatch.setattr(gate, "WAIT_SECONDS", 0.01)
    receiver = Receiver()
    asgi = bodies(receiver)
    first, second = Sender(MIB), Sender(MIB)
    asked = [asyncio.ensure_future(sender.ask(asgi)) for sender in (first, second)]
    await received(receiver, 2, asked)
    receiver.may_end.set()
    await asyncio.gather(*asked)
    assert (second.taken, second.scope[REFUSED].status) == (0, 503)


# How fast they come


@pytest.mark.parametrize("size", [1_000, MIB])
async def test_a_body_that_stops_coming_is_refused(
    size: int, anyone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "GRACE_SECONDS", 0.01)
    sender, receiver = Sender(size), Receiver()
    sender.comes.clear()
    receiver.may_end.set()
    await sender.ask(bodies(receiver))
    assert sender.scope[REFUSED].status == 408


async def test_a_body_that_drips_is_refused(anyone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "GRACE_SECONDS", 10.0)
    moments = iter(range(0, 10_000, 3))  # each piece takes three seconds
    monkeypatch.setattr(gate, "monotonic", lambda: next(moments))

    async def drip() -> Message:
        return {"type": "http.request", "body": b"x", "more_body": True}

    sender, receiver = Sender(1_000), Receiver()
    monkeypatch.setattr(sender, "receive", drip)
    receiver.may_end.set()
    await sender.ask(bodies(receiver))
    assert sender.scope[REFUSED].status == 408


async def test_time_without_a_question_is_free(
    anyone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "GRACE_SECONDS", 10.0)
    moments = iter(range(10_000))
    monkeypatch.setattr(gate, "monotonic", lambda: next(moments) // 2 * 100)
    sender, receiver = Sender(5 * 65_536), Receiver()
    receiver.may_end.set()
    await sender.ask(bodies(receiver))
    assert sender.taken == sender.size
