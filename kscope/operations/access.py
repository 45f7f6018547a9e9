"""Who may look at how kscope is operated: the one rule for pages, REST and metrics."""

from secrets import compare_digest

from django.conf import settings
from django.http import HttpRequest

from kscope.accounts.access import visitor_of


def may_operate(request: HttpRequest) -> bool:
    """Admins; every visitor where no login is required, as on one's own machine."""
    return not settings.LOGIN_REQUIRED or visitor_of(request).is_admin


def may_read_metrics(request: HttpRequest) -> bool:
    """Also a client with the token of KSCOPE_METRICS_TOKEN: a collector has no account."""
    if settings.METRICS_TOKEN:
        given = request.headers.get("Authorization", "")
        if compare_digest(given.encode(), f"Bearer {settings.METRICS_TOKEN}".encode()):
            return True
    return may_operate(request)
