"""Errors as an API server answers them: a Status object with reason, message and details.

Upstream: apimachinery/pkg/api/errors/errors.go.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from engine.api_server.validation.report import aggregate
from kube.resources import Resource

Manifest = dict[str, Any]


class ApiError(Exception):
    """A request that is not met: HTTP status *code*, and what the Status object says."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        goes_on: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.goes_on = goes_on
        """The token with which a list may go on nevertheless."""

    @property
    def body(self) -> Manifest:
        """The Status object."""
        details = {"details": self.details} if self.details else {}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.goes_on} if self.goes_on else {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **details,
            "code": self.code,
        }

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer."""
        seconds = self.details.get("retryAfterSeconds")
        return {"Retry-After": str(seconds)} if seconds else {}


def success(resource: Resource, name: str, uid: str) -> Manifest:
    """The answer to a deletion that is done."""
    details = {"name": name, **_group(resource), "kind": resource.plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


def _group(resource: Resource) -> dict[str, str]:
    return {"group": resource.group} if resource.group else {}


def _of(resource: Resource, name: str) -> dict[str, Any]:
    named = {"name": name} if name else {}
    return {**named, **_group(resource), "kind": resource.plural}


def not_found(resource: Resource, name: str) -> ApiError:
    """There is no such object."""
    message = f'{resource.group_resource} "{name}" not found'
    return ApiError(404, "NotFound", message, _of(resource, name))


def no_such_path() -> ApiError:
    """The server does not serve the address."""
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def already_exists(resource: Resource, name: str) -> ApiError:
    """There is such an object already."""
    message = f'{resource.group_resource} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, _of(resource, name))


def conflict(resource: Resource, name: str, why: str) -> ApiError:
    """The object is another one than the client believes."""
    message = f'Operation cannot be fulfilled on {resource.group_resource} "{name}": {why}'
    return ApiError(409, "Conflict", message, _of(resource, name))


def other_uid(resource: Resource, name: str, wanted: str, found: str | None) -> ApiError:
    """The object has another uid than the client believes. Upstream: storage/interfaces.go, Check()."""
    why = f"UID in precondition: {wanted}, UID in object meta: {found}"
    return conflict(resource, name, f"Precondition failed: {why}")


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def invalid(
    resource: Resource, name: str, causes: Iterable[tuple[str, str, str]], kind: str = ""
) -> ApiError:
    """The object is not valid: each cause has a reason (FieldValueInvalid …), a message, a field."""
    return _invalid(kind or resource.written_kind, resource.group, name, causes)


def invalid_options(causes: Iterable[tuple[str, str, str]]) -> ApiError:
    """The options of a list or a watch contradict each other.

    Upstream: apiserver/pkg/endpoints/handlers/get.go, ListResource().
    """
    return _invalid("ListOptions", "meta.k8s.io", "", causes)


def _invalid(kind: str, group: str, name: str, causes: Iterable[tuple[str, str, str]]) -> ApiError:
    listed = list(causes)
    errors = [f"{field}: {message}" if field else message for _, message, field in listed]
    details = {
        **({"name": name} if name else {}),
        **({"group": group} if group else {}),
        "kind": kind,
        "causes": [
            {"reason": reason, "message": message, "field": field}
            for reason, message, field in listed
        ],
    }
    of = f"{kind}.{group}" if group else kind
    return ApiError(422, "Invalid", f'{of} "{name}" is invalid: {aggregate(errors)}', details)


# By what begins the message of a field error. Upstream:
# apimachinery/pkg/util/validation/field/errors.go, ErrorType.String().
_CAUSES = {
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
    "Internal error": "InternalError",
    "Invalid value": "FieldValueInvalid",
    "Not found": "FieldValueNotFound",
    "Required value": "FieldValueRequired",
    "Too long": "FieldValueTooLong",
    "Too many": "FieldValueTooMany",
    "Unsupported value": "FieldValueNotSupported",
}
_FIELD_ERROR = re.compile(rf"([^\s:]+): (({'|'.join(_CAUSES)})\b.*)", re.DOTALL)


def cause_of(error: str) -> tuple[str, str, str]:
    """A cause for `invalid` from the text of a field error; of any other text, it has no field."""
    found = _FIELD_ERROR.fullmatch(error)
    if found is None:
        return "FieldValueInvalid", error, ""
    field, message, kind = found.groups()
    return _CAUSES[kind], message, field


# Where one field error of an aggregate ends and the next one begins.
_NEXT_ERROR = re.compile(rf", (?=[^\s:]+: (?:{'|'.join(_CAUSES)})\b)")


def causes_of(errors: str) -> list[tuple[str, str, str]]:
    """The causes from the text of one field error, or of several: "[a: …, b: …]"."""
    if not (errors.startswith("[") and errors.endswith("]")):
        return [cause_of(errors)]
    return [cause_of(one) for one in _NEXT_ERROR.split(errors[1:-1])]


def eviction_refused(message: str) -> ApiError:
    """A disruption budget allows no eviction now: a sentence for all budgets, and the cause.

    Upstream: pkg/registry/core/pod/storage/eviction.go, createTooManyRequestsError() and
    checkAndDecrement().
    """
    refused, _, cause = message.partition(". ")
    if not cause:
        return ApiError(429, "TooManyRequests", message)
    details: Manifest = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    if "still being processed" in cause:
        details["retryAfterSeconds"] = 10
    return ApiError(429, "TooManyRequests", f"{refused}.", details)


def bad_request(message: str) -> ApiError:
    """The request makes no sense."""
    return ApiError(400, "BadRequest", message)


def too_large(message: str) -> ApiError:
    """The body is longer than the server takes. Upstream: NewRequestEntityTooLargeError()."""
    text = f"Request entity is too large: {message}"
    return ApiError(413, "RequestEntityTooLarge", text)


def unauthorized() -> ApiError:
    """The token is unknown or has expired."""
    return ApiError(401, "Unauthorized", "Unauthorized")


def forbidden(why: str, resource: Resource | None = None, name: str = "") -> ApiError:
    """The client may not do this. Upstream: NewForbidden()."""
    if resource is None:
        return ApiError(403, "Forbidden", f"forbidden: {why}")
    which = f'{resource.group_resource} "{name}"' if name else resource.group_resource
    return ApiError(403, "Forbidden", f"{which} is forbidden: {why}", _of(resource, name))


def method_not_allowed(why: str) -> ApiError:
    """What is asked for is not done by this server, or not here."""
    return ApiError(405, "MethodNotAllowed", why)


def not_acceptable() -> ApiError:
    """The client accepts no form that the server can give."""
    message = (
        "only the following media types are accepted: application/json, application/yaml, "
        "application/vnd.kubernetes.protobuf"
    )
    return ApiError(406, "NotAcceptable", message)


def unsupported_media_type(accepted: Iterable[str]) -> ApiError:
    """The body is in a form that the server cannot read."""
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        f"{', '.join(accepted)}"
    )
    return ApiError(415, "UnsupportedMediaType", message)


def expired(message: str) -> ApiError:
    """What happened since is no longer known: the client has to list again."""
    return ApiError(410, "Expired", message)


# Upstream: apiserver/pkg/storage/etcd3/errors.go, expired and inconsistentContinue.
_OLD_LIST = "The resourceVersion for the provided list is too old."
_OLD_TOKEN = (
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the first "
    "chunk was returned and now may show up in the list."
)


def expired_list(goes_on: str = "") -> ApiError:
    """A list of that version can no longer be had; *goes_on* is the token for the rest of it."""
    return ApiError(410, "Expired", _OLD_TOKEN if goes_on else _OLD_LIST, goes_on=goes_on)


def too_large_version(version: int, newest: int) -> ApiError:
    """The client knows a version that is still to come. Upstream: NewTooLargeResourceVersionError()."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {version}, current: {newest}"
    return ApiError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def too_many_requests(message: str, seconds: int = 1) -> ApiError:
    """The server is busy."""
    return ApiError(429, "TooManyRequests", message, {"retryAfterSeconds": seconds})


def timed_out(message: str) -> ApiError:
    """The server took the request and cannot say yet what came of it.

    It names no time to try again: clients would send the request again by themselves.
    Upstream: NewTimeoutError(), always with 0 seconds.
    """
    return ApiError(504, "Timeout", f"Timeout: {message}")


def unavailable(message: str, seconds: int = 2) -> ApiError:
    """A part that the server needs is away."""
    return ApiError(503, "ServiceUnavailable", message, {"retryAfterSeconds": seconds})


def internal_error(message: str) -> ApiError:
    """Something broke. Upstream: NewInternalError()."""
    details = {"causes": [{"message": message}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {message}", details)
