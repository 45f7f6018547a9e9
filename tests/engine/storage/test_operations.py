"""Named operations: one at a time per name, with exponential backoff after errors."""

from engine.kernel.errors import SimError
from engine.kernel.loop import EventLoop
from engine.kernel.units import MILLISECOND, SECOND
from engine.storage.operations.backoff import MAX_BACKOFF, Backoff, Start
from engine.storage.operations.runner import OperationRunner


class Steps:
    """An operation of given delays, None at the end, or an error."""

    def __init__(self, *answers: int | str | None) -> None:
        self.answers = list(answers)
        self.done = 0

    def step(self) -> int | None:
        answer = self.answers.pop(0)
        self.done += 1
        if isinstance(answer, str):
            raise SimError(answer)
        return answer


def test_an_operation_runs_in_steps() -> None:
    loop = EventLoop()
    runner = OperationRunner(loop)
    operation = Steps(SECOND, 2 * SECOND, None)
    assert runner.run("delete-v[1]", operation) is Start.STARTED
    loop.run(2 * SECOND)
    assert operation.done == 2
    assert runner.running() == ["delete-v[1]"]
    loop.run(3 * SECOND)
    assert operation.done == 3
    assert runner.running() == []


def test_a_name_runs_once_at_a_time() -> None:
    loop = EventLoop()
    runner = OperationRunner(loop)
    runner.run("a", Steps(SECOND, None))
    loop.run(0)
    assert runner.run("a", Steps(None)) is Start.RUNNING
    assert runner.run("b", Steps(None)) is Start.STARTED
    loop.run(SECOND)
    assert runner.run("a", Steps(None)) is Start.STARTED


def test_a_failed_operation_backs_off_exponentially() -> None:
    loop = EventLoop()
    runner = OperationRunner(loop)
    runner.run("a", Steps("no"))
    loop.run(0)
    assert runner.run("a", Steps(None)) is Start.BACKING_OFF
    loop.run(500 * MILLISECOND)
    assert runner.run("a", Steps(None)) is Start.BACKING_OFF
    loop.run(501 * MILLISECOND)
    assert runner.run("a", Steps("no")) is Start.STARTED
    loop.run(1500 * MILLISECOND)
    held = runner.backoff("a")
    assert held is not None
    assert (held.error, held.delay) == ("no", SECOND)
    loop.run(1502 * MILLISECOND)
    assert runner.run("a", Steps(None)) is Start.STARTED
    loop.run(2 * SECOND)
    # Success ends the backoff.
    runner.run("a", Steps("no"))
    loop.run(2 * SECOND)
    held = runner.backoff("a")
    assert held is not None
    assert held.delay == 500 * MILLISECOND


def test_backoff_grows_to_two_minutes_and_two_seconds() -> None:
    backoff = Backoff()
    for _ in range(20):
        backoff.failed("no", 0)
    assert backoff.delay == MAX_BACKOFF == 122 * SECOND
