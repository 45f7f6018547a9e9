"""The Django app of accounts."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save


class AccountsConfig(AppConfig):
    """Gives every user an account."""

    name = "kscope.accounts"
    label = "accounts"
    verbose_name = "accounts"

    def ready(self) -> None:
        """Listen for new users: there are many ways to make one, such as `createsuperuser`."""
        from django.contrib.auth import get_user_model

        post_save.connect(_give_account, sender=get_user_model(), dispatch_uid="give-account")


def _give_account(instance: Any, created: bool, raw: bool = False, **_: Any) -> None:
    from kscope.accounts.access import Role
    from kscope.accounts.models import Account

    if created and not raw:
        role = Role.ADMIN if instance.is_superuser else Role.VIEWER
        Account.objects.create(user=instance, role=role)
