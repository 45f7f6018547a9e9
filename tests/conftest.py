"""Settings of all tests: the examples of Hypothesis, and short cuts around slow parts of Django."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import TransactionTestCase, override_settings
from hypothesis import HealthCheck, settings

from engine.kernel.boundary import Boundary
from tests.database import empty_database

pytest_plugins = ["tests.run_fixtures"]

# How long an example of Hypothesis takes depends on what else the machine does: it is no failure.
_PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples each time: what fails does so because of the change. `make explore` tries others.
settings.register_profile("same", _PATIENT, derandomize=True)
settings.register_profile("new", _PATIENT)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def emptied_database() -> Iterator[None]:
    """Tests that commit leave an empty database, without the cost of Django's flush."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: empty_database())
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_password_hashes() -> Iterator[None]:
    """Passwords are hashed at once; the real hash is slow on purpose."""
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield


@pytest.fixture(autouse=True)
def checked_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each run that a test drives to its end in this process agrees with itself there."""
    if not {"db", "transactional_db"} & {*request.fixturenames}:
        yield
        return
    # Tests without a database need not wait until all this is loaded.
    from kscope.runs.drive.hosting import ownership
    from kscope.runs.models import Run
    from scheduling.findings.record_checks import run_findings

    keep, wrong = ownership.engine_keep, list[str]()

    def checked(run_id: int, live: Any) -> None:
        keep(run_id, live)
        run = Run.objects.filter(pk=run_id, status=Run.Status.FINISHED).first()
        found = [] if run is None else run_findings(run, live.engine)
        # Of one that was deleted meanwhile no rows are left, and nothing is wrong.
        if found and Run.objects.filter(pk=run_id).exists():
            wrong.extend(found)

    monkeypatch.setattr(ownership, "engine_keep", checked)
    yield
    assert wrong == []


@pytest.fixture(autouse=True)
def loud_boundary() -> Iterator[None]:
    """An exception that only the boundary of the engine would catch fails the test."""
    Boundary.loud = caught = []
    yield
    Boundary.loud = None
    assert not caught, f"the engine's boundary was needed: {caught}"


@pytest.fixture
def quiet_boundary(loud_boundary: None) -> None:
    """The boundary catches, as it does for users."""
    Boundary.loud = None
