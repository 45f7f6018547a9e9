"""Runs: list, make, show, share, delete and fork them."""

from typing import Any

from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from engine.input.header.external import EXTERNAL_CONTROLLERS
from engine.versions.gates import GATES
from engine.versions.registry import VERSIONS
from kscope.accounts.access import visitor_of
from kscope.runs import selectors, services
from kscope.runs.access import found_run, readable_runs, readable_scenarios
from kscope.runs.editing.configurations import configuration_of
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario
from kscope.runs.triages import with_stuck
from kscope.runs.web.api.once import once
from kscope.runs.web.api.sharing import Sharing, wanted_visibility
from kscope.runs.web.contract.fields import Body
from kscope.runs.web.contract.paging import page_of, page_schema, paged
from kscope.runs.web.contract.queries import MOST, Field, one_of, query
from kscope.runs.web.contract.schema import RUN
from kscope.runs.web.rest import RestView

MOST_RUNS, USUAL_RUNS = 500, 100


class ReadableScenario(serializers.PrimaryKeyRelatedField):
    """A scenario that the visitor may see."""

    def get_queryset(self) -> Any:
        """See rest_framework."""
        if "request" not in self.context:  # the schema is being written
            return Scenario.objects.all()
        return readable_scenarios(visitor_of(self.context["request"]))

    def fail(self, key: str, **kwargs: Any) -> None:
        """See rest_framework; one that is not to be seen is as one that is not there."""
        if key == "does_not_exist":
            raise NotFound(
                gettext("There is no scenario {number}.").format(number=kwargs["pk_value"])
            )
        super().fail(key, **kwargs)


@extend_schema_field(
    {
        "type": "object",
        "propertyNames": {"enum": sorted(GATES)},
        "additionalProperties": {"type": "boolean"},
    }
)
class FeatureGates(serializers.DictField):
    """Feature gates by name; each version has its own of them."""


def _feature_gates(default: str) -> serializers.Field[Any, Any, Any, Any]:
    return FeatureGates(
        child=serializers.BooleanField(),
        required=False,
        allow_null=True,
        default=None,
        help_text=f"feature gates to turn on or off; {default}",
    )


def _profile(default: str) -> Field:
    return one_of(VERSIONS, f"the version of Kubernetes; default: {default}")


def _seed(default: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1 - services.SAFE_SEED,
        max_value=services.SAFE_SEED - 1,
        help_text=f"of its random generators; default: {default}",
    )


def _tie_break(default: str) -> Field:
    return one_of(
        services.TIE_BREAKS, f"how one of several best nodes is chosen; default: {default}"
    )


@extend_schema_field(
    {
        "oneOf": [
            {"type": "object", "additionalProperties": True},
            {"type": "string"},
            {"type": "null"},
        ]
    },
    component_name="Configuration",
)
class Configuration(serializers.Field[Any, Any, Any, Any]):
    """A KubeSchedulerConfiguration or a Policy, as a mapping or as YAML."""

    def to_internal_value(self, data: Any) -> dict[str, Any] | None:
        """See rest_framework. Raises ApplicationError."""
        if not isinstance(data, str | dict):
            raise serializers.ValidationError(gettext("expected a mapping, or a text"))
        return configuration_of(data)

    def to_representation(self, value: Any) -> Any:
        """See rest_framework."""
        return value


def _configuration(default: str) -> Configuration:
    return Configuration(
        required=False,
        allow_null=True,
        default=None,
        help_text=f"KubeSchedulerConfiguration or Policy, as a mapping or as YAML; default: {default}",
    )


class Duration(serializers.CharField):
    """A duration as people write them."""

    def to_internal_value(self, data: Any) -> int:
        """See rest_framework: in virtual ns. Raises ApplicationError."""
        return services.duration_chosen(super().to_internal_value(data))


class NewRun(Body):
    """What a run is made of."""

    scenario = ReadableScenario(queryset=Scenario.objects.all())
    profile = _profile("the scenario's, else the one that its files tell, else the newest")
    feature_gates = _feature_gates("default: the scenario's")
    external_scheduler = serializers.BooleanField(
        required=False,
        default=False,
        help_text="leave the pods of default-scheduler, or else of the scenario's first scheduler, "
        "to a client of the run's Kubernetes API",
    )
    external_controllers = serializers.ListField(
        child=serializers.ChoiceField(EXTERNAL_CONTROLLERS),
        required=False,
        help_text="controllers that are left to a client of the run's Kubernetes API, beside the "
        "scenario's",
    )
    configuration = _configuration("the scenario's")
    seed = _seed("the scenario's, else 0")
    tie_break = _tie_break("random")
    play = serializers.BooleanField(required=False, default=False)
    speed = serializers.ChoiceField(
        Run.Speed.choices,
        required=False,
        help_text="default: 10; with external_scheduler or external_controllers 1",
    )
    duration = Duration(
        required=False,
        help_text="it plays at least until then, whether anything is due or not: 90s, 1m30s, 12h; "
        "default: the scenario's, if it has one",
    )


