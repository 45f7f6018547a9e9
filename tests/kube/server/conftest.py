"""Runs in the test database, and clients of their APIs."""

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from kscope.runs.models import Run
from tests.kube.server.client import Kube
from tests.kube.server.faults import Faults, break_links
from tests.web.conftest import driving


@pytest.fixture(autouse=True)
def no_worker(runs_here: None) -> None:
    """What a worker and the pool beside the web process do is done in this process."""


@pytest.fixture
async def kube_of() -> AsyncIterator[Callable[..., Kube]]:
    """Makes clients, and closes their connections after the test."""
    made: list[Kube] = []

    def make(run: Run, instant: str = "") -> Kube:
        made.append(Kube(run.pk, instant))
        return made[-1]

    yield make
    for one in made:
        await one.close()
    await sync_to_async(connections.close_all)()


@pytest.fixture
def kube(kube_of: Callable[..., Kube], driven: Run) -> Kube:
    """A client of a run that has been played to its end."""
    return kube_of(driven)


@pytest.fixture
def live_kube(kube_of: Callable[..., Kube], driven: Run) -> Iterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """What goes wrong from now on, on all connections of the Kubernetes API."""
    return break_links(monkeypatch)
