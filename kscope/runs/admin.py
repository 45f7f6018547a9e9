"""The admin: runs and what they recorded; editing an object gives the engine a command."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy

from kscope.runs import services
from kscope.runs.manifest_edits import change_body, difference, without_managers
from kscope.runs.models import (
    Checkpoint,
    Command,
    EventRecord,
    OtherObject,
    ProjectedObject,
    Run,
    Scenario,
)
from kscope.runs.web.fault_actions import FaultAction, FaultForm
from kscope.runs.web.parsers import JSONDecoder

_FORM_TEMPLATE = "admin/runs/object_form.html"


def seconds(nanoseconds: int | None) -> str:
    """Virtual time as the pages write it."""
    if nanoseconds is None:
        return ""
    return gettext("{seconds} s").format(seconds=f"{nanoseconds / 1e9:.3f}")


def _what_goes(run: Run, forks: int) -> str:
    """What is deleted with a run, and how many forks of it stay."""
    words = gettext("{run} with {events} events and all else it recorded")
    if forks:
        words = gettext(
            "{run} with {events} events and all else it recorded; {forks} fork(s) of it keep their "
            "own history"
        )
    return words.format(run=run, events=f"{run.head_seq:,}", forks=forks)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only the runner writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is added by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is changed by hand; it can be looked at."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is deleted by hand."""
        return False


@admin.register(Scenario)
class ScenarioAdmin(ReadOnlyAdmin):
    """What runs are made of."""

    list_display = ("name", "question", "is_demo", "created")
    list_filter = ("is_demo",)
    search_fields = ("name", "question")
    exclude = ("document",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Scenario]:
        """Without the documents, which can be large and are not shown here."""
        return super().get_queryset(request).defer("document")


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Runs, with a link to their board."""

    list_display = (
        "name",
        "board",
        "profile",
        "seed",
        "status",
        "head_seq",
        "virtual_time",
        "parent",
    )
    list_select_related = ("parent",)
    list_filter = ("status", "profile")
    search_fields = ("name", "scenario__name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Without the documents of scenarios, which can be large."""
        found = super().get_queryset(request).select_related("scenario")
        return found.defer("scenario__document")

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, run: Run) -> str:
        """The virtual time of the newest event."""
        return seconds(run.head_at)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Runs as a whole can be deleted, after a question."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def get_deleted_objects(
        self, objs: Iterable[Run], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """What Django's question lists: counts, as there may be millions of rows."""
        lines, counts = [], {"runs": 0, "events": 0}
        for run in objs:
            forks = Run.objects.filter(parent=run).count()
            lines.append(_what_goes(run, forks))
            counts["runs"] += 1
            counts["events"] += run.head_seq
        return lines, counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Run) -> None:
        """As the REST API does it."""
        services.run_delete(run=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        """The same for those that were chosen in the list."""
        for run in queryset:
            services.run_delete(run=run)

    @admin.display(description=gettext_lazy("board"))
    def board(self, run: Run) -> str:
        """A link."""
        return format_html('<a href="/runs/{}/">{}</a>', run.pk, gettext("open"))


@admin.register(EventRecord)
class EventRecordAdmin(ReadOnlyAdmin):
    """Every event of every run, searched by object, kind and message."""

    list_display = ("seq", "run", "virtual_time", "component", "kind", "object", "message")
    list_filter = ("component",)
    list_select_related = ("run",)
    search_fields = ("object", "kind", "message")
    list_per_page = 50
    show_full_result_count = False

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, event: EventRecord) -> str:
        """When it happened."""
        return seconds(event.at)


@admin.register(Command)
class CommandAdmin(ReadOnlyAdmin):
    """What users did to live runs, and what became of it."""

    list_display = ("id", "run", "verb", "object", "status", "outcome_seq", "reason", "created")
    list_filter = ("status", "verb")
    list_select_related = ("run",)
    search_fields = ("object", "reason")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Command]:
        """Without what was sent, which can be large; the page of one command reads its own."""
        return super().get_queryset(request).defer("body", "manifest")


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    """Where recovery and seeking begin."""

    list_display = ("run", "seq", "virtual_time", "steps", "digest")
    list_select_related = ("run",)
    fields = ("run", "seq", "at", "steps", "commands", "digest", "view_digest", "created")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Checkpoint]:
        """Without the blobs, which are not shown here."""
        return super().get_queryset(request).defer("engine", "view")

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, checkpoint: Checkpoint) -> str:
        """The virtual time it was taken at."""
        return seconds(checkpoint.at)


class IndentedJSONField(forms.JSONField):
    """JSON shown on many lines, for people."""

    def __init__(self, **options: Any) -> None:
        super().__init__(decoder=JSONDecoder, **options)

    def prepare_value(self, value: Any) -> Any:
        """See forms.JSONField; what did not parse is shown as it was typed."""
        if isinstance(value, InvalidJSONInput):
            return value
        return json.dumps(value, indent=2, ensure_ascii=False)


