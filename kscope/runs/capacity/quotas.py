"""Quotas: how many uploads and runs an account may keep, and how many may play at once."""

from collections.abc import Mapping

from django.db.models import Count, Q, Sum

from kscope.accounts.models import Account
from kscope.accounts.usage import limit_of
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario

WORDS = {
    "uploads": "Your account keeps {used:,} uploads; it may keep {limit:,}. Delete one first.",
    "upload_bytes": "With this upload your account would keep {wanted:,} bytes; it may keep {limit:,}.",
    "runs": "Your account keeps {used:,} runs; it may keep {limit:,}. Delete one first.",
    "playing": "{used:,} runs of this account play; {limit:,} may play at once. Pause one first.",
}


def quotas_used(owner_id: int) -> dict[str, int]:
    """What the account with this id uses, by the name of the quota."""
    uploads = Scenario.objects.filter(owner_id=owner_id).aggregate(
        number=Count("pk"), bytes=Sum("bytes", default=0)
    )
    playing = Q(status=Run.Status.PLAYING)
    runs = Run.objects.filter(owner_id=owner_id).aggregate(
        number=Count("pk"), playing=Count("pk", filter=playing)
    )
    return {
        "uploads": uploads["number"],
        "upload_bytes": uploads["bytes"],
        "runs": runs["number"],
        "playing": runs["playing"],
    }


def quotas_check(owner_id: int | None, **wanted: int) -> None:
    """Check that the account may use *wanted* more of each quota. Raises ApplicationError if not.

    The row of the account stays locked until the transaction ends, so that two simultaneous
    requests cannot both take what is left. Without an owner nothing is checked.
    """
    if owner_id is None:
        return
    account, _ = Account.objects.select_for_update().get_or_create(user_id=owner_id)
    _compare(account, wanted)


def quotas_foresee(owner_id: int | None, **wanted: int) -> None:
    """The same, as far as it can be known before an upload has come. Locks nothing."""
    if owner_id is not None:
        _compare(Account.objects.get_or_create(user_id=owner_id)[0], wanted)


def _compare(account: Account, wanted: Mapping[str, int]) -> None:
    used = quotas_used(account.user_id)
    for quota, more in wanted.items():
        limit = limit_of(account, quota)
        if more and used[quota] + more > limit:
            words = WORDS[quota].format(used=used[quota], limit=limit, wanted=used[quota] + more)
            details = {"quota": quota, "used": used[quota], "limit": limit}
            raise ApplicationError(words, details, status=403)
