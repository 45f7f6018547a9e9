"""A lesson against the history of its run: each moment, object and fact that it speaks of exists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from engine.input.lessons.lesson import Fact, Lesson, Place
from engine.input.lessons.words import words_of
from engine.kernel.recorder import Event
from engine.kernel.sentences import Sentence, say
from engine.kernel.units import SECOND
from engine.kernel.view import State, fold
from engine.objects.documents import Path
from engine.objects.values.shown import shown

_LONGEST_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A part of a lesson that its run does not bear out: where it stands, and why."""

    path: Path
    value: Any
    message: str


@dataclass(slots=True)
class History:
    """A finished run. *attempts* has the evidence of each attempt by the seq of its result.

    Without them, facts about attempts are taken as they are told.
    """

    events: Sequence[Event]
    attempts: Mapping[int, Mapping[str, Any]] | None

    def states(self, seqs: Iterable[int]) -> dict[int, State]:
        """The view state after each of *seqs*, in one pass."""
        found: dict[int, State] = {}
        state: State = {}
        wanted = set(seqs)
        for event in self.events:
            fold(state, event.changes or {})
            if event.seq in wanted:
                found[event.seq] = dict(state)
        return found


def moments_of(lesson: Lesson, events: Sequence[Event]) -> dict[str, int]:
    """The seq of each moment of *lesson* that the run has."""
    found: dict[str, int] = {}
    # A moment may be after one that stands below it.
    for _ in lesson.moments:
        for name, place in lesson.moments.items():
            if name not in found and (not place.after or place.after in found):
                seq = _seq_of(place, events, found.get(place.after, 0))
                if seq is not None:
                    found[name] = seq
    return found


def faults_of(lesson: Lesson, history: History) -> list[Fault]:
    """What *lesson* says that its run does not show, in the order of the file."""
    seqs = moments_of(lesson, history.events)
    faults = [
        Fault(
            path=_path_of_moment(lesson, name),
            value=None,
            message=say("the run has no such instant: {place}", place=_described(place)),
        )
        for name, place in lesson.moments.items()
        if name not in seqs
    ]
    states = history.states(seqs.values())
    at = {name: states[seq] for name, seq in seqs.items()}
    faults += _missing_objects(lesson, at)
    by_seq = {event.seq: event for event in history.events}
    for step in lesson.steps:
        for fact in step.facts:
            is_known = fact.about != "attempt" or history.attempts is not None
            if fact.at in seqs and is_known:
                found = _subject(fact, at[fact.at], by_seq[seqs[fact.at]], history)
                faults += _differences(fact, found)
    return faults


def _seq_of(place: Place, events: Sequence[Event], after: int) -> int | None:
    if place.event:
        found = [event.seq for event in events if event.seq > after and _is_meant(place, event)]
        number = place.nth - 1 if place.nth > 0 else place.nth
        return found[number] if -len(found) <= number < len(found) else None
    if place.time is not None:
        return max((event.seq for event in events if event.at <= place.time), default=None)
    return place.seq if 1 <= place.seq <= len(events) else None


def _is_meant(place: Place, event: Event) -> bool:
    return (
        event.kind == place.event
        and place.object in ("", event.object)
        and place.component in ("", event.component)
        and place.message in event.message
    )


def _described(place: Place) -> Sentence:
    if place.time is not None:
        return say("nothing has happened by {value} s", value=format(place.time / SECOND, "g"))
    if not place.event:
        return say("event {seq}", seq=place.seq)
    found = say("event {kind}", kind=place.event)
    if place.nth != 1:
        found = say("number {nth} of event {kind}", nth=place.nth, kind=place.event)
    if place.object:
        found = say("{event} of {object}", event=found, object=place.object)
    if place.component:
        found = say("{event} by {component}", event=found, component=place.component)
    if place.message:
        found = say("{event} with {message}", event=found, message=shown(place.message))
    return say("{event} after {moment}", event=found, moment=place.after) if place.after else found


