"""The Django app of accounts."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save
from django.utils.translation import gettext_lazy


class AccountsConfig(AppConfig):
    """Gives every user an account."""

    name = "kscope.accounts"
    label = "accounts"
    verbose_name = gettext_lazy("accounts")

    def ready(self) -> None:
        """Listen for new users, as there are many ways to make one, and for logins."""
        from django.contrib.auth import get_user_model

        from kscope.accounts import sessions

        post_save.connect(_settle_account, sender=get_user_model(), dispatch_uid="give-account")
        sessions.listen()


def _settle_account(instance: Any, created: bool, raw: bool = False, **changed: Any) -> None:
    """Give a new user an account; give an old one the flags that its role has."""
    from kscope.accounts.access import Role
    from kscope.accounts.models import Account

    if raw:
        return
    if created:
        role = Role.ADMIN if instance.is_superuser else Role.VIEWER
        Account.objects.create(user=instance, role=role)
    elif _FLAGS & set(changed.get("update_fields") or _FLAGS):
        account = getattr(instance, "account", None)
        if account is not None and _flags_of(instance) != {account.has_flags}:
            account.save()


_FLAGS = {"is_staff", "is_superuser"}


def _flags_of(user: Any) -> set[bool]:
    return {user.is_staff, user.is_superuser}
