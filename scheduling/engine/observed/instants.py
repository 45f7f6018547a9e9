"""The times in manifests: the newest one is the instant at which their cluster was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from kscope.sim.objects.manifest_parts import items, section
from kscope.sim.objects.objects import Manifest

# The fields that hold a time at which something was seen.
_CONDITION_TIMES: Final = ("lastHeartbeatTime", "lastTransitionTime", "lastUpdateTime")
_EVENT_TIMES: Final = ("lastTimestamp", "deprecatedLastTimestamp", "eventTime", "firstTimestamp")
_CONTAINERS: Final = ("initContainerStatuses", "containerStatuses")
_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def newest_time(raw: Manifest) -> str:
    """The newest time at which something is said to have happened to an object; "" for none.

    It has no Z at its end, so that a fraction is newer than its whole second.
    """
    return max((each.rstrip("Z") for each in _times(raw) if is_time(each)), default="")


def whole_second(time: str) -> str:
    """The end of the second that *time* is in: fractions are rounded up."""
    if "." not in time:
        return f"{time}Z" if time else ""
    return (datetime.fromisoformat(time).replace(microsecond=0) + timedelta(seconds=1)).strftime(
        _FORMAT
    )


def is_time(text: Any) -> bool:
    """Whether it is a timestamp as API servers write it, in UTC. Custom resources hold any text."""
    if not isinstance(text, str) or not text.endswith("Z") or text[10:11] != "T":
        return False
    try:
        moment(text)
    except ValueError:
        return False
    return True


def moment(text: Any) -> datetime:
    """The moment of an RFC 3339 timestamp. Raises ValueError for a text that is none."""
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def _times(raw: Manifest) -> Iterator[Any]:
    metadata = raw["metadata"]
    yield metadata.get("creationTimestamp")
    yield _asked_to_go(metadata)
    if raw["kind"] == "Event":
        yield from (raw.get(name) for name in _EVENT_TIMES)
        yield section(raw, "series").get("lastObservedTime")
    elif raw["kind"] == "Lease":
        yield section(raw, "spec").get("renewTime")
    status = section(raw, "status")
    if not status:
        return
    yield status.get("startTime")
    for condition in items(status, "conditions"):
        yield from (condition.get(name) for name in _CONDITION_TIMES)
    for name in _CONTAINERS:
        for each in items(status, name):
            yield section(each, "state", "running").get("startedAt")
            yield section(each, "state", "terminated").get("finishedAt")


def _asked_to_go(metadata: Manifest) -> str:
    """When the deletion was asked for: the timestamp is when its grace period ends.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete().
    """
    ends, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if not is_time(ends) or not isinstance(grace, int):
        return str(ends or "")
    return (moment(ends) - timedelta(seconds=grace)).strftime(_FORMAT)