def _path_of_moment(lesson: Lesson, name: str) -> Path:
    for number, step in enumerate(lesson.steps):
        if step.at == name and step.at_inline:
            return ("spec", "steps", number, "at")
    return ("spec", "moments", name)


def _missing_objects(lesson: Lesson, at: Mapping[str, State]) -> Iterator[Fault]:
    """Objects that a text, a question or a selection names, where and when the run has none."""
    for path, text, moment in lesson.paragraphs():
        for words in words_of(text):
            state = at.get(words.moment or moment)
            if words.kind != "object" or state is None:
                continue
            if words.object not in state:
                yield _no_object(path, words.object)
            elif words.attribute and words.attribute not in state[words.object]:
                message = say(
                    "{object} has no {attribute} then",
                    object=words.object,
                    attribute=words.attribute,
                )
                yield Fault(path=path, value=text, message=message)
    for number, step in enumerate(lesson.steps):
        path = ("spec", "steps", number)
        known = at.get(step.at, {})
        if step.select and known and step.select not in known:
            yield _no_object((*path, "select"), step.select)
        options = step.ask.options if step.ask is not None else ()
        then = at.get(step.ask.then, {}) if step.ask is not None else {}
        for index, option in enumerate(options):
            # What does not exist yet can be guessed as well.
            if option.entity and known and option.entity not in {**known, **then}:
                yield _no_object((*path, "ask", "options", index, "entity"), option.entity)


def _no_object(path: Path, entity: str) -> Fault:
    return Fault(
        path=path, value=entity, message=say("the run has no {entity} then", entity=entity)
    )


def _subject(fact: Fact, state: State, event: Event, history: History) -> Any:
    if fact.about == "object":
        return state.get(fact.object)
    if fact.about == "attempt":
        return (history.attempts or {}).get(event.seq)
    return {
        "kind": event.kind,
        "object": event.object,
        "component": event.component,
        "message": event.message,
        "time": seconds_text(event.at),
        "data": event.data,
    }


def seconds_text(time: int) -> str:
    """A time in ns as a lesson writes it: 3.003s."""
    whole, rest = divmod(time, SECOND)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".") + "s"


def _differences(fact: Fact, found: Any) -> Iterator[Fault]:
    if found is None:
        what = fact.object or f"{fact.about} at {fact.at}"
        yield Fault(
            path=fact.path, value=None, message=say("the run has no {what} then", what=what)
        )
        return
    yield from _unlike(fact.has, found, (*fact.path, "has"))


def _unlike(wanted: Any, found: Any, path: Path) -> Iterator[Fault]:
    """Where *found* lacks something of *wanted*; what *wanted* does not name may be anything."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        actual = cast("Mapping[str, Any]", found)
        for key, value in cast("Mapping[str, Any]", wanted).items():
            yield from _unlike(value, actual.get(key), (*path, key))
    elif isinstance(wanted, list) and isinstance(found, (list, tuple)):
        both = cast("list[Any]", wanted), list(cast("Sequence[Any]", found))
        if len(both[0]) != len(both[1]):
            yield _other(path, wanted, found)
            return
        for index, (value, other) in enumerate(zip(*both, strict=True)):
            yield from _unlike(value, other, (*path, index))
    elif wanted != found:
        yield _other(path, wanted, found)


def _other(path: Path, wanted: Any, found: Any) -> Fault:
    message = say(
        "the lesson says {wanted}, and the run has {found}",
        wanted=_shown(wanted),
        found=_shown(found),
    )
    return Fault(path=path, value=wanted, message=message)


def _shown(value: Any) -> str:
    """A list or mapping in full, where it is short: what is wrong is one of its entries."""
    if isinstance(value, (list, tuple, dict)) and len(str(cast("Any", value))) < _LONGEST_SHOWN:
        return str(cast("Any", value))
    return shown(value)
