"""Which Python the virtual environment is made of."""

import os
import sys
from pathlib import Path

import pytest

from kscope.up import setup

NAME = f"python3.{sys.version_info.minor}"


def build(folder: Path, says: str) -> str:
    """A file that poses as a Python of our version, and says of its speed what is given."""
    folder.mkdir()
    python = folder / NAME
    asked = f'case "$2" in *executable*) echo {python};; *) {says};; esac'
    python.write_text(f"#!/bin/sh\n{asked}\n")
    python.chmod(0o755)
    return str(python)


@pytest.fixture(autouse=True)
def no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """No Python of the machine but ours and those that a test puts on PATH."""
    monkeypatch.setattr(setup, "USUAL_FOLDERS", ())


def test_a_clearly_faster_build_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = build(tmp_path / "slow", "echo 1000")
    fast = build(tmp_path / "fast", "echo 0.000001")
    monkeypatch.setenv("PATH", f"{Path(slow).parent}:{Path(fast).parent}")
    assert setup.fastest_build() == fast


@pytest.mark.parametrize("script", ["exit 1", "echo 1000"])
def test_ours_is_kept_where_no_other_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    other = build(tmp_path / "other", script)
    monkeypatch.setenv("PATH", str(Path(other).parent))
    assert setup.fastest_build() == sys.executable


def test_script_that_starts_ours_is_no_other_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = build(tmp_path / "shims", "echo 0.000001")
    Path(script).write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    monkeypatch.setenv("PATH", str(Path(script).parent))
    assert setup.fastest_build() == sys.executable


def test_build_that_makes_no_environments_is_passed_over(tmp_path: Path) -> None:
    """Debian's has no ensurepip where python3-venv is not installed."""
    (tmp_path / "ensurepip.py").write_text("raise ImportError")
    lacking = tmp_path / NAME
    lacking.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    lacking.chmod(0o755)
    assert setup._seconds_to_compute(lacking) == float("inf")
    assert setup._seconds_to_compute(sys.executable) < float("inf")


def test_npm_keeps_its_cache_where_it_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("npm_config_cache", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert setup._npm_cache() == {}


@pytest.mark.parametrize("home", ["a file", "read only", "no account"])
def test_npm_gets_a_cache_where_home_is_none(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("npm_config_cache", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    if home == "a file":
        (tmp_path / "home").touch()
    elif home == "read only":
        monkeypatch.setattr(os, "access", lambda *_: False)
    else:
        monkeypatch.setattr(Path, "home", _no_home)
    assert setup._npm_cache()["npm_config_cache"] == str(setup.VENV / "npm-cache")


def test_a_cache_that_was_named_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPM_CONFIG_CACHE", "/somewhere")
    monkeypatch.setenv("HOME", "/dev/null")
    assert setup._npm_cache() == {}


def _no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")
