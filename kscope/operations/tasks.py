"""The periodic tasks of operations; they run on the sweeper, which drives no runs."""

import logging

from celery import shared_task
from django.db import connection

from kscope.operations.clock import clock_doubt
from kscope.operations.retention import policy_of_settings, retention_apply
from kscope.runs import write_keys

log = logging.getLogger(__name__)


@shared_task(ignore_result=True)
def apply_retention() -> None:
    """Delete and thin out runs as the settings say; by default they say nothing."""
    policy = policy_of_settings()
    if policy.is_empty:
        return
    if why := clock_doubt():
        log.error("nothing is deleted for its age: %s", why)
        return
    retention_apply(policy)


@shared_task(ignore_result=True)
def forget_write_keys() -> None:
    """Delete the keys of writes that are too old to be sent again."""
    with connection.cursor() as cursor:
        cursor.execute(write_keys.FORGET)
