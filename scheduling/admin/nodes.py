"""Nodes in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext, gettext_lazy

from kscope.runs.admin.fault_actions import NODE_FAULTS
from kscope.runs.admin.labels import label_object
from kscope.runs.admin.manifest_forms import ManifestForm
from kscope.runs.admin.objects import ProjectedObjectAdmin, ValuesFilter
from kscope.runs.admin.yaml_fields import ItemsField, MappingField
from scheduling.admin.node_actions import EFFECTS, NODE_ACTIONS
from scheduling.models import Node

label_object(
    Node,
    gettext_lazy("node"),
    gettext_lazy("nodes"),
    unschedulable=gettext_lazy("unschedulable"),
    zone=gettext_lazy("zone"),
)


class NodeForm(ManifestForm):
    """What one does to a node: cordon it, taint it, label it, give it other resources."""

    places = {
        "unschedulable": ("spec", "unschedulable"),
        "taints": ("spec", "taints"),
        "labels": ("metadata", "labels"),
        "capacity": ("status", "capacity"),
        "allocatable": ("status", "allocatable"),
    }
    unschedulable = forms.BooleanField(
        required=False,
        label=gettext_lazy("Unschedulable"),
        help_text=gettext_lazy("Cordoned: no new pods."),
    )
    taints = ItemsField(
        required=False,
        label=gettext_lazy("Taints"),
        help_text=gettext_lazy(
            'A list such as [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}].'
        ),
    )
    labels = MappingField(required=False, rows=6, label=gettext_lazy("Labels"))
    capacity = MappingField(
        required=False,
        label=gettext_lazy("Capacity"),
        help_text=gettext_lazy("Quantities by resource, such as cpu: 4."),
    )
    allocatable = MappingField(
        required=False,
        label=gettext_lazy("Allocatable"),
        help_text=gettext_lazy("What pods may request of the capacity."),
    )

    def shown(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """See ManifestForm."""
        found = super().shown(manifest)
        return {**found, "unschedulable": bool(found["unschedulable"])}

    def clean_taints(self) -> list[dict[str, Any]]:
        """A taint needs a key and one of the three effects."""
        taints = self.cleaned_data["taints"]
        for index, taint in enumerate(taints):
            if not taint.get("key"):
                raise forms.ValidationError(
                    gettext("{field} is missing.").format(field=f"taints[{index}].key")
                )
            if taint.get("effect") not in EFFECTS:
                raise forms.ValidationError(
                    gettext("{field} is {value}; it must be one of {known}.").format(
                        field=f"taints[{index}].effect",
                        value=repr(taint.get("effect")),
                        known=", ".join(EFFECTS),
                    )
                )
        return taints


@admin.register(Node)
class NodeAdmin(ProjectedObjectAdmin):
    """Nodes."""

    form_class = NodeForm
    list_actions = NODE_ACTIONS
    faults = NODE_FAULTS
    list_display = ("key", "run", "ready", "zone", "unschedulable")
    list_filter = (*ProjectedObjectAdmin.list_filter, "unschedulable", ("zone", ValuesFilter))

    @admin.display(description=gettext_lazy("ready"), boolean=True)
    def ready(self, node: Node) -> bool:
        """Whether its condition Ready is True; a node without one is taken for ready."""
        conditions = (node.manifest.get("status") or {}).get("conditions") or []
        ready = [each.get("status") for each in conditions if each.get("type") == "Ready"]
        return not ready or ready[0] == "True"
