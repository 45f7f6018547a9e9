"""What explains a group: the cause in words, the object behind it, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass

from engine.diagnosis.observed.evidence import entity
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import Behind


@dataclass(frozen=True, slots=True)
class Explained:
    """Cause and object, changes, and the objects of the files that the cause rests on.

    `facts` are named as triage names objects: "node/n1", "storageclass/fast".
    """

    cause: str
    by: str
    changes: tuple[Change, ...] = ()
    facts: tuple[str, ...] = ()


def facts_of(*owners: Behind | None) -> tuple[str, ...]:
    """The workloads that are behind something."""
    return tuple(entity(each.workload) for each in owners if each is not None)
