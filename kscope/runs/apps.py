"""The Django app of runs: what a run is and what it recorded."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Scenarios, runs, their events, checkpoints and commands."""

    name = "kscope.runs"
    label = "runs"
    verbose_name = "Runs"
