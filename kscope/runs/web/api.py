"""The REST API of runs and scenarios. Errors are `{"message", …}` with a fitting status."""

import json
import re
from typing import Any

import orjson
import yaml
from django.core.exceptions import SuspiciousOperation
from django.db import connection
from django.http import HttpResponse, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
    inline_serializer,
)
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.parsers import MultiPartParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, exception_handler

from kscope.accounts.access import Visibility, visitor_of
from kscope.runs import selectors, services
from kscope.runs.access import found_run, found_scenario, readable_runs, readable_scenarios
from kscope.runs.aside import Question
from kscope.runs.aside.question import QUERY_SECONDS
from kscope.runs.compare.comparing import runs_compared
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, Run, Scenario
from kscope.runs.stream.counters import run_counters
from kscope.runs.stream.export import CONTENT_TYPES, event_json, event_lines, event_query
from kscope.runs.web.answers import EngineAnswer, EngineView
from kscope.runs.web.body_limit import why_refused
from kscope.runs.web.parsers import JSONParser
from kscope.runs.web.past import object_at, object_now
from kscope.runs.web.uploads import upload_take
from kscope.sim.input.budget import MOST
from kscope.sim.objects.validation import LONGEST_ENTITY

MOST_EVENTS = 1_000
MOST_RUNS = 500


def handle_errors(problem: Exception, context: dict[str, Any]) -> Response | None:
    """Every refusal in one shape: a message for people, and what else may help."""
    if isinstance(problem, ApplicationError):
        return Response(problem.body, status=problem.status, headers=problem.headers)
    if isinstance(problem, SuspiciousOperation):
        words, status = why_refused(problem)
        return Response({"message": f"Nothing was saved: {words}."}, status=status)
    response = exception_handler(problem, context)
    if response is not None and isinstance(response.data, dict) and "detail" in response.data:
        response.data = {"message": str(response.data["detail"])}
    elif response is not None:
        response.data = {"message": "The request is not valid.", "fields": response.data}
    return response


