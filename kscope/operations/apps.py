"""The Django app of what operators see."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class OperationsConfig(AppConfig):
    """Commands, templates and the task that applies the retention policy."""

    name = "kscope.operations"
    verbose_name = gettext_lazy("Operations")

    def ready(self) -> None:
        """Have child processes report what they count."""
        from kscope.operations import presence
        from kscope.runs.app_registry import registry

        registry.process_began = presence.begin
