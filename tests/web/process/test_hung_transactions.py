"""A request of the web process that hangs in the middle of a transaction."""

from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError, connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from kscope.failures.postgresql.base import IDLE_KEY, pooled
from kscope.runs.models import Scenario
from kscope.runs.served.links import SnapshotLinks
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.django_db(transaction=True)
SHOW = "SHOW idle_in_transaction_session_timeout"


def of_the_web(**settings: Any) -> Any:
    """A connection with other settings."""
    made = connection.copy("web")
    made.settings_dict = {**connection.settings_dict, **settings}
    return made


@pytest.fixture
def hung() -> Iterator[BaseDatabaseWrapper]:
    """The connection of a request that will say nothing more."""
    made = of_the_web(**{IDLE_KEY: 0.1})
    yield made
    made.close()


def test_hung_transaction_gives_its_rows_back(
    hung: BaseDatabaseWrapper, scenario: Scenario
) -> None:
    hung.set_autocommit(False)
    with hung.cursor() as cursor:
        cursor.execute("SELECT FROM runs_scenario WHERE id = %s FOR UPDATE", [scenario.pk])
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{HANG_SECONDS}s'")
        Scenario.objects.filter(pk=scenario.pk).update(name="another")
    with pytest.raises(OperationalError), hung.cursor() as cursor:
        cursor.execute("SELECT 1")


async def test_only_what_locks_rows_is_bounded() -> None:
    def shown() -> str:
        made = of_the_web(**pooled(connection.settings_dict, 1))
        try:
            with made.cursor() as cursor:
                cursor.execute(SHOW)
                return str(cursor.fetchone()[0])
        finally:
            made.close()
            made.close_pool()

    links = SnapshotLinks()
    async with links.snapshot() as link:
        row = await (await link.execute(SHOW)).fetchone()
    await links.close()
    assert (await sync_to_async(shown)(), row) == ("1min", ("0",))
