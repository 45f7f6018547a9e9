"""What a user may change of a run: play and pause, its budget, and whether it is kept."""

from collections.abc import Callable

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api_server.validation.report import LONGEST_ENTITY
from engine.input.budget import MOST
from kscope.runs import selectors, services
from kscope.runs.access import found_run
from kscope.runs.models import Run
from kscope.runs.web.api.once import once
from kscope.runs.web.contract.fields import Body
from kscope.runs.web.contract.schema import RUN
from kscope.runs.web.rest import RestView


def changed_run(
    request: Request, run_id: int, body: type[serializers.Serializer], change: Callable[..., Run]
) -> Response:
    """The run after *change* was called with what is in the request's *body*."""
    wanted = body(data=request.data)
    wanted.is_valid(raise_exception=True)
    run = change(run=found_run(request, run_id, to_change=True), **wanted.validated_data)
    return Response(selectors.run_dict(run))


class Retention(Body):
    """Whether the retention policy of this installation spares the run."""

    kept = serializers.BooleanField()


class RunRetention(RestView):
    """Whether the run may be deleted because of its age."""

    @extend_schema(request=Retention, responses=RUN)
    @once()
    def put(self, request: Request, run_id: int) -> Response:
        """Keep the run regardless of its age, or no longer."""
        return changed_run(request, run_id, Retention, services.run_keep)


class Trial(Body):
    """The change that is tried in a fork, and the result that a diagnosis predicted."""

    order = serializers.CharField(max_length=500)
    node = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    at = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=2**62,
        help_text="when the object should get there, virtual nanoseconds; null if not computed",
    )
    outcome = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=500,
        help_text="the result in words, where it is no node: it is bound to data-1",
    )


class Transport(Body):
    """Play, pause, step, or set the speed."""

    action = serializers.ChoiceField(["play", "pause", "step", "speed"])
    unit = serializers.ChoiceField(["event", "cycle"], required=False, default="event")
    speed = serializers.ChoiceField(
        Run.Speed.choices, required=False, help_text="default: as it is"
    )
    until_pod = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=LONGEST_ENTITY,
        help_text="entity id; play until this pod is bound or refused, or to the trial's `at` if it names no node",
    )
    trial = Trial(required=False, allow_null=True)


class RunTransport(RestView):
    """Playing, pausing and stepping."""

    @extend_schema(request=Transport, responses=RUN)
    @once()
    def post(self, request: Request, run_id: int) -> Response:
        """Play, pause, step, or set the speed."""
        return changed_run(request, run_id, Transport, services.run_transport)


class BudgetChange(Body):
    """The parts of a budget to change; the others stay as they are."""

    events = serializers.IntegerField(required=False, min_value=1, max_value=MOST)
    objects = serializers.IntegerField(required=False, min_value=1, max_value=MOST)
    time = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="virtual nanoseconds"
    )
    memory = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="bytes of the worker's process"
    )
    play = serializers.BooleanField(
        required=False, default=False, help_text="continue, if that part was used up"
    )


class RunBudget(RestView):
    """How much a run may use before it stops."""

    @extend_schema(request=BudgetChange, responses=RUN)
    @once()
    def patch(self, request: Request, run_id: int) -> Response:
        """Raise or lower parts of the budget."""
        return changed_run(request, run_id, BudgetChange, _budget_change)


def _budget_change(*, run: Run, play: bool, **wanted: int | None) -> Run:
    return services.run_budget_change(run=run, wanted=wanted, play=play)
