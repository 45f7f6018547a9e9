"""How the OpenAPI document is drawn: what drf-spectacular reads of a view, and what all operations share."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from django.conf import settings
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema_serializer
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS

from kscope.accounts.permissions import ReadersAndEditors
from kscope.runs.errors import PROBLEM_JSON
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.fields import Body
from kscope.runs.web.shapes.events import CommandAnswer
from kscope.runs.web.shapes.open import CouldGo
from kscope.runs.web.shapes.scenarios import FileProblem, SkippedFile

Document = dict[str, Any]

IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match",
    str,
    OpenApiParameter.HEADER,
    description="the `ETag` of an answer that the client has: 304, and nothing is computed",
)
_ALWAYS = (400, 401, 406, 429, 500, 503)
_OF_WRITES = (403, 404, 408, 409, 413, 415, 422, 504, 507)
_OF_ENGINES = (404, 409, 504)
# Each status of a refusal, and what it means.
REFUSALS = {
    400: "the request is not valid: `errors` says which field, and why",
    401: "the token or the session is not valid, or one is needed",
    403: "the account, or the token, may not do that",
    404: "there is no such thing, or the visitor may not see it",
    406: "the answer cannot be had in a media type that `Accept` names",
    408: "the body came too slowly",
    409: "it cannot be done as things are",
    413: "the body is too large",
    415: "the body has another media type than is taken here",
    422: "the files cannot be read, or an Idempotency-Key stands for another request",
    429: "too many requests; `Retry-After` says when to try again",
    500: "kscope failed",
    503: "busy, or a part of kscope is away; `Retry-After` says when to try again",
    504: "it took too long; a write may have been carried out",
    507: "there is no room on the disk",
}


@extend_schema_serializer(component_name="FieldError")
class FieldError(serializers.Serializer):
    """What is wrong with one field or parameter."""

    name = serializers.CharField(allow_blank=True, help_text="a path with dots; empty: the whole")
    detail = serializers.CharField()


class Problem(serializers.Serializer):
    """A refusal: RFC 9457, Problem Details for HTTP APIs."""

    type = serializers.CharField(help_text="where its kind is explained; about:blank for most")
    title = serializers.CharField(help_text="the words of the HTTP status")
    status = serializers.IntegerField()
    detail = serializers.CharField(allow_blank=True, help_text="what is wrong, for people")
    retry_after = serializers.IntegerField(
        required=False, help_text="seconds; the same request may be met then"
    )
    # To rest_framework, fields and properties of a serializer are apart.
    errors = FieldError(many=True, required=False)  # pyright: ignore[reportAssignmentType]
    problems = answer_class(FileProblem)(many=True, required=False)
    skipped = answer_class(SkippedFile)(many=True, required=False)
    command = answer_class(CommandAnswer)(
        required=False, help_text="the one that was rejected; `detail` says why"
    )
    head = serializers.IntegerField(required=False, help_text="seq of the newest event there is")
    quota = serializers.CharField(required=False, help_text="which one is used up")
    used = serializers.IntegerField(required=False, help_text="of that quota")
    limit = serializers.IntegerField(required=False, help_text="of that quota")
    could_go = answer_class(CouldGo)(
        many=True, required=False, help_text="what could be deleted, or paused, to stay below it"
    )


class Operation(AutoSchema):
    """One operation; beside what its view says, it has the refusals that it can meet."""

    def get_auth(self) -> list[dict[str, Any]]:
        """See AutoSchema. What anybody may ask needs no account."""
        found = super().get_auth()
        is_open = any(isinstance(one, ReadersAndEditors) for one in self.view.get_permissions())
        is_needed = settings.LOGIN_REQUIRED and not (is_open and self.method in SAFE_METHODS)
        return found if is_needed else [*found, {}]

    def _postprocess_serializer_schema(self, schema: Any, serializer: Any, direction: Any) -> Any:
        found = super()._postprocess_serializer_schema(schema, serializer, direction)
        if isinstance(serializer, Body):
            found["additionalProperties"] = False
        return found

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        found = super()._get_response_bodies(direction)
        if IF_NONE_MATCH in self.get_override_parameters():
            found["200"].setdefault("headers", {})["ETag"] = {
                "schema": {"type": "string"},
                "description": "where the address names an instant: it stands for the answer",
            }
            found["304"] = {"description": "the client has the answer: see If-None-Match"}
        for status in sorted({*self._refusals()} - {int(each) for each in found}):
            refusal = OpenApiResponse(Problem, REFUSALS[status])
            found[str(status)] = self._get_response_for_code(refusal, str(status), [PROBLEM_JSON])
        return found

    def _refusals(self) -> Iterator[int]:
        yield from _ALWAYS
        if "{" in self.path:
            yield HTTPStatus.NOT_FOUND
        if self.method not in SAFE_METHODS:
            yield from _OF_WRITES
        elif getattr(self.view, "asks_engine", False):
            yield from _OF_ENGINES
        if not any(isinstance(one, ReadersAndEditors) for one in self.view.get_permissions()):
            yield HTTPStatus.FORBIDDEN


def finish(result: Document, generator: Any, request: Any, public: bool) -> Document:
    """What the document says of the API as a whole; a hook of drf-spectacular."""
    result["info"]["license"] = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    result["servers"] = [{"url": "/"}]
    return result
