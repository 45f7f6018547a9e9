"""The Django app of the scheduler: its projections, attempts, the task that runs the engine."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class SchedulingConfig(AppConfig):
    """Nodes, pods and scheduling attempts as the admin and the API show them."""

    name = "scheduling"
    verbose_name = gettext_lazy("Scheduling")

    def ready(self) -> None:
        """Register the task, and the tables that follow the engine."""
        from kscope.runs.app_registry import registry
        from scheduling import models, selectors, services, tasks, triages

        registry.enqueue = tasks.enqueue
        registry.attempt_kept = selectors.attempt_kept
        registry.attempts_kept = selectors.attempts_kept
        registry.attempts_recorded = selectors.attempts_recorded
        registry.looks = triages.looks_by_id
        registry.project(models.Node, models.Pod)
        asked = (selectors.diagnosis_by_id, selectors.diagnosis_parts_by_id)
        registry.asked_of_heads.update(f"{one.__module__}:{one.__qualname__}" for one in asked)
        if services.attempts_write not in registry.writers:
            registry.writers.append(services.attempts_write)
            registry.histories.append(services.ATTEMPTS)