class ManifestForm(forms.Form):
    """The manifest as JSON. `command()` says what the user wants, as a command's body.

    The form carries what it was rendered with: the values, so that only what the user changed is
    asked for, and the resourceVersion, so that the engine refuses an edit of something older.
    Subclasses add fields for what is edited often; what they change goes on top of the manifest.
    """

    version = forms.CharField(widget=forms.HiddenInput, required=False)
    manifest = IndentedJSONField(
        widget=forms.Textarea(attrs={"rows": 30, "cols": 100, "spellcheck": "false"}),
        help_text=gettext_lazy(
            "The object as the simulated API server holds it. The engine decides what it takes."
        ),
    )

    def __init__(self, *args: Any, instance: ProjectedObject, **kwargs: Any) -> None:
        self.instance = instance
        version = instance.metadata("resourceVersion")
        shown = {**self.shown(without_managers(instance.manifest)), "version": version}
        kwargs["initial"] = {**shown, **kwargs.get("initial", {})}
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.show_hidden_initial = name != "version"
        self.order_fields([name for name in self.fields if name != "manifest"])

    def shown(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """The initial values of the fields."""
        return {"manifest": manifest}

    def edited(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """*manifest* with what the extra fields changed; the base form has none."""
        return manifest

    def clean_manifest(self) -> dict[str, Any]:
        """It must stay the manifest of this object."""
        manifest = self.cleaned_data["manifest"]
        old = self.instance.manifest
        if not isinstance(manifest, dict):
            raise forms.ValidationError(gettext("A manifest is a JSON object."))
        metadata = manifest.get("metadata")
        if not isinstance(metadata, dict):
            raise forms.ValidationError(gettext("metadata is a JSON object."))
        for field, value, wanted in (
            ("kind", manifest.get("kind"), old.get("kind")),
            ("metadata.name", metadata.get("name"), self.instance.metadata("name")),
            ("metadata.namespace", metadata.get("namespace"), self.instance.metadata("namespace")),
        ):
            if value != wanted:
                raise forms.ValidationError(
                    gettext("{field} is {value}; it must stay {wanted}.").format(
                        field=field, value=repr(value), wanted=repr(wanted)
                    )
                )
        return manifest

    def command(self) -> dict[str, Any] | None:
        """The body of the command that the edit amounts to; None when nothing was changed."""
        patch = difference(self._rendered(), self._typed())
        if not patch:
            return None
        # The version that was looked at goes along: an edit of something older is a conflict.
        version = self.cleaned_data["version"] or self.instance.metadata("resourceVersion")
        body = change_body(self.instance.entity, self.instance.manifest, patch)
        body["patch"].setdefault("metadata", {})["resourceVersion"] = version
        return body

    def show_beside(self, newer: ProjectedObject) -> list["Differing"]:
        """What differs between what was typed, which stays, and the *newer* object, if it is newer.

        Submitted again, the form changes that one.
        """
        version = newer.metadata("resourceVersion") or ""
        if version == self.cleaned_data["version"]:
            return []
        data = cast("QueryDict", self.data).copy()
        data["version"] = version
        self.data = data
        typed = self._typed()
        own = {path for path, _ in _leaves(difference(self._rendered(), typed))}
        return [
            Differing(
                field=".".join(path),
                newer=_as_text(_at(newer.manifest, path)),
                typed=_as_text(value),
                is_own=any(path[: len(each)] == each or each[: len(path)] == path for each in own),
            )
            for path, value in _leaves(difference(without_managers(newer.manifest), typed))
            if path != ("metadata", "resourceVersion")
        ]

    def _rendered(self) -> dict[str, Any]:
        """The manifest that the form was rendered with."""
        field = self.fields["manifest"]
        try:
            found = field.to_python(self.data.get(self.add_initial_prefix("manifest")))
        except forms.ValidationError:
            found = None
        return found if isinstance(found, dict) else without_managers(self.instance.manifest)

    def _typed(self) -> dict[str, Any]:
        """The manifest that the user wants."""
        return self.edited(self.cleaned_data["manifest"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A field in which an object and what a user typed differ, and whether the user changed it."""

    field: str
    newer: str
    typed: str
    is_own: bool


def _leaves(patch: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Any, Any]]:
    """The paths of a merge patch with what they are set to."""
    for name, part in patch.items():
        if isinstance(part, dict) and part:
            yield from _leaves(part, (*path, name))
        else:
            yield (*path, name), part


def _as_text(value: Any) -> str:
    return gettext("not set") if value is None else json.dumps(value, ensure_ascii=False)


def _at(manifest: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        manifest = manifest.get(name) if isinstance(manifest, dict) else None
    return manifest


class ProjectedObjectAdmin(admin.ModelAdmin):
    """Objects of live runs. Saving, deleting and adding submit commands; no row is written here."""

    ordering = ("-run_id", "key")
    form_class: type[ManifestForm] = ManifestForm
    change_form_template = _FORM_TEMPLATE
    # What can be let fail from the list; those of Django are replaced.
    faults: tuple[FaultAction, ...] = ()
    action_form = FaultForm
    list_select_related = ("run",)
    list_filter = (("run", admin.RelatedOnlyFieldListFilter),)
    search_fields = ("key",)

    @admin.display(description=gettext_lazy("phase"), ordering="phase")
    def phase_shown(self, instance: Any) -> str:
        """The phase of an object that has one; "Terminating" while it is being deleted, as in kubectl."""
        is_deleted = "deletionTimestamp" in (instance.manifest.get("metadata") or {})
        return "Terminating" if is_deleted else instance.phase

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The faults, for those who may change objects."""
        faults = self.faults if self.has_change_permission(request) else ()
        return {each.name: (partial(_inject, fault=each), each.name, each.text) for each in faults}

    def inject(
        self, request: HttpRequest, objects: Iterable[ProjectedObject], fault: FaultAction
    ) -> None:
        """Let *fault* happen to each object, as the form beside the action says."""
        asked = request.POST.get("asked", "").strip()
        if fault.asks and not asked:
            words = gettext("{action}: write the name of the {thing} beside it.")
            messages.error(request, words.format(action=fault.text, thing=fault.asks))
            return
        times = request.POST.get("times") or "1"
        for each in objects:
            self.submit(request, each, fault.body(each, asked, int(times)))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Objects are created by scenarios, uploads and the REST API."""
        return False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The form of one object; a POST becomes a command and says what came of it."""
        instance = self.get_object(request, object_id or "")
        if instance is None:
            return self._not_found(request, object_id or "")
        form = self.form_class(request.POST or None, instance=instance)
        may = self.has_change_permission(request, instance)
        differing: list[Differing] = []
        command = None
        if request.method == "POST" and may and form.is_valid():
            command = self.submit(request, instance, form.command())
            if command is None or command.status != Command.Status.REJECTED:
                return HttpResponseRedirect(self._after(request, instance))
            newer = self.get_object(request, object_id or "")
            differing = [] if newer is None else form.show_beside(newer)
        context = {
            **self.admin_site.each_context(request),
            "title": gettext("{kind} {key}").format(kind=self.opts.verbose_name, key=instance.key),
            "subtitle": str(instance.run),
            "opts": self.opts,
            "original": instance,
            "form": form,
            "run": instance.run,
            "board_url": f"/runs/{instance.run_id}/",
            "has_change_permission": may,
            "has_view_permission": True,
            "preserved_filters": self.get_preserved_filters(request),
            "refused": command,
            "differing": differing,
            "media": self.media + form.media,
            **(extra_context or {}),
        }
        status = 200 if command is None else 409
        return TemplateResponse(request, _FORM_TEMPLATE, context, status=status)

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
        command = services.command_submit(run=instance.run, body=body)
        command = services.command_wait(command=command)
        if command.status == Command.Status.APPLIED:
            messages.success(
                request,
                gettext("{key}: command {number} applied at seq {seq}, t = {time}.").format(
                    key=instance.key,
                    number=command.pk,
                    seq=command.outcome_seq,
                    time=seconds(command.at),
                ),
            )
            if command.reason:
                words = gettext("{name}: {reason}")
                messages.warning(request, words.format(name=instance.key, reason=command.reason))
        elif command.status == Command.Status.REJECTED:
            messages.error(
                request,
                gettext("{key}: command {number} rejected: {reason}").format(
                    key=instance.key, number=command.pk, reason=command.reason
                ),
            )
        else:
            messages.warning(
                request,
                gettext(
                    "{key}: command {number} is still waiting; no worker has taken the run yet. It "
                    "stays queued."
                ).format(key=instance.key, number=command.pk),
            )
        return command

    def _after(self, request: HttpRequest, instance: ProjectedObject) -> str:
        if "_continue" in request.POST:
            return request.get_full_path()
        filters = {"preserved_filters": self.get_preserved_filters(request), "opts": self.opts}
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        return add_preserved_filters(filters, address)


def _inject(
    objects_admin: ProjectedObjectAdmin,
    request: HttpRequest,
    objects: QuerySet[Any],
    *,
    fault: FaultAction,
) -> None:
    """An action as Django calls it."""
    objects_admin.inject(request, objects, fault)


@admin.register(OtherObject)
class OtherObjectAdmin(ProjectedObjectAdmin):
    """Objects of kinds without a table of their own."""

    list_display = ("key", "run", "kind")
