"""What triage says: groups of stuck objects, each with its cause and the changes tried for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from engine.diagnosis.triage.carrying_out import Body
from engine.diagnosis.triage.drawn import Finding, Happening, NodesByReason, WorkloadCount
from engine.framework.explaining.case import listed
from engine.kernel.sentences import (
    ENGLISH,
    NOTHING,
    Sentence,
    Translations,
    count_phrase,
    grouped,
    in_turn,
    say,
    say_count,
    translated,
    unstopped,
    verbatim,
)

Kind = Literal["pending", "placed-but-stuck", "claim", "workload-refused", "node", "terminating"]
# How a group of each kind is headed.
_HEADINGS: dict[str, Sentence] = {
    "pending": say("Pending"),
    "placed-but-stuck": say("Placed, but not running"),
    "claim": say("Claims"),
    "workload-refused": say("Never made"),
    "node": say("Nodes"),
    "terminating": say("Terminating"),
}
_MOST_NAMES = 8
_MOST_SENTENCES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change for all of a group: of its pods, `of` in number, it places `places`.

    `places` is None where no scheduler can show what the change does. `loses` is what is lost by
    it, `shared` whom else it concerns; "" for nothing and nobody. `commands` carry it out in a fork
    of the run, sent in order to `POST runs/<id>/commands/`; none where no command can.
    """

    text: Sentence
    kind: str
    places: int | None = None
    of: int | None = None
    loses: Sentence = NOTHING
    shared: Sentence = NOTHING
    note: Sentence = NOTHING
    commands: tuple[Body, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it places every pod."""
        return self.places is not None and self.places == self.of

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        return {**parts, "commands": list(self.commands)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Objects that one cause holds, and the object that causes it.

    `pods`, `claims`, `nodes` and `objects` are keys; `workloads` are entities such as
    "deployment/shop/web". `pods_missing` counts pods that were refused before they existed.
    `contradicts` says that a healthy model would let them go on, so that what was observed wins.
    """

    kind: Kind
    cause: Sentence
    by: str
    observed: Sentence = NOTHING
    predicted: Sentence = NOTHING
    contradicts: bool = False
    since: str = ""
    pods: tuple[str, ...] = ()
    pods_missing: int = 0
    claims: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    # Other stuck objects, as "kafkatopic/preview-114/orders".
    objects: tuple[str, ...] = ()
    # The objects that the cause rests on: "node/n1", "storageclass/fast".
    facts: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    # What `why` says of its first object, a sentence each; empty in large clusters.
    because: tuple[Sentence, ...] = ()
    # What was tried, or why nothing was; set where no change is offered.
    conclusion: Sentence = NOTHING
    # What is drawn of it: a few words for an overview, and counts.
    short: Sentence = NOTHING
    workload_counts: tuple[WorkloadCount, ...] = ()
    nodes_by_reason: tuple[NodesByReason, ...] = ()
    # A sentence for each placeholder that the cause rests on: an object that the files do not hold.
    assumed: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """How much it holds, to sort by."""
        others = len(self.claims) + len(self.nodes) + len(self.namespaces)
        return len(self.pods) + self.pods_missing + others

    @property
    def holds(self) -> Sentence:
        """What it holds: "10 pods and 6 claims"."""
        counts = (
            (len(self.pods), "pod"),
            (self.pods_missing, "pod that was never made"),
            (len(self.claims), "claim"),
            (len(self.nodes), "node"),
            (len(self.namespaces) if self.kind == "terminating" else 0, "namespace"),
        )
        parts = [counted(number, what) for number, what in counts if number]
        if not parts:
            parts = [counted(len(self.objects), "object")]
        return listed(parts)

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        parts: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        parts["changes"] = [each.to_dict() for each in self.changes]
        for name in ("workload_counts", "nodes_by_reason"):
            parts[name] = [asdict(each) for each in parts[name]]
        return parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """The best changes of several groups, tried in one trial: of `of` pods they place `places`.

    `changes` has for each the place of its group, its text, and how many pods of the group it then
    places.
    """

    changes: tuple[tuple[int, Sentence, int], ...]
    places: int
    of: int

    @property
    def note(self) -> Sentence:
        """Why they place less than each does alone; "" where they do not."""
        if self.places == self.of:
            return NOTHING
        return say("Each places all of its group alone; together they compete for the same room.")

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        names = ("group", "text", "places")
        return {
            "changes": [dict(zip(names, each, strict=True)) for each in self.changes],
            "places": self.places,
            "of": self.of,
            "note": self.note,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCause:
    """An object that several groups rest on; `groups` are their places."""

    object: str
    groups: tuple[int, ...]
    sentence: Sentence

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"object": self.object, "groups": list(self.groups), "sentence": self.sentence}


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """What is stuck in a cluster at one instant, the largest group first."""

    instant: str
    profile: str
    groups: tuple[Group, ...] = ()
    # What was looked at, by kind.
    looked_at: dict[str, int] = field(default_factory=dict[str, int])
    notes: tuple[Sentence, ...] = ()
    # None where fewer than two groups have a change that places all of their pods.
    together: Together | None = None
    shared_causes: tuple[SharedCause, ...] = ()
    happened: tuple[Happening, ...] = ()
    # What was looked at and how it is, and what of it is not counted as stuck.
    looked_for: tuple[Finding, ...] = ()
    not_counted: tuple[Finding, ...] = ()
    # What the files leave open, in whole sentences; where the first is set, nothing can be called well.
    questions: tuple[str, ...] = ()
    unanswerable: str = ""
    # A sentence for each object that is assumed, because the files do not hold it.
    assumed: tuple[str, ...] = ()

    @property
    def headline(self) -> Sentence:
        """How many causes hold how much."""
        if not self.groups and self.unanswerable:
            return verbatim(self.unanswerable)
        if not self.groups:
            counts = [counted(n, kind) for kind, n in self.looked_at.items() if n]
            return (
                say("Nothing is stuck in {counts}.", counts=listed(counts))
                if counts
                else say("Nothing is stuck.")
            )
        causes = len(self.groups)
        pods = sum(len(each.pods) for each in self.groups)
        claims = sum(len(each.claims) for each in self.groups)
        missing = sum(each.pods_missing for each in self.groups)
        held = listed([counted(n, what) for n, what in ((pods, "pod"), (claims, "claim")) if n])
        kept = counted(missing, "pod")
        if held and missing:
            return say_count(
                "1 cause holds {held}, and keeps {missing} from being made",
                "{count} causes hold {held}, and keep {missing} from being made",
                causes,
                held=held,
                missing=kept,
                count=grouped(causes),
            )
        if missing:
            return say_count(
                "1 cause keeps {missing} from being made",
                "{count} causes keep {missing} from being made",
                causes,
                missing=kept,
                count=grouped(causes),
            )
        if not held:
            others = sum(each.size or len(each.objects) for each in self.groups)
            held = counted(others, "object")
        return say_count(
            "1 cause holds {held}",
            "{count} causes hold {held}",
            causes,
            held=held,
            count=grouped(causes),
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "instant": self.instant,
            "profile": self.profile,
            "headline": self.headline,
            "groups": [each.to_dict() for each in self.groups],
            "looked_at": self.looked_at,
            "notes": list(self.notes),
            "shared_causes": [each.to_dict() for each in self.shared_causes],
            "together": None if self.together is None else self.together.to_dict(),
            "happened": [asdict(each) for each in self.happened],
            "looked_for": [asdict(each) for each in self.looked_for],
            "not_counted": [asdict(each) for each in self.not_counted],
            "questions": list(self.questions),
            "assumed": list(self.assumed),
        }

    def text(self, translations: Translations = ENGLISH) -> str:
        """The triage for a terminal, in a language."""
        lines = (translated(line, translations) for line in _lines(self))
        return "\n".join("".join(line) for line in lines) + "\n"


# What is counted, in words.
_THINGS: Final = {
    "pod": count_phrase("{count} pod", "{count} pods"),
    "more pod": count_phrase("{count} more pod", "{count} more pods"),
    "pod that was never made": count_phrase(
        "{count} pod that was never made", "{count} pods that were never made"
    ),
    "claim": count_phrase("{count} claim", "{count} claims"),
    "node": count_phrase("{count} node", "{count} nodes"),
    "namespace": count_phrase("{count} namespace", "{count} namespaces"),
    "object": count_phrase("{count} object", "{count} objects"),
    "change": count_phrase("{count} change", "{count} changes"),
    "domain": count_phrase("{count} domain", "{count} domains"),
}
# Objects of a kind that has no word of its own.
_OF_KIND: Final = count_phrase("{count} {kind}", "{count} {kind}s")


def counted(number: int, what: str) -> Sentence:
    """A number of things, or of objects of a kind: "1 pod", "2 Deployments"."""
    known = _THINGS.get(what)
    if known is not None:
        return known.say(number, count=grouped(number))
    return _OF_KIND.say(number, kind=what, count=grouped(number))


# A line: its margins and its sentences.
_Line = tuple[str, ...]


def _lines(triage: Triage) -> Iterator[_Line]:
    yield unstopped(triage.headline), "."
    if triage.instant:
        text = say(
            "As of {instant}, the newest time in the files; nothing was played.",
            instant=triage.instant,
        )
        yield (text,)
    for question in triage.questions:
        yield (
            "Open: ",
            question.removeprefix(triage.headline if triage.unanswerable else "").strip(),
        )
    for number, group in enumerate(triage.groups, 1):
        yield ("",)
        yield from _group_lines(number, group)
    for shared in triage.shared_causes:
        yield ("",)
        yield (shared.sentence,)
    if triage.together is not None:
        yield ("",)
        yield from _together_lines(triage.together)
    for note in triage.notes:
        yield ("",)
        yield (note,)


def _group_lines(number: int, group: Group) -> Iterator[_Line]:
    held = group.holds
    if group.since:
        held = say("{held}, since {since}", held=held, since=group.since)
    yield f"{number}. ", group.cause
    yield "   ", _HEADINGS[group.kind], ": ", held
    yield _margin("by"), group.by
    for name in ("workloads", "namespaces", "pods", "claims", "nodes", "objects"):
        found: tuple[str, ...] = getattr(group, name)
        if found:
            yield _margin(name), _names(found)
    for place, sentence in enumerate(group.because[:_MOST_SENTENCES]):
        yield _margin("" if place else "because"), sentence
    yield _margin("observed"), group.observed or say("nothing about it is in the files")
    if group.predicted:
        text = group.predicted
        if group.contradicts:
            text = say("(contradicts what was observed) {predicted}", predicted=text)
        yield _margin("predicted"), text
    for sentence in group.assumed:
        yield _margin("assumed"), sentence
    for place, change in enumerate(group.changes):
        yield _margin("or" if place else "change"), change_text(change)
        if change.note:
            yield _margin(""), change.note
    if group.conclusion:
        yield "   ", group.conclusion


def _margin(name: str) -> str:
    return f"   {name:<9} "


def _together_lines(together: Together) -> Iterator[_Line]:
    text = say(
        "Together, {changes} place {places} of {of}",
        changes=counted(len(together.changes), "change"),
        places=together.places,
        of=together.of,
    )
    yield (text,)
    for group, change, places in together.changes:
        yield f"   {group + 1}. ", say("{change}: {places}", change=change, places=places)
    if together.note:
        yield "   ", together.note


def change_text(change: Change) -> Sentence:
    """A change with what it places, loses and shares."""
    text = change.text
    if change.places is not None:
        text = say(
            "{change}: places {places} of {of}", change=text, places=change.places, of=change.of
        )
    marks = [say("loses {loses}", loses=change.loses)] if change.loses else []
    marks += [say("shared: {shared}", shared=change.shared)] if change.shared else []
    return say("{change} ({marks})", change=text, marks=in_turn(marks)) if marks else text


def _names(names: Iterable[str]) -> Sentence:
    found = list(names)
    return listed(found, _MOST_NAMES)
