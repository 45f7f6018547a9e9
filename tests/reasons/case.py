"""What a case of the table is: a small cluster, a reason of Kubernetes, and the facts that explain it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.report import Cause, Diagnosis
from engine.diagnosis.why import KIND_OF, explain_object
from engine.kernel.units import SECOND
from tests.builders import Manifest, scene

POD: Final = "pod default/p"
# For a field of a fact whose value does not matter, such as a time.
ANYTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Expected:
    """A fact that the answer has to state: an object, a field of it, its value, and the other value."""

    object: str
    field: str
    value: Any = ANYTHING
    compared_with: Any = ANYTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A reason, a cluster that provokes it, the object to ask about, and the facts of the answer.

    `reason` is upstream's text or the reason of an Event; `*` stands for names and numbers. `after`
    are (seconds, command) pairs, `seconds` is when the question is asked.
    """

    reason: str
    objects: tuple[Manifest, ...]
    facts: tuple[Expected, ...]
    # The plugin or component that gives the reason.
    by: str
    asked: str = POD
    profile: str = "v1.34"
    after: tuple[tuple[float, dict[str, Any]], ...] = ()
    seconds: float = 20
    # Further fields of the scenario: its schedulers, its configuration.
    scenario: dict[str, Any] = field(default_factory=dict[str, Any])

    def under(self, profile: str, **changes: Any) -> Case:
        """The same case under another version."""
        return replace(self, profile=profile, **changes)


@dataclass(frozen=True, slots=True)
class Answer:
    """What was recorded until the question was asked, and what was answered."""

    reasons: list[str]
    found: Diagnosis

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The causes of the answer."""
        return self.found.causes


def answered(case: Case, *, tries_changes: bool = False) -> Answer:
    """The cluster of *case*, played and asked."""
    cluster = Cluster.create(scene(*case.objects, **case.scenario), profile=case.profile)
    for seconds, command in case.after:
        cluster.advance(int(seconds * SECOND))
        outcome = cluster.apply(Command(**command))
        assert outcome.applied, outcome.reason
    cluster.advance(int(case.seconds * SECOND))
    reasons = [text for event in cluster.untaken for text in (event.kind, event.message)]
    cluster.take()
    word, _, key = case.asked.partition(" ")
    return Answer(reasons, explain_object(cluster, KIND_OF[word], key, tries_changes=tries_changes))
