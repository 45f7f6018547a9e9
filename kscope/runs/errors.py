"""The one error that is meant for the user."""

from typing import Any

from django.utils.functional import Promise


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
        return {"message": self.message, **self.extra, **later}

    @property
    def headers(self) -> dict[str, str]:
        """What goes into the header of the response."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
