"""The admin site: for accounts with the role admin, through kscope's own login page."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse

from kscope.accounts.access import visitor_of

View = Callable[..., HttpResponse]


class KscopeAdminSite(AdminSite):
    """Django's admin under the rule of access."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Only an admin who is logged in, and staff; being at the machine is not enough."""
        return visitor_of(request).is_admin and bool(getattr(request.user, "is_staff", False))

    def admin_view(self, view: View, cacheable: bool = False) -> View:
        """See AdminSite; rows that no list could have offered are refused before they are sought."""
        return super().admin_view(_of_known_rows(view), cacheable)

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """To the one page for it, whose attempts are limited."""
        return HttpResponseRedirect(reverse("password"))

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """To the one login page, whose attempts are limited."""
        index = reverse("admin:index", current_app=self.name)
        wanted = request.GET.get(REDIRECT_FIELD_NAME) or index
        if self.has_permission(request):
            return HttpResponseRedirect(index)
        query = urlencode({REDIRECT_FIELD_NAME: wanted})
        return HttpResponseRedirect(f"{resolve_url(settings.LOGIN_URL)}?{query}")


def _of_known_rows(view: View) -> View:
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME) if request.method == "POST" else ()
        if not all(key.isascii() and key.isdecimal() for key in chosen):
            raise BadRequest("a row is chosen by its number")
        return view(request, *args, **options)

    return checked
