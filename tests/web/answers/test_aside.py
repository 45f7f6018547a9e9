"""The processes beside the web process: answers, refusals, turns, deadlines, and how they end."""

import asyncio
import json
import os
import signal
import threading
import time
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.utils import translation

from kscope.runs.aside import Pool, Question, child, pool, process, spent
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent, Scenario
from kscope.runs.web import past
from kscope.runs.web.past import object_at
from kscope.runs.web.uploads import upload_read
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def engines(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Pool]:
    """Two processes at most, ended after the test so that they let go of the database."""
    # A busy machine may take long to start a process.
    monkeypatch.setattr(pool, "WAIT_SECONDS", HANG_SECONDS)
    processes = Pool(size=2)
    yield processes
    asked = asyncio.all_tasks() - {asyncio.current_task()}
    await processes.close()
    await asyncio.gather(*asked, return_exceptions=True)
    await sync_to_async(connections.close_all)()


def refuse(message: str) -> None:
    raise ApplicationError(message, {"head": 7}, 409)


def process_id(**_: Any) -> int:
    return os.getpid()


def language_here() -> str:
    return str(translation.get_language())


def break_down() -> None:
    raise KeyError("what is this")


def read_absent_run() -> int:
    return int(Run.objects.get(pk=0).head_seq)


def take_long(seconds: float) -> None:
    time.sleep(seconds)


def take_memory() -> int:
    return len(bytearray(8 << 30))


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def question(function: Any, run_id: int = 1, **options: Any) -> Question:
    arguments = options.pop("arguments", {})
    return Question(function, arguments, run_id, **{"seconds": HANG_SECONDS, **options})


async def answer(engines: Pool, function: Any, run_id: int = 1, **options: Any) -> int:
    asker = options.pop("asker", "a")
    return int(await engines.ask(question(function, run_id, **options), asker))


async def until(condition: Any) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def slowly(run_id: int = 1, **options: Any) -> Question:
    """A question that takes minutes; one about another run is another question."""
    return question(take_long, run_id, arguments={"seconds": 600.0 + run_id}, **options)


async def test_another_process_computes_objects_of_the_past(
    engines: Pool, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "_stretches", {})
    event = await RunEvent.objects.aget(run=driven, object="pod/default/late", kind="PodBound")
    found = await sync_to_async(object_at)(driven, "pod/default/late", seq=event.seq - 1)
    assert isinstance(found, Question)
    assert b'"nodeName"' not in await engines.ask(found, "a")
    assert past._stretches == {}
    assert await answer(engines, process_id) != os.getpid()


async def test_a_refusal_is_reported_with_its_words(engines: Pool) -> None:
    with pytest.raises(ApplicationError) as told:
        await engines.ask(question(refuse, arguments={"message": "not so"}), "a")
    assert (told.value.message, told.value.extra, told.value.status) == ("not so", {"head": 7}, 409)


async def test_a_failing_call_leaves_the_process_usable(engines: Pool) -> None:
    with pytest.raises(RuntimeError, match="what is this"):
        await answer(engines, break_down)
    assert await answer(engines, process_id)


async def test_a_process_that_was_killed_is_replaced(engines: Pool) -> None:
    first = await answer(engines, process_id)
    os.kill(first, signal.SIGKILL)
    assert await answer(engines, process_id) not in (first, os.getpid())


async def test_question_about_a_deleted_run_is_refused(engines: Pool) -> None:
    with pytest.raises(ApplicationError) as told:
        await engines.ask(question(read_absent_run), "a")
    assert (told.value.message, told.value.status) == ("The run was deleted meanwhile.", 404)


async def test_a_slow_question_does_not_block_another_asker(engines: Pool) -> None:
    slow = [asyncio.create_task(engines.ask(slowly(run), "a")) for run in (1, 2)]
    await until(lambda: len(engines._computing) == 1)
    assert await answer(engines, process_id, asker="b")
    assert not any(task.done() for task in slow)


async def test_what_takes_too_long_is_given_up(engines: Pool) -> None:
    with pytest.raises(ApplicationError, match="longer than") as told:
        await engines.ask(slowly(seconds=1.0), "a")
    assert told.value.status == 504
    assert await answer(engines, process_id)


class Unheard:
    """In the place of a process and of the pipe to it; the test says what comes back."""

    pid = None

    def write(self, _: bytes) -> None:
        pass

    async def drain(self) -> None:
        pass

    def send_signal(self, _: int) -> None:
        pass


