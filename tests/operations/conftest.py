"""The runs of tests/web, for tests of how kscope is operated."""

from collections.abc import Iterator
from typing import Any

import pytest
import redis

from kscope.operations import presence


@pytest.fixture(autouse=True)
def no_worker(runs_here: None) -> None:
    """What a worker and the pool beside the web process do is done in this process."""


@pytest.fixture
def valkey_is_away(settings: Any) -> Iterator[None]:
    """The address of Valkey leads nowhere."""
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    presence.client.cache_clear()
    yield
    presence.client.cache_clear()


@pytest.fixture
def nobody_reports() -> Iterator["redis.Redis"]:
    """Valkey without any process or count in it."""
    client = presence.client()
    for key in client.scan_iter(match="kscope:*"):
        client.delete(key)
    yield client
    presence.end()
    for key in client.scan_iter(match="kscope:*"):
        client.delete(key)
