"""The event loop: order, time and causes."""

import pickle

import pytest

from engine.kernel.loop import EventLoop


class Log:
    """Notes what ran, when, and because of what."""

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.ran: list[tuple[str, int]] = []
        self.causes: list[int] = []

    def note(self, name: str) -> None:
        self.ran.append((name, self.loop.now))
        self.causes.append(self.loop.cause)

    def note_and_schedule(self, name: str, delay: int) -> None:
        self.note(name)
        self.loop.cause = 7
        self.loop.call_after(delay, self.note, f"after {name}")


def test_callbacks_run_in_order_of_time() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.call_after(20, log.note, "late")
    loop.call_after(10, log.note, "early")
    loop.run(until=30)
    assert log.ran == [("early", 10), ("late", 20)]
    assert loop.now == 30


def test_callbacks_due_together_run_in_scheduling_order() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.call_after(5, log.note, "first")
    loop.call_after(5, log.note, "second")
    loop.run(until=5)
    assert [name for name, _ in log.ran] == ["first", "second"]


def test_a_callback_that_is_not_due_waits() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.call_after(11, log.note, "later")
    loop.run(until=10)
    assert log.ran == []
    assert loop.next_at == 11


def test_a_cancelled_timer_is_no_step() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.call_after(5, log.note, "never").cancel()
    loop.run(until=10)
    assert log.ran == []
    assert loop.steps == 0


def test_the_past_is_refused() -> None:
    loop = EventLoop()
    loop.run(until=10)
    with pytest.raises(ValueError, match="time only moves forward"):
        loop.call_at(9, Log(loop).note, "past")


def test_a_callback_inherits_its_schedulers_cause() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.call_after(1, log.note_and_schedule, "a", 1)
    loop.run(until=5)
    assert log.causes == [0, 7]


def test_resting_past_something_due_is_refused() -> None:
    loop = EventLoop()
    loop.call_after(5, Log(loop).note, "due")
    with pytest.raises(ValueError, match="a callback is due at 5"):
        loop.rest_at(6)


def test_new_callbacks_of_an_instant_come_last() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.call_at(10, log.note_and_schedule, "first", 0)
    loop.call_at(10, log.note, "second")
    loop.run(until=10)
    assert log.ran == [("first", 10), ("second", 10), ("after first", 10)]


def test_callbacks_due_now_survive_a_checkpoint() -> None:
    loop = EventLoop()
    log = Log(loop)
    loop.run(until=10)
    loop.call_after(5, log.note, "later")
    cancelled = loop.call_after(0, log.note, "never")
    loop.call_at(10, log.note, "now")
    cancelled.cancel()
    assert loop.next_at == 10
    restored, its_log = pickle.loads(pickle.dumps((loop, log)))
    restored.run(until=20)
    assert its_log.ran == [("now", 10), ("later", 15)]
    assert restored.steps == 2


def test_a_step_limit_halts_within_an_instant() -> None:
    loop = EventLoop()
    log = Log(loop)
    for name in ("a", "b", "c"):
        loop.call_after(0, log.note, name)
    assert not loop.run_due(0, loop.steps + 2)
    assert [name for name, _ in log.ran] == ["a", "b"]
    assert loop.run_due(0)
    assert [name for name, _ in log.ran] == ["a", "b", "c"]


class _Halter:
    """Halts its loop when called."""

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.calls = 0

    def halt(self) -> None:
        self.calls += 1
        self.loop.halted = True


def test_a_halted_loop_runs_no_further_callback() -> None:
    loop = EventLoop()
    halter = _Halter(loop)
    for at in (0, 0, 5):
        loop.call_at(at, halter.halt)
    loop.run(until=10)
    assert (halter.calls, loop.now, loop.steps) == (1, 0, 1)


def test_a_loop_goes_on_where_it_was_halted() -> None:
    loop = EventLoop()
    halter = _Halter(loop)
    for at in (0, 0, 5):
        loop.call_at(at, halter.halt)
    for _ in range(3):
        loop.halted = False
        loop.run(until=10)
    assert (halter.calls, loop.now) == (3, 5)


def test_the_first_failure_of_a_loop_is_kept() -> None:
    loop = EventLoop()
    loop.fail("the first")
    loop.fail("the second")
    assert (loop.failure, loop.halted) == ("the first", True)
