"""Projections of volumes, claims and classes."""

from django.utils.translation import gettext_lazy

from kscope.runs.models import ProjectedObject, text_of


class PersistentVolume(ProjectedObject):
    """A volume as the simulated API server holds it."""

    PREFIX = "volume"

    phase = text_of("status", "phase")
    storage_class = text_of("spec", "storageClassName")
    capacity = text_of("spec", "capacity", "storage")
    claim_namespace = text_of("spec", "claimRef", "namespace")
    claim_name = text_of("spec", "claimRef", "name")

    class Meta(ProjectedObject.Meta):
        verbose_name = gettext_lazy("volume")


class PersistentVolumeClaim(ProjectedObject):
    """A claim as the simulated API server holds it."""

    PREFIX = "claim"

    phase = text_of("status", "phase", default="Pending")
    storage_class = text_of("spec", "storageClassName")
    request = text_of("spec", "resources", "requests", "storage")
    volume_name = text_of("spec", "volumeName")

    class Meta(ProjectedObject.Meta):
        verbose_name = gettext_lazy("claim")


class StorageClass(ProjectedObject):
    """A class as the simulated API server holds it."""

    PREFIX = "class"

    provisioner = text_of("provisioner")
    binding_mode = text_of("volumeBindingMode", default="Immediate")
    reclaim_policy = text_of("reclaimPolicy", default="Delete")

    class Meta(ProjectedObject.Meta):
        verbose_name = gettext_lazy("class")
        verbose_name_plural = gettext_lazy("classes")
