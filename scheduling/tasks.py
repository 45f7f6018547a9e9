"""Celery tasks: short ones, which hand runs over to the processes that drive them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import redis
from celery import shared_task
from django.db import connection
from kombu.exceptions import OperationalError

from kscope.database_format import WrongFormat, check_connection
from kscope.runs import nudges
from kscope.runs.drive.ending.cut_off import sessions_end
from kscope.runs.drive.ending.stuck import ended_when_stuck
from kscope.runs.drive.hosting import fleet
from kscope.runs.drive.slices import run_needs_driver

_AGAIN_SECONDS = 0.5
log = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def adopt(run_id: int) -> None:
    """Have a process of this worker drive the run, unless somebody does."""
    if fleet.fleet is None or fleet.fleet.drains:
        # For another worker, or for the next one here; without haste, as this one may get it again.
        cast("Any", adopt).apply_async([run_id], countdown=_AGAIN_SECONDS)
        return
    nudges.place_leave(run_id)
    fleet.fleet.adopt(run_id)


@contextmanager
def _refused_quietly() -> Iterator[None]:
    """A task whose worker must not work with the database is not done; the worker says why."""
    try:
        yield
    except WrongFormat as refusal:
        log.warning("nothing is done: %s", refusal)


@shared_task(ignore_result=True)
def sweep_runs() -> None:
    """Give every run without a living owner to a worker: after a crash, a restart, a lost nudge."""
    with ended_when_stuck(), _refused_quietly():
        check_connection(connection)
        with connection.cursor() as cursor:
            waiting = run_needs_driver(cursor)
        if waiting:
            sessions_end(waiting)
        for run_id in waiting:
            enqueue(run_id)


def enqueue(run_id: int) -> None:
    """Have a worker look at the run. Without a broker the sweeper finds it later."""
    try:
        if nudges.place_take(run_id):
            cast("Any", adopt).delay(run_id)  # Celery has no types
    except (OperationalError, redis.RedisError) as problem:
        log.warning("run %s waits for the sweeper: %s", run_id, problem)
