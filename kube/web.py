"""The page that says how clients of Kubernetes reach a run, and the kubeconfig that they need."""

from typing import NotRequired, TypedDict

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kscope.accounts.access import Visitor, visitor_of
from kscope.runs.access import found_run, readable_scenarios
from kscope.runs.errors import ApplicationError
from kscope.runs.selectors import controllers_left, run_is_external
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.queries import query, words
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.open import Definition
from kube.addresses import api_root, moment_of
from kube.kubeconfig import TOKEN_PLACE, context_name, kubeconfig_text
from kube.openapi.of_kinds import kinds_text, schema_text


@require_GET
def connect(request: HttpRequest, run_id: int) -> HttpResponse:
    """How kubectl and other clients reach the run, now and at the instant `?at=` or `?seq=`."""
    run = found_run(request, run_id)
    instant = _instant(request)
    origin = request.build_absolute_uri("/").rstrip("/")
    visitor = visitor_of(request)
    context = {
        "run": run,
        "may_change": visitor.may_change(run),
        "is_external": run_is_external(run),
        "controllers": controllers_left(run),
        "may_start": visitor.may_create and _may_read(visitor, run.scenario_id),
        "instant": instant,
        "server": origin + api_root(run.pk),
        "context_name": context_name(run.pk),
        "past_context": context_name(run.pk, instant or "5m30s"),
        "kubeconfig": _text(origin, run_id, instant),
        "needs_token": settings.LOGIN_REQUIRED,
    }
    return render(request, "kube/connect.html", context)


@require_GET
def kubeconfig(request: HttpRequest, run_id: int) -> HttpResponse:
    """The kubeconfig as a file."""
    run = found_run(request, run_id)
    instant = _instant(request)
    origin = request.build_absolute_uri("/").rstrip("/")
    name = context_name(run.pk, instant)
    return HttpResponse(
        _text(origin, run_id, instant),
        content_type="application/yaml",
        headers={"Content-Disposition": f'attachment; filename="{name}.yaml"'},
    )


class ServedKind(TypedDict):
    """A kind that an object can be of."""

    api_version: str
    kind: str
    namespaced: bool


class RunSchemaAnswer(TypedDict):
    """The kinds; or, of one kind, the definitions that it is made of."""

    kinds: NotRequired[list[ServedKind]]
    root: NotRequired[str]
    """the name of its own definition"""
    definitions: NotRequired[dict[str, Definition]]
    """by name; a reference is {ref: NAME}"""


class RunSchema(RestView):
    """What manifests of the run's version may hold."""

    @extend_schema(
        parameters=[
            query(
                "SchemaQuery",
                {
                    "api_version": words("such as apps/v1; with kind"),
                    "kind": words("such as Deployment"),
                },
            )
        ],
        responses=answer_class(RunSchemaAnswer),
    )
    def get(self, request: Request, run_id: int) -> HttpResponse:
        """The kinds, or the OpenAPI definitions that one of them is made of."""
        run = found_run(request, run_id)
        kind, api_version = self.asked["kind"] or "", self.asked["api_version"] or ""
        text = schema_text(run.profile, api_version, kind) if kind else kinds_text()
        if text is None:
            message = gettext("{profile} has no kind {kind} of {api_version}").format(
                profile=run.profile, kind=kind, api_version=api_version
            )
            raise ApplicationError(message, status=404)
        return HttpResponse(text, content_type="application/json")


def _may_read(visitor: Visitor, scenario_id: int) -> bool:
    return readable_scenarios(visitor).filter(pk=scenario_id).exists()


def _text(origin: str, run_id: int, instant: str) -> str:
    token = TOKEN_PLACE if settings.LOGIN_REQUIRED else ""
    return kubeconfig_text(origin, run_id, instant=instant, token=token)


def _instant(request: HttpRequest) -> str:
    """The instant that the address names, if it is one."""
    instant = request.GET.get("at") or request.GET.get("seq") or ""
    return instant if moment_of(instant) else ""
