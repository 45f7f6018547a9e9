"""The admin site: for accounts with the role admin, through kscope's own login page."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse

from kscope.accounts.access import visitor_of


class KscopeAdminSite(AdminSite):
    """Django's admin under the rule of access."""

    def has_permission(self, request: HttpRequest) -> bool:
        """Only an admin who is logged in, and staff; being at the machine is not enough."""
        return visitor_of(request).is_admin and bool(getattr(request.user, "is_staff", False))

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
