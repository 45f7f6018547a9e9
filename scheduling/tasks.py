"""Celery tasks: thin wrappers around the runner."""

from celery import shared_task
from django.db import connection

from kscope.runs.runner import run_drive
from kscope.runs.slices import run_needs_driver


@shared_task(ignore_result=True)
def run_simulation(run_id: int) -> None:
    """Drive the run until it is idle; nothing when another worker has it."""
    run_drive(run_id)


@shared_task(ignore_result=True)
def sweep_runs() -> None:
    """Give every run without a living owner to a worker: after a crash, a restart, a lost nudge."""
    with connection.cursor() as cursor:
        waiting = run_needs_driver(cursor)
    for run_id in waiting:
        run_simulation.delay(run_id)


def enqueue(run_id: int) -> None:
    """Have a worker look at the run."""
    run_simulation.delay(run_id)
