"""Sweeping: only what is certainly ours is ended."""

import json
import subprocess
import sys
from pathlib import Path

import psutil

from kscope.up.address import Servers, known_servers
from kscope.up.children import Child
from kscope.up.holder import sweep, write_run_file
from tests.waiting import HANG_SECONDS


def sleeper(log: Path) -> Child:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    return Child("sleeper", process, log, ())


def test_sweep_ends_a_process_left_by_another_start(tmp_path: Path) -> None:
    child = sleeper(tmp_path / "log")
    write_run_file(tmp_path, Servers("p", "r"), "http://x/", tmp_path / "kscope-x", [child])
    try:
        assert sweep(tmp_path) == ["sleeper"]
        assert child.process.wait(HANG_SECONDS) != 0
        assert not (tmp_path / "run.json").exists()
    finally:
        child.process.kill()


def test_sweep_spares_a_process_with_a_reused_pid(tmp_path: Path) -> None:
    child = sleeper(tmp_path / "log")
    write_run_file(tmp_path, Servers("p", "r"), "http://x/", tmp_path / "kscope-x", [child])
    content = json.loads((tmp_path / "run.json").read_text())
    content["children"][0]["created"] -= 100
    (tmp_path / "run.json").write_text(json.dumps(content))
    try:
        assert sweep(tmp_path) == []
        assert psutil.Process(child.pid).is_running()
    finally:
        child.process.kill()
        child.process.wait()


def test_given_addresses_win_over_running_servers(tmp_path: Path) -> None:
    write_run_file(tmp_path, Servers("postgresql:///a", "unix:///b"), "", tmp_path, [])
    assert known_servers({}, tmp_path) == Servers("postgresql:///a", "unix:///b")
    given = known_servers({"DATABASE_URL": "postgresql://h/d"}, tmp_path)
    assert given == Servers("postgresql://h/d", "unix:///b")
