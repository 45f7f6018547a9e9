"""Celery tasks: thin wrappers around the runner."""
from celery import shared_task
@shared_task
def run_simulation(run_id: int) -> None: ...
def enqueue(run_id: int) -> None: run_simulation.delay(run_id)
