"""Volumes, claims and classes in the admin."""

from collections.abc import Sequence
from typing import Final

from django import forms
from django.contrib import admin
from django.utils.translation import gettext_lazy

from engine.objects.values.quantity import QuantityError, parse
from kscope.runs.admin.fault_actions import CLAIM_FAULTS, VOLUME_FAULTS
from kscope.runs.admin.labels import label_object
from kscope.runs.admin.list_actions import DELETE, Chosen, ListAction, NothingMore
from kscope.runs.admin.manifest_forms import ManifestForm
from kscope.runs.admin.objects import ProjectedObjectAdmin, ValuesFilter
from kscope.runs.admin.outcomes import Body
from kscope.runs.admin.yaml_fields import MappingField
from volumes.models import PersistentVolume, PersistentVolumeClaim, StorageClass

label_object(
    PersistentVolume,
    gettext_lazy("volume"),
    gettext_lazy("volumes"),
    phase=gettext_lazy("phase"),
    storage_class=gettext_lazy("class"),
    capacity=gettext_lazy("capacity"),
    claim_namespace=gettext_lazy("namespace of the claim"),
    claim_name=gettext_lazy("claim"),
)
label_object(
    PersistentVolumeClaim,
    gettext_lazy("claim"),
    gettext_lazy("claims"),
    phase=gettext_lazy("phase"),
    storage_class=gettext_lazy("class"),
    request=gettext_lazy("requested"),
    volume_name=gettext_lazy("volume"),
)
label_object(
    StorageClass,
    gettext_lazy("class"),
    gettext_lazy("classes"),
    provisioner=gettext_lazy("provisioner"),
    binding_mode=gettext_lazy("binding mode"),
    reclaim_policy=gettext_lazy("reclaim policy"),
)

_POLICIES: Final = ("Retain", "Delete", "Recycle")
_REQUEST: Final = ("spec", "resources", "requests", "storage")


class SizeField(forms.CharField):
    """A quantity of storage."""

    def clean(self, value: object) -> str:
        """See forms.Field. Raises ValidationError for what is no quantity."""
        text: str = super().clean(value)
        try:
            if text:
                parse(text)
        except QuantityError as problem:
            raise forms.ValidationError(str(problem)) from problem
        return text


class ExpandForm(NothingMore):
    """How large the claims are to be."""

    size = SizeField(label=gettext_lazy("Size"), help_text=gettext_lazy("A quantity such as 20Gi."))


def expanded(row: PersistentVolumeClaim, chosen: Chosen) -> Sequence[Body]:
    """The command by which the claim requests the chosen size."""
    patch = {"spec": {"resources": {"requests": {"storage": chosen["size"]}}}}
    return [{"verb": "patch", "object": row.entity, "patch": patch}]


class ClaimForm(ManifestForm):
    """What is changed of a claim: how much it requests."""

    places = {"size": _REQUEST, "labels": ("metadata", "labels")}
    size = SizeField(
        required=False,
        label=gettext_lazy("Requested size"),
        help_text=gettext_lazy("A bound claim grows, where its class allows that."),
    )
    labels = MappingField(required=False, label=gettext_lazy("Labels"))


class VolumeForm(ManifestForm):
    """What is changed of a volume: what becomes of it after its claim."""

    places = {
        "reclaim_policy": ("spec", "persistentVolumeReclaimPolicy"),
        "labels": ("metadata", "labels"),
    }
    reclaim_policy = forms.ChoiceField(
        required=False,
        label=gettext_lazy("Reclaim policy"),
        choices=[("", "—"), *((policy, policy) for policy in _POLICIES)],
    )
    labels = MappingField(required=False, label=gettext_lazy("Labels"))


@admin.register(PersistentVolume)
class PersistentVolumeAdmin(ProjectedObjectAdmin):
    """Volumes."""

    form_class = VolumeForm
    faults = VOLUME_FAULTS
    list_display = ("key", "run", "phase_shown", "capacity", "claim_name")
    list_filter = (*ProjectedObjectAdmin.list_filter, ("phase", ValuesFilter))


@admin.register(PersistentVolumeClaim)
class PersistentVolumeClaimAdmin(ProjectedObjectAdmin):
    """Claims."""

    form_class = ClaimForm
    list_actions = (ListAction("expand", gettext_lazy("Expand"), expanded, form=ExpandForm), DELETE)
    faults = CLAIM_FAULTS
    list_display = ("key", "run", "phase_shown", "request", "volume_name")
    list_filter = (*ProjectedObjectAdmin.list_filter, ("phase", ValuesFilter))


@admin.register(StorageClass)
class StorageClassAdmin(ProjectedObjectAdmin):
    """Storage classes."""

    list_display = ("key", "run", "provisioner")
