"""Gives the whole test session a PostgreSQL and a Valkey of its own, started by `up`'s own code.

A plugin, not a conftest: pytest-django reads the settings before any conftest is loaded. With
xdist the workers share the controller's PostgreSQL and have a Valkey each. Servers given
by DATABASE_URL and REDIS_URL are used instead.
"""

import gc
import logging
import os
import shutil
import signal
from collections.abc import Generator
from typing import Any

import pytest

from kscope.up.account import own_directory, server_account, sockets_folder
from kscope.up.children import Child
from kscope.up.postgres import Postgres
from kscope.up.valkey import Valkey

OWN_VALKEY = "KSCOPE_TEST_OWN_VALKEY"


class Servers:
    """The temporary servers of one process of the session."""

    def __init__(self) -> None:
        self.user = server_account()
        self.folder = sockets_folder("kscope-test-", self.user)
        self.sockets = own_directory(self.folder, self.user)
        self.children: list[Child] = []

    def start_postgres(self) -> None:
        postgres = Postgres(
            self.folder / "postgres",
            self.sockets,
            self.folder / "postgres.log",
            self.user,
            throwaway=True,
        )
        self.children.append(postgres.start())
        os.environ["DATABASE_URL"] = postgres.url

    def start_valkey(self) -> None:
        valkey = Valkey(self.sockets, self.folder / "valkey.log", self.user)
        self.children.append(valkey.start())
        os.environ["REDIS_URL"] = valkey.url
        os.environ[OWN_VALKEY] = "1"

    def stop(self) -> None:
        for child in reversed(self.children):
            child.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Loggers(dict[str, Any]):
    """The loggers by name: pytest goes through them while threads of a test may make new ones."""

    def values(self) -> Any:
        """Those that there are now."""
        return [*super().values()]


logging.root.manager.loggerDict = Loggers(logging.root.manager.loggerDict)
# A shell that starts the suite in the background has it ignore Ctrl-C, and so would all that tests
# start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Most tests act as whoever is at the machine; those of accounts ask for a login.
os.environ.setdefault("KSCOPE_LOCAL", "1")
# Connections that outlive a test would keep its database from being emptied.
os.environ.setdefault("KSCOPE_DATABASE_POOL", "0")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start before pytest-django reads the settings."""
    servers = Servers()
    early_config.add_cleanup(servers.stop)
    if not os.environ.get("DATABASE_URL"):
        servers.start_postgres()
    # Databases are one per xdist worker, but published messages reach every client of a server:
    # each worker gets a Valkey of its own, unless one was given from outside.
    if not os.environ.get("REDIS_URL") or os.environ.get(OWN_VALKEY):
        servers.start_valkey()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep imported modules and collected tests out of the garbage collector.

    They live as long as the session. Scanning them took half the CPU time of collecting, in each
    xdist worker. Tests then make many objects and little garbage: looking for it as often as by
    default takes 4 % of their time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000)
        gc.enable()
