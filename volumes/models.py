"""Projections of volumes, claims and classes."""

from django.utils.translation import gettext_lazy

from kscope.runs.manifests.fields import TextOfManifest
from kscope.runs.models import ProjectedObject


class PersistentVolume(ProjectedObject):
    """A volume as the simulated API server holds it."""

    PREFIX = "volume"

    phase = TextOfManifest(("status", "phase"))
    storage_class = TextOfManifest(("spec", "storageClassName"))
    capacity = TextOfManifest(("spec", "capacity", "storage"))
    claim_namespace = TextOfManifest(("spec", "claimRef", "namespace"))
    claim_name = TextOfManifest(("spec", "claimRef", "name"))

    class Meta(ProjectedObject.Meta):
        verbose_name = gettext_lazy("volume")


class PersistentVolumeClaim(ProjectedObject):
    """A claim as the simulated API server holds it."""

    PREFIX = "claim"

    phase = TextOfManifest(("status", "phase"), default="Pending")
    storage_class = TextOfManifest(("spec", "storageClassName"))
    request = TextOfManifest(("spec", "resources", "requests", "storage"))
    volume_name = TextOfManifest(("spec", "volumeName"))

    class Meta(ProjectedObject.Meta):
        verbose_name = gettext_lazy("claim")


class StorageClass(ProjectedObject):
    """A class as the simulated API server holds it."""

    PREFIX = "class"

    provisioner = TextOfManifest(("provisioner",))
    binding_mode = TextOfManifest(("volumeBindingMode",), default="Immediate")
    reclaim_policy = TextOfManifest(("reclaimPolicy",), default="Delete")

    class Meta(ProjectedObject.Meta):
        verbose_name = gettext_lazy("class")
        verbose_name_plural = gettext_lazy("classes")
