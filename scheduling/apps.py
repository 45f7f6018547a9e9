"""The Django app of the scheduler: its projections, attempts, the task that runs the engine."""

from django.apps import AppConfig


class SchedulingConfig(AppConfig):
    """Puts the simulated cluster into the runner of `kscope.runs`."""

    name = "scheduling"
    verbose_name = "Scheduling"

    def ready(self) -> None:
        """Register engine, task and tables."""
        from kscope.runs.engine import wiring
        from scheduling import models, selectors, services, tasks

        wiring.enqueue = tasks.enqueue
        wiring.attempt_kept = selectors.attempt_kept
        wiring.project(models.Node.PREFIX, models.Node)
        wiring.project(models.Pod.PREFIX, models.Pod)
        if services.attempts_write not in wiring.writers:
            wiring.writers.append(services.attempts_write)
            wiring.copiers.append(services.attempts_copy)
