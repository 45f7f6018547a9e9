"""Accounts beside Django's users, and tokens for clients."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy
from knox.models import AbstractAuthToken

from kscope.accounts.access import Role, Scope, role_of

_QUOTA: dict[str, Any] = {"null": True, "blank": True}


class Account(models.Model):
    """What kscope knows of a user: the role, and quotas other than the usual ones."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="account"
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    max_uploads = models.PositiveIntegerField(
        **_QUOTA, help_text=gettext_lazy("uploads kept; empty: default")
    )
    max_upload_bytes = models.PositiveBigIntegerField(
        **_QUOTA, help_text=gettext_lazy("bytes of all uploads kept; empty: default")
    )
    max_runs = models.PositiveIntegerField(
        **_QUOTA, help_text=gettext_lazy("runs kept; empty: default")
    )
    max_playing = models.PositiveIntegerField(
        **_QUOTA, help_text=gettext_lazy("runs playing at once; empty: default")
    )

    # The language that the user has chosen; empty: what the browser asks for.
    language = models.CharField(max_length=16, blank=True, default="", db_default="")

    # Django adds the column of the key; type checkers cannot know.
    user_id: int

    def __str__(self) -> str:
        return f"{self.user}, {role_of(self.user)}"

    @property
    def has_flags(self) -> bool:
        """Whether Django's flags `is_staff` and `is_superuser` are set for it."""
        return self.role == Role.ADMIN

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Keep Django's own flags in step with the role, which alone decides.

        `is_staff`: may enter the admin site. `is_superuser`: may do there what Django asks a
        permission for. Admins, and they alone, have both.
        """
        super().save(*args, **kwargs)
        is_admin = self.has_flags
        users = get_user_model().objects.filter(pk=self.user_id)
        users.exclude(is_superuser=is_admin, is_staff=is_admin).update(
            is_superuser=is_admin, is_staff=is_admin
        )
        self.user.is_superuser = self.user.is_staff = is_admin


class Identity(models.Model):
    """Who an account is at an OpenID Connect provider; kscope/accounts/oidc."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities"
    )
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)

    class Meta:
        ordering = ("issuer", "subject")
        verbose_name_plural = gettext_lazy("identities")
        constraints = (
            models.UniqueConstraint(fields=("issuer", "subject"), name="identity_issuer_subject"),
        )

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class Token(AbstractAuthToken):
    """A token of an account. Only a digest of it is stored; `token_key` is its beginning."""

    name = models.CharField(max_length=100)
    scope = models.CharField(max_length=5, choices=Scope, default=Scope.READ)

    class Meta:
        ordering = ("user_id", "name")
        constraints = (models.UniqueConstraint(fields=("user", "name"), name="token_user_name"),)

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"

    @property
    def has_expired(self) -> bool:
        """Whether it is refused now."""
        return self.expiry is not None and self.expiry < timezone.now()
