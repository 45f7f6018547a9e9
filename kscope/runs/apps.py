"""The Django app of runs: what a run is and what it recorded."""

from django.apps import AppConfig


class RunsConfig(AppConfig):
    """Scenarios, runs, their events, checkpoints and commands."""

    name = "kscope.runs"
    label = "runs"
    verbose_name = "Runs"

    def ready(self) -> None:
        """Say what counts for the quotas of an account."""
        from kscope.accounts.usage import counters
        from kscope.runs.capacity.quotas import quotas_used

        if quotas_used not in counters:
            counters.append(quotas_used)
