"""The account behind an identity: the pair of issuer and subject, never a name or an address.

A name says nothing about who somebody is: the provider's "eva" does not become the "eva" that was
here before, but gets an account "eva-2". An admin may link an identity to an older account.
"""

import re
from collections.abc import Mapping
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from kscope.accounts.access import Role
from kscope.accounts.models import Identity
from kscope.accounts.oidc.options import ROLES, ProviderOptions
from kscope.accounts.services import account_set_role

_LONGEST_NAME = 100
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")


class NoRole(Exception):
    """The provider's claims give the account no role."""


def user_of(claims: Mapping[str, Any], options: ProviderOptions) -> User:
    """The user of the identity in *claims*; a new one for a new identity.

    Where the settings name a claim of roles, the account gets the role anew at each login. Raises
    NoRole when it gives none.
    """
    role = role_of_claims(claims, options)
    subject = str(claims["sub"])
    try:
        with transaction.atomic():
            return _user_of(subject, claims, options, role)
    except IntegrityError:
        # Another request was quicker to make it.
        return _user_of(subject, claims, options, role)


def role_of_claims(claims: Mapping[str, Any], options: ProviderOptions) -> Role | None:
    """The highest role that the claims give; None where admins give roles. Raises NoRole."""
    if not options.role_claim:
        return None
    given = claims.get(options.role_claim)
    values = given if isinstance(given, list) else [given]
    roles = [role for value, role in options.roles if value in values]
    if not roles:
        raise NoRole
    return Role(max(roles, key=ROLES.index))


def _user_of(
    subject: str, claims: Mapping[str, Any], options: ProviderOptions, role: Role | None
) -> User:
    known = Identity.objects.filter(issuer=options.issuer, subject=subject)
    found = known.select_related("user").first()
    if found is None:
        user = User.objects.create_user(free_name(claims.get(options.name_claim)))
        Identity.objects.create(issuer=options.issuer, subject=subject, user=user)
    else:
        user = found.user
    if role is not None:
        account_set_role(user=user, role=role)
    return user


def free_name(wanted: Any) -> str:
    """A name that no account has, like the one that is wanted."""
    name = _NOT_IN_NAMES.sub("-", str(wanted or ""))[:_LONGEST_NAME].strip("-") or "user"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    # Names that differ in case alone would be taken for each other.
    return next(each for each in names if not User.objects.filter(username__iexact=each).exists())
