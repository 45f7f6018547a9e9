"""Questions of a client: who it is, and what it or another may do."""

from typing import Any

from channels.db import database_sync_to_async
from starlette.requests import Request
from starlette.responses import Response

from kscope.accounts.access import Visitor
from kscope.runs.served.runs import Run, account_name
from kube.addresses import Target
from kube.forms import form_of
from kube.resources import READ, REVIEWS
from kube.server.answers import answered
from kube.server.writes.bodies import body_of, part_of
from kube.status import method_not_allowed, no_such_path, not_acceptable


def is_review(target: Target | None) -> bool:
    """Whether *target* is such a question."""
    return target is not None and target.resource.kind in REVIEWS


async def answer(
    request: Request, target: Target, visitor: Visitor, run: Run, instant: str
) -> Response:
    """The review with its answer. Everything is allowed to those who may change the run now."""
    if not target.is_collection:
        raise no_such_path()  # none is kept
    if request.method != "POST":
        raise method_not_allowed("the server does not allow this method on the requested resource")
    if form_of(request.headers.get("accept", "")).is_table:
        # Upstream: handlers/response.go, newNotAcceptableError() of what is no list or object.
        raise not_acceptable()
    review = await body_of(request, target.resource)
    may_change = visitor.may_change(run) and not instant
    match target.resource.kind:
        case "SelfSubjectReview":
            name = await _name(visitor)
            status: dict[str, Any] = {"userInfo": {"username": name, "groups": []}}
        case "SelfSubjectAccessReview":
            status = _access(review, may_change, instant)
        case "SubjectAccessReview" | "LocalSubjectAccessReview":
            status = {"allowed": True, "reason": "nobody is held to roles in a run"}
        case "TokenReview":
            status = {"user": {}, "error": "a run issues no tokens"}
        case _:
            verbs = ["*"] if may_change else list(READ)
            status = {
                "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": ["*"]}],
                "incomplete": False,
            }
    kind = {"kind": target.resource.kind, "apiVersion": target.resource.api_version}
    answered_review = {**kind, "metadata": {}, "spec": review.get("spec") or {}, "status": status}
    return answered(answered_review, 201)


def _access(review: dict[str, Any], may_change: bool, instant: str) -> dict[str, Any]:
    spec = part_of(review, "spec")
    attributes = part_of(spec, "resourceAttributes") or part_of(spec, "nonResourceAttributes")
    if may_change or attributes.get("verb") in READ:
        return {"allowed": True}
    where = f"at {instant} the run is in the past" if instant else "you may only read this run"
    return {"allowed": False, "reason": where}


@database_sync_to_async
def _name(visitor: Visitor) -> str:
    return account_name(visitor) or "system:anonymous"
