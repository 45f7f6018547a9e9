"""A decorator for pages that change something, and the pages that refuse a request."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from rest_framework.permissions import SAFE_METHODS

from kscope.accounts.access import visitor_of
from kscope.accounts.limits import request_limit

Page = Callable[..., HttpResponseBase]


def for_editors(view: Page) -> Page:
    """Limit *view* to accounts that may create; others are sent to the login page or get a 403."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        visitor = visitor_of(request)
        wait = request_limit(request, visitor)
        if wait:
            return too_many(request, wait)
        if visitor.role is None:
            back = request.get_full_path() if request.method in SAFE_METHODS else "/"
            return redirect_to_login(back)
        if not visitor.may_create:
            return refused(
                request, gettext("Your account may read, not upload or start runs."), 403
            )
        return view(request, *args, **kwargs)

    return guarded


def too_many(request: HttpRequest, wait: int) -> HttpResponse:
    """The page for a request over the rate limit."""
    words = gettext("Too many requests. Try again in {seconds} s.").format(seconds=wait)
    answer = refused(request, words, 429)
    answer["Retry-After"] = str(wait)
    return answer


def refused(request: HttpRequest, words: str, status: int) -> HttpResponse:
    """A page that says in *words* why the request is refused."""
    return render(request, "refused.html", {"words": words}, status=status)
