"""Accounts, roles, quotas and tokens in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext_lazy

from kscope.accounts.access import role_of
from kscope.accounts.models import Account, Identity, Token
from kscope.accounts.usage import usage_of
from kscope.words.labels import label_fields, label_model

label_fields(
    Account,
    role=gettext_lazy("role"),
    max_uploads=gettext_lazy("uploads at most"),
    max_upload_bytes=gettext_lazy("bytes of uploads at most"),
    max_runs=gettext_lazy("runs at most"),
    max_playing=gettext_lazy("playing runs at most"),
    language=gettext_lazy("language"),
)
label_model(Identity, gettext_lazy("identity"), gettext_lazy("identities"))
label_fields(Identity, issuer=gettext_lazy("issuer"), subject=gettext_lazy("subject"))
label_model(Token, gettext_lazy("token"), gettext_lazy("tokens"))
label_fields(
    Token,
    name=gettext_lazy("name"),
    user=gettext_lazy("account"),
    scope=gettext_lazy("scope"),
    created=gettext_lazy("created"),
    expiry=gettext_lazy("expires"),
)
admin.site.unregister(User)
admin.site.unregister(Group)


class AccountForm(forms.ModelForm):
    """An account is saved with its user even where nothing was changed."""

    def has_changed(self) -> bool:
        """See forms.ModelForm."""
        return True


class AccountInline(admin.StackedInline):
    """Role and quotas."""

    model = Account
    form = AccountForm
    can_delete = False
    verbose_name_plural = gettext_lazy("role and quotas")
    readonly_fields = ("used",)

    @admin.display(description=gettext_lazy("quotas used"))
    def used(self, account: Account) -> str:
        """What counts, how much of it is used, and the limit."""
        if account.user_id is None:
            return ""
        return "; ".join(
            _USED[each.quota].format(
                used=_amount(each.used, each.is_bytes), limit=_amount(each.limit, each.is_bytes)
            )
            for each in usage_of(account)
        )


class IdentityInline(admin.TabularInline):
    """Who it is at the provider; written by a login, or here, for an account that was there before."""

    model = Identity
    extra = 0


_USED = {
    "uploads": gettext_lazy("uploads {used} of {limit}"),
    "upload_bytes": gettext_lazy("upload bytes {used} of {limit}"),
    "runs": gettext_lazy("runs {used} of {limit}"),
    "playing": gettext_lazy("playing {used} of {limit}"),
}


def _amount(number: int, is_bytes: bool) -> str:
    return filesizeformat(number) if is_bytes else f"{number:,}"


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Accounts. The role decides; Django's own groups and permissions are not used."""

    inlines = (AccountInline, IdentityInline)
    list_display = ("username", "role", "is_active", "last_login", "date_joined")
    list_filter = ("account__role", "is_active")
    list_select_related = ("account",)
    fieldsets = (
        (None, {"fields": ("username", "password", "email", "is_active")}),
        (gettext_lazy("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    readonly_fields = ("last_login", "date_joined")
    filter_horizontal = ()

    @admin.display(description=gettext_lazy("role"), ordering="account__role")
    def role(self, user: User) -> str:
        """The role, in a word."""
        return role_of(user)

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """A new user gets an account first, which can then be changed."""
        return self.inlines if obj else ()


@admin.register(Token)
class TokenAdmin(admin.ModelAdmin):
    """Tokens can be seen, without what they were made of, and revoked."""

    list_display = ("name", "user", "scope", "created", "expiry")
    list_filter = ("scope",)
    list_select_related = ("user",)
    search_fields = ("name", "user__username")
    fields = ("name", "user", "scope", "created", "expiry")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Their owners make them."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A token stays what it was made as."""
        return False
