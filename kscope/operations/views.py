"""`/healthz`, `/readyz`, `/metrics`, the page of workers, leases and queues, and its JSON."""

import redis
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kscope.operations.access import may_operate, may_read_metrics
from kscope.operations.health import CHECKS, readiness
from kscope.operations.metrics import CONTENT_TYPE_LATEST, metrics_text
from kscope.operations.overview import overview, summary
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.operations import Overview as Shown


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answers as soon as the web process serves; asks no other server."""
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """200 when all parts are ready, 503 otherwise; `?parts=database,valkey` asks for some only."""
    parts = [part for part in request.GET.get("parts", "").split(",") if part]
    unknown = [part for part in parts if part not in CHECKS]
    if unknown:
        message = gettext("parts is {parts}; it must be among {known}").format(
            parts=repr(unknown[0]), known=", ".join(CHECKS)
        )
        return JsonResponse({"message": message}, status=400)
    found = readiness(parts)
    return JsonResponse(found, status=200 if found["ready"] else 503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """What kscope counts of itself, for Prometheus and the like."""
    if not may_read_metrics(request):
        return HttpResponse(
            gettext("An admin's login or the metrics token is needed.") + "\n", status=401
        )
    try:
        return HttpResponse(metrics_text(), content_type=CONTENT_TYPE_LATEST)
    except (redis.RedisError, DatabaseError) as problem:
        return HttpResponse(f"{problem}\n", content_type="text/plain", status=503)


@never_cache
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """Workers, leases and queues."""
    if not may_operate(request):
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.get_full_path())
    found = overview()
    return render(request, "operations/overview.html", {"found": found, "summary": summary(found)})


class MayOperate(BasePermission):
    """See kscope.operations.access."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        """Admins, and every visitor where no login is required."""
        return may_operate(request)


class Operations(RestView):
    """Workers, leases and queues."""

    permission_classes = (MayOperate,)

    @extend_schema(
        responses=answer_class(Shown),
    )
    def get(self, request: Request) -> Response:
        """As on the page /operations/."""
        return Response(overview())