class RunList(RestView):
    """Runs, newest first."""

    @extend_schema(
        operation_id="runs_list",
        parameters=[query("RunQuery", paged(MOST_RUNS, USUAL_RUNS))],
        responses=page_schema(RUN, "RunPage"),
    )
    def get(self, request: Request) -> Response:
        """The runs that the visitor may see, newest first."""
        page = page_of(self.asked, USUAL_RUNS)
        readable = readable_runs(visitor_of(request)).filter(is_of_lessons=False)
        runs = with_stuck(Run.with_worker(readable))
        if page.after is not None:
            runs = runs.filter(pk__lt=page.after)
        found, more = page.cut(runs[: page.wanted], lambda run: run.pk)
        return Response({"items": [selectors.run_dict(run) for run in found], "continue": more})

    @extend_schema(request=NewRun, responses={201: RUN})
    @once()
    def post(self, request: Request) -> Response:
        """Make a run of a scenario; it belongs to the account that makes it, and is private."""
        wanted = NewRun(data=request.data, context={"request": request})
        wanted.is_valid(raise_exception=True)
        owner_id = visitor_of(request).account_id
        run = services.run_create(**wanted.validated_data, owner_id=owner_id)
        return Response(selectors.run_dict(run), status=201)


class RunDetail(RestView):
    """One run."""

    @extend_schema(responses=RUN)
    def get(self, request: Request, run_id: int) -> Response:
        """The run as it stands, and how many forks of it the visitor may see."""
        run = found_run(request, run_id)
        forks = readable_runs(visitor_of(request)).filter(parent=run).count()
        return Response({**selectors.run_dict(run), "forks": forks})

    @extend_schema(request=Sharing, responses=RUN)
    @once()
    def patch(self, request: Request, run_id: int) -> Response:
        """Change who may see it."""
        run = found_run(request, run_id, to_change=True)
        services.owned_share(thing=run, visibility=wanted_visibility(request))
        return Response(selectors.run_dict(run))

    @extend_schema(responses={204: None})
    @once()
    def delete(self, request: Request, run_id: int) -> Response:
        """Delete the run with all it recorded."""
        services.run_delete(run=found_run(request, run_id, to_change=True))
        return Response(status=204)


class NewFork(Body):
    """Where a fork begins, and what is otherwise in it than in its parent."""

    seq = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=MOST,
        help_text="after this event; default: newest",
    )
    name = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    profile = _profile("the parent's")
    feature_gates = _feature_gates("default: the parent's")
    configuration = _configuration("the parent's")
    seed = _seed("the parent's")
    tie_break = _tie_break("the parent's")
    play = serializers.BooleanField(required=False, default=False)
    speed = serializers.ChoiceField(
        Run.Speed.choices, required=False, help_text="default: the parent's"
    )
    afresh = serializers.BooleanField(
        required=False,
        default=False,
        help_text="compute it again from the beginning instead of copying its history",
    )
    external_scheduler = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="as in its parent; the other choice is refused",
    )


def _at_its_goal(made: dict[str, Any]) -> Response:
    """A fork, once it is where it begins."""
    fork = services.run_wait_for_goal(run=Run.described().get(pk=made["id"]))
    return Response(selectors.run_dict(fork), status=201)


class RunFork(RestView):
    """Copies of a run that go on differently from an instant on."""

    @extend_schema(request=NewFork, responses={201: RUN})
    @once(finish=_at_its_goal)
    def post(self, request: Request, run_id: int) -> Response:
        """Make one; answers once it is where it begins, or after five seconds (see `goal_at`)."""
        run = found_run(request, run_id)
        wanted = NewFork(data=request.data)
        wanted.is_valid(raise_exception=True)
        owner_id = visitor_of(request).account_id
        options = dict(wanted.validated_data)
        if options.pop("external_scheduler") not in (None, selectors.run_is_external(run)):
            raise ApplicationError(
                gettext(
                    "external_scheduler: a client decides on the pods of a fork as on those of its "
                    "parent; start a new run to change that"
                )
            )
        fork = services.run_fork(run=run, **options, owner_id=owner_id)
        return Response({"id": fork.pk}, status=201)
