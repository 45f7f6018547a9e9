"""Recordings with times of their own: records of kube-scheduler-simulator, and traces of SimKube.

Both tell when an object was made, changed or deleted, and are put together as a watch is. Upstream:
kubernetes-sigs/kube-scheduler-simulator simulator/recorder/recorder.go, Record; acrlabs/simkube
docs/ref/trace-files.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, cast

import msgpack  # pyright: ignore[reportMissingTypeStubs]
import orjson

from engine.input.formats.watches import WATCH, Key, Type, Version, is_object, key_of, versions_of
from engine.kernel.sentences import say
from engine.objects.documents import Document, DocumentError, Limits, json_document

Manifest = dict[str, Any]
# What such files are called.
RECORDS: Final = say("records of kube-scheduler-simulator")
SIMKUBE: Final = say("a trace of SimKube")

_EVENTS: Final[dict[str, Type]] = {"Add": "ADDED", "Update": "MODIFIED", "Delete": "DELETED"}
_RECORD: Final = {"time", "event", "resource"}
# The first bytes of a map in MessagePack, and the parts that a trace has.
_MAPS: Final = (*range(0x80, 0x90), 0xDE, 0xDF)
_PARTS: Final = (b"events", b"config", b"ts")
_HEAD: Final = 1 << 16
_SECONDS: Final = 1 << 33  # of time stamps: until the year 2242


def recording_of(documents: Sequence[Document]) -> tuple[list[Version], str]:
    """The versions that the documents of a file record, and what it is; none where it is none.

    Raises DocumentError.
    """
    if versions := versions_of(documents):
        return versions, WATCH
    if records := records_of(documents):
        return records, RECORDS
    return written_trace(documents), SIMKUBE


# -- records of the simulator ------------------------------------------------------------------------


def records_of(documents: Sequence[Document]) -> list[Version]:
    """The versions that the documents of a file record; none where it is no such file.

    It is one list of records, or has one on each line.
    """
    found: list[tuple[Any, Document]] = []
    for each in documents:
        value: Any = each.value
        is_list = isinstance(value, list)
        found += [(one, each) for one in (cast("list[Any]", value) if is_list else [value])]
    if not found or not all(_is_record(value) for value, _ in found):
        return []
    return [
        Version(_EVENTS[value["event"]], value["resource"], each.index, each.line, value["time"])
        for value, each in found
    ]


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict) or cast("Manifest", value).keys() != _RECORD:
        return False
    record = cast("Manifest", value)
    return (
        record["event"] in _EVENTS
        and isinstance(record["time"], str)
        and is_object(record["resource"])
    )


# -- traces of SimKube -------------------------------------------------------------------------------


def is_trace(data: bytes) -> bool:
    """Whether a file is a trace of SimKube: MessagePack with its parts."""
    return bool(data) and data[0] in _MAPS and all(part in data[:_HEAD] for part in _PARTS)


def trace_versions(data: bytes, limits: Limits) -> list[Version]:
    """The versions of objects in a trace. Raises DocumentError."""
    try:
        whole = cast("Any", msgpack).unpackb(data, use_list=False, strict_map_key=False)
        events: Any = whole["events"]
        # Read as JSON is: what is nested too deep, or what no database can store, is refused.
        text = orjson.dumps(events)
    except (ValueError, TypeError, KeyError, msgpack.UnpackException, orjson.JSONEncodeError):
        raise DocumentError("not a trace of SimKube, although it begins like one") from None
    return _versions_of(json_document(text, limits).value)


def written_trace(documents: Sequence[Document]) -> list[Version]:
    """The versions of objects in a trace that was written as JSON; none of anything else.

    Raises DocumentError.
    """
    value: Any = documents[0].value if len(documents) == 1 else None
    if not isinstance(value, dict) or "kind" in value or not value.keys() >= {"config", "events"}:
        return []
    events: Any = cast("Manifest", value)["events"]
    changes = cast("list[Any]", events) if isinstance(events, list) else []
    is_timed = any(isinstance(each, dict) and "ts" in each for each in changes)
    return _versions_of(changes) if is_timed else []


def _versions_of(events: Any) -> list[Version]:
    if not isinstance(events, list) or not all(map(_is_change, cast("list[Any]", events))):
        raise DocumentError("not a trace of SimKube: its events are not as they should be")
    return list(_versions(cast("list[Manifest]", events)))


def _is_change(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    change = cast("Manifest", value)
    objects = [*_list(change, "applied_objs"), *_list(change, "deleted_objs")]
    time: Any = change.get("ts")
    return isinstance(time, int) and 0 <= time < _SECONDS and all(map(is_object, objects))


def _list(change: Manifest, name: str) -> list[Any]:
    found: Any = change.get(name)
    return cast("list[Any]", found) if isinstance(found, list) else []


def _versions(changes: list[Manifest]) -> Iterator[Version]:
    known: dict[Key, None] = {}
    for number, change in enumerate(changes, 1):
        told = datetime.fromtimestamp(change["ts"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for each in _list(change, "applied_objs"):
            key = key_of(each)
            yield Version("MODIFIED" if key in known else "ADDED", each, number, 0, told)
            known[key] = None
        for each in _list(change, "deleted_objs"):
            known.pop(key_of(each), None)
            yield Version("DELETED", each, number, 0, told)
