"""What admission says beside its verdict, as lines that a run keeps with the command."""

from collections.abc import Iterable, Iterator
from typing import Final

# What a policy warns of begins with this.
VALIDATION_FAILED: Final = "Validation failed for "
_AUDITS: Final = "Audit annotation "
# Before what a webhook warns of, which clients get without it.
_WEBHOOK_WARNS: Final = "Warning of a webhook: "


def audited(key: str, value: str) -> str:
    """An audit annotation as a line: a run has no audit log, but keeps it with the command."""
    return f"{_AUDITS}{key}: {' '.join(value.splitlines())}"


def warned_by_webhook(text: str) -> str:
    """What a webhook warns of, as a line."""
    return f"{_WEBHOOK_WARNS}{' '.join(text.splitlines())}"


def warnings_in(lines: Iterable[str]) -> Iterator[str]:
    """The warnings among *lines*, as clients get them."""
    for line in lines:
        if line.startswith(VALIDATION_FAILED):
            yield line
        elif line.startswith(_WEBHOOK_WARNS):
            yield line.removeprefix(_WEBHOOK_WARNS)
