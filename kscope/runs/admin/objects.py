"""The admin of a run's objects: what people do with them there gives the engine commands."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from kscope.runs.admin.adding import added
from kscope.runs.admin.fault_actions import FaultAction
from kscope.runs.admin.links import (
    as_of_words,
    commands_of,
    event_address,
    events_of,
    is_number,
)
from kscope.runs.admin.list_actions import DELETE, ListAction, carried_out
from kscope.runs.admin.manifest_forms import Differing, ManifestForm
from kscope.runs.admin.outcomes import is_no_success, submit_one
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, OtherObject, ProjectedObject, Run
from kscope.runs.services import rows_wait

# So long a form waits for the newest version of its object, and the list of a run for its objects.
ROWS_SECONDS: Final = 2.0
# Of so many runs the list of all objects says how far their rows are.
_MOST_TOLD: Final = 5
_FORM_TEMPLATE: Final = "admin/runs/object_form.html"


class ValuesFilter(admin.AllValuesFieldListFilter):
    """A filter by the values of a column; a link for those that have none has words, too."""

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """See ListFilter."""
        for choice in super().choices(changelist):
            yield {**choice, "display": choice["display"] or gettext("none")}


class ProjectedObjectAdmin(admin.ModelAdmin):
    """Objects of live runs. Saving, deleting and adding submit commands; no row is written here."""

    ordering = ("-run_id", "key")
    form_class: type[ManifestForm] = ManifestForm
    change_form_template = _FORM_TEMPLATE
    # What is done to those that are chosen in the list, in the place of Django's own actions.
    list_actions: tuple[ListAction, ...] = (DELETE,)
    # What can be let fail from the list.
    faults: tuple[FaultAction, ...] = ()
    list_select_related = ("run",)
    list_filter = (("run", admin.RelatedOnlyFieldListFilter),)
    search_fields = ("key",)

    @admin.display(description=gettext_lazy("phase"), ordering="phase")
    def phase_shown(self, instance: Any) -> str:
        """The phase of an object that has one; "Terminating" while it is being deleted, as in kubectl."""
        is_deleted = "deletionTimestamp" in (instance.manifest.get("metadata") or {})
        return "Terminating" if is_deleted else instance.phase

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Those of the kind and its faults, for those who may change objects."""
        if not self.has_change_permission(request):
            return {}
        known = (*self.list_actions, *(each.as_list_action() for each in self.faults))
        return {
            each.name: (partial(_carry_out, action=each), each.name, each.text) for each in known
        }

    def get_action_choices(self, request: HttpRequest, default_choices: Any = ()) -> list[Any]:
        """The actions in two groups: what people do, and what fails."""
        known = self.get_actions(request)
        faults = {each.name for each in self.faults}
        groups: dict[bool, list[tuple[str, str | Promise]]] = {False: [], True: []}
        for name, (_, _, text) in known.items():
            groups[name in faults].append((name, text))
        empty = [("", gettext("Choose an action"))]
        if not groups[True]:
            return [*empty, *groups[False]]
        return [*empty, *groups[False], (gettext("Let fail"), groups[True])]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page on which an object is created."""
        return added(self, request, extra_context)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The form of one object; a POST becomes a command and says what came of it."""
        instance = self._newest(request, object_id)
        if instance is None:
            return self._not_found(request, object_id or "")
        form = self.form_class(request.POST or None, instance=instance)
        may = self.has_change_permission(request, instance)
        differing: list[Differing] = []
        command, is_refused = None, False
        if request.method == "POST" and may and form.is_valid():
            wanted = form.command()
            command = self.submit(request, instance, wanted)
            is_refused = wanted is not None and is_no_success(command)
            if not is_refused:
                return HttpResponseRedirect(self._after(request, instance))
            newer = self._newest(request, object_id)
            differing = [] if newer is None else form.show_beside(newer)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("{kind} {key}").format(kind=self.opts.verbose_name, key=instance.key),
            "subtitle": str(instance.run),
            "opts": self.opts,
            "original": instance,
            "form": form,
            "run": instance.run,
            "as_of": as_of_words(instance.run),
            "board_url": f"/runs/{instance.run_id}/",
            "commands_url": commands_of(instance.run_id, instance.entity),
            "events_url": events_of(instance.run_id, instance.entity),
            "event_url": event_address(instance.run_id, instance.seq) if instance.seq else "",
            "has_change_permission": may,
            "has_view_permission": True,
            "preserved_filters": self.get_preserved_filters(request),
            "refused": command,
            "differing": differing,
            "media": self.media + form.media,
            **(extra_context or {}),
        }
        status = 409 if is_refused else 200
        return TemplateResponse(request, _FORM_TEMPLATE, context, status=status)

    def _newest(self, request: HttpRequest, object_id: str | None) -> Any:
        """The object as its run has it, or as of an earlier event where no worker says more soon."""
        found = self.get_object(request, object_id or "")
        if found is None or found.run.rows_seq is None:
            return found
        with suppress(ApplicationError):
            rows_wait(found.run_id, seconds=ROWS_SECONDS)
        return self.get_object(request, object_id or "")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The list; where rows are those of an earlier event than their run is at, it says so."""
        behind = Run.objects.filter(rows_seq__isnull=False).order_by("-pk")
        of = request.GET.get("run__id__exact", "")
        if is_number(of):
            with suppress(ApplicationError):
                rows_wait(int(of), seconds=ROWS_SECONDS)
        for run in behind.filter(pk=of) if is_number(of) else behind[:_MOST_TOLD]:
            messages.info(request, as_of_words(run))
        return super().changelist_view(request, extra_context)

    def _not_found(self, request: HttpRequest, object_id: str) -> HttpResponse:
        # Django's own answer, which the stubs leave out because its name is private.
        redirect = self._get_obj_does_not_exist_redirect  # pyright: ignore[reportAttributeAccessIssue]
        return redirect(request, self.opts, object_id)

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Ask, then hand the engine a deletion; the object goes when the engine lets it go.

        Not Django's own view: that one waits inside a transaction, in which no worker would ever
        see the command.
        """
        instance = self.get_object(request, object_id)
        if instance is None:
            return self._not_found(request, object_id)
        if not self.has_delete_permission(request, instance):
            raise PermissionDenied
        if request.method == "POST":
            self.submit(request, instance, {"verb": "delete", "object": instance.entity})
            return HttpResponseRedirect(self._after(request, instance))
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("Delete {kind} {key}?").format(
                kind=self.opts.verbose_name, key=instance.key
            ),
            "opts": self.opts,
            "original": instance,
            "run": instance.run,
            "preserved_filters": self.get_preserved_filters(request),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/runs/object_delete.html", context)

    def submit(
        self, request: HttpRequest, instance: ProjectedObject, body: dict[str, Any] | None
    ) -> Command | None:
        """Give the engine the command, wait for the outcome, and say it."""
        if body is None:
            messages.info(request, gettext("Nothing was changed."))
            return None
        return submit_one(request, instance.run, instance.key, body)

    def _after(self, request: HttpRequest, instance: ProjectedObject) -> str:
        if "_continue" in request.POST:
            return request.get_full_path()
        filters = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        return add_preserved_filters(filters, address)


def _carry_out(
    objects_admin: ProjectedObjectAdmin,
    request: HttpRequest,
    objects: QuerySet[Any],
    *,
    action: ListAction,
) -> HttpResponse | None:
    """An action as Django calls it."""
    return carried_out(objects_admin, request, objects, action)


@admin.register(OtherObject)
class OtherObjectAdmin(ProjectedObjectAdmin):
    """Objects of kinds without a table of their own."""

    list_display = ("key", "run", "kind")
