"""The rule of access: who may read or change what. Everything else asks here.

| | private | shared | public |
|---|---|---|---|
| owner | reads, changes | reads, changes | reads, changes |
| any other account | – | reads | reads |
| not logged in | – | – | reads |

A viewer changes nothing, not even what is theirs. An admin reads and changes everything. A token
with the scope `read` changes nothing, not even for an admin. Forking and comparing need to read; the account that
forks owns the fork.

Where no login is required (`settings.LOGIN_REQUIRED`), a visitor without an account acts as an
editor, and what has no owner belongs to every user of this machine.
"""

from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, TextChoices
from django.utils.translation import gettext, gettext_lazy
from rest_framework.exceptions import NotAuthenticated, PermissionDenied


class Role(TextChoices):
    """What an account may do at all."""

    VIEWER = "viewer", gettext_lazy("viewer: reads")
    EDITOR = "editor", gettext_lazy("editor: uploads, runs, changes what is theirs")
    ADMIN = "admin", gettext_lazy("admin: everything")


class Visibility(TextChoices):
    """Who besides its owner may read an object."""

    PRIVATE = "private", gettext_lazy("private: only its owner")
    SHARED = "shared", gettext_lazy("shared: every account")
    PUBLIC = "public", gettext_lazy("public: all visitors")


class Scope(TextChoices):
    """How much of what its account may do a token may do."""

    READ = "read", gettext_lazy("read")
    WRITE = "write", gettext_lazy("read and write")


class Owned(Protocol):
    """What the rule needs to know of an object; `owner_id` is None for what has no owner."""

    @property
    def owner_id(self) -> int | None: ...
    @property
    def visibility(self) -> Any: ...  # text; in a model, a field that gives it


@dataclass(frozen=True, slots=True)
class Visitor:
    """An account, or a person without one, who asks. `role` is None without a login."""

    account_id: int | None = None
    role: Role | None = None
    has_write_scope: bool = True
    is_local: bool = False

    @property
    def is_admin(self) -> bool:
        """Whether everything is theirs to read and, with a write scope, to change."""
        return self.role == Role.ADMIN

    @property
    def may_create(self) -> bool:
        """Whether they may upload, start runs and fork."""
        return self.has_write_scope and self.role in (Role.EDITOR, Role.ADMIN)

    def owns(self, thing: Owned) -> bool:
        """Whether *thing* is theirs."""
        return self.owns_of(thing.owner_id)

    def owns_of(self, owner_id: int | None) -> bool:
        """Whether they own the things of the account *owner_id*; None stands for things without an owner."""
        return self.is_local if owner_id is None else owner_id == self.account_id

    def may_read(self, thing: Owned) -> bool:
        """Whether they may see *thing*; if not, it is as if it did not exist."""
        if self.is_admin or self.owns(thing) or thing.visibility == Visibility.PUBLIC:
            return True
        return thing.visibility == Visibility.SHARED and self.role is not None

    def may_change(self, thing: Owned) -> bool:
        """Whether they may play, command, share or delete *thing*."""
        return self.may_create and (self.is_admin or self.owns(thing))

    def readable(self) -> Q:
        """The condition that finds what `may_read` allows, for a query."""
        if self.is_admin:
            return Q()
        return Q(visibility__in=self._read_of_others()) | self.owned()

    def owned(self) -> Q:
        """The condition that finds what is theirs."""
        # "pk in ()" finds nothing: a visitor without an account owns nothing where login is required.
        mine = Q(owner_id=self.account_id) if self.account_id is not None else Q(pk__in=())
        return mine | Q(owner_id=None) if self.is_local else mine

    def _read_of_others(self) -> tuple[str, ...]:
        if self.role is None:
            return (Visibility.PUBLIC,)
        return (Visibility.PUBLIC, Visibility.SHARED)


def visitor_of(request: Any) -> Visitor:
    """The visitor behind a request of Django or REST framework.

    Only the account and the token that were verified count. No header says where a request is from.
    """
    token = getattr(request, "auth", None)
    scope = Scope.WRITE if token is None else token.scope
    return visitor_for(getattr(request, "user", None), scope=scope)


def visitor_for(user: User | AnonymousUser | None, *, scope: str = Scope.WRITE) -> Visitor:
    """The visitor who is logged in as *user*, with a token of *scope* or a session."""
    is_local = not settings.LOGIN_REQUIRED
    if user is None or not user.is_authenticated or not user.is_active:
        return Visitor(role=Role.EDITOR if is_local else None, is_local=is_local)
    return Visitor(user.pk, role_of(user), scope == Scope.WRITE, is_local)


def role_of(user: Any) -> Role:
    """The role of an account. Django's own flags say nothing about it: see `Account.save`."""
    account = getattr(user, "account", None)
    return Role.VIEWER if account is None else Role(account.role)


def refuse(visitor: Visitor, words: str) -> None:
    """Raise what fits a visitor who may not do something: log in first, or, in *words*, not with this account."""
    if visitor.role is None:
        raise NotAuthenticated(gettext("Log in, or send a token: Authorization: Token …"))
    if not visitor.has_write_scope:
        raise PermissionDenied(gettext("This token may only read."))
    raise PermissionDenied(words)