def whole_number(request: Request, name: str) -> int | None:
    """A query parameter that must be a whole number, not below 0. Raises ApplicationError."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ApplicationError(f"{name} is {text!r}; it must be a whole number, not below 0")
    return int(text)


RUN = inline_serializer(
    "Run",
    {
        "id": serializers.IntegerField(),
        "name": serializers.CharField(),
        "profile": serializers.CharField(),
        "seed": serializers.IntegerField(),
        "tie_break": serializers.CharField(),
        "status": serializers.ChoiceField(Run.Status.choices),
        "speed": serializers.ChoiceField(Run.Speed.choices),
        "head": serializers.IntegerField(help_text="seq of the newest event"),
        "head_at": serializers.IntegerField(help_text="virtual nanoseconds"),
        "next_at": serializers.IntegerField(allow_null=True),
        "scenario": serializers.CharField(),
        "scenario_id": serializers.IntegerField(),
        "question": serializers.CharField(),
        "error": serializers.CharField(),
        "differs_from": serializers.IntegerField(
            allow_null=True,
            help_text="another version recorded it, and this one differs from this event on",
        ),
        "digest": serializers.CharField(help_text="over the whole history"),
        "parent": serializers.IntegerField(allow_null=True, help_text="the run it is a fork of"),
        "forked_seq": serializers.IntegerField(allow_null=True, help_text="the parent's event"),
        "forked_at": serializers.IntegerField(allow_null=True, help_text="virtual nanoseconds"),
        "goal_at": serializers.IntegerField(
            allow_null=True, help_text="where a fork is being brought to; null once it is there"
        ),
        "kept": serializers.BooleanField(help_text="never deleted or thinned out by age"),
        "budget": serializers.DictField(
            child=serializers.IntegerField(),
            help_text="what the run may take: events, objects, time (virtual ns), memory (bytes)",
        ),
        "used": serializers.DictField(
            child=serializers.IntegerField(), help_text="and what it has taken of each"
        ),
        "stopped_by": serializers.CharField(help_text="the part that is used up; or empty"),
        "stop_reason": serializers.CharField(),
        "not_modelled": serializers.ListField(
            child=serializers.DictField(), help_text="kinds that the run leaves out, and its effect"
        ),
        "owner": serializers.CharField(help_text="an account's name; empty where nobody logs in"),
        "visibility": serializers.ChoiceField(Visibility.choices),
        "created": serializers.CharField(),
    },
)


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
            raise NotFound(f"There is no scenario {kwargs['pk_value']}.")
        super().fail(key, **kwargs)


class NewRun(serializers.Serializer):
    """What a run is made of."""

    scenario = ReadableScenario(queryset=Scenario.objects.all())
    profile = serializers.CharField(required=False, default="")
    seed = serializers.IntegerField(required=False, allow_null=True, default=None)
    tie_break = serializers.CharField(required=False, default="random")
    play = serializers.BooleanField(required=False, default=False)
    speed = serializers.ChoiceField(Run.Speed.choices, required=False, default=Run.Speed.TEN)


class Sharing(serializers.Serializer):
    """Who may see a run or a scenario, besides its owner."""

    visibility = serializers.ChoiceField(Visibility.choices)


def wanted_visibility(request: Request) -> str:
    """The visibility in the body of a request."""
    wanted = Sharing(data=request.data)
    wanted.is_valid(raise_exception=True)
    return wanted.validated_data["visibility"]


class RunList(APIView):
    """Runs, newest first."""

    @extend_schema(
        operation_id="runs_list",
        parameters=[
            OpenApiParameter("limit", int, description=f"at most so many; {MOST_RUNS} at most"),
            OpenApiParameter("before", int, description="only runs with a lower id"),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{runs: [Run], next}"),
    )
    def get(self, request: Request) -> Response:
        """A page of runs that the visitor may see; `next` is the `before` of the page that follows, or null."""
        size = min(whole_number(request, "limit") or 100, MOST_RUNS)
        before = whole_number(request, "before")
        runs = readable_runs(visitor_of(request))
        if before is not None:
            runs = runs.filter(pk__lt=before)
        found = list(runs[: size + 1])
        page = found[:size]
        return Response(
            {
                "runs": [selectors.run_dict(run) for run in page],
                "next": page[-1].pk if len(found) > size else None,
            }
        )

    @extend_schema(request=NewRun, responses={201: RUN})
    def post(self, request: Request) -> Response:
        """Make a run of a scenario; it belongs to whoever makes it, and is private."""
        wanted = NewRun(data=request.data, context={"request": request})
        wanted.is_valid(raise_exception=True)
        owner_id = visitor_of(request).account_id
        run = services.run_create(**wanted.validated_data, owner_id=owner_id)
        return Response(selectors.run_dict(run), status=201)


class RunDetail(APIView):
    """One run."""

    @extend_schema(responses=RUN)
    def get(self, request: Request, run_id: int) -> Response:
        """The run as it stands."""
        return Response(selectors.run_dict(found_run(request, run_id)))

    @extend_schema(request=Sharing, responses=RUN)
    def patch(self, request: Request, run_id: int) -> Response:
        """Change who may see it."""
        run = found_run(request, run_id, to_change=True)
        services.owned_share(thing=run, visibility=wanted_visibility(request))
        return Response(selectors.run_dict(run))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, run_id: int) -> Response:
        """Delete the run with all it recorded."""
        services.run_delete(run=found_run(request, run_id, to_change=True))
        return Response(status=204)


class KeepWish(serializers.Serializer):
    """Whether retention is to spare the run."""

    kept = serializers.BooleanField()


class RunKept(APIView):
    """Whether the retention policy of this installation spares the run."""

    @extend_schema(request=KeepWish, responses=RUN)
    def put(self, request: Request, run_id: int) -> Response:
        """Keep the run whatever its age, or no longer."""
        wish = KeepWish(data=request.data)
        wish.is_valid(raise_exception=True)
        run = found_run(request, run_id, to_change=True)
        run = services.run_keep(run=run, **wish.validated_data)
        return Response(selectors.run_dict(run))


class Promise(serializers.Serializer):
    """The change that is tried, and what a diagnosis says will come of it."""

    order = serializers.CharField(max_length=500)
    node = serializers.CharField(required=False, allow_blank=True, default="", max_length=253)
    at = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=0,
        max_value=2**62,
        help_text="when the pod is to be bound, virtual nanoseconds; null where that was not run",
    )


class TransportWish(serializers.Serializer):
    """Play, pause, step, or another speed."""

    action = serializers.ChoiceField(["play", "pause", "step", "speed"])
    unit = serializers.ChoiceField(["event", "cycle"], required=False, default="event")
    speed = serializers.ChoiceField(Run.Speed.choices, required=False, default="")
    until_pod = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        max_length=LONGEST_ENTITY,
        help_text="entity id; play until this pod is bound or refused",
    )
    trial = Promise(required=False, allow_null=True, default=None)


class RunTransport(APIView):
    """The transport keys."""

    @extend_schema(request=TransportWish, responses=RUN)
    def post(self, request: Request, run_id: int) -> Response:
        """Press one."""
        wish = TransportWish(data=request.data)
        wish.is_valid(raise_exception=True)
        run = found_run(request, run_id, to_change=True)
        run = services.run_transport(run=run, **wish.validated_data)
        return Response(selectors.run_dict(run))


class BudgetWish(serializers.Serializer):
    """The parts of a budget to be changed; what is left out stays."""

    events = serializers.IntegerField(required=False, min_value=1, max_value=MOST)
    objects = serializers.IntegerField(required=False, min_value=1, max_value=MOST)
    time = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="virtual nanoseconds"
    )
    memory = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST, help_text="bytes of the worker's process"
    )
    play = serializers.BooleanField(
        required=False, default=False, help_text="go on, if that part was used up"
    )


class RunBudget(APIView):
    """What a run may take before it stops."""

    @extend_schema(request=BudgetWish, responses=RUN)
    def patch(self, request: Request, run_id: int) -> Response:
        """Raise or lower parts of it."""
        wish = BudgetWish(data=request.data)
        wish.is_valid(raise_exception=True)
        wanted = dict(wish.validated_data)
        play = wanted.pop("play")
        run = found_run(request, run_id, to_change=True)
        run = services.run_budget_change(run=run, wanted=wanted, play=play)
        return Response(selectors.run_dict(run))


class NewFork(serializers.Serializer):
    """Where a fork begins, and what is otherwise in it than in its parent."""

    seq = serializers.IntegerField(
        required=False, allow_null=True, default=None, help_text="after this event; default: newest"
    )
    name = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)
    profile = serializers.CharField(required=False, allow_blank=True, default="")
    seed = serializers.IntegerField(required=False, allow_null=True, default=None)
    tie_break = serializers.CharField(required=False, allow_blank=True, default="")
    play = serializers.BooleanField(required=False, default=False)
    afresh = serializers.BooleanField(
        required=False,
        default=False,
        help_text="compute it again from the beginning instead of copying its history",
    )


class RunFork(APIView):
    """Copies of a run that go another way from an instant on."""

    @extend_schema(request=NewFork, responses={201: RUN})
    def post(self, request: Request, run_id: int) -> Response:
        """Make one; answers once it is where it begins, or after five seconds (see `goal_at`)."""
        wanted = NewFork(data=request.data)
        wanted.is_valid(raise_exception=True)
        owner_id = visitor_of(request).account_id
        run = found_run(request, run_id)
        fork = services.run_fork(run=run, **wanted.validated_data, owner_id=owner_id)
        fork = services.run_wait_for_goal(run=fork)
        return Response(selectors.run_dict(fork), status=201)


class RunState(APIView):
    """The view state at any instant."""

    @extend_schema(
        parameters=[
            OpenApiParameter("seq", int, description="after this event; the head when absent"),
            OpenApiParameter("at", int, description="or at this virtual time, in nanoseconds"),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{seq, at, state, events}"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Folded from the nearest checkpoint."""
        run = found_run(request, run_id)
        seq, at = whole_number(request, "seq"), whole_number(request, "at")
        if seq is None:
            seq = run.head_seq if at is None else selectors.run_seq_at(run, at=at)
        instant = selectors.run_state_at(run, seq=seq)
        return Response(
            {
                "seq": instant.seq,
                "at": instant.at,
                "state": instant.state,
                "events": selectors.run_newest_events(run, seq=seq),
            }
        )


