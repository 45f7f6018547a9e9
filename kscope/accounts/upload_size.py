"""How many bytes one upload may have: more for admins, and for users of this machine, than for others."""

from django.conf import settings

from kscope.accounts.access import Visitor


def upload_limit(visitor: Visitor) -> int:
    """How many bytes the files of an upload of *visitor* may have together."""
    has_more = visitor.is_admin or visitor.is_local
    return settings.UPLOAD_MAX_ADMIN_BYTES if has_more else settings.UPLOAD_MAX_BYTES


def most_of_all() -> int:
    """The same for the visitor who may send most."""
    return max(settings.UPLOAD_MAX_ADMIN_BYTES, settings.UPLOAD_MAX_BYTES)
