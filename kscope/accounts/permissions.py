"""The permissions that every REST view checks first."""

from typing import Any

from django.utils.translation import gettext
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from kscope.accounts.access import refuse, visitor_of


class ReadersAndEditors(BasePermission):
    """Reading is open: views show only what the visitor may see. Writing needs an editor.

    For all others the answer to a write does not depend on whether its object exists.
    """

    def has_permission(self, request: Request, view: Any) -> bool:
        """See rest_framework."""
        visitor = visitor_of(request)
        if request.method not in SAFE_METHODS and not visitor.may_create:
            refuse(visitor, gettext("Your account may not change anything."))
        return True
