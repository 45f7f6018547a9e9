"""What a Celery worker of kscope does beside tasks: it ends rather than hang.

Who started it (`up`, or `restart: always`) then starts another one. Nothing is lost with it: runs
belong to a worker only as long as their leases last.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from celery import bootsteps
from celery.beat import Service
from celery.worker import components, state
from celery.worker.control import control_command, inspect_command
from django.conf import settings
from kombu.connection import Connection
from kombu.exceptions import OperationalError
from redis import RedisError

from kscope import database_format
from kscope.runs.drive.ending.stopping import is_stopping, stop_ask
from kscope.runs.drive.hosting import fleet

DRAIN_SECONDS = 8.0
READY_SECONDS = 60.0
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


class Drives(bootsteps.StartStopStep):
    """A worker of the queue of runs has processes that drive them, one a core, or `--concurrency`.

    Celery carries runs to the worker, in tasks that take milliseconds; see `hosting.fleet`.
    """

    def include_if(self, worker: Any) -> bool:
        """Not the sweeper."""
        return settings.CELERY_TASK_DEFAULT_QUEUE in worker.app.amqp.queues.consume_from

    def create(self, worker: Any) -> None:
        """Begin to start them."""
        # It looks at models, which exist only once Django is set up.
        from kscope.runs.drive.hosting.ownership import runs_release

        self._fleet = fleet.begin(worker.concurrency, runs_release, partial(_tell, worker))

    def start(self, _worker: Any) -> None:
        """Before the first task comes."""
        if not self._fleet.wait_until_ready(READY_SECONDS):
            log.critical("no process that drives runs has started within %d s", READY_SECONDS)
            _end()

    def close(self, _worker: Any) -> None:
        """Before anything is stopped."""
        self._fleet.drain()

    def stop(self, _worker: Any) -> None:
        """They have given their runs back, or are killed: leases end by themselves."""
        self._fleet.stop(DRAIN_SECONDS)

    def terminate(self, worker: Any) -> None:
        """As `stop`."""
        self.stop(worker)


class Beats(components.Beat):
    """The beat of a worker is a thread of it, where Celery's is a process with 40 MB of its own."""

    def create(self, w: Any) -> Any:
        """Make the thread, which Celery's step starts."""
        w.beat = Beat(w.app, w.scheduler)
        return w.beat


class Beat(threading.Thread):
    """Puts tasks into their queues when they are due; the worker ends with it.

    A worker without its beat would find no lost runs: who started it starts another one.
    """

    def __init__(self, app: Any, scheduler: str) -> None:
        super().__init__(name="beat", daemon=True)
        self._app = app
        # The worker answers for it.
        self._service = Service(app, scheduler_cls=scheduler, remote_control=False)

    def run(self) -> None:
        """Until the worker stops."""
        try:
            self._app.set_current()
            self._service.start()
        finally:
            if not is_stopping():
                log.critical("the beat has ended. This worker stops")
                os.kill(os.getpid(), signal.SIGTERM)

    def stop(self) -> None:
        """Let it end; nobody waits for that, as it may wait for the broker."""
        self._service.stop()


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
        is_idle = not (state.active_requests or state.reserved_requests or _is_drained())
        looks = looks + 1 if is_idle and _tasks_wait(broker, queues) else 0
    log.critical("tasks wait, and this worker does not take them")
    _end()


def _is_drained() -> bool:
    return fleet.fleet is not None and fleet.fleet.drains


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


def _tell(worker: Any, pid: int, done: Mapping[int, Mapping[str, int]]) -> None:
    """Send what a process did as Celery's event `driver-worked`, if anybody listens to events."""
    ours = getattr(worker.consumer, "event_dispatcher", None)
    if ours is None or not ours.enabled:
        return
    try:
        # The worker's own dispatcher belongs to another thread.
        with worker.app.events.default_dispatcher(hostname=worker.hostname) as dispatcher:
            runs = {str(run_id): dict(work) for run_id, work in done.items()}
            dispatcher.send("driver-worked", driver=pid, runs=runs)
    except (OperationalError, RedisError, OSError) as problem:
        log.debug("an event of Celery was not sent: %s", problem)


@inspect_command()
def drivers(_state: Any) -> list[dict[str, Any]]:
    """The processes of a worker that drive runs: pid, runs, what was done for each, how busy, memory."""
    return fleet.fleet.describe() if fleet.fleet else []


@control_command()
def drain(state: Any) -> dict[str, str]:
    """Have a worker give all its runs to others, and take no more."""
    if fleet.fleet is None:
        return {"error": "it drives no runs"}
    consumer = state.consumer
    consumer.call_soon(consumer.cancel_task_queue, settings.CELERY_TASK_DEFAULT_QUEUE)
    fleet.fleet.drain()
    return {"ok": "it gives its runs back"}
