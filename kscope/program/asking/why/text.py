"""The text of why: the sentence, where it stands, observed and simulated, the evidence, what was tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from engine.diagnosis.observed.evidence import is_ready
from engine.diagnosis.report import Cause, Check
from engine.diagnosis.triage.answer import Help
from engine.diagnosis.triage.asking import ASSUMED
from engine.diagnosis.triage.observed_facts import how_it_ended
from engine.framework.explaining.amounts import format_amount
from engine.kernel.sentences import Listed, Sentence
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest
from kscope.program.asking.reading.sight import instant_words
from kscope.program.asking.triage.observing import AGREE, CONTRADICT, EMPTY, tells
from kscope.program.asking.triage.text import object_words
from kscope.program.asking.why.blind import blind_headline, write_blind
from kscope.program.speech.paper import Paper
from kscope.program.speech.words import first_small, folded, natural

if TYPE_CHECKING:
    from kscope.program.asking.why.answer import Explained

_LABEL: Final = "{:<11}"
_TAINT: Final = "untolerated taint "
_OUTSIDE: Final = (
    "Not looked at: container logs, image registries, network policies. They are outside the model."
)
# How the patterns of the engine that name no subject go on behind one, by their ids.
_GOING_ON: Final = {
    "Does not fit {node}, the only node: {why}": "it does not fit {node}, the only node: {why}",
    "Does not fit {node}, the only node: {why}.": "it does not fit {node}, the only node: {why}.",
    "Fits none of {nodes} nodes: {why}": "it fits none of {nodes} nodes: {why}",
    "Fits none of {nodes} nodes; closest is {node}: {why}.": (
        "it fits none of {nodes} nodes; closest is {node}: {why}."
    ),
    "Waits for {pods} to leave {node}.": "for {pods} to leave {node}.",
    "Waits for {pods} to leave {node}; {seconds} s of grace are left.": (
        "for {pods} to leave {node}; {seconds} s of grace are left."
    ),
}
# Patterns that begin with the object that is asked about.
_SAYS_WHO: Final = ("The", "Pod")
_SHARED: Final = "touches a shared policy"
_LOSES: Final = "loses data, or ends another pod"


def write_why(paper: Paper, explained: Explained) -> None:
    """The answer for people."""
    blind = explained.blind
    if blind is not None:
        write_blind(paper, explained, blind)
        return
    _sentence(paper, explained)
    profile = explained.answer.diagnosis.profile
    at = explained.at or instant_words(explained.source, explained.answer.instant)
    paper.line(f"{profile} · {at}", "dim")
    paper.line()
    _observed(paper, explained)
    _simulated(paper, explained)
    _assumed(paper, explained)
    _evidence(paper, explained)
    _tried(paper, explained)
    _unseen(paper, explained)
    if not explained.is_stuck:
        paper.line()
        paper.paragraph(_OUTSIDE)
    paper.line()
    for place, line in enumerate(_next_lines(explained)):
        paper.line(_LABEL.format("" if place else "next") + line)


def headline(explained: Explained) -> str:
    """Object first, then state, then cause."""
    answer, blind = explained.answer, explained.blind
    if blind is not None:
        return blind_headline(explained, blind)
    if answer.diagnosis.state == ASSUMED:
        return answer.sentence
    what = f"{explained.found.kind.lower()} {explained.found.key}"
    node = _node(explained)
    if not explained.is_stuck and explained.found.kind == "Pod" and _phase(explained) == "Failed":
        # It is not stuck, and something was wrong with it.
        how = how_it_ended(_raw(explained))
        return f"{what} has failed: {how.rstrip('.')}." if how else f"{what} has failed."
    if not explained.is_stuck:
        return f"Nothing is wrong with {what}{_well(explained, node)}"
    if explained.found.kind == "Pod":
        return _joined(f"{what} {_stuck_pod(explained, node)}", answer.sentence)
    return _joined(f"{what} is stuck", answer.sentence)


def _stuck_pod(explained: Explained, node: str) -> str:
    """What a pod that is stuck does all the same."""
    if not node:
        return "waits"
    raw = _raw(explained)
    if section(raw, "metadata").get("deletionTimestamp"):
        return f"is on {node} and does not end"
    if _phase(explained) != "Running":
        return f"is on {node} and does not start"
    return f"runs on {node}" if is_ready(raw) else f"runs on {node} and is not ready"


def _joined(state: str, sentence: str) -> str:
    """The state, then the cause: behind a colon, or as a sentence where it says again who it is about."""
    going_on = _going_on(sentence)
    if going_on:
        return f"{state}: {going_on}"
    pattern = getattr(sentence, "id", "") or sentence
    if pattern.partition(" ")[0] in _SAYS_WHO:
        return f"{state}. {sentence}"
    return f"{state}: {first_small(sentence)}"


def _going_on(sentence: str) -> str:
    """A sentence without a subject, with one; "" for any other."""
    if isinstance(sentence, Listed):
        first = str(sentence.items[0])
        begun = _going_on(cast("str", sentence.items[0]))
        return f"{begun}{sentence.removeprefix(first)}" if begun else ""
    if isinstance(sentence, Sentence) and sentence.id in _GOING_ON:
        return _GOING_ON[sentence.id].format(**sentence.arguments)
    return ""


def _sentence(paper: Paper, explained: Explained) -> None:
    paper.paragraph(headline(explained), style=f"bold {'red' if explained.is_stuck else 'green'}")


def _well(explained: Explained, node: str) -> str:
    phase = _phase(explained)
    if node and phase in ("Running", ""):
        return f": it runs on {node}." if phase else f": its node is {node}."
    if explained.found.kind == "Pod" and phase == "Pending":
        fits = explained.answer.predicted
        return f": it waits for its first try; {fits}." if fits else ": it waits for its first try."
    if explained.answer.causes:
        # What only puts it off: "the claim waits for its first consumer".
        return f": {first_small(explained.answer.sentence)}"
    return (
        f": {explained.answer.diagnosis.state}."
        if phase or explained.answer.diagnosis.state == "kept"
        else "."
    )


def _node(explained: Explained) -> str:
    return (
        str(section(_raw(explained), "spec").get("nodeName") or "")
        if explained.found.kind == "Pod"
        else ""
    )


def _phase(explained: Explained) -> str:
    return str(section(_raw(explained), "status").get("phase") or "")


def _raw(explained: Explained) -> Manifest:
    """The object as the files have it; empty where they do not."""
    return explained.evidence.find(explained.found.kind, explained.found.key) or {}


# -- observed, then simulated ------------------------------------------------------------------------


def sign_of(explained: Explained) -> str:
    """Whether observed and simulated agree."""
    if explained.answer.contradicts:
        return CONTRADICT
    if explained.answer.diagnosis.state == ASSUMED:
        return EMPTY
    is_told = tells(explained.evidence, explained.found.kind, explained.found.key)
    return AGREE if is_told or not explained.is_stuck else EMPTY


def _observed(paper: Paper, explained: Explained) -> None:
    if explained.at and not explained.answer.observed:
        return
    facts = _facts(explained)
    for place, fact in enumerate(facts):
        label = f"observed {sign_of(explained)}" if not place else ""
        paper.paragraph(fact, first=_LABEL.format(label))


def _facts(explained: Explained) -> tuple[str, ...]:
    """What was observed; of a pod of which nothing but its phase is known, that this is all."""
    found = explained.found
    in_files = "" if explained.source.collection else " is in the file"
    phase, node = _phase(explained), _node(explained)
    if found.kind == "Pod" and phase and not tells(explained.evidence, found.kind, found.key):
        rest = (
            f"No condition, container state or Event of it{in_files}."
            if node
            else (f"No condition and no Event of this pod{in_files}.")
        )
        return (f"phase {phase}{f' on {node}' if node else ''}. {rest}",)
    return explained.answer.observed or ("nothing: the files have no status and no Event of it",)


def _simulated(paper: Paper, explained: Explained) -> None:
    answer = explained.answer
    if answer.diagnosis.state == ASSUMED:
        return
    said = explained.message if explained.is_stuck else ""
    text = said or answer.predicted or answer.sentence
    paper.paragraph(text, first=_LABEL.format("simulated"))
    if said and answer.contradicts:
        paper.paragraph(answer.predicted, first=_LABEL.format(""))
    if answer.contradicts:
        rest = f"They contradict: what was observed counts. {answer.contradiction}"
        paper.paragraph(rest, first=_LABEL.format(""))
    elif not explained.is_stuck and not explained.at:
        paper.line(_LABEL.format("") + "They agree.")


def _assumed(paper: Paper, explained: Explained) -> None:
    """The placeholders that the answer rests on."""
    for place, each in enumerate(explained.answer.assumed):
        paper.paragraph(each, first=_LABEL.format("" if place else "assumed"))


# -- the evidence ------------------------------------------------------------------------------------


def _evidence(paper: Paper, explained: Explained) -> None:
    # That others share its lot is said where the changes are counted.
    shared = {each.cause for each in explained.answer.groups}
    causes = [each for each in explained.answer.causes if each.sentence not in shared]
    rows = list(_node_rows(explained, [each for each in causes if each.nodes and each.plugin]))
    if rows:
        paper.line()
        paper.table([["NODES", "REFUSED BY", "WHY", "WHICH"], *rows], below=3)
    told = [
        each for each in causes if not each.nodes and each.sentence != explained.answer.sentence
    ]
    if told or any(each.why for each in causes):
        paper.line()
    for each in dict.fromkeys(each.why for each in causes if each.nodes and each.why):
        paper.paragraph(each)
    for each in told:
        paper.paragraph(each.sentence)
        for fact in each.because if explained.is_wide else each.because[:3]:
            paper.paragraph(fact.text, first="  ")
    if explained.is_wide:
        for fact in dict.fromkeys(
            fact.text for each in causes if each.nodes for fact in each.because
        ):
            paper.paragraph(fact, first="  ")


def _node_rows(explained: Explained, causes: list[Cause]) -> Iterator[list[str]]:
    """The nodes by why they refuse, each once, closest first; they add up to all nodes."""
    refused: dict[str, tuple[int, ...]] = {}
    for place, cause in enumerate(causes):
        for node in cause.nodes:
            refused[node] = (*refused.get(node, ()), place)
    sizes = Counter(refused.values())
    closest = explained.answer.diagnosis.check
    near = refused.get(closest.node) if closest is not None else None
    for places in sorted(sizes, key=lambda each: (each != near, len(each), -sizes[each], each)):
        names = sorted((name for name, found in refused.items() if found == places), key=natural)
        shown = ", ".join(names) if explained.is_wide else folded(names)
        plugins = ", ".join(dict.fromkeys(causes[place].plugin for place in places))
        whys = "; ".join(_why(causes[place]) for place in places)
        yield [str(sizes[places]), plugins, whys, shown]


def _why(cause: Cause) -> str:
    check = cause.check
    if check is None:
        return cause.sentence
    measured = _measured(check)
    return measured or check.text.removeprefix(_TAINT)


def _measured(check: Check) -> str:
    if check.requested is None or check.free is None or check.allocatable is None:
        return ""
    asks, free, whole = (
        format_amount(check.unit, amount)
        for amount in (check.requested, check.free, check.allocatable)
    )
    return f"{check.unit}: asks {asks}, {free} of {whole} free"


# -- what was tried ----------------------------------------------------------------------------------


def _tried(paper: Paper, explained: Explained) -> None:
    helps = list(enumerate(explained.answer.fixes))
    if not helps:
        if explained.is_stuck and explained.answer.conclusion:
            paper.line()
            paper.paragraph(explained.answer.conclusion)
        return
    rows = [["TRIED, EACH IN A COPY", "THIS POD", "SAME CAUSE"]]
    for title, chosen in _by_price(helps):
        rows += [[f"  {title}", "", ""]] if title else []
        rows += [_tried_row(explained, place, each) for place, each in chosen]
    if not any(row[2] for row in rows[1:]):
        rows = [row[:2] for row in rows]
    if not any(row[1] for row in rows[1:]):
        rows = [[row[0], *row[2:]] for row in rows]
    paper.line()
    paper.table(rows, numbers=(2,) if len(rows[0]) == 3 else ())


def _by_price(helps: list[tuple[int, Help]]) -> Iterator[tuple[str, list[tuple[int, Help]]]]:
    """Those that cost nobody anything, the best first; then, named, what is shared and what is lost."""
    plain = [pair for pair in helps if not pair[1].loses and not pair[1].shared]
    yield "", sorted(plain, key=lambda pair: -int(pair[1].content.get("places") or 0))
    for title, chosen in (
        (_SHARED, [pair for pair in helps if pair[1].shared and not pair[1].loses]),
        (_LOSES, [pair for pair in helps if pair[1].loses]),
    ):
        if chosen:
            yield title, chosen


def _tried_row(explained: Explained, place: int, helps: Help) -> list[str]:
    outcome = explained.outcomes.get(place)
    places, of = helps.content.get("places"), helps.content.get("of")
    is_whole = bool(outcome.node) if outcome is not None else bool(places) and places == of
    sign = "✓" if is_whole else "◐" if places else "·"
    same = f"{places} of {of}" if places is not None else ""
    return [f"{sign} {change_words(helps)}", outcome.text if outcome is not None else "", same]


def change_words(helps: Help) -> str:
    """A change, without what came of it."""
    from engine.diagnosis.report import Fix
    from engine.diagnosis.triage.alone import change_of

    content = helps.content
    if "places" in content:
        return first_small(str(content["text"]))
    names = Fix.__slots__
    return first_small(change_of(Fix(**{name: content[name] for name in names})))


# -- what the answer rests on -------------------------------------------------------------------------


def _unseen(paper: Paper, explained: Explained) -> None:
    """What could not be seen, and what is not known without it."""
    sight = explained.sight
    if sight.is_whole:
        return
    rows = [[each.resource, each.tells] for each in sight.missing]
    rows += [[f"{each.resource} of other namespaces", each.tells] for each in sight.narrowed]
    paper.line()
    paper.table([["COULD NOT SEE", "WOULD TELL"], *rows])


# -- next --------------------------------------------------------------------------------------------


def _others_wait(number: int) -> str:
    return "1 other pod waits" if number == 1 else f"{number:,} other pods wait"


def _next_lines(explained: Explained) -> Iterator[str]:
    files, found = explained.source.words, explained.found
    if not explained.is_stuck:
        others = sum(
            not section(each, "spec").get("nodeName") for each in explained.evidence.pods_under_way
        )
        where = "cluster" if explained.source.collection else "file"
        yield f"kscope triage {files}" + (
            f"     # {_others_wait(others)} in this {where}" if others else ""
        )
        return
    for helps in explained.answer.fixes:
        made = [
            str(each["manifest"]["metadata"]["name"])
            for each in helps.content.get("commands") or ()
            if helps.content.get("kind") == "node" and "manifest" in each
        ]
        models = {name.partition("-more-")[0] for name in made if "-more" in name}
        if len(models) == 1 and not explained.source.has_stdin:
            yield f"kscope triage {files} --nodes {len(made)}x{models.pop()}"
            break
    namespace, _, name = found.key.rpartition("/")
    option = f"-n {namespace} " if namespace else ""
    yield f"kubectl {option}describe {found.kind.lower()} {name}"
    held = next(
        (key for group in explained.answer.groups for key in group.pods if key != found.key), ""
    )
    if found.kind != "Pod" and held:
        yield f"kscope why {files} {object_words('pod', held)}"
