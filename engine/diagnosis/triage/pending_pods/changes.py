"""Changes for a whole group of pending pods, each tried on a copy of what the schedulers see.

A change of a pod's template is made in all pods of its workload, those that run among them where it
is about other pods. All pending pods are then decided on in their order, so that others may take
the room first.
"""

from __future__ import annotations

from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.deciding import Trials
from engine.diagnosis.triage.pending_pods.held import GroupChange, Held
from engine.diagnosis.triage.pending_pods.more_nodes import more_nodes
from engine.diagnosis.triage.pending_pods.proposals import proposed
from engine.diagnosis.triage.pending_pods.trying import offered, placed
from engine.diagnosis.triage.report import Change
from engine.kernel.sentences import NOTHING
from engine.objects.objects import Manifest

_MOST_OFFERED: Final = 6
# The order among changes that do the same: one object of one team, less of a request, what is bought.
_RANK: Final = (
    "ready",
    "uncordon",
    "device",
    "toleration",
    "selector",
    "spread",
    "namespaces",
    "affinity",
    "port",
    "label",
    "requests",
    "node",
)


def changes_for(evidence: Evidence, trials: Trials, held: Held) -> tuple[list[Change], int]:
    """The changes that place some of the group, the best first, and how many were tried."""
    found: list[Change] = []
    tried = 0
    for change in proposed(held):
        places = placed(trials, held, change)
        tried += 1
        if places:
            found.append(offered(evidence, trials, held, change, places))
    more = more_nodes(evidence, trials, held, is_needed=not any(map(_settles, found)))
    if more is not None:
        tried += 1
        found.append(more)
    return sorted(found, key=_order)[:_MOST_OFFERED], tried


def _settles(change: Change) -> bool:
    """Whether it places all, takes nothing from others, and asks for no less."""
    return change.is_whole and not change.shared and not change.loses and change.kind != "requests"


def _order(change: Change) -> tuple[bool, bool, int, int]:
    rank = _RANK.index(change.kind) if change.kind in _RANK else len(_RANK)
    is_apart = bool(change.shared or change.loses)
    if change.is_whole:
        return is_apart, False, rank, 0
    return is_apart, True, -(change.places or 0), rank


def without_gates(held: Held) -> GroupChange:
    """The gates off, by whoever opens them."""
    return _for_all(held, {"schedulingGates": None})


def served_by(held: Held, scheduler: str) -> GroupChange:
    """Another scheduler, for one that does not work."""
    return _for_all(held, {"schedulerName": scheduler})


def _for_all(held: Held, fields: Manifest) -> GroupChange:
    return GroupChange("", NOTHING, fields=dict.fromkeys(range(len(held.classes)), fields))


def placed_by(trials: Trials, held: Held, change: GroupChange) -> int:
    """How many pods of the group get a node after *change*."""
    return placed(trials, held, change)
