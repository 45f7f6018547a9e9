"""The REST API of scheduling attempts."""

import zlib

import orjson
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kscope.runs.api import whole_number
from scheduling.models import SchedulingAttempt
from scheduling.selectors import attempt_evidence

SHOWN = 200


class AttemptList(APIView):
    """A pod's attempts, newest first."""

    @extend_schema(
        parameters=[
            OpenApiParameter("pod", str, description="NAMESPACE/NAME"),
            OpenApiParameter("seq", int, description="only attempts told up to this event"),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "[{id, number, seq, at, result, …}]"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Attempts without their evidence."""
        attempts = SchedulingAttempt.objects.filter(run_id=run_id).defer("evidence")
        if pod := request.query_params.get("pod", ""):
            attempts = attempts.filter(pod=pod.removeprefix("pod/"))
        seq = whole_number(request, "seq")
        if seq is not None:
            attempts = attempts.filter(seq__lte=seq)
        return Response(
            [
                {
                    "id": each.pk,
                    "pod": each.pod,
                    "number": each.number,
                    "seq": each.seq,
                    "at": each.at,
                    "cycle": each.cycle,
                    "result": each.result,
                    "node": each.node,
                }
                for each in attempts.order_by("-seq")[:SHOWN]
            ]
        )


class AttemptDetail(APIView):
    """One attempt with its evidence."""

    @extend_schema(responses=OpenApiResponse(OpenApiTypes.OBJECT, "docs/evidence.md"))
    def get(self, request: Request, run_id: int, attempt_id: int) -> Response:
        """Every node's verdict and score; made again from a checkpoint on large clusters."""
        attempt = get_object_or_404(SchedulingAttempt, run_id=run_id, pk=attempt_id)
        if attempt.evidence is not None:
            return Response(orjson.loads(zlib.decompress(attempt.evidence)))
        return Response(attempt_evidence(attempt))
