"""How a scenario is told: where it stands in the gallery, what its pages select, and the answer to its question.

The fields are described in docs/scenario-format.md, "Question and answer".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from engine.api_server.validation.report import LONGEST_ENTITY, Report, text_fault
from engine.kernel.sentences import enumerated, say
from engine.objects.documents import Path
from engine.objects.values.shown import shown

FIELDS = ("topic", "tags", "select", "answer", "proof")
# What a page can select, and how many parts the name of one has.
_PARTS = {"pod": 3, "claim": 3, "volume": 2, "node": 2}
_PROOF = ("event", "object", "message")
_LONGEST_WORD = 40
_LONGEST_ANSWER = 1000
_MOST_TAGS = 20


def parse_telling(spec: Mapping[str, Any], path: Path, report: Report) -> dict[str, Any]:
    """What the `spec` at *path* says of these fields, without what is absent."""
    found = {
        "topic": _text(spec.get("topic"), (*path, "topic"), report, _LONGEST_WORD),
        "tags": _tags(spec.get("tags"), (*path, "tags"), report),
        "select": _selected(spec.get("select"), (*path, "select"), report),
        "answer": _text(spec.get("answer"), (*path, "answer"), report, _LONGEST_ANSWER),
        "proof": _proof(spec.get("proof"), (*path, "proof"), report),
    }
    if found["proof"] and spec.get("answer") is None:
        report.add((*path, "proof"), spec["proof"], say("proves an answer, and there is no answer"))
    return {name: value for name, value in found.items() if value}


def _text(value: Any, path: Path, report: Report, longest: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not value.strip():
        report.add(path, value, say("expected a text, found {found}", found=shown(value)))
        return ""
    fault = text_fault(value, longest)
    if fault is not None:
        report.add(path, value, fault)
    return value


def _tags(value: Any, path: Path, report: Report) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        report.add(path, value, say("expected a list, found {found}", found=shown(value)))
        return []
    tags = cast("list[Any]", value)
    if len(tags) > _MOST_TAGS:
        report.add(
            path,
            None,
            say(
                "has {count} entries; at most {most_tags} are read",
                count=len(tags),
                most_tags=_MOST_TAGS,
            ),
        )
    texts = [_text(tag, (*path, i), report, _LONGEST_WORD) for i, tag in enumerate(tags)]
    return [text for text in texts if text]


def _selected(value: Any, path: Path, report: Report) -> str:
    if value is None:
        return ""
    entity = value if isinstance(value, str) else ""
    parts = entity.split("/")
    if len(entity) > LONGEST_ENTITY or _PARTS.get(parts[0]) != len(parts) or not all(parts):
        report.add(
            path,
            value,
            say(
                "{found} is no object that a page selects, such as pod/default/web, "
                "claim/default/data, volume/disk or node/n1",
                found=shown(value),
            ),
        )
        return ""
    return entity


def _proof(value: Any, path: Path, report: Report) -> dict[str, str]:
    """The event that proves the answer: the first of this kind, object and part of a message."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        report.add(path, value, say("expected a mapping, found {found}", found=shown(value)))
        return {}
    fields = cast("dict[str, Any]", value)
    for name, found in fields.items():
        if name not in _PROOF:
            message = say("unknown field; known are {list}", list=enumerated([*_PROOF]))
            report.add((*path, name), found, message)
    if fields.get("event") is None:
        report.add((*path, "event"), None, say("is missing"))
    texts = {
        name: _text(fields.get(name), (*path, name), report, LONGEST_ENTITY) for name in _PROOF
    }
    return {name: text for name, text in texts.items() if text}
