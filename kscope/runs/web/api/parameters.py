"""Parameters in the query of an address."""

from rest_framework.request import Request

from kscope.runs.errors import ApplicationError


def whole_number(request: Request, name: str) -> int | None:
    """A query parameter that must be a whole number, not below 0. Raises ApplicationError."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ApplicationError(f"{name} is {text!r}; it must be a whole number, not below 0")
    return int(text)
