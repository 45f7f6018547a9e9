"""Observed and simulated: whether they agree, contradict each other, or one of them is empty."""

from __future__ import annotations

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Group
from engine.objects.manifest_parts import items, section

AGREE, CONTRADICT, EMPTY = "=", "≠", "?"


def sign_of_group(evidence: Evidence, group: Group) -> str:
    """= they agree, ≠ they contradict, ? nothing was observed but a phase."""
    if group.contradicts:
        return CONTRADICT
    held = [("Pod", key) for key in group.pods] + [
        ("PersistentVolumeClaim", key) for key in group.claims
    ]
    if not held:
        return AGREE if group.observed else EMPTY
    is_told = any(tells(evidence, kind, key) for kind, key in held)
    return AGREE if is_told or group.kind == "node" or group.pods_missing else EMPTY


def tells(evidence: Evidence, kind: str, key: str) -> bool:
    """Whether the files say more of an object than its phase: a condition, an Event, a container."""
    raw = evidence.find(kind, key)
    if raw is None:
        return False
    status = section(raw, "status")
    told = items(status, "conditions") or items(status, "containerStatuses")
    return bool(told) or bool(evidence.events(raw))
