"""A lesson, once it was read: its run, its moments, and its steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self

from engine.input.lessons.words import with_targets, words_of
from engine.objects.documents import Path
from engine.objects.values.durations import parse_duration

# What becomes of a text that readers see, given its path in the document.
Change = Callable[[Path, str], str]

# How fast a text about something new is read, and for how many seconds one looks at the picture of a
# step, and thinks about a question.
_WORDS_A_MINUTE: Final = 180
_LOOK: Final = 10
_THINK: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An instant of a run: the event after which it is.

    Either `seq`, or `time` in ns for the last event until then, or the `nth` event (-1 is the last)
    of that kind, object and component whose message holds `message`, after the moment `after`.
    """

    seq: int = 0
    time: int | None = None
    event: str = ""
    object: str = ""
    component: str = ""
    message: str = ""
    nth: int = 1
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An answer that can be chosen; `entity` is the thing on the picture that stands for it."""

    text: str
    entity: str = ""
    right: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A question; the run then plays to the moment `then`, and `because` says why."""

    question: str
    options: tuple[Option, ...]
    then: str = ""
    because: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a lesson says of its run: that a part of it has these values.

    `about` is `object` (of the view state at `at`), `event` or `attempt` (the moment `at`). A value
    of None means that there is none.
    """

    about: str
    at: str
    object: str = ""
    has: Mapping[str, Any] = field(default_factory=dict[str, Any])
    path: Path = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonStep:
    """A page of a lesson. `at` is its moment, `select` an object, `page` another view of the run."""

    title: str
    at: str
    text: tuple[str, ...]
    # Whether its moment stands in the step itself, and not among those with a name.
    at_inline: bool = False
    select: str = ""
    page: str = ""
    ask: Ask | None = None
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonRun:
    """Which run a lesson speaks of; what is empty is as the scenario says."""

    scenario: str = ""
    profile: str = ""
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson. `terms` explains words that the glossary does not have.

    `minutes` is about how long it takes to read, to look and to answer, in whatever language.
    """

    name: str
    course: str
    title: str
    teaches: str
    run: LessonRun
    moments: Mapping[str, Place]
    steps: tuple[LessonStep, ...]
    terms: Mapping[str, str] = field(default_factory=dict[str, str])
    minutes: int = 1

    @classmethod
    def from_document(cls, raw: Mapping[str, Any]) -> Self:
        """The lesson of a document in which `read_lesson` has found nothing wrong."""
        spec: Mapping[str, Any] = raw["spec"]
        # A step may say its moment itself.
        inline = {
            _own_moment(number): step["at"]
            for number, step in enumerate(spec["steps"])
            if not isinstance(step["at"], str)
        }
        moments: dict[str, Any] = {**(spec.get("moments") or {}), **inline}
        run: dict[str, Any] = spec.get("run") or {}
        terms: dict[str, str] = spec.get("terms") or {}
        steps = tuple(_step(one, number) for number, one in enumerate(spec["steps"]))
        lesson = cls(
            name=raw["metadata"]["name"],
            course=spec["course"],
            title=spec["title"],
            teaches=spec["teaches"],
            run=LessonRun(**run),
            moments={name: place_of(one) for name, one in moments.items()},
            steps=steps,
            terms={word.lower(): text for word, text in terms.items()},
        )
        return replace(lesson, minutes=lesson._minutes())

    def with_texts(self, change: Change) -> Lesson:
        """The same lesson with other texts: *change* is asked for each that readers see.

        It is given the target of each mark (`with_targets`), whatever the words become.
        """
        return replace(
            self,
            course=change(("spec", "course"), self.course),
            title=change(("spec", "title"), self.title),
            teaches=change(("spec", "teaches"), self.teaches),
            steps=tuple(
                _step_with(one, ("spec", "steps", number), change)
                for number, one in enumerate(self.steps)
            ),
            terms={
                word: change(("spec", "terms", word), text) for word, text in self.terms.items()
            },
        )

    def paragraphs(self) -> list[tuple[Path, str, str]]:
        """Every text with marks, with its path in the document and the moment of its step."""
        found: list[tuple[Path, str, str]] = []
        for number, step in enumerate(self.steps):
            path: Path = ("spec", "steps", number)
            found += [((*path, "text", i), one, step.at) for i, one in enumerate(step.text)]
            if step.ask is None:
                continue
            then = step.ask.then or step.at
            found.append(((*path, "ask", "question"), step.ask.question, step.at))
            found.append(((*path, "ask", "because"), step.ask.because, then))
            for i, option in enumerate(step.ask.options):
                found.append(((*path, "ask", "options", i, "text"), option.text, step.at))
                found.append(((*path, "ask", "options", i, "why"), option.why, then))
        return found

    def _minutes(self) -> int:
        words = sum(len(text.split()) for _, text, _ in self.paragraphs())
        asked = sum(step.ask is not None for step in self.steps)
        seconds = words * 60 / _WORDS_A_MINUTE + len(self.steps) * _LOOK + asked * _THINK
        return max(1, round(seconds / 60))

    def used_terms(self) -> list[tuple[Path, str]]:
        """The terms of all texts, as the glossary must have them."""
        return [
            (path, words.term)
            for path, text, _ in self.paragraphs()
            for words in words_of(text)
            if words.kind == "term"
        ]


def place_of(raw: Mapping[str, Any]) -> Place:
    """The place of a checked mapping."""
    parts = dict(raw)
    if "time" in parts:
        parts["time"] = parse_duration(parts["time"])
    return Place(**parts)


def _step(raw: Mapping[str, Any], number: int) -> LessonStep:
    ask = raw.get("ask")
    facts = enumerate(raw.get("assert") or ())
    is_inline = not isinstance(raw["at"], str)
    at = _own_moment(number) if is_inline else raw["at"]
    return LessonStep(
        title=raw["title"],
        at=at,
        at_inline=is_inline,
        text=tuple(raw["text"]),
        select=raw.get("select", ""),
        page=raw.get("page", ""),
        ask=_ask(ask) if ask else None,
        facts=tuple(
            _fact(one, at, ("spec", "steps", number, "assert", index)) for index, one in facts
        ),
    )


def _step_with(step: LessonStep, path: Path, change: Change) -> LessonStep:
    return replace(
        step,
        title=change((*path, "title"), step.title),
        text=tuple(
            change((*path, "text", i), with_targets(one)) for i, one in enumerate(step.text)
        ),
        ask=_ask_with(step.ask, (*path, "ask"), change) if step.ask else None,
    )


def _ask_with(ask: Ask, path: Path, change: Change) -> Ask:
    return replace(
        ask,
        question=change((*path, "question"), with_targets(ask.question)),
        because=change((*path, "because"), with_targets(ask.because)),
        options=tuple(
            replace(
                option,
                text=change((*path, "options", i, "text"), with_targets(option.text)),
                why=change((*path, "options", i, "why"), with_targets(option.why)),
            )
            for i, option in enumerate(ask.options)
        ),
    )


def _own_moment(number: int) -> str:
    """The name of a moment that stands in a step; none of a lesson's own has a space."""
    return f"step {number + 1}"


def _ask(raw: Mapping[str, Any]) -> Ask:
    parts: dict[str, Any] = {**raw, "options": tuple(Option(**one) for one in raw["options"])}
    return Ask(**parts)


def _fact(raw: Mapping[str, Any], at: str, path: Path) -> Fact:
    for about in ("event", "attempt"):
        if about in raw:
            return Fact(about=about, at=raw[about], has=raw["has"], path=path)
    return Fact(
        about="object", at=raw.get("at", at), object=raw["object"], has=raw["has"], path=path
    )
