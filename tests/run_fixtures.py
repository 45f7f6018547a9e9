"""Fixtures of runs, for the rooms that ask for them in their conftest.

A plugin that tests/conftest.py names. Most tests of the engine load no models, so what needs them
is imported within the fixtures.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.loaders import loader
from tests.waiting import wait_for

if TYPE_CHECKING:
    from kscope.runs.models import Run, Scenario


@pytest.fixture(scope="session")
def forked_processes() -> Iterator[None]:
    """What asks for a process of kscope gets one from a loader."""
    from kscope.up.processes import LOADER

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LOADER, str(loader()))
        yield


@pytest.fixture
def runs_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs are driven, and questions to engines answered, in the process of the test alone."""
    from kscope.runs import services
    from kscope.runs.app_registry import registry
    from kscope.runs.drive import committer, driver
    from tests.waiting import HANG_SECONDS
    from tests.web.conftest import answer_here

    # Nobody but the test drives runs, and a driver does not linger.
    monkeypatch.setattr(registry, "enqueue", lambda run_id: None)
    monkeypatch.setattr(driver, "LINGER_SECONDS", 0.0)
    # Who waits for an answer gets it, however busy the machine is.
    for wait in (services.command_wait, services.commands_wait, services.run_wait_for_goal):
        monkeypatch.setitem(wait.__kwdefaults__, "seconds", HANG_SECONDS)
    answer_here(monkeypatch)
    yield
    # A process that a big run has started to write its slices ends with the test.
    committer.writer_close()


@pytest.fixture
def scenario(transactional_db: Any) -> "Scenario":
    """Two nodes, a pod that fits, one that does not, and one that comes at two seconds."""
    from engine.input.loader import load_files
    from kscope.runs import services
    from tests.web.conftest import CLUSTER

    return services.scenario_store(
        name="small", result=load_files([("small.yaml", CLUSTER.encode())])
    )


@pytest.fixture
def start(scenario: "Scenario") -> Callable[..., "Run"]:
    """Make a run of the small scenario."""
    from kscope.runs import services

    def _start(**options: Any) -> "Run":
        return services.run_create(scenario=scenario, **options)

    return _start


@pytest.fixture
def driven(start: Callable[..., "Run"]) -> "Run":
    """A run of the small scenario, played to its end."""
    from kscope.runs.drive import runner

    run = start(play=True, speed="max")
    runner.run_drive(run.pk)

    def is_over() -> bool:
        # A worker of a server of the test may have been the first to take it.
        run.refresh_from_db()
        return run.status == run.Status.FINISHED

    wait_for(is_over)
    return run
