"""What triage says: groups of stuck objects, each with its cause and the changes tried for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from engine.diagnosis.triage.carrying_out import Body
from engine.diagnosis.triage.drawn import Finding, Happening, NodesByReason, WorkloadCount
from engine.framework.explaining.case import listed

Kind = Literal["pending", "placed-but-stuck", "claim", "workload-refused", "node", "terminating"]
# How a group of each kind is headed.
_HEADINGS: dict[str, str] = {
    "pending": "Pending",
    "placed-but-stuck": "Placed, but not running",
    "claim": "Claims",
    "workload-refused": "Never made",
    "node": "Nodes",
    "terminating": "Terminating",
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

    text: str
    kind: str
    places: int | None = None
    of: int | None = None
    loses: str = ""
    shared: str = ""
    note: str = ""
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
    cause: str
    by: str
    observed: str = ""
    predicted: str = ""
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
    because: tuple[str, ...] = ()
    # What was tried, or why nothing was; set where no change is offered.
    conclusion: str = ""
    # What is drawn of it: a few words for an overview, and counts.
    short: str = ""
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
    def holds(self) -> str:
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

    changes: tuple[tuple[int, str, int], ...]
    places: int
    of: int

    @property
    def note(self) -> str:
        """Why they place less than each does alone; "" where they do not."""
        if self.places == self.of:
            return ""
        return "Each places all of its group alone; together they compete for the same room."

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
    sentence: str

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
    notes: tuple[str, ...] = ()
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
    def headline(self) -> str:
        """How many causes hold how much."""
        if not self.groups and self.unanswerable:
            return self.unanswerable
        if not self.groups:
            counts = [counted(n, kind) for kind, n in self.looked_at.items() if n]
            return f"Nothing is stuck in {listed(counts)}." if counts else "Nothing is stuck."
        causes = counted(len(self.groups), "cause")
        pods = sum(len(each.pods) for each in self.groups)
        claims = sum(len(each.claims) for each in self.groups)
        missing = sum(each.pods_missing for each in self.groups)
        held = [counted(n, what) for n, what in ((pods, "pod"), (claims, "claim")) if n]
        verbs = [f"{_verb(len(self.groups), 'hold')} {listed(held)}"] if held else []
        if missing:
            verbs.append(
                f"{_verb(len(self.groups), 'keep')} {counted(missing, 'pod')} from being made"
            )
        if not verbs:
            others = sum(each.size or len(each.objects) for each in self.groups)
            verbs.append(f"{_verb(len(self.groups), 'hold')} {counted(others, 'object')}")
        return f"{causes} {', and '.join(verbs)}"

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

    def text(self) -> str:
        """The triage for a terminal."""
        return "\n".join(_lines(self)) + "\n"


def counted(number: int, what: str) -> str:
    """A number of things: "1 pod", "2 pods"."""
    if number == 1:
        return f"1 {what}"
    if what.endswith(" that was never made"):
        return f"{number:,} pods that were never made"
    return f"{number:,} {what}s"


def _verb(number: int, verb: str) -> str:
    return f"{verb}s" if number == 1 else verb


def _lines(triage: Triage) -> Iterator[str]:
    yield triage.headline.rstrip(".") + "."
    if triage.instant:
        yield f"As of {triage.instant}, the newest time in the files; nothing was played."
    for question in triage.questions:
        said = triage.headline if triage.unanswerable else ""
        yield f"Open: {question.removeprefix(said).strip()}"
    for number, group in enumerate(triage.groups, 1):
        yield ""
        yield from _group_lines(number, group)
    for shared in triage.shared_causes:
        yield ""
        yield shared.sentence
    if triage.together is not None:
        yield ""
        yield from _together_lines(triage.together)
    for note in triage.notes:
        yield ""
        yield note


def _group_lines(number: int, group: Group) -> Iterator[str]:
    since = f", since {group.since}" if group.since else ""
    yield f"{number}. {group.cause}"
    yield f"   {_HEADINGS[group.kind]}: {group.holds}{since}"
    yield f"   by        {group.by}"
    for name in ("workloads", "namespaces", "pods", "claims", "nodes", "objects"):
        found: tuple[str, ...] = getattr(group, name)
        if found:
            yield f"   {name:<9} {_names(found)}"
    for place, sentence in enumerate(group.because[:_MOST_SENTENCES]):
        yield f"   {'' if place else 'because':<9} {sentence}"
    yield f"   observed  {group.observed or 'nothing about it is in the files'}"
    if group.predicted:
        sign = "(contradicts what was observed) " if group.contradicts else ""
        yield f"   predicted {sign}{group.predicted}"
    for sentence in group.assumed:
        yield f"   assumed   {sentence}"
    for place, change in enumerate(group.changes):
        yield f"   {'change' if not place else 'or':<9} {change_text(change)}"
        if change.note:
            yield f"             {change.note}"
    if group.conclusion:
        yield f"   {group.conclusion}"


def _together_lines(together: Together) -> Iterator[str]:
    number = counted(len(together.changes), "change")
    yield f"Together, {number} place {together.places} of {together.of}"
    for group, text, places in together.changes:
        yield f"   {group + 1}. {text}: {places}"
    if together.note:
        yield f"   {together.note}"


def change_text(change: Change) -> str:
    """A change with what it places, loses and shares."""
    shown = "" if change.places is None else f": places {change.places} of {change.of}"
    marks = [f"loses {change.loses}"] if change.loses else []
    marks += [f"shared: {change.shared}"] if change.shared else []
    text = f"{change.text}{shown}"
    return f"{text} ({'; '.join(marks)})" if marks else text


def _names(names: Iterable[str]) -> str:
    found = list(names)
    return listed(found, _MOST_NAMES)
