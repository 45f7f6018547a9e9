"""What `make up` promises: it starts, says why it cannot, and leaves nothing behind."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from kscope import env
from kscope.up.started import RESTARTS
from tests.up.up_process import LEFT_OUT, ROOM, Up, free_port, wait_until_ended
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


def test_a_password_is_set_while_it_is_down(data: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key not in LEFT_OUT}
    done = subprocess.run(
        [sys.executable, "manage.py", "account", "password", "admin"],
        cwd=ROOM,
        env={**environment, "KSCOPE_DATA": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"account admin, password \S+ \(shown only now\)\n", done.stdout)
    assert not (data / "postgres" / "postmaster.pid").exists()


def test_it_serves_on_when_its_output_is_unread(data: Path) -> None:
    with Up(data, output=subprocess.PIPE) as up:
        assert up.process.stdout
        while b"kscope is at" not in up.process.stdout.readline():
            pass
        up.process.stdout.close()
        assert up.answers()
        up.process.send_signal(signal.SIGINT)
        assert up.wait_for_end() == 0


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


def test_the_next_start_continues_a_playing_run(data: Path) -> None:
    log = data / "log" / "worker.log"
    with Up(data) as up:
        up.wait_until_serving()
        run = up.play_run()
        up.wait_until_beyond(run, 500_000_000)
        log.write_text("")
        up.process.send_signal(signal.SIGINT)
        assert up.wait_for_end() == 0
    told = log.read_text()
    assert "given back: stopping" in told
    assert "Traceback" not in told
    with Up(data) as again:
        again.wait_until_serving()
        reached = again.ask(f"runs/{run}/")["head_at"]
        again.wait_until_beyond(run, reached)


def test_drained_worker_gives_its_runs_to_others(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        run = up.play_run()
        up.wait_until_beyond(run, 0)
        worker = f"celery@{socket.gethostname()}"
        with Celery(broker=env.celery_broker(up.noted("redis_url"))) as celery:
            asked = celery.control.inspect([worker], timeout=HANG_SECONDS)
            (found,) = asked._request("drivers")[worker]
            assert run in found["runs"]
            celery.control.broadcast(
                "drain", destination=[worker], reply=True, timeout=HANG_SECONDS
            )
            wait_for(lambda: asked._request("drivers")[worker] == [], "its processes do not end")
        since = len(up.output)
        # Whoever drained it stops it in the end; here the next one is there at once.
        up.child("worker").terminate()
        up.wait_until_it_says("worker exited with status 0; starting it again.", after=since)
        up.wait_until_beyond(run, up.ask(f"runs/{run}/")["head_at"])


def test_a_dead_server_stops_the_rest(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        up.child("Valkey").kill()
        assert up.wait_for_end() == 1
    assert "Valkey was ended by SIGKILL" in up.output
    wait_until_ended(family)


def kill_anew(up: Up, name: str) -> None:
    """Kill a child, and wait until it is started again or `up` has ended."""
    dead = up.child(name)
    dead.kill()
    wait_for(lambda: up.pid_of(name) != dead.pid)


def test_a_service_that_keeps_dying_stops_the_rest(data: Path) -> None:
    with Up(data) as up:
        up.wait_until_serving()
        family = up.family()
        for _ in range(RESTARTS + 1):
            kill_anew(up, "worker")
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
        # So long, too, that no socket could be in it.
        temporary = data.parent.with_name("temporary " * 12)
        temporary.mkdir(mode=0o755)
        with Up(data, env={"TMPDIR": str(temporary)}) as up:
            assert up.wait_until_serving().answers()
