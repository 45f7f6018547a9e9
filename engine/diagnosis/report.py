"""The diagnosis of a pod without a node: what it says. docs/why-pending.md describes the JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from engine.framework.explaining.fact import Fact
from engine.kernel.sentences import (
    ENGLISH,
    NOTHING,
    Sentence,
    Translations,
    and_more,
    enumerated,
    say,
    translated,
)
from engine.objects.kinds import entity_id

# From what keeps the pod off every node to what is merely worth knowing.
Severity = Literal["blocks", "narrows", "delays", "notes"]
SEVERITIES: tuple[Severity, ...] = ("blocks", "narrows", "delays", "notes")
# How an offered change was tested: the whole cluster was forked and run until the pod was bound,
# or only the decision was made again.
Shown = Literal["fork", "decision"]

_MOST_GROUPS = 12
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check on one node with its margin.

    `requested`, `free`, `allocatable` and `short` are milli-CPU, bytes or counts of `unit`; None
    where a check has no measure.
    """

    plugin: str
    node: str
    text: Sentence
    unit: str = ""
    requested: int | None = None
    free: int | None = None
    allocatable: int | None = None
    short: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One thing that stands in the way, with the nodes it concerns.

    `reasons` are upstream's, verbatim. `only` are the nodes where nothing else stands in the way;
    `check` is the closest miss among `nodes`. `why` says how it came about, and `because` holds the
    fields that make it true. `lead` is its part in an answer of one sentence. `overall` is used
    instead for a cause that leaves the pod only a few nodes; it says what those lack.
    """

    severity: Severity
    sentence: Sentence
    plugin: str = ""
    reasons: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    check: Check | None = None
    lead: Sentence = NOTHING
    overall: Sentence = NOTHING
    why: Sentence = NOTHING
    because: tuple[Fact, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; `where` names the nodes for people."""
        return {
            "severity": self.severity,
            "sentence": self.sentence,
            "plugin": self.plugin,
            "reasons": list(self.reasons),
            "nodes": list(self.nodes),
            "where": named(self.nodes),
            "only": list(self.only),
            "check": self.check.to_dict() if self.check else None,
            "why": self.why,
            "because": [each.to_dict() for each in self.because],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What becomes of the pod when nothing is changed: its node and when, or "" for none."""

    node: str
    at: int
    sentence: Sentence

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"node": self.node, "at": self.at if self.node else None, "sentence": self.sentence}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A change after which the pod gets a node: a single one, or two that help only together.

    `command` is the JSON form of the Command that makes it, `then` that of a second one, to send
    after it (None for a single change). `node` is where the pod went when it was tried, and `at`
    when it was bound there (None when only the decision was tried).
    """

    kind: str
    text: Sentence
    command: dict[str, Any]
    node: str
    shown: Shown
    at: int | None = None
    note: Sentence = NOTHING
    then: dict[str, Any] | None = None
    # Further commands of a change that takes more than two.
    more: tuple[dict[str, Any], ...] = ()

    @property
    def commands(self) -> list[dict[str, Any]]:
        """All of them, in order."""
        first = [self.command] if self.then is None else [self.command, self.then]
        return [*first, *self.more]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why a pod has no node at one instant, and what would change that.

    `fixes` are ordered from the smallest change on; `tried` counts the changes tried, by kind, with
    two that were tried together as one of kind "pair".
    """

    pod: str
    profile: str
    at: int
    state: str
    sentence: Sentence
    # The entity id of what was asked about; "pod/…" where it is empty.
    object: str = ""
    causes: tuple[Cause, ...] = ()
    check: Check | None = None
    outlook: Outlook | None = None
    fixes: tuple[Fix, ...] = ()
    tried: tuple[tuple[str, int], ...] = ()
    conclusion: Sentence = NOTHING

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "pod": self.pod,
            "object": self.entity,
            "profile": self.profile,
            "at": self.at,
            "state": self.state,
            "sentence": self.sentence,
            "causes": [cause.to_dict() for cause in self.causes],
            "check": self.check.to_dict() if self.check else None,
            "outlook": self.outlook.to_dict() if self.outlook else None,
            "fixes": [fix.to_dict() for fix in self.fixes],
            "tried": dict(self.tried),
            "conclusion": self.conclusion,
        }

    @property
    def entity(self) -> str:
        """The entity id of the object: "pod/shop/web-3", "claim/shop/data"."""
        return self.object or entity_id("Pod", self.pod)

    def text(self, translations: Translations = ENGLISH) -> str:
        """The diagnosis for a terminal, in a language."""
        lines = (translated(line, translations) for line in _lines(self))
        return "\n".join("".join(line) for line in lines) + "\n"


# A line of a text for a terminal: its margins and its sentences, which are said in any language.
Line = tuple[str, ...]


def _lines(diagnosis: Diagnosis) -> Iterable[Line]:
    yield f"{diagnosis.pod or diagnosis.entity} ({diagnosis.state}): ", diagnosis.sentence
    if diagnosis.causes:
        yield ("",)
        yield (say("Why"),)
    for cause in diagnosis.causes:
        plugin = f" [{cause.plugin}]" if cause.plugin else ""
        yield f"  {cause.severity:<8}", cause.sentence, plugin
        if cause.why:
            yield " " * 10, cause.why
        for each in cause.because:
            yield " " * 10 + "- ", each.text
    if diagnosis.outlook is not None:
        yield ("",)
        yield (diagnosis.outlook.sentence,)
    if diagnosis.fixes:
        yield ("",)
        yield (say("What would fix it, the smallest change first"),)
    for place, fix in enumerate(diagnosis.fixes, 1):
        yield f"  {place}. ", _how_shown(fix)
        if fix.note:
            yield " " * 5, fix.note
    if diagnosis.conclusion:
        yield ("",)
        yield (diagnosis.conclusion,)


def _how_shown(fix: Fix) -> Sentence:
    if fix.shown == "fork":
        return say("{change} (tried in a fork)", change=fix.text)
    return say("{change} (decided again, not run)", change=fix.text)


def named(names: Iterable[str], most: int = _MOST_GROUPS) -> Sentence:
    """Names for people: "a, n1–n4, n7"; beyond *most* groups the rest is counted."""
    return _named(tuple(names), most)


# Many refusals are of the same thousands of nodes.
@lru_cache(maxsize=64)
def _named(names: tuple[str, ...], most: int) -> Sentence:
    groups = _groups(sorted(map(_natural, names)))
    shown = enumerated([text for text, _ in groups[:most]])
    left = sum(count for _, count in groups[most:])
    return and_more(shown, left) if left else shown


# A name as it is sorted: the text before its number and after it, the number, the name. The name
# itself stands first where it has no number.
_Natural = tuple[str, str, int, str]


def _groups(names: list[_Natural]) -> list[tuple[str, int]]:
    """Runs of consecutive numbers as one text each, with how many names it stands for."""
    groups: list[tuple[str, int]] = []
    run: list[_Natural] = []
    for name in names:
        if run and not _follows(run[-1], name):
            groups.extend(_written(run))
            run = []
        run.append(name)
    groups.extend(_written(run))
    return groups


def _written(run: list[_Natural]) -> list[tuple[str, int]]:
    if len(run) < 3:
        return [(name, 1) for *_, name in run]
    return [(f"{run[0][3]}–{run[-1][3]}", len(run))]


def _follows(left: _Natural, right: _Natural) -> bool:
    if left[0] == left[3] or right[0] == right[3]:
        return False  # One of them has no number.
    return left[:2] == right[:2] and right[2] == left[2] + 1


def _natural(name: str) -> _Natural:
    match = _NUMBERED.fullmatch(name)
    return (name, "", 0, name) if match is None else (match[1], match[3], int(match[2]), name)