class RunCompare(EngineView):
    """Two runs beside each other."""

    @extend_schema(
        parameters=[
            OpenApiParameter("with", int, required=True, description="the other run"),
            OpenApiParameter("at", int, description="virtual ns; default: what both have reached"),
            OpenApiParameter("seq", int, description="or after this event of this run"),
            OpenApiParameter("with_seq", int, description="and after this one of the other"),
            OpenApiParameter("after", int, description="events after this one of this run"),
            OpenApiParameter("with_after", int, description="and after this one of the other"),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "docs/compare.md"),
    )
    def get(self, request: Request, run_id: int) -> EngineAnswer:
        """Where they part, which pods are elsewhere, and both in numbers."""
        other = whole_number(request, "with")
        if other is None:
            raise ApplicationError("with is missing: the run to compare with")
        names = ("at", "seq", "with_seq", "after", "with_after")
        places = {name: whole_number(request, name) for name in names}
        for each in (run_id, other):
            found_run(request, each)
        arguments = {"run_id": run_id, "with_id": other, **places}
        return EngineAnswer(Question(runs_compared, arguments, run_id, seconds=QUERY_SECONDS))


_EVENT_PARAMETERS = [
    OpenApiParameter("after", int, description="only events with a higher seq"),
    OpenApiParameter("before", int, description="only events with a lower seq"),
    OpenApiParameter("limit", int, description=f"at most so many; {MOST_EVENTS} for json"),
    OpenApiParameter("kind", str, description="kinds, separated by commas"),
    OpenApiParameter("object", str, description="entity id; one that ends in / or * is a prefix"),
    OpenApiParameter("changes", str, description="entity id whose attributes the event changed"),
    OpenApiParameter("component", str, description="components, separated by commas"),
    OpenApiParameter("from", int, description="virtual nanoseconds, included"),
    OpenApiParameter("to", int, description="virtual nanoseconds, included"),
    OpenApiParameter("text", str, description="part of the message"),
    OpenApiParameter("order", str, enum=["asc", "desc"]),
    OpenApiParameter("format", str, enum=["json", "ndjson", "csv"]),
]


