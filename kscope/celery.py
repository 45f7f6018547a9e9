"""The Celery application. Workers are started with `celery -A kscope.celery worker`, or by `up`."""

import os
import sys
from collections.abc import Collection
from typing import Any

from celery import Celery
from celery.apps.worker import Worker
from celery.signals import (
    beat_init,
    celeryd_init,
    setup_logging,
    task_postrun,
    task_prerun,
    worker_process_init,
    worker_process_shutdown,
    worker_ready,
    worker_shutdown,
    worker_shutting_down,
)
from django.conf import settings
from structlog.contextvars import bind_contextvars, unbind_contextvars

from kscope import database_format
from kscope.runs.drive.ending.stopping import stop_ask, stop_unask
from kscope.runs.drive.hosting import fleet
from kscope.worker_steps import Beats, Drives, GoneSoon, ReadsDatabase, TakesTasks

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")

app = Celery("kscope")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
assert app.steps is not None
app.steps["worker"].update({Beats, Drives, GoneSoon, ReadsDatabase, TakesTasks})
# Ours is in its place.
Worker.Blueprint.default_steps.discard("celery.worker.components:Beat")


def work() -> None:
    """Be the one worker of `up`, which also sweeps; the words are how many processes drive runs.

    Celery's command line would do the same, but it loads 7 MiB for its other commands.
    """
    worker: Any = app.Worker(
        concurrency=int(sys.argv[1]),
        queues=[settings.CELERY_TASK_DEFAULT_QUEUE, settings.CELERY_SWEEP_QUEUE],
        beat=True,
        loglevel="INFO",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    worker.start()
    sys.exit(worker.exitcode)


@celeryd_init.connect
def begin_anew(**_kwargs: Any) -> None:
    """Before there are pool processes and a beat: this worker has not been asked to stop.

    Ends here, with the reason, where the database is of another version.
    """
    database_format.check_start()
    stop_unask()


@beat_init.connect
def look_before_beat(**_kwargs: Any) -> None:
    """A beat that is a process of its own starts as a worker does."""
    database_format.check_start()


@setup_logging.connect
def keep_our_logging(**_kwargs: Any) -> None:
    """The settings say how logs are written; Celery would put its own in the place of that."""


@worker_process_init.connect
def report_process(**_kwargs: Any) -> None:
    """Each process that does tasks says that it lives: of a pool, or a worker that has none."""
    _presence().begin(role_of(app.amqp.queues.consume_from))


def role_of(queues: Collection[str]) -> str:
    """What a worker of these queues is: the sweeper drives no runs."""
    return "worker" if settings.CELERY_TASK_DEFAULT_QUEUE in queues else "sweeper"


@worker_process_shutdown.connect
@worker_shutdown.connect
def say_good_bye(**_kwargs: Any) -> None:
    """Show at once that this process is gone."""
    _presence().end()


@task_prerun.connect
def bind_task(task: Any = None, **_kwargs: Any) -> None:
    """Every line of the log says which task wrote it."""
    bind_contextvars(task=task.name.rpartition(".")[2])


@task_postrun.connect
def unbind_task(**_kwargs: Any) -> None:
    """The task is over."""
    unbind_contextvars("task")


def _presence() -> Any:
    """Looks at models, which exist only once Django is set up."""
    from kscope.operations import presence

    return presence


@worker_ready.connect
def say_worker_is_ready(**_kwargs: Any) -> None:
    """`up` waits for this file, and Docker's health check looks at it."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    (settings.DATA_DIR / "worker-ready").touch()


@worker_shutting_down.connect
def let_go_of_runs(**_kwargs: Any) -> None:
    """Drivers commit and give their leases back, so that stopping waits for nothing else."""
    stop_ask()
    if fleet.fleet is not None:
        fleet.fleet.drain()
