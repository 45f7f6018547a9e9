"""Questions over ASGI, as a browser asks them: what waits, what goes on meanwhile, what is given up."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db import connection, connections

from kscope.runs import aside
from kscope.runs.aside import OnPart, Question
from kscope.runs.capacity.requests_at_once import admission
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run

pytestmark = pytest.mark.django_db(transaction=True)


class Engine:
    """Stands where the engine processes are: answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[Question, str]] = []
        self.given_up = 0
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.parts: list[bytes] = []

    async def ask(self, question: Question, asker: str, on_part: OnPart = lambda _: None) -> bytes:
        self.asked.append((question, asker))
        for part in self.parts:
            on_part(part)
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.given_up += 1
            raise


@pytest.fixture
async def engine(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Engine]:
    """Takes the place of the engine processes; one request is served at a time."""
    stand_in = Engine()
    monkeypatch.setattr(aside, "ask", stand_in.ask)
    monkeypatch.setattr(settings, "WEB_PLACES", 1)
    # As in a web process: the threads of requests come and go.
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", 0)
    yield stand_in
    await sync_to_async(connections.close_all)()


@pytest.fixture
def opened(engine: Engine) -> Callable[[str], ApplicationCommunicator]:
    """Send a request to one and the same application."""
    application = admission(get_asgi_application())

    def send(path: str) -> ApplicationCommunicator:
        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(b"host", b"localhost")],
            "client": ("1.2.3.4", 5),
        }
        return ApplicationCommunicator(application, scope)

    return send


async def response(request: ApplicationCommunicator) -> tuple[int, dict[str, str], Any]:
    start = await request.receive_output(timeout=30)
    body = b""
    while True:
        part = await request.receive_output(timeout=30)
        body += part["body"]
        if not part.get("more_body", False):
            break
    await request.wait(timeout=30)
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, json.loads(body)


async def asked(request: ApplicationCommunicator) -> ApplicationCommunicator:
    await request.send_input({"type": "http.request", "body": b""})
    return request


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def why(run: Run) -> str:
    return f"/api/v1/runs/{run.pk}/pods/default/giant/why/"


async def test_the_run_list_is_served_while_questions_wait(
    driven: Run, engine: Engine, opened: Any
) -> None:
    waiting = [await asked(opened(why(driven))) for _ in range(5)]
    await until(lambda: len(engine.asked) == 5)
    status, _, listed = await response(await asked(opened("/api/v1/runs/")))
    assert (status, listed["items"][0]["id"]) == (200, driven.pk)
    engine.answer.set_result(b'{"state":"unschedulable"}')
    for request in waiting:
        status, headers, told = await response(request)
        assert (status, told) == (200, {"state": "unschedulable"})
        assert headers["Content-Type"] == "application/json"


async def test_a_client_that_leaves_gives_its_question_up(
    driven: Run, engine: Engine, opened: Any
) -> None:
    request = await asked(opened(why(driven)))
    await until(lambda: bool(engine.asked))
    await request.send_input({"type": "http.disconnect"})
    await until(lambda: engine.given_up == 1)
    await request.wait(timeout=30)


async def test_a_refusal_says_when_to_come_back(driven: Run, engine: Engine, opened: Any) -> None:
    engine.answer.set_exception(ApplicationError("Too many.", status=503, retry_after=3))
    status, headers, told = await response(await asked(opened(why(driven))))
    assert (status, told["detail"], told["retry_after"]) == (503, "Too many.", 3)
    assert headers["Retry-After"] == "3"


async def test_askers_without_account_are_distinguished_by_address(
    driven: Run, engine: Engine, opened: Any
) -> None:
    engine.answer.set_result(b"{}")
    await response(await asked(opened(why(driven) + f"?seq={driven.head_seq}")))
    [(question, asker)] = engine.asked
    assert asker == "address 1.2.3.4"
    assert (question.run_id, question.lasts) == (driven.pk, True)


async def test_parts_are_sent_before_the_end(driven: Run, engine: Engine, opened: Any) -> None:
    engine.parts = [b'{"causes":[]}', b'{"fix":{}}']
    request = await asked(opened(f"{why(driven)}?parts=1"))
    start = await request.receive_output(timeout=30)
    lines = [(await request.receive_output(timeout=30))["body"] for _ in engine.parts]
    assert (start["status"], lines) == (200, [b'{"causes":[]}\n', b'{"fix":{}}\n'])
    assert not engine.answer.done()
    engine.answer.set_result(b"")
    end = await request.receive_output(timeout=30)
    assert (end.get("body", b""), end.get("more_body", False)) == (b"", False)
    await request.wait(timeout=30)


async def test_leaving_between_parts_gives_the_question_up(
    driven: Run, engine: Engine, opened: Any
) -> None:
    engine.parts = [b'{"causes":[]}']
    request = await asked(opened(f"{why(driven)}?parts=1"))
    await request.receive_output(timeout=30)
    await request.receive_output(timeout=30)
    await request.send_input({"type": "http.disconnect"})
    await until(lambda: engine.given_up == 1)
    await request.wait(timeout=30)


async def test_a_refusal_before_any_part_has_its_status(
    driven: Run, engine: Engine, opened: Any
) -> None:
    engine.answer.set_exception(ApplicationError("Too many.", status=503, retry_after=3))
    status, headers, told = await response(await asked(opened(f"{why(driven)}?parts=1")))
    assert (status, told["detail"], headers["Retry-After"]) == (503, "Too many.", "3")
