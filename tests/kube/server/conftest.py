"""Runs in the test database, and clients of their APIs."""

from collections.abc import AsyncIterator, Callable

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from kscope.runs.models import Run
from tests.kube.server.client import Kube
from tests.web.conftest import (  # noqa: F401  # fixtures
    driven,
    no_workers,
    no_writer_left,
    nothing_aside,
    patience,
    scenario,
    start,
)


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
def kube(kube_of: Callable[..., Kube], driven: Run) -> Kube:  # noqa: F811
    """A client of a run that has been played to its end."""
    return kube_of(driven)
