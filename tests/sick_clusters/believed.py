"""What must hold of every sick cluster, whatever is wrong in it."""

from collections.abc import Iterator
from typing import Any, Final

from engine.diagnosis.observed.evidence import key_of
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.report import Group
from engine.diagnosis.triage.triage import triage
from engine.kernel.units import SECOND
from tests.properties.facts import value_of
from tests.sick_clusters.kept import lost_facts
from tests.sick_clusters.observed import counted_in_vain, held_twice, let_go
from tests.sick_clusters.playing import runs_in_vain
from tests.sick_clusters.standing import Sick, as_bytes, sick
from tests.sick_clusters.statements import untrue

Manifest = dict[str, Any]

_ASKED: Final = ("Pod", "PersistentVolumeClaim", "Node", "Deployment", "Namespace")
_AHEAD: Final = 60 * SECOND
# What is never the answer about a pod that does not run.
_DENIALS: Final = ("Nothing is wrong", "It has its node.", "It has ended")


def faults_of_triage(seed: int) -> list[str]:
    """What is wrong with the triage of a sick cluster."""
    found = sick(seed)
    before, files = found.cluster.digest(), as_bytes(found.evidence)
    faults = [*let_go(found), *held_twice(found), *counted_in_vain(found)]
    for group in found.found.groups:
        faults += [
            f"untrue: {each}" for text in _said(group) for each in untrue(found.evidence, text)
        ]
    if triage(found.cluster, found.evidence) != found.found:
        faults.append("asked twice, it answers otherwise")
    if (found.cluster.digest(), as_bytes(found.evidence)) != (before, files):
        faults.append("asking has changed something")
    return faults


def faults_of_answers(seed: int) -> list[str]:
    """What is wrong with what is said of single objects: one of each kind, and every stuck pod."""
    found = sick(seed)
    before, files = found.cluster.digest(), as_bytes(found.evidence)
    held = {key for group in found.found.groups for key in group.pods}
    faults: list[str] = []
    for each in _asked_about(found, held):
        name = f"{each['kind']} {key_of(each)}"
        answer = _answer(found, each)
        is_held = each["kind"] == "Pod" and key_of(each) in held
        faults += [f"{name}: {fault}" for fault in _wrong(found, answer, is_held=is_held)]
    if (found.cluster.digest(), as_bytes(found.evidence)) != (before, files):
        faults.append("asking has changed something")
    return faults


def faults_of_playing(seed: int) -> list[str]:
    """What happens in a sick cluster that could not, and what becomes of its evidence."""
    found = sick(seed)
    files = as_bytes(found.evidence)
    faults: list[str] = []
    until = found.cluster.now + _AHEAD
    while found.cluster.now < until:
        found.cluster.advance(found.cluster.now + 10 * SECOND)
        faults += runs_in_vain(found.cluster, found.evidence)
    if as_bytes(found.evidence) != files:
        faults.append("playing has changed the evidence")
    faults += lost_facts(found)
    return list(dict.fromkeys(faults))


def _asked_about(found: Sick, held: set[str]) -> Iterator[Manifest]:
    for kind in _ASKED:
        every = list(found.evidence.all(kind))
        is_of_interest = [each for each in every if kind == "Pod" and key_of(each) in held]
        yield from is_of_interest or every[:1]


def _answer(found: Sick, about: Manifest) -> Answer:
    answer = explain_as_it_stands(
        found.cluster, found.evidence, about["kind"], key_of(about), tries_changes=False
    )
    assert answer is not None
    return answer


def _wrong(found: Sick, answer: Answer, *, is_held: bool) -> Iterator[str]:
    texts = [answer.sentence, *(each.sentence for each in answer.causes)]
    for text in dict.fromkeys(texts):
        yield from (f"untrue: {each}" for each in untrue(found.evidence, text))
    if is_held and any(answer.sentence.startswith(each) for each in _DENIALS):
        yield f"it is stuck, and the answer is {answer.sentence!r}"
    if is_held and not answer.groups:
        yield "it is in a group, and the answer does not say so"
    if is_held and _would_run(answer) and not (answer.contradiction or _awaits(answer)):
        yield f"it is let go without a word: {answer.predicted}"
    for cause in answer.causes:
        for fact in cause.because:
            if value_of(found.cluster, fact) != fact.value:
                yield f"not a fact: {fact}"


def _would_run(answer: Answer) -> bool:
    """It goes on, and nothing is said of what lets it."""
    goes = answer.predicted.startswith("it runs") or answer.predicted == "it is gone"
    return goes and "what holds it now is over by then" not in answer.predicted


def _awaits(answer: Answer) -> bool:
    """Whether it says whom the pod waits for, so that it is no surprise when that one lets it go on."""
    return " once a scheduler has chosen a node for " in answer.sentence


def _said(group: Group) -> Iterator[str]:
    yield from (f"{group.cause} ({group.by})", group.predicted, group.conclusion)
    for change in group.changes:
        yield from (change.text, change.note)