class RunEvents(APIView):
    """The event timeline: a page of JSON with a cursor, or the whole of it as a stream."""

    @extend_schema(
        parameters=_EVENT_PARAMETERS,
        responses=OpenApiResponse(
            OpenApiTypes.OBJECT, "{run, lowest, highest, events, next}, or a stream of events"
        ),
    )
    def get(self, request: Request, run_id: int) -> Response | StreamingHttpResponse:
        """Events that match, in order of seq."""
        run = found_run(request, run_id)
        form = request.query_params.get("format", "json")
        if form not in CONTENT_TYPES:
            raise ApplicationError(f"format is {form!r}; it must be json, ndjson or csv")
        order = request.query_params.get("order", "asc")
        if order not in ("asc", "desc"):
            raise ApplicationError(f"order is {order!r}; it must be asc or desc")
        wanted = _event_filter(request)
        limit = whole_number(request, "limit")
        descending = order == "desc"
        if form == "json":
            return Response(_event_page(run, wanted, descending=descending, limit=limit))
        query = event_query(run, wanted, descending=descending, limit=limit)
        response = StreamingHttpResponse(event_lines(query, form), content_type=CONTENT_TYPES[form])
        # A name may hold what a header may not.
        name = re.sub(r"[^\w.-]+", "-", f"{run.name}-{run.pk}-events.{form}")
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response


def _event_filter(request: Request) -> selectors.EventFilter:
    texts = request.query_params
    return selectors.EventFilter(
        after=whole_number(request, "after"),
        before=whole_number(request, "before"),
        kinds=tuple(filter(None, texts.get("kind", "").split(","))),
        object=texts.get("object", ""),
        changes=texts.get("changes", ""),
        components=tuple(filter(None, texts.get("component", "").split(","))),
        from_at=whole_number(request, "from"),
        to_at=whole_number(request, "to"),
        text=texts.get("text", ""),
    )


