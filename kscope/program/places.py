"""Where the program keeps what it makes: outside its own folder, which an upgrade replaces."""

from __future__ import annotations

import os
from pathlib import Path

from kscope.up.address import running_at

ROOM = Path(__file__).resolve().parents[2]


def is_checkout() -> bool:
    """Whether this is the source tree, which keeps its data in it: see `make up`."""
    return (ROOM / "Makefile").is_file() and (ROOM / "pyproject.toml").is_file()


def data_folder() -> Path:
    """The folder of the database and the logs: KSCOPE_DATA, the checkout's, or the user's own."""
    given = os.environ.get("KSCOPE_DATA")
    if given:
        return Path(given).expanduser().resolve()
    return ROOM / ".kscope" if is_checkout() else _xdg("XDG_DATA_HOME", ".local/share")


def running_address() -> str:
    """Where the kscope of the data folder serves, without the last slash; "" where none runs."""
    return running_at(data_folder()).rstrip("/")


def state_folder() -> Path:
    """The folder of what tells of crashes."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def _xdg(variable: str, otherwise: str) -> Path:
    """A folder of the XDG base directories. Upstream: specifications.freedesktop.org/basedir-spec."""
    base = os.environ.get(variable, "")
    # The specification says that a relative path is to be ignored.
    folder = Path(base) if base.startswith("/") else Path.home() / otherwise
    return folder / "kscope"
