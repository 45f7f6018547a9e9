"""Commands: what users did to a run's cluster, and do to it."""

from typing import Any, cast

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from engine.api_server.validation.report import LONGEST_ENTITY
from engine.cluster.commands import VERBS
from kscope.accounts.access import visitor_of
from kscope.runs import services
from kscope.runs.access import found_run, may_see_values
from kscope.runs.errors import PROBLEM_JSON, problem
from kscope.runs.hidden_values import command_without_hidden
from kscope.runs.models import Command
from kscope.runs.web.api.once import once
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.fields import Body
from kscope.runs.web.contract.paging import page_of, page_schema, paged
from kscope.runs.web.contract.queries import one_of, query
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.events import CommandAnswer
from kscope.runs.web.shapes.open import GivenField

# A scheduler binds by the Kubernetes API of the run.
_VERBS = [verb for verb in VERBS if verb != "bind"]
MOST_COMMANDS, USUAL_COMMANDS = 1_000, 100
_COMMAND = answer_class(CommandAnswer)


class NewCommand(Body):
    """What is done to the cluster; which parts it needs depends on the verb."""

    verb = one_of(_VERBS, required=True)
    object = serializers.CharField(
        required=False, max_length=LONGEST_ENTITY, help_text="entity id, such as node/n1"
    )
    manifest = GivenField(required=False, help_text="of the object to create, or of a fault")
    patch = GivenField(required=False, help_text="RFC 7386 merge patch on the manifest")
    labels = serializers.DictField(
        child=serializers.CharField(allow_blank=True),
        required=False,
        help_text="of the pod to evict, when object names its namespace alone: pod/default",
    )
    grace_seconds = serializers.IntegerField(required=False, min_value=0)
    propagation = serializers.ChoiceField(
        ["Background", "Foreground", "Orphan"], required=False, help_text="of a deletion"
    )


def _outcome(submitted: dict[str, Any]) -> Response:
    """What came of a command, once the engine has answered."""
    command = services.command_wait(command=Command.objects.get(pk=submitted["id"]))
    told = _command_dict(command)
    if command.status == Command.Status.REJECTED:
        refusal = problem(409, command.reason, command=told)
        return Response(refusal, status=409, content_type=PROBLEM_JSON)
    return Response(told, status=200 if command.status == Command.Status.APPLIED else 202)


class RunCommands(RestView):
    """The commands that users sent to the run; a POST sends another."""

    @extend_schema(
        operation_id="runs_commands_list",
        parameters=[query("CommandQuery", paged(MOST_COMMANDS, USUAL_COMMANDS))],
        responses=page_schema(_COMMAND, "CommandPage"),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """The commands, oldest first."""
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_COMMANDS)
        later = Command.objects.filter(run=run, pk__gt=page.after or 0).order_by("pk")
        found, more = page.cut(later[: page.wanted], lambda command: command.pk)
        shown = [_command_dict(each) for each in found]
        if not may_see_values(visitor_of(request), run):
            shown = [{**each, "body": command_without_hidden(each["body"])} for each in shown]
        return Response({"items": shown, "continue": more})

    @extend_schema(
        request=NewCommand,
        responses={
            200: OpenApiResponse(_COMMAND, "it was applied"),
            202: OpenApiResponse(_COMMAND, "the run has not come to it within five seconds"),
        },
    )
    @once(finish=_outcome)
    def post(self, request: Request, run_id: int) -> Response:
        """Hand the engine a command; answers with the outcome, or pending after five seconds."""
        wanted = NewCommand(data=request.data)
        wanted.is_valid(raise_exception=True)
        run = found_run(request, run_id, to_change=True)
        command = services.command_submit(run=run, body=dict(wanted.validated_data))
        return Response({"id": command.pk}, status=202)


def _command_dict(command: Command) -> CommandAnswer:
    return {
        "id": command.pk,
        "verb": command.verb,
        "object": command.object,
        "status": cast("Any", command.status),
        "seq": command.outcome_seq,
        "at": command.at,
        "position": command.position,
        "reason": command.reason,
        "body": command.body,
    }
