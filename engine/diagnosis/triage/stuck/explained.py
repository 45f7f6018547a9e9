"""What one thing keeps back, and what explains it: the cause, its object, what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.diagnosis.observed.evidence import SeenEvent, entity
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import Behind
from engine.kernel.sentences import NOTHING, Sentence
from engine.objects.objects import Manifest


@dataclass(slots=True)
class Stuck:
    """Pods that one thing keeps from running, or workloads whose pods one thing refuses.

    `is_inferred`: the objects alone show it, and no Event. `lacks`: how many pods a workload has
    too few of, by what triage calls the workload.
    """

    message: str
    reason: str = ""
    is_inferred: bool = False
    objects: list[Manifest] = field(default_factory=list[Manifest])
    events: list[SeenEvent] = field(default_factory=list[SeenEvent])
    since: str = ""
    lacks: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def missing(self) -> int:
        """How many pods all its workloads lack."""
        return sum(self.lacks.values())


@dataclass(frozen=True, slots=True)
class Explained:
    """Cause and object, changes, and the objects of the files that the cause rests on.

    `facts` are named as triage names objects: "node/n1", "storageclass/fast". `lets_go` says how a
    healthy cluster would end what the files show; "" where it would not. `short` is the cause in a few words where the group itself
    does not tell them.
    """

    cause: Sentence
    by: str
    changes: tuple[Change, ...] = ()
    facts: tuple[str, ...] = ()
    lets_go: Sentence = NOTHING
    short: Sentence = NOTHING


def facts_of(*owners: Behind | None) -> tuple[str, ...]:
    """The workloads that are behind something."""
    return tuple(entity(each.workload) for each in owners if each is not None)
