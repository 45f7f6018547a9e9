"""What `make up` promises: it starts, says why it cannot, and leaves nothing behind."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import psutil
import pytest
from celery import Celery

from kscope import env
from kscope.up.started import RESTARTS
from tests.frame.up_process import Up, free_port, wait_until_ended
from tests.waiting import HANG_SECONDS, wait_for


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """One data directory for the module, so that only the first start makes a database.

    Below /tmp, because as root its servers run as another user, who cannot enter pytest's folders.
    """
    with tempfile.TemporaryDirectory(prefix="kscope-up-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder) / "data"


def test_first_start_shows_password_ctrl_c_ends_it(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        assert up.answers()
        up.process.send_signal(signal.SIGINT)
        assert up.wait_for_end() == 0
    assert "admin account: user admin, password " in up.output
    wait_until_ended(family)
    assert not (data / "run.json").exists()
    # The start itself has asked several times.
    assert "/healthz" not in (data / "log" / "web.log").read_text()


@pytest.mark.parametrize("moment", ["making the database", "preparing", "kscope is at"])
def test_several_signals_at_once_stop_it_once(moment: str, data: Path) -> None:
    with contextlib.ExitStack() as stack:
        # The first two moments come only when there is no database yet.
        if moment != "kscope is at":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kscope-up-"))
            Path(folder).chmod(0o755)
            data = Path(folder, "data")
        with Up(data) as up:
            up.wait_until_it_says(moment)
            family = up.family()
            # Held back meanwhile, so that all of them wait for it when it goes on.
            for signum in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                up.process.send_signal(signum)
            up.process.send_signal(signal.SIGCONT)
            assert up.wait_for_end() == 0
        wait_until_ended(family)
        assert "stopping" in up.output
        assert "Traceback" not in up.output
        assert not (data / "run.json").exists()


def test_it_serves_on_when_its_output_is_unread(data: Path) -> None:
    with Up(data, output=subprocess.PIPE) as up:
        assert up.process.stdout
        while b"kscope is at" not in up.process.stdout.readline():
            pass
        up.process.stdout.close()
        assert up.answers()
        up.process.send_signal(signal.SIGINT)
        assert up.wait_for_end() == 0


def test_a_second_start_names_the_first_process(data: Path) -> None:
    with Up(data) as first:
        first.wait_until_serving()
        with Up(data) as second:
            assert second.wait_for_end() == 1
        assert f"pid {first.process.pid} holds {data}" in second.output
        assert f"http://localhost:{first.port}/" in second.output
        assert first.answers()


def test_after_kill_9_nothing_runs_and_up_restarts(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        up.kill()
    assert len(family) >= 4
    wait_until_ended(family)
    with Up(data) as again:
        assert again.wait_until_serving().answers()
        assert "password" not in again.output


def test_kill_9_during_recovery_leaves_nothing_running(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        database = next(each for each in family if "postgres" in each.name())
        # One of its processes killed makes PostgreSQL end all others and recover from its log.
        log = data / "log" / "postgres.log"
        max(database.children(), key=lambda each: each.pid).kill()
        wait_for(lambda: "reinitializing" in log.read_text(), "no recovery", every=0.01)
        up.kill()
    wait_until_ended(family)


def asked(up: Up, path: str, body: dict[str, object] | None = None) -> dict[str, Any]:
    """What the API answers."""
    request = Request(
        f"http://127.0.0.1:{up.port}/api/{path}",
        json.dumps(body).encode() if body else None,
        {"Content-Type": "application/json"},
    )
    with urlopen(request, timeout=HANG_SECONDS) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def wait_until_beyond(up: Up, run: int, at: int) -> int:
    """The virtual time that the run has reached, once it is beyond *at*."""
    reached = [0]

    def is_beyond() -> bool:
        reached[0] = asked(up, f"runs/{run}/")["head_at"]
        return reached[0] > at

    wait_for(is_beyond, lambda: f"the run stands at {reached[0]}")
    return reached[0]


def playing_run(up: Up) -> int:
    """A new run of the first demo, played at the speed of its own clock."""
    scenario = asked(up, "scenarios/")["scenarios"][0]["id"]
    return int(asked(up, "runs/", {"scenario": scenario, "play": True, "speed": "1"})["id"])


def test_the_next_start_continues_a_playing_run(data: Path) -> None:
    log = data / "log" / "worker.log"
    with Up(data) as up:
        up.wait_until_serving()
        run = playing_run(up)
        wait_until_beyond(up, run, 500_000_000)
        log.write_text("")
        up.process.send_signal(signal.SIGINT)
        assert up.wait_for_end() == 0
    # A task that was cut off would not have ended well.
    assert "succeeded in" in log.read_text()
    with Up(data) as again:
        again.wait_until_serving()
        reached = asked(again, f"runs/{run}/")["head_at"]
        wait_until_beyond(again, run, reached)


def pid_of(data: Path, name: str) -> int | None:
    """As run.json has it; None once `up` has ended."""
    with contextlib.suppress(FileNotFoundError):
        children = json.loads((data / "run.json").read_text())["children"]
        return next(int(child["pid"]) for child in children if child["name"] == name)
    return None


def kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)


def test_a_dead_server_stops_the_rest(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        kill(pid_of(data, "Valkey"))
        assert up.wait_for_end() == 1
    assert "Valkey was ended by SIGKILL" in up.output
    wait_until_ended(family)


@pytest.mark.parametrize("name", ["loader", "web", "worker", "sweeper"])
def test_a_dead_service_is_started_again(data: Path, name: str) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        dead = pid_of(data, name)
        kill(dead)
        up.wait_until_it_says(f"{name} was ended by SIGKILL; starting it again.")
        wait_for(lambda: pid_of(data, name) != dead and up.answers(), "it is not started again")
        wait_until_beyond(up, playing_run(up), 0)


def test_a_sweeper_ends_with_its_beat(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        sweeper = psutil.Process(pid_of(data, "sweeper"))
        wait_for(sweeper.children, "it has no beat")
        sweeper.children()[0].kill()
        up.wait_until_it_says("; starting it again.")
        assert "\nsweeper " in up.output


def test_a_new_worker_is_not_asked_to_stop(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        dead = pid_of(data, "worker")
        assert dead is not None
        os.kill(dead, signal.SIGTERM)
        up.wait_until_it_says("worker exited with status 0; starting it again.")
        wait_until_beyond(up, playing_run(up), 0)


def test_a_worker_that_cannot_stop_is_started_again(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        worker = psutil.Process(pid_of(data, "worker"))
        # It waits for the processes of its pool.
        for process in worker.children():
            process.suspend()
        worker.terminate()
        up.wait_until_it_says("worker was ended by SIGKILL; starting it again.")
        wait_until_beyond(up, playing_run(up), 0)


def test_a_worker_that_takes_no_tasks_is_started_again(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        broker = json.loads((data / "run.json").read_text())["redis_url"]
        with Celery(broker=env.celery_broker(broker)) as celery:
            celery.control.cancel_consumer("kscope")
        run = playing_run(up)
        up.wait_until_it_says("worker was ended by SIGKILL; starting it again.")
        wait_until_beyond(up, run, 0)


def kill_anew(up: Up, name: str) -> None:
    """Kill a child, and wait until it is started again or `up` has ended."""
    dead = pid_of(up.data, name)
    kill(dead)
    wait_for(lambda: pid_of(up.data, name) != dead)


def test_a_service_that_keeps_dying_stops_the_rest(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        for _ in range(RESTARTS + 1):
            kill_anew(up, "sweeper")
        assert up.wait_for_end() == 1
    assert "it has ended too often, stopping the rest" in up.output
    wait_until_ended(family)


def test_busy_port_is_refused_before_anything_starts(tmp_path: Path) -> None:
    port = free_port()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
        listener.listen()
        with Up(tmp_path / "data", port) as up:
            assert up.wait_for_end() == 1
    assert f"Port {port} on 127.0.0.1 cannot be used" in up.output
    assert f"PORT={port + 1} make up" in up.output
    assert not (tmp_path / "data" / "postgres").exists()


def test_data_in_a_long_path_with_spaces_works() -> None:
    with tempfile.TemporaryDirectory(prefix="kscope up ") as folder:
        Path(folder).chmod(0o755)
        data = Path(folder, "a directory with spaces " + "and a long name " * 8, "data")
        data.parent.mkdir()
        assert len(str(data)) > 140
        with Up(data) as up:
            assert up.wait_until_serving().answers()
