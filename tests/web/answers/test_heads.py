"""Questions about the head of a run: a fork of the process that has the engine there answers."""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import connection

from kscope.runs import nudges
from kscope.runs.app_registry import registry
from kscope.runs.aside import Question
from kscope.runs.aside.heads import PATIENCE_SECONDS, Heads
from kscope.runs.aside.process import ignored
from kscope.runs.drive.ending.stopping import stop_unask
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.up.processes import Call, ForkedProcess, forked
from scheduling.selectors import diagnosis_by_id, diagnosis_parts_by_id
from tests.loaders import loader
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


class Drivers:
    """A process that has driven a run to its end, keeps its engine, and hears questions."""

    def __init__(self, run: Run) -> None:
        words = (str(connection.settings_dict["NAME"]), str(run.pk))
        call = Call("driver", "tests.web.answers.test_heads:host", words)
        ours, theirs = os.pipe()
        with Path(os.devnull).open("rb") as nothing, os.fdopen(theirs, "wb") as output:
            files = (nothing.fileno(), output.fileno(), sys.__stderr__.fileno())
            self.process: ForkedProcess = forked(loader(), call, files)
        with os.fdopen(ours, "rb") as said:
            assert said.readline() == b"it listens\n"

    def end(self) -> None:
        self.process.send_signal(9)
        self.process.wait()


def host() -> None:
    """What such a process does."""
    from kscope.runs.drive.hosting.asks import Asks
    from kscope.runs.drive.hosting.loop import Loop
    from kscope.runs.drive.same_database import database_use

    stop_unask()
    database_use(sys.argv[1])
    loop = Loop(threads=2)
    loop.adopt(int(sys.argv[2]))
    loop.run()
    hosting = Loop(threads=2)
    Asks(hosting.engine_at_head, hosting.put, registry.answer_ask).start()
    while not nudges._client().pubsub_numsub(nudges.ASK)[0][1]:
        pass
    print("it listens", flush=True)
    hosting.run(forever=True)


@pytest.fixture
def run(start: Callable[..., Run]) -> Run:
    return start(play=True, speed="max")


@pytest.fixture
def drivers(run: Run) -> Iterator[Drivers]:
    """Of the run, which is over."""
    made = Drivers(run)
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED
    yield made
    made.end()


async def _asked(question: Question) -> tuple[bytes | None, list[Any]]:
    parts: list[Any] = []
    heads = Heads()
    try:
        answer = await heads.ask(
            question.request(), question.run_id, 60, lambda part: parts.append(json.loads(part))
        )
    finally:
        await heads.close()
    return answer, parts


def _question(run: Run, key: str = "default/giant", *, parts: bool = False) -> Question:
    arguments = {"run_id": run.pk, "kind": "Pod", "key": key, "seq": None}
    function = diagnosis_parts_by_id if parts else diagnosis_by_id
    return Question(function, arguments, run.pk, of_head=True)


def test_fork_answers_as_another_process_would(run: Run, drivers: Drivers) -> None:
    answer, _ = asyncio.run(_asked(_question(run)))
    assert answer is not None
    assert json.loads(answer) == json.loads(
        json.dumps(diagnosis_by_id(run.pk, "Pod", "default/giant", None))
    )


def test_fork_answers_in_parts_as_they_come(run: Run, drivers: Drivers) -> None:
    answer, parts = asyncio.run(_asked(_question(run, parts=True)))
    assert answer == b""
    assert parts == json.loads(
        json.dumps(list(diagnosis_parts_by_id(run.pk, "Pod", "default/giant", None)))
    )


def test_refusals_of_a_fork_reach_the_asker(run: Run, drivers: Drivers) -> None:
    with pytest.raises(ApplicationError, match="There is no pod default/nobody"):
        asyncio.run(_asked(_question(run, "default/nobody")))


def test_process_that_forked_goes_on(run: Run, drivers: Drivers) -> None:
    for _ in range(3):
        assert asyncio.run(_asked(_question(run)))[0] is not None
    assert drivers.process.poll() is None


def test_nobody_answers_for_an_engine_elsewhere(run: Run, drivers: Drivers) -> None:
    Run.objects.filter(pk=run.pk).update(head_digest="another")
    assert asyncio.run(_asked(_question(run))) == (None, [])
    other = Question(diagnosis_by_id, {"run_id": 0}, 0, of_head=True)
    assert asyncio.run(_asked(other)) == (None, [])


def test_only_known_questions_are_answered(run: Run, drivers: Drivers) -> None:
    question = Question(json.dumps, {"obj": 1}, run.pk, of_head=True)
    assert asyncio.run(_asked(question)) == (None, [])


async def test_without_processes_nobody_is_waited_for() -> None:
    heads = Heads()
    try:
        assert await heads.ask(b"{}", 1, 60, ignored) is None
    finally:
        await heads.close()


def _told(*messages: bytes, pause: float) -> None:
    """A process that takes the next question, and says these things with such pauses."""
    listener = nudges.AskListener()
    while not (asks := listener.wait(0.1)):
        pass
    nudges.ask_take(asks[0])
    for message in messages:
        time.sleep(pause)
        nudges.ask_answer(asks[0], message)


@pytest.mark.parametrize(("said", "answer"), [(b"result", b"7"), (b"late", None)])
async def test_who_still_computes_is_waited_for(said: bytes, answer: bytes | None) -> None:
    heads, working = Heads(), b'{"said":"working"}\n'
    last = b'{"said":"%b","size":1}\n7' % said
    words = (b'{"said":"begun"}\n', working, working, last)
    telling = threading.Thread(target=_told, args=words, kwargs={"pause": PATIENCE_SECONDS * 1.2})
    telling.start()
    try:
        while not nudges._client().pubsub_numsub(nudges.ASK)[0][1]:
            await asyncio.sleep(0.01)
        # Each message comes later than any process may be silent at first.
        asked = heads.ask(b"{}", 1, PATIENCE_SECONDS * 2, ignored)
        if answer is None:
            with pytest.raises(TimeoutError):
                await asked
        else:
            assert await asked == answer
    finally:
        telling.join()
        await heads.close()


def test_threads_share_one_client(monkeypatch: pytest.MonkeyPatch) -> None:
    made, both = list[object](), threading.Barrier(2)

    def make(*_: object) -> object:
        both.wait(HANG_SECONDS)
        return object()

    monkeypatch.setattr(nudges, "_CLIENT", {})
    monkeypatch.setattr(redis.Redis, "from_url", make)
    threads = [threading.Thread(target=lambda: made.append(nudges._client())) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert made[0] is made[1]
