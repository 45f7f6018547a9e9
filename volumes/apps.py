"""The Django app of volumes: its projections."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy


class VolumesConfig(AppConfig):
    """Volumes, claims and classes as the admin and the API show them."""

    name = "volumes"
    verbose_name = gettext_lazy("Volumes")

    def ready(self) -> None:
        """Register the tables that follow the engine's objects."""
        from kscope.runs.app_registry import registry
        from volumes import models

        registry.project(models.PersistentVolume, models.PersistentVolumeClaim, models.StorageClass)
