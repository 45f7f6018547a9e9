"""`kscope why` where the nodes may not be seen: the word of the cluster's scheduler, in other words.

Without nodes there is no place to try. What the model would decide on nodes that are assumed is
worth nothing, so that nothing of it is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.diagnosis.observed.evidence import Evidence, key_of
from engine.input.formats.collection import SeenKind
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from kscope.program.asking.reading.scheduler_message import (
    Said,
    bound_volumes,
    in_other_words,
    refusals_of,
    said_of,
)
from kscope.program.asking.reading.sight import Sight, instant_words
from kscope.program.speech.paper import Paper
from kscope.program.speech.words import human_duration, several

if TYPE_CHECKING:
    from kscope.program.asking.why.answer import Explained

_LABEL: Final = "{:<11}"
# States of a pod that its own object proves, whatever nodes there are.
_PROVEN: Final = ("gated", "unminded", "deleting", "ended", "placed")
_ELSEWHERE: Final = ("StorageClass", "CSINode")
NOTHING_TRIED: Final = "No change was tried: without nodes nothing can be proven."


@dataclass(frozen=True, slots=True)
class Blind:
    """A pod that waits and cannot be decided on, and what the schedulers have said of it."""

    pod: Manifest
    said: Said | None

    @property
    def key(self) -> str:
        """Its namespace and name."""
        return key_of(self.pod)


def blind_of(explained: Explained) -> Blind | None:
    """The pod that the question comes down to; None where the nodes were seen, or do not matter."""
    sight, answer = Sight.of(explained.source), explained.answer
    if sight.has_nodes or any(each.kind != "pending" for each in answer.groups):
        return None
    key = explained.found.key
    if explained.found.kind != "Pod":
        key = next((pod for group in answer.groups for pod in group.pods), "")
    elif answer.diagnosis.state in _PROVEN:
        return None
    pod = explained.evidence.find("Pod", key)
    if pod is None or section(pod, "spec").get("nodeName"):
        return None
    return Blind(pod, said_of(explained.evidence, pod))


def blind_headline(explained: Explained, blind: Blind) -> str:
    """Object first, then state, then that nothing could be checked."""
    what = f"{explained.found.kind.lower()} {explained.found.key}"
    if explained.found.kind != "Pod":
        what = f"{what} is stuck: its pod {blind.key}"
    if blind.said is None:
        return (
            f"{what} waits. No scheduler has said why, and kscope may not see the nodes, so that it "
            "cannot say it either."
        )
    return f"{what} waits, says the scheduler. kscope could not check it: it may not see the nodes."


def write_blind(paper: Paper, explained: Explained, blind: Blind) -> None:
    """The answer for people."""
    sight = Sight.of(explained.source)
    paper.paragraph(blind_headline(explained, blind), style="bold yellow")
    paper.line(instant_words(explained.source, explained.answer.instant), "dim")
    paper.line()
    paper.paragraph(_observed(explained.evidence, blind), first=_LABEL.format("observed"))
    paper.paragraph("nothing: nodes were not seen.", first="simulated ? ")
    _write_words(paper, explained.evidence, blind)
    paper.line()
    paper.table([["COULD NOT SEE", "WOULD TELL"], *_rows(explained.evidence, sight, blind)])
    paper.line()
    paper.paragraph(NOTHING_TRIED)
    paper.line()
    for place, line in enumerate(sight.read_commands):
        paper.line(_LABEL.format("" if place else "next") + line)


def _observed(evidence: Evidence, blind: Blind) -> str:
    said = blind.said
    if said is None:
        return "phase Pending. No condition and no Event says that a scheduler has looked at it."
    parts: list[str] = []
    if said.since:
        parts.append(f"Unschedulable since {_clock(said.since)} ({_age(evidence, said.since)}).")
    if said.times:
        component = f", from {said.component}" if said.component else ""
        last = f", last {_age(evidence, said.last)} ago"
        parts.append(f"FailedScheduling ×{said.times}{last}{component}: {said.message}")
    elif said.message:
        parts.append(said.message)
    return " ".join(parts)


def _age(evidence: Evidence, since: str) -> str:
    return human_duration(evidence.age_seconds(_whole(since)))


def _whole(time: str) -> str:
    """Without the fraction of a second, which Events of the newer API have."""
    return f"{time.partition('.')[0].rstrip('Z')}Z"


def _clock(time: str) -> str:
    return _whole(time)[11:]


def _write_words(paper: Paper, evidence: Evidence, blind: Blind) -> None:
    if blind.said is None:
        return
    lines = list(in_other_words(evidence, blind.pod, blind.said.message))
    if lines:
        paper.line()
        paper.line("What the message says, in other words")
    for line in lines:
        paper.paragraph(line, first="  ")


def _rows(evidence: Evidence, sight: Sight, blind: Blind) -> Iterator[list[str]]:
    """What was not seen, and what it would tell of this pod."""
    reasons = refusals_of(blind.said.message) if blind.said else []
    short = next((each for each in reasons if each.lacks), None)
    missing = {each.kind: each for each in sight.missing}
    if "Node" in missing:
        yield [
            missing.pop("Node").resource,
            f"which {short.count} nodes, and how much {short.lacks} is short"
            if short
            else "which nodes there are, and how much room they have",
        ]
    if not sight.has_all_pods:
        seen = missing.pop("Pod", None)
        what = seen.resource if seen else "pods of other namespaces"
        yield [what, f"who holds the {short.lacks if short else 'room'} there"]
    if "PersistentVolume" in missing:
        volumes = bound_volumes(evidence, blind.pod)
        tied = f"to which zone {several(volumes)} is tied" if len(volumes) == 1 else ""
        seen = missing.pop("PersistentVolume")
        yield [seen.resource, tied or seen.tells]
    elsewhere = [missing.pop(kind) for kind in _ELSEWHERE if kind in missing]
    if elsewhere:
        yield [
            ", ".join(each.resource for each in elsewhere),
            "whether a new volume could be elsewhere",
        ]
    yield from _rest(missing.values())


def _rest(missing: Iterable[SeenKind]) -> Iterator[list[str]]:
    """The others, those together that tell the same."""
    by_words: dict[str, list[str]] = {}
    for each in missing:
        by_words.setdefault(each.tells, []).append(each.resource)
    for words, resources in by_words.items():
        yield [", ".join(resources), words]
