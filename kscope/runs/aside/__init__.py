"""Engine work for pages, computed in processes beside the web process.

Replaying a run takes seconds of computing, and a thread of the web process would hold up all other
requests and streams by as much. So a view describes what it wants as a `Question`, and a few engine
processes answer (ADR 0017):

    view ── Question ──▶ Pool ── fair queue ──▶ EngineProcess ══ pipe ══▶ child.main
                           ◀──────────────── JSON text of the answer ◀───────

A waiting request holds neither a place among the requests nor a connection: see
`answers.EngineView`.
"""

from asyncio import AbstractEventLoop, get_running_loop
from weakref import WeakKeyDictionary

from kscope.runs.aside.pool import Pool
from kscope.runs.aside.process import OnPart, ignored
from kscope.runs.aside.question import Question
from kscope.runs.measures import question_counted

_pools: "WeakKeyDictionary[AbstractEventLoop, Pool]" = WeakKeyDictionary()


async def ask(question: Question, asker: str, on_part: OnPart = ignored) -> bytes:
    """The JSON text of the answer; *asker* is who takes turns with other askers.

    A function that is a generator answers in parts: *on_part* gets the JSON text of each as soon as
    it is known, and the text that is returned is empty.

    Raises ApplicationError when the question is refused, when too many wait already, and when the
    answer takes too long or too much memory. Cancelling the wait gives the question up.
    """
    loop = get_running_loop()
    pool = _pools.get(loop)
    if pool is None:
        pool = _pools[loop] = Pool()
    with question_counted(question.function.__name__):
        return await pool.ask(question, asker, on_part)


async def close() -> None:
    """End the engine processes of this event loop; the next question starts new ones."""
    pool = _pools.pop(get_running_loop(), None)
    if pool is not None:
        await pool.close()


__all__ = ["OnPart", "Pool", "Question", "ask", "close"]
