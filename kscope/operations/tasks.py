"""The periodic tasks of operations."""

import logging
import os
from pathlib import Path

from celery import shared_task
from django.db import connection

from kscope.operations.clock import clock_doubt
from kscope.operations.retention import policy_of_settings, retention_apply
from kscope.runs import write_keys
from kscope.runs.drive.hosting import fleet
from kscope.up.processes import Call, Process, start_function

log = logging.getLogger(__name__)
_retaining: Process | None = None


@shared_task(ignore_result=True)
def apply_retention() -> None:
    """Delete and thin out runs as the settings say; by default they say nothing."""
    policy = policy_of_settings()
    if policy.is_empty:
        return
    if why := clock_doubt():
        log.error("nothing is deleted for its age: %s", why)
        return
    if fleet.fleet is None:
        retention_apply(policy)
    else:
        _retain_apart()


def _retain_apart() -> None:
    """In a process of its own, once at a time: it may take minutes, and a run waits for its driver."""
    global _retaining
    if _retaining is None or _retaining.poll() is not None:
        call = Call("retention", "kscope.operations.retention:main")
        with Path(os.devnull).open("r+b") as nothing:
            _retaining = start_function(call, stdin=nothing.fileno(), stdout=nothing.fileno())


@shared_task(ignore_result=True)
def forget_write_keys() -> None:
    """Delete the keys of writes that are too old to be sent again."""
    with connection.cursor() as cursor:
        cursor.execute(write_keys.FORGET)
