"""Commands while kscope is down: its own PostgreSQL runs alone, for as long as the command takes.

    manage.py ─ database_at_rest ─┬─ kscope is up, or DATABASE_URL is set: nothing to do
                                  └─ else hold the data directory, start PostgreSQL, stop it

Loads no Django, because settings read the address of the database when they are loaded.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kscope.up.account import database_place, own_directory, sockets_folder
from kscope.up.children import StartError
from kscope.up.command_line import say
from kscope.up.holder import hold, sweep
from kscope.up.postgres import Postgres

COMMANDS = ("account", "backup", "changepassword", "compact", "restore", "token")
"""The commands that need a database and no other process."""


@contextmanager
def database_at_rest(data: Path) -> Iterator[None]:
    """Have the database in *data* serve meanwhile, at DATABASE_URL, unless one does already.

    Where there is none, nothing is started. Raises StartError when it cannot be started.
    """
    if os.environ.get("DATABASE_URL"):
        yield
        return
    state, user = database_place(data)
    if not (state / "PG_VERSION").exists():
        yield
        return
    try:
        held = hold(data)
    except StartError:  # kscope runs: its servers are in run.json
        yield
        return
    with held:
        sweep(data)
        sockets = own_directory(sockets_folder("kscope-", user), user)
        try:
            postgres = Postgres(state, sockets, data / "log" / "postgres.log", user)
            child = postgres.start()
            try:
                say("kscope is down: its database is started for this command", sys.stderr)
                os.environ["DATABASE_URL"] = postgres.url
                yield
            finally:
                del os.environ["DATABASE_URL"]
                child.stop()
        finally:
            shutil.rmtree(sockets, ignore_errors=True)
