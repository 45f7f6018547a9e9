"""Volumes, claims and classes in the admin."""

from django.contrib import admin

from kscope.runs.admin import ProjectedObjectAdmin
from kscope.runs.web.fault_actions import CLAIM_FAULTS, VOLUME_FAULTS
from volumes.models import PersistentVolume, PersistentVolumeClaim, StorageClass


@admin.register(PersistentVolume)
class PersistentVolumeAdmin(ProjectedObjectAdmin):
    """Volumes."""

    faults = VOLUME_FAULTS
    list_display = ("key", "run", "phase_shown")
    list_filter = (*ProjectedObjectAdmin.list_filter, "phase")


@admin.register(PersistentVolumeClaim)
class PersistentVolumeClaimAdmin(ProjectedObjectAdmin):
    """Claims."""

    faults = CLAIM_FAULTS
    list_display = ("key", "run", "phase_shown", "volume_name")
    list_filter = (*ProjectedObjectAdmin.list_filter, "phase")


@admin.register(StorageClass)
class StorageClassAdmin(ProjectedObjectAdmin):
    """Storage classes."""

    list_display = ("key", "run", "provisioner")
