"""How many processes a worker has for its runs, and which of them gets a run."""

import io
import os
import threading
from collections.abc import Callable, Iterator
from typing import IO

import pytest

from kscope.runs.drive.hosting import fleet
from kscope.runs.drive.hosting.at_work import AtWork
from kscope.runs.drive.hosting.fleet import Death, Fleet, Member
from tests.waiting import wait_for


class Orders(io.BytesIO):
    """What a process was told, which can be read after it has ended."""

    told = b""

    def flush(self) -> None:
        self.told = self.getvalue()


class Driver:
    """A process that says what a test has it say, and takes no runs."""

    def __init__(self) -> None:
        heard, says = os.pipe()
        self.pid = says
        self.orders = Orders()
        self.answers = os.fdopen(heard, "rb")
        self._says = os.fdopen(says, "w", buffering=1)
        self._code: int | None = None

    def say(self, line: str) -> None:
        self._says.write(f"{line}\n")

    def end(self, code: int = 0) -> None:
        self._code = code
        self._says.close()

    def poll(self) -> int | None:
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        assert self._code is not None
        return self._code

    def send_signal(self, sig: int, /) -> None:
        self.end(-sig)

    def was_told(self, line: str) -> Callable[[], bool]:
        return lambda: line in self.orders.told.decode().splitlines()


@pytest.fixture
def drivers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Driver]]:
    """The processes that were started, in their order."""
    started: list[Driver] = []

    def start() -> tuple[Member, IO[bytes]]:
        driver = Driver()
        started.append(driver)
        return Member(driver, driver.orders, AtWork.new()), driver.answers

    monkeypatch.setattr(fleet, "_started", start)
    monkeypatch.setattr(fleet, "PAUSE_SECONDS", 0.0)
    yield started
    for driver in started:
        if driver.poll() is None:
            driver.end()


def resting(gone: Callable[[Death], None] = lambda death: None) -> Fleet:
    found = Fleet(2, gone, rests=True)
    found.start()
    return found


def test_a_process_starts_with_the_first_run(drivers: list[Driver]) -> None:
    found = resting()
    assert (found.wait_until_ready(0.0), drivers) == (True, [])
    found.adopt(7)
    (driver,) = drivers
    assert not driver.was_told("adopt 7")()
    driver.say("ready")
    wait_for(driver.was_told("adopt 7"))


def test_a_second_run_gets_a_second_process(drivers: list[Driver]) -> None:
    found = resting()
    for run_id in (1, 2, 3):
        found.adopt(run_id)
    assert [len(one["runs"]) for one in found.describe()] == [2, 1]  # type: ignore[arg-type]


def test_a_process_without_runs_comes_before_new_ones(drivers: list[Driver]) -> None:
    found = resting()
    found.adopt(1)
    drivers[0].say("left 1 idle")
    wait_for(lambda: found.describe()[0]["runs"] == [])
    found.adopt(2)
    assert len(drivers) == 1


def test_a_process_that_rests_ends_unmissed(drivers: list[Driver]) -> None:
    deaths: list[Death] = []
    found = resting(deaths.append)
    found.adopt(1)
    drivers[0].say("left 1 idle")
    drivers[0].say("rests")
    wait_for(drivers[0].was_told("drain"))
    found.adopt(2)
    assert found.describe()[-1]["runs"] == [2]
    drivers[0].end()
    wait_for(lambda: len(found.describe()) == 1)
    assert (deaths, len(drivers)) == ([], 2)


def test_who_has_just_got_a_run_goes_on(drivers: list[Driver]) -> None:
    found = resting()
    found.adopt(1)
    drivers[0].say("rests")
    drivers[0].say("busy 5 70")
    wait_for(lambda: found.describe()[0]["busy_percent"] == 5)
    assert not drivers[0].was_told("drain")()


def test_runs_of_a_dead_process_are_told(drivers: list[Driver]) -> None:
    deaths: list[Death] = []
    found = resting(deaths.append)
    found.adopt(1)
    drivers[0].end(-9)
    wait_for(lambda: bool(deaths))
    assert (deaths[0].runs, found.describe()) == ([1], [])
    found.adopt(1)
    assert len(drivers) == 2


def test_without_a_loader_all_processes_stay(drivers: list[Driver]) -> None:
    ended = threading.Event()
    found = Fleet(2, lambda death: ended.set())
    found.start()
    assert len(drivers) == 2
    drivers[0].say("rests")
    drivers[0].say("busy 5 70")
    wait_for(lambda: found.describe()[0]["busy_percent"] == 5)
    assert not drivers[0].was_told("drain")()
    drivers[0].end(-9)
    assert ended.wait(60)
    wait_for(lambda: len(drivers) == 3)
