"""What an account has used of its quotas.

The packages that store what is counted register a function here, so that this package need not
know them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from kscope.accounts.models import Account


@dataclass(frozen=True, slots=True)
class Usage:
    """One quota: what it counts, how much is used, and the limit."""

    quota: str
    used: int
    limit: int

    @property
    def is_bytes(self) -> bool:
        """Whether the numbers are bytes."""
        return self.quota.endswith("bytes")


Counter = Callable[[int], dict[str, int]]
# Each returns what the account with this id uses, by the name of the quota.
counters: list[Counter] = []


def usage_of(account: Account) -> list[Usage]:
    """All quotas of the account, in the order of the settings."""
    used: dict[str, int] = {}
    for counter in counters:
        used.update(counter(account.user_id))
    return [Usage(quota, used.get(quota, 0), limit_of(account, quota)) for quota in settings.QUOTAS]


def limit_of(account: Account, quota: str) -> int:
    """The account's own limit, else the usual one."""
    own = getattr(account, f"max_{quota}")
    return settings.QUOTAS[quota] if own is None else own
