"""The database is empty after a test that commits, whoever still reads from it."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from kscope.accounts.models import Account
from tests.database import is_emptied

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def reader() -> Iterator[Any]:
    """Another connection."""
    another = connection.copy()
    yield another
    another.close()


def test_emptying_waits_for_readers_without_blocking_them(reader: Any) -> None:
    tables = ["accounts_account", "volumes_storageclass"]
    User.objects.create(username="someone")  # and with it an account
    with reader.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT * FROM volumes_storageclass")
        assert not is_emptied(tables)
        cursor.execute("SELECT count(*) FROM accounts_account")
        assert cursor.fetchone() == (1,)
        cursor.execute("COMMIT")
    assert is_emptied(tables)
    assert not Account.objects.exists()
