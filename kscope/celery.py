"""The Celery application. Workers are started with `celery -A kscope.celery worker`."""

import os
from typing import Any

from celery import Celery
from celery.signals import (
    beat_embedded_init,
    worker_process_init,
    worker_ready,
    worker_shutting_down,
)
from django.conf import settings

from kscope.runs.stopping import stop_ask
from kscope.up.children import die_with_parent

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")

app = Celery("kscope")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@beat_embedded_init.connect
@worker_process_init.connect
def tie_to_worker(**_kwargs: Any) -> None:
    """Pool processes and the beat die with their worker: a fork does not inherit its tie to us."""
    die_with_parent()


@worker_ready.connect
def say_worker_is_ready(**_kwargs: Any) -> None:
    """`up` waits for this file, and Docker's health check looks at it."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    (settings.DATA_DIR / "worker-ready").touch()


@worker_shutting_down.connect
def let_go_of_runs(**_kwargs: Any) -> None:
    """Drivers commit and give their leases back, so that stopping waits for nothing else."""
    stop_ask()