def _event_page(
    run: Run, wanted: selectors.EventFilter, *, descending: bool, limit: int | None
) -> dict[str, Any]:
    """A page; `next` is the `after` (or, newest first, the `before`) of the page that follows."""
    size = min(limit or 100, MOST_EVENTS)
    query = event_query(run, wanted, descending=descending, limit=size + 1)
    rows: list[tuple[Any, ...]] = []
    if query is not None:
        with connection.cursor() as cursor:
            cursor.execute(*query)
            rows = cursor.fetchall()
    page = rows[:size]
    return {
        "run": run.pk,
        **selectors.run_bounds(run),
        "events": [orjson.loads(event_json(row)) for row in page],
        "next": page[-1][0] if len(rows) > size else None,
    }


class RunHistogram(APIView):
    """How busy the run was when."""

    @extend_schema(
        parameters=[OpenApiParameter("buckets", int)],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{from, to, counts, marks}"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Events per equal part of its time."""
        buckets = min(max(whole_number(request, "buckets") or 120, 1), 1_000)
        return Response(selectors.run_histogram(found_run(request, run_id), buckets=buckets))


class RunCounters(APIView):
    """How many pods waited where, and how many were bound, in the seconds before an event."""

    @extend_schema(
        parameters=[
            OpenApiParameter("seq", int, description="up to this event; the newest when absent")
        ],
        responses=OpenApiResponse(
            OpenApiTypes.OBJECT, "{seq, since, samples}, see docs/streaming.md"
        ),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Samples of the last 21 seconds of virtual time, on a grid of a tenth of a second."""
        run = found_run(request, run_id)
        seq = whole_number(request, "seq")
        return Response(run_counters(run, seq=run.head_seq if seq is None else seq))


class RunObject(EngineView):
    """One object's manifest, now or at any event."""

    @extend_schema(
        parameters=[
            OpenApiParameter("seq", int, description="after this event; newest when absent"),
            OpenApiParameter("format", str, enum=["json", "yaml"]),
        ],
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "the manifest"),
    )
    def get(self, request: Request, run_id: int, entity: str) -> HttpResponse:
        """The manifest as the simulated API server held it."""
        form = request.query_params.get("format", "json")
        if form not in ("json", "yaml"):
            raise ApplicationError(f"format is {form!r}; it must be json or yaml")
        run, seq = found_run(request, run_id), whole_number(request, "seq")
        when = "now" if seq is None else f"after event {seq}"

        def show(manifest: Any) -> tuple[bytes | str, str]:
            if manifest is None:
                raise ApplicationError(f"{entity} is not there {when}", status=404)
            if form == "json":
                return JSONRenderer().render(manifest), CONTENT_TYPES["json"]
            # Sorted, as kubectl does it.
            return yaml.safe_dump(manifest, allow_unicode=True), "text/plain; charset=utf-8"

        found = object_now(run, entity) if seq is None else object_at(run, entity, seq=seq)
        if isinstance(found, Question):
            return EngineAnswer(found, lambda text: show(json.loads(text)))
        content, content_type = show(found)
        return HttpResponse(content, content_type=content_type)


class NewCommand(serializers.Serializer):
    """What is done to the cluster; which parts it needs depends on the verb."""

    verb = serializers.CharField()
    object = serializers.CharField(required=False, help_text="entity id, such as node/n1")
    manifest = serializers.JSONField(required=False)
    patch = serializers.JSONField(required=False, help_text="RFC 7386 merge patch")
    labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        help_text="of the pod to evict, when object names its namespace alone: pod/default",
    )
    grace_seconds = serializers.IntegerField(required=False, min_value=0)
    propagation = serializers.ChoiceField(
        ["Background", "Foreground", "Orphan"], required=False, help_text="of a deletion"
    )


