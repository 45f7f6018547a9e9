"""The page on which an object is created: which run, which kind, and its manifest.

run and kind ──▶ a text to begin with ──▶ one command `create` ──▶ the object, or why not
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy

from engine.objects.kinds import entity_id
from kscope.runs.admin.links import is_number
from kscope.runs.admin.outcomes import is_no_success, submit_one
from kscope.runs.admin.yaml_fields import ManifestField, remark_text
from kscope.runs.app_registry import registry
from kscope.runs.editing import texts
from kscope.runs.editing.beginnings import BEGINNINGS, Beginning
from kscope.runs.models import Command, OtherObject, ProjectedObject, Run
from kscope.words.joining import listed

_TEMPLATE: Final = "admin/runs/object_add.html"
# The newest runs are offered; the list of objects leads to every other one.
_MOST_RUNS: Final = 200
# Of a list that shows one run.
_RUN_FILTER: Final = "run__id__exact"

Kinds = Mapping[str, Beginning]


class PlaceForm(forms.Form):
    """In which run the object is created, and of which kind it is."""

    run = forms.ModelChoiceField(
        queryset=Run.objects.none(), label=gettext_lazy("Run"), empty_label=None
    )
    kind = forms.ChoiceField(label=gettext_lazy("Kind"))

    def __init__(self, data: Any, *, kinds: Kinds, **options: Any) -> None:
        super().__init__(data, **options)
        choices = [(key, f"{one.kind} ({one.api_version})") for key, one in kinds.items()]
        self.fields["kind"] = forms.ChoiceField(label=gettext_lazy("Kind"), choices=choices)
        runs: Any = self.fields["run"]
        runs.queryset = _offered_runs(str((data or {}).get("run") or ""))


def _offered_runs(wanted: str) -> QuerySet[Run]:
    """The newest runs that can go on, and the one that is *wanted*."""
    newest = Run.objects.exclude(status=Run.Status.FAILED).order_by("-pk")
    offered = set(newest.values_list("pk", flat=True)[:_MOST_RUNS])
    if is_number(wanted):
        offered.add(int(wanted))
    found = newest.filter(pk__in=offered).select_related("scenario")
    return found.defer("scenario__report")


class NewObjectForm(forms.Form):
    """The manifest of the new object."""

    manifest = ManifestField(
        help_text=gettext_lazy(
            "Ctrl-Space completes a field or a value; pointing at a field explains it. What is left "
            "out, the simulated API server fills in."
        )
    )

    def __init__(self, *args: Any, run: Run, kinds: Kinds, **options: Any) -> None:
        super().__init__(*args, **options)
        self._run = run
        self._kinds = {one.kind for one in kinds.values()}
        self.fields["manifest"].widget.attrs |= {"data-run": run.pk}

    def clean_manifest(self) -> dict[str, Any]:
        """One object of one of the kinds, as the version of the run knows it.

        The field has refused several: one could be created, and the next one refused.
        """
        asked = texts.created(self.data["manifest"], profile=self._run.profile)
        if asked.problems:
            raise forms.ValidationError([remark_text(each) for each in asked.problems])
        manifest: dict[str, Any] = asked.commands[0]["manifest"]
        if manifest["kind"] not in self._kinds:
            words = gettext("kind: expected {known}, found {found}")
            known = listed(sorted(self._kinds))
            raise forms.ValidationError(words.format(known=known, found=manifest["kind"]))
        return manifest


def kinds_of(model: type[ProjectedObject]) -> Kinds:
    """The kinds whose objects are rows of *model*; of the table of others, all that are in none."""

    def is_there(one: Beginning) -> bool:
        prefix = entity_id(one.kind, "").removesuffix("/")
        return registry.projections.get(prefix, OtherObject) is model

    return {key: one for key, one in BEGINNINGS.items() if is_there(one)}


def added(
    model_admin: ModelAdmin[Any], request: HttpRequest, extra_context: Mapping[str, Any] | None
) -> HttpResponse:
    """The page; a POST is a command, and says what came of it."""
    if not model_admin.has_add_permission(request):
        raise PermissionDenied
    kinds = kinds_of(model_admin.model)
    place = PlaceForm(_place_of(request, kinds), kinds=kinds)
    context: dict[str, Any] = {
        **model_admin.admin_site.each_context(request),
        "title": gettext("Add {kind}").format(kind=model_admin.opts.verbose_name),
        "opts": model_admin.opts,
        "place": place,
        "filters": request.GET.get("_changelist_filters", ""),
        "media": model_admin.media,
        **(extra_context or {}),
    }
    if not (place.is_bound and place.is_valid()):
        return TemplateResponse(request, _TEMPLATE, context)
    run: Run = place.cleaned_data["run"]
    beginning = kinds[place.cleaned_data["kind"]]
    text = beginning.text(_free_name(run, beginning))
    initial = {"manifest": text}
    form = NewObjectForm(request.POST or None, run=run, kinds=kinds, initial=initial)
    command, is_refused = None, False
    if request.method == "POST" and form.is_valid():
        manifest: dict[str, Any] = form.cleaned_data["manifest"]
        body = {"verb": "create", "manifest": manifest}
        command = submit_one(request, run, manifest["metadata"]["name"], body)
        is_refused = is_no_success(command)
        if command is not None and not is_refused:
            return HttpResponseRedirect(_after(model_admin, request, run, command))
    context |= {"form": form, "run": run, "refused": command}
    status = 409 if is_refused else 400 if form.errors else 200
    return TemplateResponse(request, _TEMPLATE, context, status=status)


def _place_of(request: HttpRequest, kinds: Kinds) -> dict[str, str] | None:
    """The run and the kind of the address, or else the run that the list was filtered by."""
    filters = QueryDict(request.GET.get("_changelist_filters", ""))
    run = request.GET.get("run") or filters.get(_RUN_FILTER)
    return {"run": run, "kind": request.GET.get("kind") or next(iter(kinds))} if run else None


def _free_name(run: Run, beginning: Beginning) -> str:
    """The usual name of a new object, with a number where that is taken."""
    model, _ = registry.place_of(entity_id(beginning.kind, beginning.name))
    stem = beginning.name.removesuffix(beginning.ending)
    rows = model.objects.filter(run=run, name__startswith=stem)
    taken = set(rows.values_list("name", flat=True))
    names = (beginning.numbered(number) for number in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


def _after(model_admin: ModelAdmin[Any], request: HttpRequest, run: Run, command: Command) -> str:
    """The object, if it is asked for and there already; else the list of those of its run."""
    names = (model_admin.opts.app_label, model_admin.opts.model_name)
    model, key = registry.place_of(command.object)
    row = model.objects.filter(run=run, key=key).first() if "_continue" in request.POST else None
    filters = request.GET.get("_changelist_filters") or urlencode({_RUN_FILTER: run.pk})
    if row is None:
        return f"{reverse('admin:{}_{}_changelist'.format(*names))}?{filters}"
    address = reverse("admin:{}_{}_change".format(*names), args=(row.pk,))
    kept = urlencode({"_changelist_filters": filters})
    return add_preserved_filters({"preserved_filters": kept, "opts": model_admin.opts}, address)
