"""The answer about an object of a run that was brought and then played: the model's, and the files' facts.

What was observed is kept apart from what was simulated: see `observed_facts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.deleted import DELETED, absence
from engine.diagnosis.fork import MakeForks
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.report import Diagnosis, Line
from engine.diagnosis.triage.observed_facts import ObservedFact, facts_after_play, texts_of
from engine.diagnosis.why import ASKED, diagnosis_of, explain_object
from engine.kernel.sentences import ENGLISH, Translations, say, translated

NO_FACT = say("nothing: the files have no status and no Event of it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The facts of the files about one object, at their instant, each marked where it is superseded."""

    instant: str
    facts: tuple[ObservedFact, ...]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "instant": self.instant,
            "observed": texts_of(self.facts),
            "observed_facts": [each.to_dict() for each in self.facts],
        }

    def lines(self) -> Iterator[Line]:
        """The facts for a terminal."""
        if self.instant:
            yield (say("Observed, as of {instant}", instant=self.instant),)
        else:
            yield (say("Observed (the files name no time)"),)
        for each in texts_of(self.facts) or [NO_FACT]:
            yield "  ", each


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedAnswer:
    """Why an object is as it is after the run was played, and what the files said of it."""

    diagnosis: Diagnosis
    observed: Observed

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: that of a diagnosis, and what was observed."""
        return {**self.diagnosis.to_dict(), **self.observed.to_dict()}

    def text(self, translations: Translations = ENGLISH) -> str:
        """The answer for a terminal, in a language."""
        first, _, rest = self.diagnosis.text(translations).partition("\n")
        lines = (translated(line, translations) for line in self.observed.lines())
        return "\n".join([first, "", *("".join(line) for line in lines), rest])


def observed_after_play(
    cluster: Cluster, evidence: Evidence, kind: str, key: str
) -> Observed | None:
    """What the files say of an object; None for one that is not in them."""
    if evidence.find(kind, key) is None:
        return None
    facts = facts_after_play(cluster, evidence, kind, key)
    return Observed(instant=evidence.instant, facts=facts)


def explain_after_play(
    cluster: Cluster, evidence: Evidence, kind: str, key: str, make_forks: MakeForks
) -> PlayedAnswer | Diagnosis:
    """Why an object is as it is now. Of one that is not in the files, the diagnosis alone.

    *kind* is one of `ASKED`, or any kind in the files.
    """
    observed = observed_after_play(cluster, evidence, kind, key)
    if kind in ASKED:
        diagnosis = explain_object(cluster, kind, key, make_forks=make_forks)
    elif observed is None:
        diagnosis = diagnosis_of(cluster, kind, key, *absence(cluster, kind, key))
    else:
        diagnosis = unplayed(cluster, kind, key)
    return diagnosis if observed is None else PlayedAnswer(diagnosis=diagnosis, observed=observed)


def unplayed(cluster: Cluster, kind: str, key: str) -> Diagnosis:
    """What the files say of an object whose kind has no answer of its own."""
    if cluster.store.find(kind, key) is not None:
        return diagnosis_of(
            cluster, kind, key, "kept", say("{kind} {key} is there.", kind=kind, key=key)
        )
    state, sentence = absence(cluster, kind, key)
    if state == DELETED:
        return diagnosis_of(cluster, kind, key, state, sentence)
    sentence = say("kscope plays no {kind} {key}: only its files tell of it.", kind=kind, key=key)
    return diagnosis_of(cluster, kind, key, "kept", sentence)