async def all_heard() -> None:
    """Let everything happen that waits for no time."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_each_part_has_the_time_of_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, parts, said = asyncio.get_running_loop(), list[bytes](), asyncio.StreamReader()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    engine, unheard = process.EngineProcess(), cast("Any", Unheard())
    engine._running = process._Running(unheard, unheard, said)
    asked = asyncio.create_task(engine.ask(b"", 1, 10.0, parts.append))
    said.feed_data(b'{"said":"begun"}\n')
    for _ in range(3):
        await all_heard()
        now += 9
        await all_heard()
        said.feed_data(b'{"said":"part","size":2,"last":false}\n{}')
    await all_heard()
    assert len(parts) == 3
    now += 11
    with pytest.raises(TimeoutError):
        await asked


def spent_by(cpu: float, clock: float) -> float:
    """What counts of an answer for which a process computes so long, in so much time."""
    now = 0.0
    own = spent.Spent(os.getpid(), lambda: now)
    until = time.process_time() + cpu
    while time.process_time() < until:
        pass
    now += clock
    return own.look()


def test_time_of_a_question_is_what_it_computes() -> None:
    # On a busy machine it may take a hundred times as long by the clock. The kernel tells whole
    # hundredths of what a process has computed.
    assert 0.05 <= spent_by(0.1, 1.0) < 1.0
    assert spent_by(0.0, 1_000.0) == 1_000.0


def test_time_of_a_question_has_its_forks() -> None:
    counted = spent.Spent(os.getpid(), lambda: 0.0)
    pid = os.fork()
    if not pid:
        until = time.process_time() + 0.2
        while time.process_time() < until:
            pass
        os._exit(0)
    os.waitpid(pid, 0)
    assert counted.look() >= 0.1


async def test_questions_about_large_runs_take_turns(engines: Pool) -> None:
    engines.size = 3
    large = [slowly(run, memory=3_000) for run in (1, 2)]
    asked = [
        asyncio.create_task(engines.ask(each, asker))
        for each, asker in zip(large, "ab", strict=True)
    ]
    await until(lambda: len(engines._computing) == 1)
    assert await answer(engines, process_id, asker="c")
    assert [job.question for job in engines._computing] == large[:1]
    asked[0].cancel()
    await until(lambda: [job.question for job in engines._computing] == large[1:])


def test_process_keeps_the_engine_of_large_run() -> None:
    usual, large = child.memory_of({"memory": 0}), child.memory_of({"memory": 9_000})
    assert usual.rest * child.REST_PART == usual.limit
    assert large.rest == large.limit == 9_000 * 1_048_576


async def test_what_nobody_waits_for_gives_way(engines: Pool) -> None:
    alone = engines.size = 1
    left = asyncio.create_task(engines.ask(slowly(), "a"))
    await until(lambda: engines._computing)
    left.cancel()
    assert await answer(engines, process_id, asker="b")
    assert len(engines.processes) == alone


async def test_an_abandoned_question_is_not_computed(engines: Pool) -> None:
    slow = asyncio.create_task(engines.ask(slowly(), "a"))
    left = asyncio.create_task(engines.ask(question(process_id), "a"))
    await until(lambda: len(engines._waiting) == 1)
    left.cancel()
    await until(lambda: len(engines._waiting) == 0)
    assert not slow.done()


async def test_process_of_who_has_left_is_ended(
    engines: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = list[Any]()

    def start(*call: Any, **files: Any) -> Any:
        started.append(start_function(*call, **files))
        return started[-1]

    start_function = process.start_function
    monkeypatch.setattr(process, "start_function", start)
    for steps in range(10):
        asked = asyncio.create_task(engines.ask(slowly(), "a"))
        for _ in range(steps):
            await asyncio.sleep(0)
        asked.cancel()
        await engines.close()
        await asyncio.gather(asked, return_exceptions=True)
    assert started
    assert [each for each in started if each.poll() is None] == []


async def test_question_left_as_it_begins_gives_way(engines: Pool) -> None:
    engines.size = 1
    asked = [asyncio.create_task(engines.ask(slowly(run), str(run))) for run in (1, 2)]
    third = asyncio.create_task(answer(engines, process_id, 3, asker="3"))
    await until(lambda: len(engines._waiting) == 2)
    asked[1].cancel()
    engines.size = 2
    engines._dispatch()  # the task of the second question has not begun as its asker leaves
    assert await third
    assert [job.question for job in engines._computing] == [slowly(1)]


async def test_the_same_question_is_computed_once_for_all(engines: Pool) -> None:
    wanted = question(take_long, arguments={"seconds": 0.5}, lasts=True)
    asked = [asyncio.create_task(engines.ask(wanted, asker)) for asker in "abcdefgh"]
    await until(lambda: engines._computing)
    assert (len(engines._computing), len(engines._waiting)) == (1, 0)
    assert await asyncio.gather(*asked) == [b"null"] * 8


async def test_too_many_questions_of_one_asker_are_refused(
    engines: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        asyncio.create_task(engines.ask(slowly(run), "a")) for run in range(pool.WAITING_EACH + 1)
    ]
    await until(lambda: len(engines._waiting) == pool.WAITING_EACH)
    with pytest.raises(ApplicationError, match="of your questions") as told:
        await engines.ask(question(process_id), "a")
    assert (told.value.status, told.value.headers) == (429, {"Retry-After": "3"})
    assert await answer(engines, process_id, asker="b")
    assert not any(task.done() for task in asked)


async def test_waiting_too_long_is_answered_with_retry_later(
    engines: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = asyncio.create_task(engines.ask(slowly(), "a"))
    await until(lambda: engines._computing)
    monkeypatch.setattr(pool, "WAIT_SECONDS", 0.1)
    with pytest.raises(ApplicationError, match="try again") as told:
        await engines.ask(question(process_id), "a")
    assert (told.value.status, told.value.retry_after) == (503, 3)
    assert not slow.done()


async def test_the_process_holding_the_run_is_reused(engines: Pool) -> None:
    engines.size = 3
    both = await asyncio.gather(
        *(answer(engines, process_id, run, asker=f"{run}") for run in (1, 2))
    )
    assert len(set(both)) == 2
    assert [await answer(engines, process_id, run) for run in (2, 1, 1, 2)] == [
        both[1],
        both[0],
        both[0],
        both[1],
    ]


async def test_an_answer_needing_too_much_memory_is_refused(engines: Pool) -> None:
    before = await answer(engines, process_id)
    with pytest.raises(ApplicationError, match="more memory"):
        await answer(engines, take_memory)
    assert await answer(engines, process_id) != before


async def test_a_process_has_no_thread_but_its_own(engines: Pool) -> None:
    """One that reads from the parent would break the interpreter's shutdown."""
    assert await engines.ask(question(threads), "a") == b'["MainThread"]'


