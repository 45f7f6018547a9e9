"""Texts that the kubelet and the attach/detach controller share.

Upstream: operationexecutor/operation_executor.go, generateVolumeMsg…().
"""

from collections.abc import Mapping
from typing import Any, Final

FAILED_ATTACH: Final = "FailedAttachVolume"
ATTACHED: Final = "SuccessfulAttachVolume"

# At most this many volumes are named; the rest are counted.
_MOST_NAMED: Final = 3


def changed(volumes: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Summarise the volumes whose view changed; None stands for a volume that is no longer shown."""
    said = [_change(name, shown) for name, shown in volumes.items()]
    more = len(said) - _MOST_NAMED
    return ", ".join(said[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _change(unique_name: str, shown: Mapping[str, Any] | None) -> str:
    if shown is None:
        return f"{unique_name} is gone"
    operations = [*shown.get("operations", {}).values(), shown.get("operation", {})]
    names = [operation["name"] for operation in operations if "started" in operation]
    return f"{shown['name']} in {' and '.join(names)}" if names else shown["name"]


def simple(prefix: str, volume: str, suffix: str) -> str:
    """The text of an Event on the pod."""
    return f'{prefix} for volume "{volume}" {suffix}'


def error_suffix(text: str | None) -> str:
    """What follows a prefix: the error after a colon, or nothing."""
    return f": {text}" if text else ""
