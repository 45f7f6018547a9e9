"""The rules of passwords, which Django asks at every door: forms, admin, commands, services.

Django calls `validate()` before it takes a password, and `password_changed()` after a new one was
stored, by whatever way.
"""

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext

# 10**8 guesses: more than an attacker can try at the login in a thousand years.
_LEAST_SCORE = 3
# The time to judge a password grows with the square of its length.
_JUDGED_LENGTH = 72
# Words that come to mind here first.
_WORDS_OF_OURS = ("kscope", "kubernetes", "k8s", "kubectl", "scheduler", "cluster", "changeme")


class GuessedPasswordValidator:
    """Refuses what is made of leaked passwords, names, dates and rows of keys (zxcvbn)."""

    def validate(self, password: str, user: Any = None) -> None:
        """Raise ValidationError for a password that is guessed soon."""
        from zxcvbn import zxcvbn  # Its lists take 70 ms and 20 MB, which few processes need.

        known = [*_WORDS_OF_OURS, *([user.username, user.email] if user is not None else ())]
        if zxcvbn(password[:_JUDGED_LENGTH], user_inputs=known)["score"] < _LEAST_SCORE:
            raise ValidationError(
                gettext(
                    "This password is too easy to guess. Four words that have nothing to do with "
                    "each other make a good one."
                ),
                code="password_too_easy",
            )

    def get_help_text(self) -> str:
        """What forms say beforehand."""
        return gettext(
            "Your password can't be made of leaked passwords, names, dates or rows of keys."
        )


class EndOfTokens:
    """Refuses no password. When one was changed, the tokens of the account end.

    Its other sessions end as well: Django compares a digest of the password at each request.
    """

    def validate(self, password: str, user: Any = None) -> None:
        """Accept it."""

    def password_changed(self, password: str, user: Any = None) -> None:
        """Revoke the tokens of *user*."""
        from kscope.accounts.models import Token

        Token.objects.filter(user=user).delete()

    def get_help_text(self) -> str:
        """What forms say beforehand."""
        return gettext("A new password ends your other sessions and revokes your tokens.")
