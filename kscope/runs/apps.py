"""The Django app of runs: what a run is and what it recorded."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class RunsConfig(AppConfig):
    """Scenarios, runs, their events, checkpoints and commands."""

    name = "kscope.runs"
    label = "runs"
    verbose_name = gettext_lazy("Runs")

    def ready(self) -> None:
        """Say what counts for quotas, and let no connection be made to a newer version's database."""
        from django.db.backends.signals import connection_created

        from kscope.accounts.usage import counters
        from kscope.database_format import look_at_new_connection
        from kscope.runs.app_registry import registry
        from kscope.runs.aside.forked import answer_in_fork
        from kscope.runs.capacity.quotas import quotas_used

        registry.answer_ask = answer_in_fork
        if quotas_used not in counters:
            counters.append(quotas_used)
        connection_created.connect(look_at_new_connection, dispatch_uid="database-format")
