"""The answer: why an object is as it stands, what would help, and what the model predicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.diagnosis.report import Cause, Diagnosis, Fix, Line
from engine.diagnosis.triage.after_play import Observed
from engine.diagnosis.triage.alone import LOSING, SHARED, change_of
from engine.diagnosis.triage.observed_facts import (
    ObservedFact,
    texts_of,
)
from engine.diagnosis.triage.predictions import AHEAD
from engine.diagnosis.triage.report import Change, Group, change_text
from engine.diagnosis.triage.stuck.nodes import OFF
from engine.kernel.sentences import (
    ENGLISH,
    NOTHING,
    Sentence,
    Translations,
    in_turn,
    say,
    together,
    translated,
    unstopped,
)
from engine.kernel.units import SECOND

# A pod in one of these states waits for a scheduler, which has the best answer.
_NOT_WAITING: Final = ("placed", "ended", "deleting")
# A pod that no scheduler looks at: the objects around it say more than the schedulers.
_UNMINDED: Final = "unminded"
_PENDING: Final = "pending"
# Who is named where a workload waits until its pods are placed.
_SCHEDULER: Final = "kube-scheduler"
_HELD_OUTSIDE: Final = (_UNMINDED, "gated")
# In so many seconds most of what a healthy cluster ends by itself is over.
_SOON: Final = AHEAD // SECOND
_NOTHING_TRIED: Final = say("No change was tried: none is known that kscope could show to work.")
_NOT_CARRIED_OUT: Final = say(
    "No change was tried: none is known for all that this holds, and forks of "
    "so large a cluster, in which one would be carried out, take too long."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Help:
    """A change that would help: one tried for the object alone, or one for a whole group.

    `loses` data or work, is `shared` with others who have to agree, `buys` a machine, or `repairs`
    one that others do not want to wait for.
    """

    text: Sentence
    note: Sentence
    loses: bool
    shared: bool
    buys: bool
    content: dict[str, Any]
    repairs: bool = False

    @classmethod
    def of_fix(cls, fix: Fix) -> Help:
        """A change that was tried for the object alone."""
        return cls(
            text=say("{change} (tried in a fork)", change=fix.text)
            if fix.shown == "fork"
            else say("{change} (decided again)", change=fix.text),
            note=fix.note,
            loses=fix.kind in LOSING,
            shared=fix.kind in SHARED,
            buys=fix.kind == "node",
            content=fix.to_dict(),
        )

    @classmethod
    def of_change(cls, change: Change) -> Help:
        """A change for a group."""
        return cls(
            text=change_text(change),
            note=change.note,
            loses=bool(change.loses),
            shared=bool(change.shared),
            buys=change.kind == "node",
            content={"shown": "decision", **change.to_dict()},
        )


def _price(helps: Help) -> tuple[bool, bool, bool, bool]:
    """Changes that cost nobody anything come first, those that lose something last."""
    return helps.repairs, helps.loses, helps.shared, helps.buys


def _tried_alone(tried: Help, helps: Help, change: Change) -> Help:
    """A change that was carried out for the object alone, with what is known of it for its group.

    That a pool makes no more nodes is known there only.
    """
    tried = replace(tried, loses=helps.loses, shared=helps.shared, repairs=helps.repairs)
    if change.kind != "node" or not change.shared:
        return tried
    text, note = f"{tried.text} (but {change.shared})", change.note or tried.note
    return replace(
        tried, text=text, note=note, content={**tried.content, "text": text, "note": note}
    )


def _is_repair(change: Change, group: Group) -> bool:
    """Whether a machine is to be repaired, where the objects can be freed from it as it is."""
    return change.kind == "ready" and any(each.kind == OFF for each in group.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Why an object is as it is at the instant of the files.

    `facts` are what the files say of it. `diagnosis` is what follows from the objects as they
    stand, with the changes that were tried for it alone, and `beside` the same for one that shares
    its lot: the pod of a claim or workload, the claim of a pod. `groups` are the causes that hold it, with
    the changes for all that they hold. Where `is_named` is not set, they hold what it uses or
    consists of. `predicted` is what a fork does in the next minute; `contradicts`: it would go on
    there, although it is stuck in the files. Where the cluster is too large to be played,
    `is_played` is not set, and both are what the schedulers decide at the instant of the files.
    """

    instant: str
    facts: tuple[ObservedFact, ...]
    diagnosis: Diagnosis
    beside: Diagnosis | None = None
    groups: tuple[Group, ...] = ()
    is_named: bool = True
    predicted: Sentence = NOTHING
    contradicts: bool = False
    # How long the files show it held, as far as they say.
    waits_seconds: int = 0
    is_played: bool = True
    # A sentence for each placeholder that the answer rests on: an object that the files do not hold.
    assumed: tuple[str, ...] = ()

    @property
    def observed(self) -> tuple[Sentence, ...]:
        """The facts in words."""
        return tuple(texts_of(self.facts))

    @property
    def sentence(self) -> Sentence:
        """The answer in one sentence."""
        if self._own_leads or not self.groups:
            return self.diagnosis.sentence
        return self.groups[0].cause

    @property
    def causes(self) -> tuple[Cause, ...]:
        """All that holds it, the answer first."""
        shared = tuple(Cause(severity="blocks", sentence=each.cause) for each in self.groups)
        own = tuple(each for each in self.diagnosis.causes if not self._is_weaker(each))
        known = {(each.plugin, each.sentence) for each in own}
        other = () if self.beside is None else self.beside.causes
        other = tuple(each for each in other if (each.plugin, each.sentence) not in known)
        return (*own, *shared, *other) if self._own_leads else (*shared, *own, *other)

    def _is_weaker(self, cause: Cause) -> bool:
        """Whether the group knows more: of a scheduler that is not played, of a claim that is refused."""
        if not self.groups or not self.is_named:
            return False
        if self.diagnosis.state == _UNMINDED:
            return True
        return self.groups[0].kind == "claim" and cause.severity == "delays"

    @property
    def _own_leads(self) -> bool:
        """Whether its own diagnosis says more: of what waits for a scheduler, or for another object."""
        if self.diagnosis.state in _HELD_OUTSIDE and self.groups:
            return False
        first = next(iter(self.diagnosis.causes), None)
        if first is not None and first.plugin == _SCHEDULER and not self.diagnosis.pod:
            # That it waits for a pod to be placed says less than why the pod is not.
            return not self.groups
        waits = bool(self.diagnosis.pod) and self.diagnosis.state not in _NOT_WAITING
        is_aside = not self.is_named or (bool(self.groups) and self.groups[0].kind == _PENDING)
        return bool(self.diagnosis.causes) and (waits or is_aside)

    @property
    def contradiction(self) -> Sentence:
        """What the files and the model disagree on, and what that means; "" where they agree."""
        if not self.contradicts:
            return NOTHING
        observed = unstopped(in_turn(self.observed[:2]))
        seen = say("In your cluster: {observed}.", observed=observed) if observed else NOTHING
        predicted = unstopped(self.predicted)
        if not self.groups:
            means = say(
                "The model would let it go on ({prediction}): the cause lies outside the model, "
                "which the files do not show.",
                prediction=predicted,
            )
            return together(seen, means)
        means = say(
            "The model would let it go on ({prediction}): the cause lies outside the model, most "
            "likely {by}.",
            prediction=predicted,
            by=self.groups[0].by,
        )
        if not 0 < self.waits_seconds < _SOON:
            return together(seen, means)
        waits = say(
            "It has waited for {seconds} s only, and may go on by itself.",
            seconds=self.waits_seconds,
        )
        return together(seen, means, waits)

    @property
    def fixes(self) -> list[Help]:
        """What would help, in the order in which an expert would try it.

        Of a change that was tried for the object alone and for its group, which has no other pod,
        the former is shown: it was carried out.
        """
        tried = self.diagnosis.fixes
        if self.beside is not None:
            mine, its = self.diagnosis.fixes, self.beside.fixes
            # What holds a pod by its claim is mended at the claim.
            tried = (*its, *mine) if self._waits_for_claim else (*mine, *its)
        own = {change_of(each): Help.of_fix(each) for each in reversed(tried)}
        found: dict[str, Help] = {}
        offered = ((each, change) for each in self.groups for change in each.changes)
        for group, change in offered:
            helps = replace(Help.of_change(change), repairs=_is_repair(change, group))
            tried_alone = own.get(change.text) if change.of in (None, 1) else None
            if tried_alone is not None:
                helps = _tried_alone(tried_alone, helps, change)
            found.setdefault(change.text, helps)
        alone = [own[key] for key in reversed(own) if key not in found]
        return sorted([*found.values(), *alone], key=_price)

    @property
    def _waits_for_claim(self) -> bool:
        """Whether a pod is held by what holds its claim."""
        own, its = self.diagnosis, self.beside
        return bool(own.pod) and its is not None and not its.pod and own.sentence == its.sentence

    @property
    def conclusion(self) -> Sentence:
        """What was tried without success, or why nothing was; "" where a change is offered."""
        if self.fixes:
            return NOTHING
        found = (each.conclusion for each in self.groups if each.conclusion)
        default = _NOTHING_TRIED if self.is_played else _NOT_CARRIED_OUT
        return next(found, NOTHING) or self.diagnosis.conclusion or default

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: that of a diagnosis, and what was observed and predicted."""
        return {
            **self.diagnosis.to_dict(),
            "instant": self.instant,
            "sentence": self.sentence,
            "observed": list(self.observed),
            "observed_facts": [each.to_dict() for each in self.facts],
            "predicted": self.predicted,
            "is_played": self.is_played,
            "contradicts": self.contradicts,
            "contradiction": self.contradiction,
            "causes": [each.to_dict() for each in self.causes],
            "fixes": [each.content for each in self.fixes],
            "groups": [each.to_dict() for each in self.groups],
            "conclusion": self.conclusion,
            "assumed": list(self.assumed),
        }

    def text(self, translations: Translations = ENGLISH) -> str:
        """The answer for a terminal, in a language."""
        lines = (translated(line, translations) for line in _lines(self))
        return "\n".join("".join(line) for line in lines) + "\n"


def _lines(answer: Answer) -> Iterator[Line]:
    found = answer.diagnosis
    yield f"{found.pod or found.entity} ({found.state}): ", answer.sentence
    yield ("",)
    yield from Observed(instant=answer.instant, facts=answer.facts).lines()
    if answer.predicted:
        yield ("",)
        if answer.is_played:
            yield (
                say(
                    "The model predicts for the next {seconds} s (a fork; nothing was played)",
                    seconds=AHEAD // SECOND,
                ),
            )
        else:
            yield (say("The model decides as things are (so large a cluster is not played ahead)"),)
        is_same = answer.predicted == answer.diagnosis.sentence
        yield "  ", say("the same") if is_same else answer.predicted
        if answer.contradicts:
            text = say("This contradicts the files, and they win.")
            yield "  ", together(text, answer.contradiction)
    yield from _cause_lines(answer)
    if answer.fixes:
        yield ("",)
        yield (say("What would help"),)
    for place, each in enumerate(answer.fixes, 1):
        yield f"  {place}. ", each.text
        if each.note:
            yield " " * 5, each.note
    if answer.conclusion:
        yield ("",)
        yield (answer.conclusion,)
    if answer.assumed:
        yield ("",)
        yield (say("Assumed, because these files do not hold it"),)
        yield from (("  ", each) for each in answer.assumed)


def _cause_lines(answer: Answer) -> Iterator[Line]:
    rest = [each for each in answer.causes if each.sentence != answer.sentence or each.because]
    if rest:
        yield ("",)
        yield (say("Why"),)
    for cause in rest:
        yield f"  {cause.severity:<8}", cause.sentence
        if cause.why:
            yield " " * 10, cause.why
        for fact in cause.because:
            yield " " * 10 + "- ", fact.text
