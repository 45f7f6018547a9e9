"""Loaders, from which tests have processes forked: loading kscope takes seconds of a core."""

import atexit
import os
import shutil
from functools import cache
from pathlib import Path

from kscope.up.account import sockets_folder
from kscope.up.children import wait_until
from kscope.up.processes import ROOM
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
