"""The one error that is meant for the user, and its shape in JSON: RFC 9457, Problem Details."""

from http import HTTPStatus
from typing import Any

from django.utils.functional import Promise

PROBLEM_JSON = "application/problem+json"
# What a problem of a kind of its own has beside the members that all have, and where that is explained.
_KINDS = {
    "errors": "/api/docs/#invalid-request",
    "problems": "/api/docs/#unreadable-files",
    "head": "/api/docs/#no-such-event",
}


class ApplicationError(Exception):
    """A request that cannot be met, in words for the user; `extra` goes out with it as JSON.

    With *retry_after* the same request may be met after so many seconds.
    """

    def __init__(
        self,
        message: str | Promise,
        extra: dict[str, Any] | None = None,
        status: int = 400,
        retry_after: int | None = None,
    ) -> None:
        # A lazy message is in the language of who asked; whoever shows it may have none.
        self.message = str(message)
        super().__init__(self.message)
        self.extra = extra or {}
        self.status = status
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, Any]:
        """The one shape of a refusal in JSON."""
        later = {} if self.retry_after is None else {"retry_after": self.retry_after}
        return problem(self.status, self.message, **self.extra, **later)

    @property
    def headers(self) -> dict[str, str]:
        """What goes into the header of the response."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def problem(status: int, detail: str, **more: Any) -> dict[str, Any]:
    """The problem details of an answer: *detail* is for people, *more* for programs."""
    kind = next((_KINDS[name] for name in more if name in _KINDS), "about:blank")
    title = HTTPStatus(status).phrase
    return {"type": kind, "title": title, "status": status, "detail": detail, **more}
