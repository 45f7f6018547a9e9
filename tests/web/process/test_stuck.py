"""A task that hangs is ended; one that goes on, or is over, is not."""

import subprocess
import sys
from typing import Any

import pytest

from kscope.runs.drive.ending import stuck
from kscope.up.processes import ROOM

HANGS = """
import time
from kscope.runs.drive.ending import stuck

def wait_for_ever():
    time.sleep(3600)

stuck.STUCK_SECONDS = 0.1
with stuck.ended_when_stuck():
    wait_for_ever()
"""


def test_a_process_that_hangs_says_where_and_ends() -> None:
    found = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, check=False, cwd=ROOM, text=True
    )
    assert found.returncode == 1
    assert "in wait_for_ever" in found.stderr


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The time that it is, and until when the process has to move on."""
    clock: dict[str, Any] = {"now": 0.0, "until": None}

    def end_later(seconds: float, **_how: Any) -> None:
        clock["until"] = clock["now"] + seconds

    monkeypatch.setattr(stuck.time, "monotonic", lambda: clock["now"])
    monkeypatch.setattr(stuck.faulthandler, "dump_traceback_later", end_later)
    monkeypatch.setattr(
        stuck.faulthandler, "cancel_dump_traceback_later", lambda: clock.update(until=None)
    )
    return clock


def test_process_that_moves_on_is_given_more_time(clock: dict[str, Any]) -> None:
    with stuck.ended_when_stuck():
        for _ in range(10):
            clock["now"] += 0.9 * stuck.STUCK_SECONDS
            assert clock["now"] < clock["until"]
            stuck.moved_on()


def test_process_whose_task_is_over_is_left_alone(clock: dict[str, Any]) -> None:
    with stuck.ended_when_stuck():
        clock["now"] += 5
    stuck.moved_on()
    assert clock["until"] is None
