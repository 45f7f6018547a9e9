"""What a Celery worker of kscope does beside tasks: it ends rather than hang.

Who started it (`up`, or `restart: always`) then starts another one. Nothing is lost with it: runs
belong to a worker only as long as their leases last.
"""

import logging
import os
import signal
import threading
import time
from typing import Any

from celery import bootsteps
from celery.worker import state
from kombu.connection import Connection

from kscope import database_format
from kscope.runs.drive.ending.stopping import stop_ask

LONGEST_STOP_S = 10.0
LOOK_EVERY_S = 5.0
MOST_LOOKS = 6
log = logging.getLogger(__name__)


class GoneSoon(bootsteps.StartStopStep):
    """A worker that stops, for whatever reason, lets go of its runs and is gone within seconds.

    It also stops by itself, when an error is not caught where the broker was lost. Then it waits
    for its processes without end, and takes no tasks meanwhile.
    """

    def close(self, _worker: Any) -> None:
        """Before anything is stopped."""
        stop_ask()
        threading.Thread(target=_end_late, name="gone soon", daemon=True).start()


def _end_late() -> None:
    time.sleep(LONGEST_STOP_S)
    log.critical("stopping took more than %d s", LONGEST_STOP_S)
    _end()


class ReadsDatabase(bootsteps.StartStopStep):
    """A worker stops, and says why, once a newer version of kscope has migrated its database."""

    def start(self, _worker: Any) -> None:
        """Begin to look."""
        database_format.watch(_stop_working)


def _stop_working(why: str) -> None:
    log.critical("%s. This worker stops", why)
    os.kill(os.getpid(), signal.SIGTERM)


class TakesTasks(bootsteps.StartStopStep):
    """A worker that does nothing for half a minute, although there are tasks, is ended.

    Celery may come back from a lost broker without taking tasks any more:
    https://github.com/celery/celery/issues/10205.
    """

    def start(self, worker: Any) -> None:
        """Begin to look."""
        queues = sorted(worker.app.amqp.queues.consume_from)
        watch = (worker.app.connection_for_read(), queues)
        threading.Thread(target=_watch, args=watch, name="takes tasks", daemon=True).start()


def _watch(broker: Connection, queues: list[str]) -> None:
    looks = 0
    while looks < MOST_LOOKS:
        time.sleep(LOOK_EVERY_S)
        is_idle = not state.active_requests and not state.reserved_requests
        looks = looks + 1 if is_idle and _tasks_wait(broker, queues) else 0
    log.critical("tasks wait, and this worker does not take them")
    _end()


def _tasks_wait(broker: Connection, queues: list[str]) -> bool:
    """Whether there are tasks in the queues; False while the broker cannot be asked."""
    try:
        with broker.clone() as link, link.channel() as channel:
            return any(channel.queue_declare(each, passive=True).message_count for each in queues)
    except broker.connection_errors + broker.channel_errors:
        return False


def _end() -> None:
    # The processes of its pool, and the beat, end with it.
    os.kill(os.getpid(), signal.SIGKILL)
