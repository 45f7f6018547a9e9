"""`kscope diff`: the rehearsal of an upgrade, which pods another version decides otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from engine.diagnosis.observed.evidence import Evidence
from engine.kernel.errors import SimError
from engine.kernel.garbage import collector_paused
from engine.scheduler.cycle.decisions_mode.rehearsal import Decided, Difference, Rehearsal, rehearse
from engine.versions.registry import VERSIONS
from kscope.program.asking.reading.narrowing import Narrowing
from kscope.program.asking.reading.sources import Source, files_and_object, read
from kscope.program.asking.triage.refusals import without_preemption
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.formats import document, json_lines, written
from kscope.program.speech.paper import Paper
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted

_SIGNS: Final = {"placed": "+", "moved": "~", "waits": "-", "evicted": "-", "unknown": "?"}
_MOST_CARDS: Final = 12
_INSUFFICIENT: Final = "Insufficient "


@dataclass(frozen=True, slots=True)
class Compared:
    """A rehearsal of some files, and what was asked of it."""

    source: Source
    found: Rehearsal
    differences: tuple[Difference, ...]
    counts: dict[str, int]
    seed: int | None
    is_wide: bool = False

    @property
    def decided(self) -> list[Difference]:
        """Those that can be compared."""
        return [each for each in self.differences if each.kind != "unknown"]

    @property
    def pods(self) -> int:
        """All pods of the files."""
        found = self.found
        return len(found.stay) + len(found.placed_alike) + len(found.wait) + len(found.differences)


def answer_diff(request: Request, screen: Screen) -> int:
    """Compare, and print; the exit status is 1 if a pod is decided otherwise, 3 if one is not known."""
    names, named = files_and_object(request)
    a, b = _profiles(request)
    source = read(request, screen, names)
    seed = _seed(request)
    screen.progress(f"deciding under {a} and {b}")
    try:
        with collector_paused():
            found = rehearse(source.loaded.manifests, a, b, seed=seed)
    except (SimError, ValueError) as refusal:
        raise ProgramError(str(refusal)) from refusal
    evidence = Evidence.of(source.loaded)
    narrowing = Narrowing.of(request, evidence)
    shown = [each for each in found.differences if narrowing.admits("Pod", each.pod)]
    shown.sort(key=lambda each: list(_SIGNS).index(each.kind))
    if named is not None:
        shown = [each for each in shown if each.pod.rpartition("/")[2] == named.own_name]
    compared = Compared(
        source, found, tuple(shown), evidence.counts, seed, request.output == "wide"
    )
    _print(request, screen, compared)
    if compared.decided:
        return Status.BAD
    return Status.UNSEEN if compared.differences else Status.FINE


def _profiles(request: Request) -> tuple[str, str]:
    given: list[str] = request["profile"] or []
    if len(given) != 2:
        newest, *_, oldest = list(VERSIONS)[:3]
        helps = [f"kscope diff --profile {oldest} --profile {newest} FILE"]
        raise ProgramError(f"diff compares two profiles, and {len(given)} were given", helps=helps)
    return given[0], given[1]


def _seed(request: Request) -> int | None:
    if request["tie_break"] != "random" and request["seed"] is None:
        return None
    try:
        return int(request["seed"] or 0)
    except ValueError as error:
        raise ProgramError(f"--seed: {request['seed']!r} is not a number") from error


# -- printing ----------------------------------------------------------------------------------------


def _print(request: Request, screen: Screen, compared: Compared) -> None:
    if request.output in ("", "wide"):
        paper = screen.paper()
        _write(paper, compared)
        screen.show(paper)
    elif request.output == "ndjson":
        screen.write(
            json_lines(document("PodDiff", **_fields(each)) for each in compared.differences)
        )
    else:
        screen.write(written(_document(compared), request.output))


def headline(compared: Compared) -> str:
    """How many pods are decided otherwise, and how."""
    found = compared.found
    if not compared.differences:
        stay = len(found.stay) + len(found.placed_alike)
        return f"No pod is decided otherwise: {stay:,} stay where they are, {len(found.wait):,} wait under both."
    kinds = Counter(each.kind for each in compared.decided)
    words = {"placed": "a node", "moved": "another node", "waits": "none any more"}
    parts = [
        f"{kinds[kind]:,} {'gets' if kinds[kind] == 1 else 'get'} {text}"
        for kind, text in words.items()
        if kinds[kind]
    ]
    parts = (
        [parts[0], *(each.replace("gets ", "").replace("get ", "") for each in parts[1:])]
        if parts
        else []
    )
    number = len(compared.decided)
    is_one = "is" if number == 1 else "are"
    text = (
        f"{number:,} of {counted(compared.pods, 'pod')} {is_one} decided otherwise under {found.b}"
    )
    text += f": {', '.join(parts)}." if parts else "."
    unknown = len(compared.differences) - number
    was = "was" if unknown == 1 else "were"
    return f"{text} {unknown:,} {was} not compared." if unknown else text


def _write(paper: Paper, compared: Compared) -> None:
    found, counts = compared.found, compared.counts
    style = "bold yellow" if compared.differences else "bold green"
    paper.paragraph(headline(compared), style=style)
    if not compared.differences:
        _write_wording(paper, found)
        return
    parts = [counted(counts.get("Node", 0), "node"), counted(compared.pods, "pod")]
    claims = counts.get("PersistentVolumeClaim", 0) + counts.get("ResourceClaim", 0)
    parts += [counted(claims, "claim")] if claims else []
    ties = "ties go to the first name" if compared.seed is None else f"seed {compared.seed}"
    paper.line(
        f"{', '.join(parts)} · {ties} · each pending pod tried once, in order of the queue", "dim"
    )
    paper.line()
    rows = [
        ["", "POD", found.a, found.b, "RULE"],
        *(_row(compared, each) for each in compared.differences),
    ]
    paper.table(rows)
    most = None if compared.is_wide else _MOST_CARDS
    for each in compared.differences[:most]:
        paper.line()
        _write_card(paper, compared, each)
    if compared.is_wide:
        _write_alike(paper, found)
    paper.line()
    first = next(
        (each for each in compared.differences if not each.after.node), compared.differences[0]
    )
    namespace, _, name = first.pod.partition("/")
    paper.line(
        f"{'next':<11}kscope why {compared.source.words} pod/{name} -n {namespace} --profile {found.b}"
    )


def _write_wording(paper: Paper, found: Rehearsal) -> None:
    if not found.reworded:
        return
    before, after = map(without_preemption, found.wording)
    number = counted(len(found.reworded), "refusal")
    paper.paragraph(
        f'The text of {number} differs: {found.b} says "{after}" where {found.a} said "{before}"'
    )


def _row(compared: Compared, difference: Difference) -> list[str]:
    found = compared.found
    return [
        _SIGNS[difference.kind],
        difference.pod,
        _short(difference.before, found.a),
        _short(difference.after, found.b),
        _rule(difference, found),
    ]


def _short(decided: Decided, profile: str) -> str:
    if not decided.is_modelled:
        return f"not modelled under {profile}"
    if decided.node:
        others = [each for each in decided.tied if each != decided.node]
        tie = (
            f" (tie with {others[0]})"
            if len(others) == 1
            else f" (tie of {len(decided.tied)})"
            if others
            else ""
        )
        return f"on {decided.node}{tie}"
    reasons = without_preemption(decided.message).partition(": ")[2].rstrip(".").split(", ")
    said = [each.partition(" ")[2] for each in reasons]
    return said[0] if len(said) == 1 and said[0].startswith(_INSUFFICIENT) else "waits"


def _rule(difference: Difference, found: Rehearsal) -> str:
    if difference.kind == "unknown":
        older = found.a if not difference.before.is_modelled else found.b
        return f"what it asks for is not modelled under {older}"
    if difference.follows:
        return f"follows from {difference.follows}"
    rule = difference.rule
    if rule is None:
        return "several rules together"
    if rule.kind == "gate":
        return f"gate {rule.name}: {rule.before} → {rule.after}"
    return f"{rule.name}: {rule.before} → {rule.after}"


def _write_card(paper: Paper, compared: Compared, difference: Difference) -> None:
    found = compared.found
    titles = {
        "placed": "gets a node.",
        "moved": "gets another node.",
        "waits": f"waits under {found.b}.",
        "unknown": f"cannot be compared: kscope does not know what {_unknown(difference, found)} does.",
    }
    paper.paragraph(f"{difference.pod} {titles[difference.kind]}", style="bold")
    for profile, decided in ((found.a, difference.before), (found.b, difference.after)):
        for place, text in enumerate(_told(compared, decided)):
            paper.paragraph(text, first=f"   {'' if place else profile:<11}")
    if difference.rule is not None:
        rule = difference.rule
        text = f"{rule.name}, {rule.before} in {found.a}, {rule.after} in {found.b}"
        paper.paragraph(text, first=f"   {'rule':<11}")
        if rule.kind == "gate":
            paper.line(f"   {'':<11}kscope versions {rule.name}")
    elif difference.follows:
        paper.paragraph(f"follows from {difference.follows}", first=f"   {'rule':<11}")


def _unknown(difference: Difference, found: Rehearsal) -> str:
    return found.a if not difference.before.is_modelled else found.b


def _told(compared: Compared, decided: Decided) -> Iterator[str]:
    if decided.node:
        tied = [each for each in decided.tied if each != decided.node]
        score = (
            f"{decided.node} and {', '.join(tied)} had the same score: the choice was a tie."
            if tied
            else f"on {decided.node}"
        )
        yield score
        yield from decided.devices
        return
    message = decided.message or "it waits"
    yield message if compared.is_wide else without_preemption(message)


def _write_alike(paper: Paper, found: Rehearsal) -> None:
    paper.line()
    paper.table(
        [
            ["ALIKE UNDER BOTH", "POD"],
            *(["stays", key] for key in found.stay),
            *(["placed", key] for key in found.placed_alike),
            *(["waits", key] for key in found.wait),
        ]
    )


def _document(compared: Compared) -> dict[str, Any]:
    found = compared.found
    return document(
        "Diff",
        complete=len(compared.decided) == len(compared.differences),
        unseen=[],
        profiles=[found.a, found.b],
        seed=compared.seed,
        headline=headline(compared).rstrip("."),
        pods=[_fields(each) for each in compared.differences],
        alike={
            "stay": len(found.stay),
            "placed": len(found.placed_alike),
            "wait": len(found.wait),
            "reworded": len(found.reworded),
        },
    )


def _fields(difference: Difference) -> dict[str, Any]:
    rule = difference.rule
    return {
        "pod": difference.pod,
        "difference": difference.kind,
        "before": _decided_fields(difference.before),
        "after": _decided_fields(difference.after),
        "rule": None
        if rule is None
        else {"kind": rule.kind, "name": rule.name, "before": rule.before, "after": rule.after},
        "follows": difference.follows or None,
    }


def _decided_fields(decided: Decided) -> dict[str, Any]:
    return {
        "node": decided.node or None,
        "result": decided.result,
        "message": decided.message or None,
        "tied": list(decided.tied),
        "devices": list(decided.devices),
    }
