"""Nodes, pods and attempts in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext, gettext_lazy

from kscope.runs.admin import ManifestForm, ProjectedObjectAdmin, ReadOnlyAdmin, seconds
from kscope.runs.web.fault_actions import NODE_FAULTS, POD_FAULTS
from kscope.runs.web.parsers import JSONDecoder
from scheduling.models import Node, Pod, SchedulingAttempt


class NodeForm(ManifestForm):
    """What one does to a node: cordon it, taint it, label it."""

    unschedulable = forms.BooleanField(
        required=False,
        label=gettext_lazy("Unschedulable"),
        help_text=gettext_lazy("Cordoned: no new pods."),
    )
    taints = forms.JSONField(
        required=False,
        decoder=JSONDecoder,
        widget=forms.Textarea(attrs={"rows": 4, "cols": 100}),
        help_text=gettext_lazy(
            'A list such as [{"key": "dedicated", "value": "batch", "effect": "NoSchedule"}].'
        ),
    )
    labels = forms.JSONField(
        required=False,
        decoder=JSONDecoder,
        widget=forms.Textarea(attrs={"rows": 6, "cols": 100}),
    )

    def shown(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """See ManifestForm."""
        spec = manifest.get("spec") or {}
        return {
            **super().shown(manifest),
            "unschedulable": bool(spec.get("unschedulable")),
            "taints": spec.get("taints") or [],
            "labels": manifest["metadata"].get("labels") or {},
        }

    def clean_taints(self) -> list[dict[str, Any]]:
        """A taint needs a key and one of the three effects."""
        taints = self.cleaned_data["taints"] or []
        if not isinstance(taints, list):
            raise forms.ValidationError(gettext("Taints are a JSON list."))
        for index, taint in enumerate(taints):
            if not isinstance(taint, dict) or not taint.get("key"):
                raise forms.ValidationError(
                    gettext("{field} is missing.").format(field=f"taints[{index}].key")
                )
            effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
            if taint.get("effect") not in effects:
                raise forms.ValidationError(
                    gettext("{field} is {value}; it must be one of {known}.").format(
                        field=f"taints[{index}].effect",
                        value=repr(taint.get("effect")),
                        known=", ".join(effects),
                    )
                )
        return taints

    def clean_labels(self) -> dict[str, str]:
        """Labels map texts to texts."""
        labels = self.cleaned_data["labels"] or {}
        if not isinstance(labels, dict) or not all(isinstance(v, str) for v in labels.values()):
            raise forms.ValidationError(gettext("Labels are a JSON object of texts."))
        return labels

    def edited(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """See ManifestForm: only fields that were touched go on top of the manifest."""
        edited = dict(manifest)
        spec = dict(manifest.get("spec") or {})
        if "unschedulable" in self.changed_data:
            spec.pop("unschedulable", None)
            if self.cleaned_data["unschedulable"]:
                spec["unschedulable"] = True
        if "taints" in self.changed_data:
            spec["taints"] = self.cleaned_data["taints"]
        if {"unschedulable", "taints"} & set(self.changed_data):
            edited["spec"] = spec
        if "labels" in self.changed_data:
            edited["metadata"] = {**manifest["metadata"], "labels": self.cleaned_data["labels"]}
        return edited


@admin.register(Node)
class NodeAdmin(ProjectedObjectAdmin):
    """Nodes."""

    form_class = NodeForm
    faults = NODE_FAULTS
    list_display = ("key", "run", "zone", "unschedulable")
    list_filter = (*ProjectedObjectAdmin.list_filter, "unschedulable", "zone")


@admin.register(Pod)
class PodAdmin(ProjectedObjectAdmin):
    """Pods."""

    faults = POD_FAULTS
    list_display = ("key", "run", "phase_shown", "node_name", "nominated_node_name")
    list_filter = (*ProjectedObjectAdmin.list_filter, "phase")
    search_fields = ("key", "node_name")


@admin.register(SchedulingAttempt)
class SchedulingAttemptAdmin(ReadOnlyAdmin):
    """Attempts to place a pod."""

    list_display = ("pod", "number", "run", "virtual_time", "result", "node")
    list_filter = ("result",)
    list_select_related = ("run",)
    search_fields = ("pod",)
    exclude = ("evidence",)

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, attempt: SchedulingAttempt) -> str:
        """When it ended."""
        return seconds(attempt.at)
