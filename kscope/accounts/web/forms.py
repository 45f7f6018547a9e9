"""Forms about accounts."""

from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.translation import gettext, gettext_lazy

from kscope.accounts.access import Scope
from kscope.accounts.models import Token


class TokenForm(forms.Form):
    """What a new token is called, what it may do, and for how long."""

    name = forms.CharField(max_length=100, label=gettext_lazy("Name"))
    scope = forms.ChoiceField(choices=Scope, initial=Scope.READ, label=gettext_lazy("May"))
    days = forms.IntegerField(
        min_value=1, max_value=3650, initial=90, label=gettext_lazy("Expires after, days")
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_name(self) -> str:
        """The name must be new among the tokens of the account."""
        name: str = self.cleaned_data["name"].strip()
        if Token.objects.filter(user=self.user, name=name).exists():
            raise forms.ValidationError(gettext("You already have a token of this name."))
        return name
