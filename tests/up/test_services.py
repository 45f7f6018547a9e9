"""What becomes of the services of a running `up`: each that ends, or hangs, is started again."""

import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from celery import Celery

from engine.kernel.units import SECOND
from kscope import env
from tests.up.up_process import Up
from tests.waiting import HANG_SECONDS, wait_for


@pytest.fixture(scope="module")
def running() -> Iterator[Up]:
    """One for all tests: starting it costs more than most of them."""
    with tempfile.TemporaryDirectory(prefix="kscope-up-") as folder:
        Path(folder).chmod(0o755)
        with Up(Path(folder, "data")) as up:
            yield up.wait_until_serving()


@pytest.fixture
def up(running: Up) -> Iterator[Up]:
    """It, without the runs that a test has made: they would go on playing."""
    yield running
    for run in running.ask("runs/")["items"]:
        if run["status"] == "playing":
            running.ask(f"runs/{run['id']}/transport/", {"action": "pause"})


def restarted(up: Up, name: str, how: str, since: int) -> None:
    """Wait until a service has ended in that way, and runs are driven again."""
    up.wait_until_it_says(f"{name} {how}; starting it again.", after=since)
    wait_for(up.answers, "the web process is not there")
    up.wait_until_beyond(up.play_run(), 0)


@pytest.mark.parametrize("name", ["loader", "web", "worker"])
def test_a_dead_service_is_started_again(up: Up, name: str) -> None:
    dead, since = up.child(name), len(up.output)
    dead.kill()
    restarted(up, name, "was ended by SIGKILL", since)
    assert up.pid_of(name) != dead.pid


def test_a_new_worker_is_not_asked_to_stop(up: Up) -> None:
    since = len(up.output)
    up.child("worker").terminate()
    restarted(up, "worker", "exited with status 0", since)


def test_a_worker_that_cannot_stop_is_started_again(up: Up) -> None:
    since = len(up.output)
    up.wait_until_beyond(up.play_run(), 0)
    # It waits for the processes that drive runs, and kills them in the end.
    for process in drivers_of(up):
        process.suspend()
    up.child("worker").terminate()
    restarted(up, "worker", "exited with status 0", since)


def test_dead_driver_is_replaced_and_its_run_continues(up: Up) -> None:
    run, worker = up.play_run(), up.pid_of("worker")
    at = up.wait_until_beyond(run, 0)
    for process in drivers_of(up):
        process.kill()
    up.wait_until_beyond(run, at + 2 * SECOND)
    assert up.pid_of("worker") == worker


def drivers_of(up: Up) -> list[psutil.Process]:
    """The processes that drive runs, once there are some."""
    found: list[psutil.Process] = []

    def are_there() -> bool:
        below = up.child("loader").children()
        found[:] = [one for one in below if "kscope driver" in " ".join(one.cmdline())]
        return bool(found)

    wait_for(are_there, "no process drives runs")
    return found


def test_worker_that_takes_no_tasks_is_started_again(up: Up) -> None:
    since = len(up.output)
    worker = f"celery@{socket.gethostname()}"
    with Celery(broker=env.celery_broker(up.noted("redis_url"))) as celery:
        # From now on it lives, and takes nothing from the queue.
        assert celery.control.cancel_consumer(
            "kscope", destination=[worker], reply=True, timeout=HANG_SECONDS
        )
    up.play_run()
    restarted(up, "worker", "was ended by SIGKILL", since)


def test_a_second_start_names_the_first_process(up: Up) -> None:
    with Up(up.data) as second:
        assert second.wait_for_end() == 1
    assert f"pid {up.process.pid} holds {up.data}" in second.output
    assert f"http://localhost:{up.port}/" in second.output
    assert up.answers()
