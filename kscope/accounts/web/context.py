"""What every template knows about the visitor."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from kscope.accounts.access import visitor_of


def visitor(request: HttpRequest) -> dict[str, Any]:
    """`visitor`, whether there is anything to log in for, and whether a provider's accounts may."""
    return {
        "visitor": visitor_of(request),
        "login_required": settings.LOGIN_REQUIRED,
        "has_provider": settings.OIDC is not None,
    }