class RunCommands(APIView):
    """Everything that was done to the run, and a way to do more."""

    @extend_schema(responses=OpenApiResponse(OpenApiTypes.OBJECT, "{commands: [Command]}"))
    def get(self, request: Request, run_id: int) -> Response:
        """All commands, oldest first."""
        commands = Command.objects.filter(run=found_run(request, run_id))
        return Response({"commands": [_command_dict(each) for each in commands]})

    @extend_schema(
        request=NewCommand,
        responses={200: OpenApiResponse(OpenApiTypes.OBJECT, "applied or rejected")},
    )
    def post(self, request: Request, run_id: int) -> Response:
        """Hand the engine a command; answers with the outcome, or pending after five seconds."""
        wanted = NewCommand(data=request.data)
        wanted.is_valid(raise_exception=True)
        run = found_run(request, run_id, to_change=True)
        command = services.command_submit(run=run, body=dict(wanted.validated_data))
        command = services.command_wait(command=command)
        status = {"applied": 200, "rejected": 409, "pending": 202}[command.status]
        return Response(_command_dict(command), status=status)


def _command_dict(command: Command) -> dict[str, Any]:
    return {
        "id": command.pk,
        "verb": command.verb,
        "object": command.object,
        "status": command.status,
        "seq": command.outcome_seq,
        "at": command.at,
        "reason": command.reason,
        "body": command.body,
    }


class ScenarioList(APIView):
    """What runs are made of."""

    parser_classes = (MultiPartParser, JSONParser)

    @extend_schema(
        operation_id="scenarios_list",
        responses=OpenApiResponse(OpenApiTypes.OBJECT, "{scenarios: […]}"),
    )
    def get(self, request: Request) -> Response:
        """All scenarios that the visitor may see, demos first."""
        scenarios = readable_scenarios(visitor_of(request))
        return Response({"scenarios": [_scenario_dict(each) for each in scenarios]})

    @extend_schema(
        request={
            "multipart/form-data": inline_serializer(
                "Upload",
                {
                    "files": serializers.ListField(child=serializers.FileField()),
                    "name": serializers.CharField(required=False),
                },
            )
        },
        responses={201: OpenApiResponse(OpenApiTypes.OBJECT, "the scenario")},
    )
    def post(self, request: Request) -> Response:
        """Read files; with any problem nothing is saved and all problems are told."""
        files = request.FILES.getlist("files")
        if not files:
            raise ApplicationError("No files were sent; they go into the field `files`.")
        upload = upload_take(
            files,
            name=str(request.data.get("name") or ""),
            owner_id=visitor_of(request).account_id,
        )
        if upload.scenario is None:
            problems = [
                {
                    "file": each.file,
                    "document": each.document,
                    "line": each.line,
                    "field": each.field,
                    "value": each.value,
                    "message": each.message,
                }
                for file in upload.report.files
                for each in file.problems
            ]
            raise ApplicationError("Nothing was saved.", {"problems": problems}, 422)
        return Response(_scenario_dict(upload.scenario), status=201)


class ScenarioDetail(APIView):
    """One scenario."""

    @extend_schema(responses=OpenApiResponse(OpenApiTypes.OBJECT, "the scenario"))
    def get(self, request: Request, scenario_id: int) -> Response:
        """The scenario, without its objects."""
        return Response(_scenario_dict(found_scenario(request, scenario_id)))

    @extend_schema(request=Sharing, responses=OpenApiResponse(OpenApiTypes.OBJECT, "the scenario"))
    def patch(self, request: Request, scenario_id: int) -> Response:
        """Change who may see it."""
        scenario = found_scenario(request, scenario_id, to_change=True)
        services.owned_share(thing=scenario, visibility=wanted_visibility(request))
        return Response(_scenario_dict(scenario))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, scenario_id: int) -> Response:
        """Delete an upload that no run is made of."""
        services.scenario_delete(scenario=found_scenario(request, scenario_id, to_change=True))
        return Response(status=204)


def _scenario_dict(scenario: Scenario) -> dict[str, Any]:
    return {
        "id": scenario.pk,
        "name": scenario.name,
        "question": scenario.question,
        "is_demo": scenario.is_demo,
        "owner": scenario.owner.get_username() if scenario.owner else "",
        "visibility": scenario.visibility,
        "bytes": scenario.bytes,
        "summary": scenario.summary,
    }
