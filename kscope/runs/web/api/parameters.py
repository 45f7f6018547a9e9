"""Parameters in the query of an address."""

from django.utils.translation import gettext
from rest_framework.request import Request

from kscope.runs.errors import ApplicationError


def entity_name(request: Request, kind: str) -> str:
    """The parameter *kind*, an object of that kind: NAMESPACE/NAME or NAME; "" for none.

    "pod/NAMESPACE/NAME", as events name it, is the same.
    """
    return request.query_params.get(kind, "").removeprefix(f"{kind}/")


def whole_number(request: Request, name: str) -> int | None:
    """A query parameter that must be a whole number, not below 0. Raises ApplicationError."""
    text = request.query_params.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 18:
        raise ApplicationError(
            gettext("{name} is {value}; it must be a whole number, not below 0").format(
                name=name, value=repr(text)
            )
        )
    return int(text)
