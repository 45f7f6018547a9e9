"""Settings of all tests: the examples of Hypothesis, and short cuts around slow parts of Django."""

from collections.abc import Iterator

import pytest
from django.test import TransactionTestCase, override_settings
from hypothesis import HealthCheck, settings

from tests.database import empty_database

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
