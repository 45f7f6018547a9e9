"""A `kind: Lesson` document, checked field by field: types, names, moments, and what texts mark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from engine.api_server.validation.report import LONGEST_ENTITY, Report, text_fault
from engine.input.lessons.words import words_of
from engine.kernel.sentences import enumerated, said_by, say
from engine.objects.documents import Path
from engine.objects.values.durations import parse_duration
from engine.objects.values.shown import shown

_SPEC = {
    **dict.fromkeys(("course", "title", "teaches"), str),
    "run": dict,
    "moments": dict,
    "terms": dict,
    "steps": list,
}
_RUN = {"scenario": str, "profile": str, "seed": int}
_PLACE = {
    **dict.fromkeys(("event", "object", "component", "message", "after"), str),
    "seq": int,
    "nth": int,
    "time": None,
}
_STEP = {
    "title": str,
    "at": None,
    "text": list,
    "select": str,
    "page": str,
    "ask": dict,
    "assert": list,
}
_ASK = {"question": str, "options": list, "then": str, "because": str}
_OPTION = {"text": str, "entity": str, "right": bool, "why": str}
_FACT = {**dict.fromkeys(("object", "event", "attempt", "at"), str), "has": dict}
# The other views of a run that a step can lead to.
PAGES = ("inside", "volumes", "pod", "machines", "timeline", "nodes")
_WORD = {
    str: "a text",
    int: "an integer",
    dict: "a mapping",
    list: "a list",
    bool: "true or false",
}
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST_NAME = 100
_LONGEST_TITLE = 200
_LONGEST_TEXT = 4000
# Keys 1 to 9 choose.
_MOST_OPTIONS = 9
_MOST_STEPS = 40


def read_lesson(raw: Mapping[str, Any], report: Report) -> None:
    """Report what is wrong with the document *raw*; `Lesson.from_document` reads it if nothing is."""
    _Reader(report).lesson(raw)


class _Reader:
    def __init__(self, report: Report) -> None:
        self._report = report
        self._moments: Mapping[str, Any] = {}

    def lesson(self, raw: Mapping[str, Any]) -> None:
        metadata = self._mapping(raw.get("metadata"), {"name": str}, ("metadata",), ("name",))
        name = metadata.get("name")
        if isinstance(name, str) and not (_NAME.fullmatch(name) and len(name) <= _LONGEST_NAME):
            message = say(
                "{found} is not a name of lower-case letters, digits and hyphens", found=shown(name)
            )
            self._report.add(("metadata", "name"), name, message)
        needed = ("course", "title", "teaches", "steps")
        spec = self._mapping(raw.get("spec"), _SPEC, ("spec",), needed)
        self._mapping(spec.get("run"), _RUN, ("spec", "run"))
        for word in ("course", "title"):
            self._length(spec.get(word), ("spec", word), _LONGEST_TITLE)
        self._moments = self._mapping(spec.get("moments"), None, ("spec", "moments"))
        for moment, place in self._moments.items():
            self._place(place, ("spec", "moments", moment))
        for word, text in self._mapping(spec.get("terms"), None, ("spec", "terms")).items():
            self._text(text, ("spec", "terms", word))
        steps = self._list(spec.get("steps"), ("spec", "steps"), _MOST_STEPS)
        if spec.get("steps") == []:
            self._report.add(("spec", "steps"), None, say("a lesson has at least one step"))
        for number, step in enumerate(steps):
            self._step(step, ("spec", "steps", number))

    def _step(self, raw: Any, path: Path) -> None:
        step = self._mapping(raw, _STEP, path, ("title", "at", "text"))
        self._length(step.get("title"), (*path, "title"), _LONGEST_TITLE)
        at = step.get("at")
        if isinstance(at, dict):
            self._place(at, (*path, "at"))
        elif at is not None:
            self._moment(at, (*path, "at"))
        for number, text in enumerate(self._list(step.get("text"), (*path, "text"))):
            self._paragraph(text, (*path, "text", number))
        self._entity(step.get("select"), (*path, "select"))
        page = step.get("page")
        if isinstance(page, str) and page not in PAGES:
            message = say("{found} is none of {list}", found=shown(page), list=enumerated(PAGES))
            self._report.add((*path, "page"), page, message)
        if step.get("ask") is not None:
            self._ask(step["ask"], (*path, "ask"))
        for number, fact in enumerate(self._list(step.get("assert"), (*path, "assert"))):
            self._fact(fact, (*path, "assert", number))

    def _ask(self, raw: Any, path: Path) -> None:
        ask = self._mapping(raw, _ASK, path, ("question", "options"))
        for name in ("question", "because"):
            if ask.get(name) is not None:
                self._paragraph(ask[name], (*path, name))
        if ask.get("then") is not None:
            self._moment(ask["then"], (*path, "then"))
        where = (*path, "options")
        options = self._list(ask.get("options"), where, _MOST_OPTIONS)
        for number, one in enumerate(options):
            option = self._mapping(one, _OPTION, (*where, number), ("text",))
            for name in ("text", "why"):
                if option.get(name) is not None:
                    self._paragraph(option[name], (*where, number, name))
            self._entity(option.get("entity"), (*where, number, "entity"))
        mappings = [cast("dict[str, Any]", one) for one in options if isinstance(one, dict)]
        right = [one for one in mappings if one.get("right") is True]
        if isinstance(ask.get("options"), list) and (len(right) != 1 or len(options) < 2):
            message = say("a question has at least two options, exactly one of which is right")
            self._report.add(where, None, message)

    def _fact(self, raw: Any, path: Path) -> None:
        fact = self._mapping(raw, _FACT, path, ("has",))
        about = [name for name in ("object", "event", "attempt") if fact.get(name) is not None]
        if len(about) != 1:
            message = say("a fact is about one of object, event and attempt")
            self._report.add(path, None, message)
        self._entity(fact.get("object"), (*path, "object"))
        for name in ("event", "attempt", "at"):
            if fact.get(name) is not None:
                self._moment(fact[name], (*path, name))
        if "at" in fact and about != ["object"]:
            self._report.add(
                (*path, "at"), fact["at"], say("only a fact about an object has an instant")
            )
        if fact.get("has") == {}:
            self._report.add((*path, "has"), None, say("says nothing"))

    def _place(self, raw: Any, path: Path) -> None:
        place = self._mapping(raw, _PLACE, path)
        named = [name for name in ("seq", "time", "event") if place.get(name) is not None]
        if len(named) != 1:
            self._report.add(path, None, say("a moment has one of event, time and seq"))
        elif named != ["event"] and len(place) > 1:
            self._report.add(
                path, None, say("a moment with {value} has nothing else", value=named[0])
            )
        if place.get("time") is not None:
            try:
                parse_duration(place["time"])
            except ValueError as error:
                self._report.add((*path, "time"), place["time"], said_by(error))
        if place.get("nth") == 0:
            self._report.add((*path, "nth"), 0, say("counts from 1, or from the end with -1"))
        self._entity(place.get("object"), (*path, "object"))
        if place.get("after") is not None:
            self._moment(place["after"], (*path, "after"))

    # -- texts, names and types ------------------------------------------------------------------

    def _paragraph(self, text: Any, path: Path) -> None:
        if not self._text(text, path):
            return
        for words in words_of(text):
            if words.kind == "unknown":
                message = say(
                    "[{text}]({target}) is no term, moment or object",
                    text=words.text,
                    target=words.target,
                )
                self._report.add(path, text, message)
            if words.moment:
                self._moment(words.moment, path)
            if words.object:
                self._entity(words.object, path)

    def _text(self, value: Any, path: Path) -> bool:
        if not isinstance(value, str) or not value.strip():
            self._report.add(path, value, say("expected a text, found {found}", found=shown(value)))
            return False
        self._length(value, path, _LONGEST_TEXT)
        return True

    def _length(self, value: Any, path: Path, longest: int) -> None:
        fault = text_fault(value, longest) if isinstance(value, str) else None
        if fault is not None:
            self._report.add(path, value, fault)

    def _moment(self, name: Any, path: Path) -> None:
        if not isinstance(name, str) or name not in self._moments:
            known = ", ".join(self._moments) or "none"
            message = say(
                "the lesson has no moment {found}; it has {known}", found=shown(name), known=known
            )
            self._report.add(path, name, message)

    def _entity(self, value: Any, path: Path) -> None:
        if isinstance(value, str) and not _is_entity(value):
            message = say(
                "{found} is no object; it is named like pod/default/web or node/n1",
                found=shown(value),
            )
            self._report.add(path, value, message)

    def _mapping(
        self,
        value: Any,
        fields: Mapping[str, type | None] | None,
        path: Path,
        needed: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """*value* without fields of a wrong type; with None any field is allowed."""
        if value is None and not needed:
            return {}
        if not isinstance(value, dict):
            self._report.add(
                path, value, say("expected a mapping, found {found}", found=shown(value))
            )
            return {}
        found = cast("dict[str, Any]", value)
        for name in needed:
            if found.get(name) is None:
                self._report.add((*path, name), None, say("is missing"))
        if fields is None:
            return found
        return dict(self._fields(found, fields, path))

    def _fields(
        self, found: Mapping[str, Any], fields: Mapping[str, type | None], path: Path
    ) -> Iterator[tuple[str, Any]]:
        for name, value in found.items():
            wanted = fields.get(name)
            if name not in fields:
                message = say("unknown field; known are {list}", list=enumerated([*fields]))
                self._report.add((*path, name), value, message)
            elif value is not None and wanted is not None and type(value) is not wanted:
                message = say(
                    "expected {value}, found {found}", value=_WORD[wanted], found=shown(value)
                )
                self._report.add((*path, name), value, message)
            else:
                yield name, value

    def _list(self, value: Any, path: Path, most: int = 50) -> list[Any]:
        if not isinstance(value, list):
            return []
        found = cast("list[Any]", value)
        if len(found) > most:
            self._report.add(
                path,
                None,
                say("has {count} entries; at most {most} are read", count=len(found), most=most),
            )
        return found


def _is_entity(text: str) -> bool:
    parts = text.split("/")
    return len(text) <= LONGEST_ENTITY and len(parts) in (1, 2, 3) and all(parts)
