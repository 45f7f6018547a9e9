"""The Django app of volumes: its projections."""

from django.apps import AppConfig


class VolumesConfig(AppConfig):
    """Volumes, claims and classes as the admin and the API show them."""

    name = "volumes"
    verbose_name = "Volumes"

    def ready(self) -> None:
        """Register the tables that follow the engine's objects."""
        from kscope.runs.engine import wiring
        from volumes import models

        wiring.project(models.PersistentVolume.PREFIX, models.PersistentVolume)
        wiring.project(models.PersistentVolumeClaim.PREFIX, models.PersistentVolumeClaim)
        wiring.project(models.StorageClass.PREFIX, models.StorageClass)
