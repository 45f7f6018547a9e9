"""Making accounts, passwords and tokens."""

import datetime
from secrets import token_urlsafe
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from kscope.accounts.access import Role, Scope
from kscope.accounts.models import Account, Token


def account_create(*, name: str, role: str = Role.VIEWER, password: str = "") -> tuple[User, str]:
    """A new account and its password, a random one unless given.

    Raises ValidationError for a password against the rules.
    """
    with transaction.atomic():
        user = User.objects.create_user(name)
        password = password_set(user=user, password=password)
        account_set_role(user=user, role=role)
    return user, password


def password_set(*, user: User, password: str = "") -> str:
    """Give the account a password, a random one unless given; returns it.

    Its sessions end, and its tokens are revoked. Raises ValidationError for a password against the
    rules (AUTH_PASSWORD_VALIDATORS).
    """
    if password:
        validate_password(password, user)
    password = password or token_urlsafe(18)
    user.set_password(password)
    user.save(update_fields=["password"])
    return password


def account_set_role(*, user: User, role: str) -> Account:
    """Give the account a role; it holds from the next request on."""
    account = Account.objects.get_or_create(user=user)[0]
    account.user = user
    account.role = Role(role)
    account.save()
    return account


def token_create(
    *, user: User, name: str, scope: str = Scope.READ, days: int | None = 90
) -> tuple[Token, str]:
    """A new token, and its text, which cannot be shown again; *days* None never expires."""
    expiry = None if days is None else datetime.timedelta(days=days)
    made: Any = Token.objects.create(user=user, expiry=expiry, name=name, scope=Scope(scope))
    return made  # knox gives the text with it, which the types of Django do not expect
