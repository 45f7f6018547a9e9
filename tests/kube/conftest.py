"""Questions about the past are answered in processes that are forked from one."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def processes_of_a_loader(forked_processes: None) -> None:
    """The tests of clusters and servers start many."""
