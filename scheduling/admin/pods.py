"""Pods and the attempts to place them in the admin."""

from typing import Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from kscope.runs.admin.fault_actions import POD_FAULTS
from kscope.runs.admin.labels import label_object
from kscope.runs.admin.links import is_number, seconds
from kscope.runs.admin.list_actions import DELETE, of_verb
from kscope.runs.admin.manifest_forms import ManifestForm
from kscope.runs.admin.objects import ProjectedObjectAdmin, ValuesFilter
from kscope.runs.admin.records import ReadOnlyAdmin
from kscope.runs.admin.yaml_fields import ItemsField, MappingField
from kscope.words.labels import label_fields, label_model
from scheduling.models import Pod, SchedulingAttempt

label_object(
    Pod,
    gettext_lazy("pod"),
    gettext_lazy("pods"),
    node_name=gettext_lazy("node"),
    nominated_node_name=gettext_lazy("nominated node"),
    phase=gettext_lazy("phase"),
    scheduler_name=gettext_lazy("scheduler"),
)
label_model(
    SchedulingAttempt, gettext_lazy("scheduling attempt"), gettext_lazy("scheduling attempts")
)
label_fields(
    SchedulingAttempt,
    run=gettext_lazy("run"),
    pod=gettext_lazy("pod"),
    number=gettext_lazy("number"),
    seq=gettext_lazy("seq"),
    at=gettext_lazy("time in nanoseconds"),
    cycle=gettext_lazy("cycle"),
    result=gettext_lazy("result"),
    node=gettext_lazy("node"),
)

_FORCE_DELETE: Final = of_verb(
    "force_delete",
    gettext_lazy("Delete by force"),
    {"verb": "delete", "grace_seconds": 0},
    question=gettext_lazy(
        "Each of these is deleted without a grace period, whatever its kubelet does: its containers "
        "may keep running."
    ),
)


class PodForm(ManifestForm):
    """What of a pod can be changed once it is stored; what it requests is in its manifest."""

    places = {
        "labels": ("metadata", "labels"),
        "annotations": ("metadata", "annotations"),
        "tolerations": ("spec", "tolerations"),
        "scheduling_gates": ("spec", "schedulingGates"),
    }
    labels = MappingField(required=False, label=gettext_lazy("Labels"))
    annotations = MappingField(required=False, label=gettext_lazy("Annotations"))
    tolerations = ItemsField(
        required=False,
        label=gettext_lazy("Tolerations"),
        help_text=gettext_lazy("Tolerations can be added, but not removed."),
    )
    scheduling_gates = ItemsField(
        required=False,
        label=gettext_lazy("Scheduling gates"),
        help_text=gettext_lazy("They hold a pod back until the last one is removed."),
    )


@admin.register(Pod)
class PodAdmin(ProjectedObjectAdmin):
    """Pods."""

    form_class = PodForm
    list_actions = (DELETE, _FORCE_DELETE)
    faults = POD_FAULTS
    list_display = ("key", "run", "phase_shown", "node_name", "nominated_node_name")
    list_filter = (*ProjectedObjectAdmin.list_filter, ("phase", ValuesFilter))
    search_fields = ("key", "node_name")


@admin.register(SchedulingAttempt)
class SchedulingAttemptAdmin(ReadOnlyAdmin):
    """Attempts to place a pod."""

    list_display = ("pod", "number", "run", "virtual_time", "result", "node")
    list_filter = ("result",)
    list_select_related = ("run",)
    search_fields = ("pod",)
    exclude = ("evidence",)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> SchedulingAttempt | None:
        """Of the run that made the attempt: its forks have it as well, under the same number."""
        if not is_number(object_id):
            return None
        return self.get_queryset(request).filter(pk=int(object_id)).order_by("run_id").first()

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, attempt: SchedulingAttempt) -> str:
        """When it ended."""
        return seconds(attempt.at)