async def test_it_ends_with_its_pipe(engines: Pool) -> None:
    await answer(engines, process_id)
    [process] = engines.processes
    assert process._running
    process._running.questions.close()
    assert await asyncio.to_thread(process._running.process.wait, HANG_SECONDS) == 0


async def test_files_are_read_beside_the_web(engines: Pool, tmp_path: Any) -> None:
    text = b"apiVersion: v1\nkind: Node\nmetadata: {name: %s}\n"
    spool = tmp_path / "spool"
    spool.write_bytes(text % b"n1" + text % b"n2")
    length = len(text)  # of each, as the names have two letters
    pieces = [("a.yaml", str(spool), 0, length), ("b.yaml", str(spool), length, length)]
    arguments = {"pieces": pieces, "name": "two", "owner_id": None}
    parts: list[bytes] = []
    await engines.ask(question(upload_read, arguments=arguments), "a", parts.append)
    told = [json.loads(part) for part in parts]
    assert [each.get("doing") for each in told] == [
        *("reading", "reading", "checking", "storing", None)
    ]
    stored = await Scenario.objects.aget()
    assert (stored.pk, stored.summary) == (told[-1]["scenario"], {"Node": 2})


async def test_an_answer_may_only_be_so_long(
    engines: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "ANSWER_BYTES", 0)
    with pytest.raises(ApplicationError, match="The answer is too large") as refused:
        await answer(engines, process_id)
    assert refused.value.status == 413


async def test_answer_is_in_the_language_of_who_asks(engines: Pool) -> None:
    for language in ("de", "en-gb"):
        with translation.override(language):
            asked = question(language_here)
        assert json.loads(await engines.ask(asked, "a")) == language


async def test_refusal_is_in_the_language_of_who_asks(
    engines: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    words: list[str] = []
    said = ApplicationError.__init__

    def init(error: ApplicationError, *arguments: Any, **options: Any) -> None:
        words.append(str(translation.get_language()))
        said(error, *arguments, **options)

    monkeypatch.setattr(ApplicationError, "__init__", init)
    with translation.override("de"):
        asked = slowly(seconds=0.05)
    with pytest.raises(ApplicationError):
        await engines.ask(asked, "a")
    assert words == ["de"]
