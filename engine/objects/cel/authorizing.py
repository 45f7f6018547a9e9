"""What `authorizer` of CEL answers: whether whoever writes may do something else, too.

Nobody in a run is held to roles: whatever is asked is allowed, as SelfSubjectAccessReview says it to
who may change the run. So an expression that forbids what its author may not do forbids nothing.
Upstream: apiserver/pkg/cel/library/authz.go.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

# What a value is is said under a name that no field of a manifest has.
_IS: Final = "\0is"
_AUTHORIZER: Final = "authorizer"
_GROUP: Final = "group"
_RESOURCE: Final = "resource"
_PATH: Final = "path"
_DECISION: Final = "decision"

# The variable; `authorizer.requestResource` is the resource of the request.
AUTHORIZER: Final[Mapping[str, Any]] = {
    _IS: _AUTHORIZER,
    "requestResource": {_IS: _RESOURCE},
}


def _method(of: tuple[str, ...], given: int, answer: Any) -> Callable[..., Any]:
    """A function of values that are one of *of*, with so many texts."""

    def called(one: Any, *texts: Any) -> Any:
        is_one = isinstance(one, dict) and cast("dict[str, Any]", one).get(_IS) in of
        if not is_one or len(texts) != given or not all(isinstance(each, str) for each in texts):
            raise TypeError("no such overload")
        return answer

    return called


def _made(what: str) -> Any:
    return {_IS: what}


METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    "serviceAccount": _method((_AUTHORIZER,), 2, AUTHORIZER),
    "path": _method((_AUTHORIZER,), 1, _made(_PATH)),
    "group": _method((_AUTHORIZER,), 1, _made(_GROUP)),
    "resource": _method((_GROUP,), 1, _made(_RESOURCE)),
    "subresource": _method((_RESOURCE,), 1, _made(_RESOURCE)),
    "namespace": _method((_RESOURCE,), 1, _made(_RESOURCE)),
    "name": _method((_RESOURCE,), 1, _made(_RESOURCE)),
    "fieldSelector": _method((_RESOURCE,), 1, _made(_RESOURCE)),
    "labelSelector": _method((_RESOURCE,), 1, _made(_RESOURCE)),
    "check": _method((_RESOURCE, _PATH), 1, _made(_DECISION)),
    "allowed": _method((_DECISION,), 0, True),
    "errored": _method((_DECISION,), 0, False),
    "reason": _method((_DECISION,), 0, ""),
    "error": _method((_DECISION,), 0, ""),
}
