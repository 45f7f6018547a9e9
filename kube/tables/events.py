"""The columns of an Event, of core/v1 and of events.k8s.io/v1. Upstream: printEvent()."""

from typing import Any

from kube.tables.columns import NAME, Column, Columns, Object, text
from kube.tables.durations import since


def _old(event: Object, name: str) -> Any:
    """A field of core/v1, which events.k8s.io/v1 calls deprecated."""
    return event.get(name) or event.get(f"deprecated{name[0].upper()}{name[1:]}")


def _first_seen(event: Object, now: int) -> str:
    return since(_old(event, "firstTimestamp") or event.get("eventTime"), now)


def _last_seen(event: Object, now: int) -> str:
    series = event.get("series")
    if series:
        return since(series.get("lastObservedTime"), now)
    last = _old(event, "lastTimestamp")
    return since(last, now) if last else _first_seen(event, now)


def _count(event: Object, now: int) -> int:
    series = event.get("series") or {}
    return int(series.get("count") or _old(event, "count") or 1)


def _about(event: Object) -> Object:
    return event.get("involvedObject") or event.get("regarding") or {}


def _object(event: Object) -> str:
    about = _about(event)
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _source(event: Object) -> str:
    """Upstream: formatEventSource()."""
    source = _old(event, "source") or {}
    reporter = event.get("reportingComponent") or event.get("reportingController") or ""
    component = source.get("component") or reporter
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else str(component)


EVENTS: Columns = (
    Column("Last Seen", get=_last_seen),
    text("Type", lambda one: one.get("type") or ""),
    text("Reason", lambda one: one.get("reason") or ""),
    text("Object", _object),
    text("Subobject", lambda one: _about(one).get("fieldPath") or "", wide=True),
    text("Source", _source, wide=True),
    text("Message", lambda one: (one.get("message") or one.get("note") or "").strip()),
    Column("First Seen", priority=1, get=_first_seen),
    Column("Count", priority=1, get=_count),
    Column("Name", priority=1, format="name", get=NAME.get),
)
