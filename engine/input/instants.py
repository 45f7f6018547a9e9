"""The times in manifests: the newest one is the instant at which their cluster was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

from engine.kernel.units import LONGEST, nanoseconds_of

Manifest = dict[str, Any]

# The fields that hold a time at which something was seen.
_CONDITION_TIMES: Final = ("lastHeartbeatTime", "lastTransitionTime", "lastUpdateTime")
_EVENT_TIMES: Final = ("lastTimestamp", "deprecatedLastTimestamp", "eventTime", "firstTimestamp")
_CONTAINERS: Final = ("initContainerStatuses", "containerStatuses")
_FORMAT: Final = "%Y-%m-%dT%H:%M:%SZ"


def is_dated(manifests: Iterable[Manifest], newest_write: str = "") -> bool:
    """Whether the newest time in *manifests* says when somebody looked at their cluster.

    Deletions alone do not tell: each is as likely long overdue as it has just begun.
    """
    return is_time(newest_write) or any(map(_is_dated, manifests))


def newest_of(manifests: Iterable[Manifest], newest_write: str = "") -> str:
    """The newest time in *manifests*, in whole seconds; "" where they name none.

    *newest_write* is the newest time of the managed fields, which the manifests lack.
    """
    found = newest_write.rstrip("Z") if is_time(newest_write) else ""
    for each in manifests:
        found = newest_time(each, found)
    return whole_second(found)


def was_stored(raw: Manifest) -> bool:
    """Whether an API server has stored the object: it gives each a uid and a resourceVersion."""
    metadata = raw["metadata"]
    return bool(metadata.get("uid") or metadata.get("resourceVersion"))


def newest_time(raw: Manifest, known: str = "") -> str:
    """The newest time at which something is said to have happened to an object, or *known*.

    It has no Z at its end, so that a fraction is newer than its whole second.
    """
    for each in (*_times(raw), _asked_to_go(raw["metadata"])):
        # Few are newer, and only of these it matters whether they are times at all.
        if isinstance(each, str) and (time := each.rstrip("Z")) > known and is_time(each):
            known = time
    return known


def whole_second(time: str) -> str:
    """The end of the second that *time* is in: fractions are rounded up."""
    if "." not in time:
        return f"{time}Z" if time else ""
    return (datetime.fromisoformat(time).replace(microsecond=0) + timedelta(seconds=1)).strftime(
        _FORMAT
    )


def whole_second_of(moment: datetime) -> str:
    """The second that *moment* is in, in UTC: the time of an import, which its caller knows."""
    return moment.astimezone(UTC).strftime(_FORMAT)


def is_time(text: Any) -> bool:
    """Whether it is a timestamp as API servers write it, in UTC, that the clock of a run can show.

    Custom resources hold any text.
    """
    if not isinstance(text, str) or not text.endswith("Z") or text[10:11] != "T":
        return False
    try:
        return abs(nanoseconds_of(text)) < LONGEST
    except ValueError:
        return False


def moment(text: Any) -> datetime:
    """The moment of an RFC 3339 timestamp. Raises ValueError for a text that is not an instant."""
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def _is_dated(raw: Manifest) -> bool:
    return any(map(is_time, _times(raw)))


def _times(raw: Manifest) -> Iterator[Any]:
    """All but the time of its deletion."""
    yield raw["metadata"].get("creationTimestamp")
    if raw["kind"] == "Event":
        yield from (raw.get(name) for name in _EVENT_TIMES)
        yield _part(raw, "series").get("lastObservedTime")
    elif raw["kind"] == "Lease":
        yield _part(raw, "spec").get("renewTime")
    status = _part(raw, "status")
    if not status:
        return
    yield status.get("startTime")
    for condition in _parts(status, "conditions"):
        yield from (condition.get(name) for name in _CONDITION_TIMES)
    for name in _CONTAINERS:
        for each in _parts(status, name):
            state = _part(each, "state")
            yield _part(state, "running").get("startedAt")
            yield _part(state, "terminated").get("finishedAt")


def _part(raw: Manifest, name: str) -> Manifest:
    """The mapping of that name; an empty one where there is none, as custom resources hold anything."""
    found = raw.get(name)
    return cast("Manifest", found) if isinstance(found, dict) else {}


def _parts(raw: Manifest, name: str) -> list[Manifest]:
    """The mappings in the list of that name."""
    found = raw.get(name)
    listed = cast("list[Any]", found) if isinstance(found, list) else []
    return [each for each in listed if isinstance(each, dict)]


def _asked_to_go(metadata: Manifest) -> str:
    """When the deletion was asked for: the timestamp is when its grace period ends.

    Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go, BeforeDelete().
    """
    ends, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if not is_time(ends) or not isinstance(grace, int):
        return str(ends or "")
    return (moment(ends) - timedelta(seconds=grace)).strftime(_FORMAT)
