"""Quotas: how many uploads and runs an account may keep, and how many may play at once."""

from collections.abc import Mapping
from typing import Any

from django.db import connection
from django.db.models import Count, Q, Sum
from django.db.models.functions import Greatest
from django.utils.translation import gettext, gettext_lazy

from kscope.accounts.models import Account
from kscope.accounts.usage import limit_of
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, Scenario

WORDS = {
    "uploads": gettext_lazy(
        "Your account keeps {used} uploads; it may keep {limit}. Delete one first."
    ),
    "upload_bytes": gettext_lazy(
        "With this upload your account would keep {wanted} bytes; it may keep {limit}."
    ),
    "runs": gettext_lazy("Your account keeps {used} runs; it may keep {limit}. Delete one first."),
    "playing": gettext_lazy(
        "{used} runs of this account play; {limit} may play at once. Pause one first."
    ),
}

# A refusal names so many of those that could go.
NAMED = 5


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
        "runs": runs["number"] + _histories_read(owner_id),
        "playing": runs["playing"],
    }


def _histories_read(owner_id: int) -> int:
    """How many histories of deleted runs are there for the forks of the account.

    Where several forks read one, it counts for the owner of that which reads most of it.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HISTORIES, [owner_id, owner_id])
        return int(cursor.fetchone()[0])


_HISTORIES = """
SELECT count(*) FROM (
    SELECT DISTINCT ON (part.source) fork.owner_id
    FROM runs_historypart AS part JOIN runs_run AS fork ON fork.id = part.run_id
    WHERE part.upto > part.after
        AND NOT EXISTS (SELECT FROM runs_run AS there WHERE there.id = part.source)
        AND part.source IN (
            SELECT mine.source FROM runs_historypart AS mine
                JOIN runs_run AS own ON own.id = mine.run_id
            WHERE own.owner_id = %s)
    ORDER BY part.source, part.upto DESC, part.run_id
) AS history WHERE owner_id = %s
"""


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
            numbers = {"used": used[quota], "limit": limit, "wanted": used[quota] + more}
            words = WORDS[quota].format(**{name: f"{one:,}" for name, one in numbers.items()})
            details: dict[str, Any] = {"quota": quota, "used": used[quota], "limit": limit}
            if could_go := _could_go(account.user_id, quota):
                details["could_go"] = could_go
                words = _NAMED_AS[quota].format(
                    refusal=words, names=", ".join(map(_named, could_go))
                )
            raise ApplicationError(words, details, status=403)


_NAMED_AS = {
    "uploads": gettext_lazy("{refusal} The oldest without a run: {names}."),
    "upload_bytes": gettext_lazy("{refusal} The oldest without a run: {names}."),
    "runs": gettext_lazy("{refusal} The oldest finished ones: {names}."),
    "playing": gettext_lazy("{refusal} The oldest that play: {names}."),
}


def _could_go(owner_id: int, quota: str) -> list[dict[str, Any]]:
    """What the account could delete, or pause, to stay below the quota; the oldest first.

    Of runs it says when one was last computed, of uploads when they came. Runs that are to be kept
    are not among those to delete.
    """
    if quota in ("uploads", "upload_bytes"):
        unused = Scenario.objects.filter(owner_id=owner_id, runs=None).order_by("created", "pk")
        rows = unused.values_list("pk", "name", "created")
    else:
        state = {"status": Run.Status.PLAYING} if quota == "playing" else _DONE
        runs = Run.objects.filter(owner_id=owner_id, **state)
        # The newest owner took it then; retention counts from the same time.
        runs = runs.annotate(computed=Greatest("created", "lease_since")).order_by("computed", "pk")
        rows = runs.values_list("pk", "name", "computed")
    when = "uploaded" if quota in ("uploads", "upload_bytes") else "computed"
    return [{"id": key, "name": name, when: at.isoformat()} for key, name, at in rows[:NAMED]]


_DONE = {"status": Run.Status.FINISHED, "kept": False}


def _named(one: Mapping[str, Any]) -> str:
    if "computed" in one:
        words = gettext("{name} #{number} (last computed {time})")
        return words.format(name=one["name"], number=one["id"], time=_minute(one["computed"]))
    words = gettext("{name} (uploaded {time})")
    return words.format(name=one["name"], time=_minute(one["uploaded"]))


def _minute(moment: str) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC"
