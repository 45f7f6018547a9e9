"""Actions of the lists of objects: each is commands for every object that was chosen.

An action that destroys, or that has to know more, asks on a page of its own first:

    list ──▶ question or form ──▶ commands ──▶ one message, on the list
      └────────── neither ───────────▲
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext, gettext_lazy

from kscope.runs.admin.outcomes import Body, submit_many
from kscope.runs.models import ProjectedObject

_TEMPLATE: Final = "admin/runs/list_action.html"
# The page of an action sends this along with what is chosen there.
CONFIRMED: Final = "confirmed"
# The question shows so many of the objects, and previews of as many.
_MOST_SHOWN: Final = 20

Chosen = Mapping[str, Any]


class NothingMore(forms.Form):
    """The form of an action that knows all that it needs."""


@dataclass(frozen=True, slots=True)
class ListAction:
    """An action: `bodies` gives the commands for one object, with what was filled in in `form`.

    With a `question`, or with fields in the form, it has a page of its own; `preview` says there
    what will become of an object.
    """

    name: str
    text: str | Promise
    bodies: Callable[[Any, Chosen], Sequence[Body]]
    question: str | Promise = ""
    form: type[forms.Form] = NothingMore
    preview: Callable[[Any], str] | None = None

    @property
    def asks(self) -> bool:
        """Whether it has a page of its own."""
        return bool(self.question) or bool(getattr(self.form, "base_fields", None))


def of_verb(
    name: str, text: str | Promise, *parts: Mapping[str, Any], question: str | Promise = ""
) -> ListAction:
    """An action of commands that are alike for each object, such as {"verb": "cordon"}."""
    commands = [dict(part) for part in (parts or ({"verb": name},))]

    def bodies(row: ProjectedObject, _: Chosen) -> Sequence[Body]:
        return [{**each, "object": row.entity} for each in commands]

    return ListAction(name, text, bodies, question)


DELETE: Final = of_verb(
    "delete",
    gettext_lazy("Delete"),
    question=gettext_lazy(
        "The engine gets a command to delete each of these. Finalizers and grace periods apply "
        "as in a cluster."
    ),
)


def carried_out(
    model_admin: ModelAdmin[Any],
    request: HttpRequest,
    rows: QuerySet[Any],
    action: ListAction,
) -> HttpResponse | None:
    """Do what *action* says to the *rows*; returns its page while that is to be filled in."""
    form = action.form(request.POST if CONFIRMED in request.POST else None)
    if action.asks and not (form.is_bound and form.is_valid()):
        return _page(model_admin, request, rows, action, form)
    chosen = form.cleaned_data if form.is_bound else {}
    submit_many(request, action.text, [(row, action.bodies(row, chosen)) for row in rows])
    return None


def _page(
    model_admin: ModelAdmin[Any],
    request: HttpRequest,
    rows: QuerySet[Any],
    action: ListAction,
    form: forms.Form,
) -> HttpResponse:
    shown = list(rows[:_MOST_SHOWN])
    number = rows.count()
    words = gettext("{action}: {kinds}")
    context = {
        **model_admin.admin_site.each_context(request),
        "title": words.format(action=action.text, kinds=model_admin.opts.verbose_name_plural),
        "opts": model_admin.opts,
        "action": action,
        "form": form,
        "shown": [(row, action.preview(row) if action.preview else "") for row in shown],
        "more": number - len(shown),
        "checkbox": ACTION_CHECKBOX_NAME,
        "chosen": _chosen(request),
        "across": request.POST.get("select_across") == "1",
        "confirmed": CONFIRMED,
        "media": model_admin.media + form.media,
    }
    status = 400 if form.is_bound else 200
    return TemplateResponse(request, _TEMPLATE, context, status=status)


def _chosen(request: HttpRequest) -> Iterable[str]:
    """What is sent once more: of all rows of a list, one stands for the others."""
    chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
    return chosen[:1] if request.POST.get("select_across") == "1" else chosen
