"""The loader: what it forks, how that ends, and what is done without one."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

import psutil
import pytest

from kscope.up.processes import LOADER, Call, ForkedProcess, Process, forked, start_function
from tests.loaders import loader
from tests.up.up_process import is_alive, wait_until_ended

SELF = "tests.up.test_loader"


# What the processes do.


def say_words() -> None:
    print(os.getpid(), *sys.argv, flush=True)


def take_what_was_left_out() -> None:
    print("rich" in sys.modules, import_module("rich").__name__, flush=True)


def wait_for_signal() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
    print("waiting", flush=True)
    while True:
        signal.pause()


def compute() -> None:
    print("computing", flush=True)
    while True:
        pass


def ask_and_be_killed() -> None:
    """Start a process that computes, say its number, and wait to be killed."""
    told, tell = os.pipe()
    nothing = os.open(os.devnull, os.O_RDONLY)
    process = start_function(Call("a", f"{SELF}:compute"), stdin=nothing, stdout=tell)
    os.read(told, 64)
    print(process.pid, flush=True)
    while True:
        signal.pause()


@contextmanager
def started(
    function: str, *words: str, outlives: bool = False
) -> Iterator[tuple[Process, BinaryIO]]:
    """A process, and what it prints."""
    call = Call("tried", f"{SELF}:{function}", words, outlives)
    said, stdout = os.pipe()
    with Path(os.devnull).open("rb") as nothing:
        process = start_function(call, stdin=nothing.fileno(), stdout=stdout)
    os.close(stdout)
    with os.fdopen(said, "rb") as output:
        yield process, output
        process.send_signal(signal.SIGKILL)
    process.wait(60)


@pytest.fixture
def with_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOADER, str(loader()))


@pytest.fixture(params=["with a loader", "without one"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LOADER, str(loader()) if request.param == "with a loader" else "")


@pytest.mark.usefixtures("either_way")
def test_a_function_is_called_with_its_words() -> None:
    with started("say_words", "one", "two words") as (process, output):
        assert output.read().decode().split() == [str(process.pid), "tried", "one", "two", "words"]
        assert process.wait(60) == 0


@pytest.mark.usefixtures("with_loader")
def test_what_was_left_out_can_be_taken_later() -> None:
    with started("take_what_was_left_out") as (_, output):
        assert output.read() == b"False rich\n"


@pytest.mark.usefixtures("with_loader")
def test_the_exit_status_is_reported() -> None:
    with started("wait_for_signal") as (process, output):
        output.readline()
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 7
        assert process.poll() == 7


@pytest.mark.usefixtures("with_loader")
def test_a_signal_ends_it() -> None:
    with started("compute") as (process, output):
        output.readline()
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        process.send_signal(signal.SIGKILL)


@pytest.mark.usefixtures("with_loader")
def test_lists_of_processes_show_its_name() -> None:
    with started("wait_for_signal") as (process, output):
        output.readline()
        assert " ".join(psutil.Process(process.pid).cmdline()).strip() == "kscope tried"


@pytest.mark.usefixtures("either_way")
def test_process_ends_with_its_asker_even_while_computing() -> None:
    with started("ask_and_be_killed") as (asker, output):
        computing = psutil.Process(int(output.readline()))
        asker.send_signal(signal.SIGKILL)
        asker.wait(60)
        wait_until_ended([computing])


@pytest.mark.usefixtures("with_loader")
def test_one_that_outlives_its_asker_goes_on() -> None:
    with started("wait_for_signal", outlives=True) as (process, output):
        output.readline()
        assert isinstance(process, ForkedProcess)
        seen = psutil.Process(process.pid)
        process._link.shutdown(socket.SHUT_WR)
        # What is asked for later is done later.
        with started("say_words") as (other, _):
            other.wait(60)
        assert is_alive(seen)
        seen.kill()


@pytest.mark.usefixtures("with_loader")
def test_a_forked_process_has_no_other_files() -> None:
    with started("wait_for_signal") as (first, _), started("wait_for_signal") as (second, output):
        # Its number is known before it has closed what was the loader's; once it speaks it has.
        output.readline()
        paths = Path(f"/proc/{second.pid}/fd")
        if not paths.exists():
            pytest.skip("no /proc on this system")
        assert {path.name for path in paths.iterdir()} == {"0", "1", "2"}
        assert first.poll() is None


@pytest.mark.usefixtures("with_loader")
def test_loader_has_no_thread_that_forks_would_lack() -> None:
    with started("wait_for_signal") as (process, output):
        output.readline()
        parent = psutil.Process(process.pid).parent()
        assert parent is not None
        assert parent.num_threads() == 1


def test_only_our_account_reaches_the_loader() -> None:
    assert stat.S_IMODE(loader().stat().st_mode) == 0o600


@pytest.mark.usefixtures("with_loader")
def test_one_thread_may_ask_while_another_one_waits() -> None:
    with started("wait_for_signal") as (process, output), ThreadPoolExecutor() as threads:
        output.readline()
        end = threads.submit(process.wait)
        while not process._listening.locked():  # type: ignore[attr-defined]
            time.sleep(0.001)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert end.result() == 7


@pytest.mark.parametrize("said", [b"", b"nonsense\n", b'{"name": "half"}\n'])
def test_what_says_nothing_useful_is_sent_away(said: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(loader()))
        if said:
            socket.send_fds(link, [said], [0, 1, 2])
        link.shutdown(socket.SHUT_WR)
        assert link.recv(1) == b""
    nothing = os.open(os.devnull, os.O_RDWR)
    process = forked(loader(), Call("tried", f"{SELF}:say_words"), (nothing, nothing, 2))
    os.close(nothing)
    assert process.wait(60) == 0
