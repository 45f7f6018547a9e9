"""Ending a task for certain."""

import asyncio

import pytest

from kscope.runs.stream import ending
from kscope.runs.stream.ending import end


async def waits_again_when_cancelled(times: int) -> None:
    """Forgets a cancellation, as `asyncio.wait_for` may before Python 3.12."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            times -= 1
            if times < 0:
                raise


async def fails_when_cancelled() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise OSError


@pytest.mark.parametrize("times", [0, 1, 2])
async def test_a_task_that_forgets_its_cancellation_ends(
    times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "AGAIN_SECONDS", 0.001)
    task = asyncio.create_task(waits_again_when_cancelled(times))
    await asyncio.sleep(0)
    await end(task)
    assert task.cancelled()


async def test_a_task_failing_at_its_end_disturbs_nothing() -> None:
    task = asyncio.create_task(fails_when_cancelled())
    await asyncio.sleep(0)
    await end(task)
    assert isinstance(task.exception(), OSError)
