"""Uploads are read in this process, as in tests/web."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def processes_of_a_loader(forked_processes: None) -> None:
    """Questions about the past are answered in processes that are forked from one."""


@pytest.fixture(autouse=True)
def no_worker(runs_here: None) -> None:
    """What a worker and the pool beside the web process do is done in this process."""
