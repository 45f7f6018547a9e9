"""Commands: what users did to a run's cluster, and do to it."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kscope.accounts.access import visitor_of
from kscope.runs import services
from kscope.runs.access import found_run, may_see_values
from kscope.runs.hidden_values import command_without_hidden
from kscope.runs.models import Command
from kscope.runs.web.api.once import once
from kscope.runs.web.rest import Body, RestView


class NewCommand(Body):
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


def _outcome(submitted: dict[str, Any]) -> Response:
    """What came of a command, once the engine has answered."""
    command = services.command_wait(command=Command.objects.get(pk=submitted["id"]))
    status = {"applied": 200, "rejected": 409, "pending": 202}[command.status]
    return Response(_command_dict(command), status=status)


class RunCommands(RestView):
    """The commands that users sent to the run; a POST sends another."""

    @extend_schema(responses=OpenApiResponse(OpenApiTypes.OBJECT, "{commands: [Command]}"))
    def get(self, request: Request, run_id: int) -> Response:
        """All commands, oldest first."""
        run = found_run(request, run_id)
        shown = [_command_dict(each) for each in Command.objects.filter(run=run)]
        if not may_see_values(visitor_of(request), run):
            shown = [{**each, "body": command_without_hidden(each["body"])} for each in shown]
        return Response({"commands": shown})

    @extend_schema(
        request=NewCommand,
        responses={200: OpenApiResponse(OpenApiTypes.OBJECT, "applied or rejected")},
    )
    @once(finish=_outcome)
    def post(self, request: Request, run_id: int) -> Response:
        """Hand the engine a command; answers with the outcome, or pending after five seconds."""
        wanted = NewCommand(data=request.data)
        wanted.is_valid(raise_exception=True)
        run = found_run(request, run_id, to_change=True)
        command = services.command_submit(run=run, body=dict(wanted.validated_data))
        return Response({"id": command.pk}, status=202)


def _command_dict(command: Command) -> dict[str, Any]:
    return {
        "id": command.pk,
        "verb": command.verb,
        "object": command.object,
        "status": command.status,
        "seq": command.outcome_seq,
        "at": command.at,
        "position": command.position,
        "reason": command.reason,
        "body": command.body,
    }
