"""The controllers' work queue."""

import pytest

from engine.api_server.store.workqueue import WorkQueue
from engine.kernel.loop import EventLoop
from engine.kernel.units import MILLISECOND, SECOND


class Worker:
    def __init__(self) -> None:
        self.loop = EventLoop()
        self.queue = WorkQueue(self.loop, self.sync)
        self.synced: list[tuple[str, int]] = []

    def sync(self, key: str) -> None:
        self.synced.append((key, self.loop.now))


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_a_key_added_twice_is_synced_once(worker: Worker) -> None:
    for key in ("a", "b", "a"):
        worker.queue.add(key)
    worker.loop.run(until=0)
    assert worker.synced == [("a", 0), ("b", 0)]


def test_a_key_added_after_sync_is_synced_again(worker: Worker) -> None:
    worker.queue.add("a")
    worker.loop.run(until=1)
    worker.queue.add("a")
    worker.loop.run(until=2)
    assert worker.synced == [("a", 0), ("a", 1)]


def test_the_delay_doubles_until_forgotten(worker: Worker) -> None:
    for _ in range(3):
        worker.queue.add_rate_limited("a")
        worker.loop.run(until=worker.loop.now + SECOND)
    worker.queue.forget("a")
    worker.queue.add_rate_limited("a")
    worker.loop.run(until=worker.loop.now + SECOND)
    waits = [at % SECOND // MILLISECOND for _, at in worker.synced]
    assert waits == [5, 10, 20, 5]
