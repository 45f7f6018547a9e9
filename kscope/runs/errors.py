"""The one error that is meant for the user."""

from typing import Any


class ApplicationError(Exception):
    """A request that cannot be met, in words for the user; `extra` goes out with it as JSON."""

    def __init__(
        self, message: str, extra: dict[str, Any] | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.message = message
        self.extra = extra or {}
        self.status = status
