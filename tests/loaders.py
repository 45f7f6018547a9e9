"""Loaders, from which tests have processes forked: loading kscope takes seconds of a core."""

import atexit
import os
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kscope.up.account import sockets_folder
from kscope.up.children import wait_until
from kscope.up.processes import LOADER, ROOM
from kscope.up.services import loader_answers, start_loader
from tests.waiting import HANG_SECONDS


@cache
def loader(hash_seed: str = "random") -> Path:
    """The address of a loader with that seed of string hashes. It ends with this process."""
    folder = sockets_folder("kscope-loader-", None)
    address = folder / "loader.sock"
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "kscope.settings",
        "PYTHONHASHSEED": hash_seed,
    }
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    child = start_loader(address, env, room=ROOM, log=folder / "loader.log")
    atexit.register(child.stop)
    wait_until(lambda: loader_answers(address), child, patience_s=HANG_SECONDS, what="load kscope")
    return address


@pytest.fixture(scope="session", autouse=True)
def forked_processes() -> Iterator[None]:
    """What asks for a process of kscope gets one from a loader."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LOADER, str(loader()))
        yield
