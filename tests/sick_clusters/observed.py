"""What is stuck by the files alone, read without kscope's own rules for triage."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from engine.diagnosis.observed.evidence import Evidence, key_of
from tests.sick_clusters.machines import EARLIER
from tests.sick_clusters.standing import Sick

Manifest = dict[str, Any]

_ENDED: Final = ("Succeeded", "Failed")
# Versions before ignore the field.
_WITH_GATES: Final = ("v1.34", "v1.35", "v1.36")
_STARTS: Final = (None, "ContainerCreating", "PodInitializing")


def let_go(sick: Sick) -> list[str]:
    """What the files show as stuck, and no group holds."""
    held = {("Pod", key) for group in sick.found.groups for key in group.pods}
    held |= {("PersistentVolumeClaim", key) for group in sick.found.groups for key in group.claims}
    held |= {("Namespace", key) for group in sick.found.groups for key in group.namespaces}
    held |= {("Node", key) for group in sick.found.groups for key in group.nodes}
    awaited = " ".join(group.cause for group in sick.found.groups)
    return [
        f"{each['kind']} {key_of(each)}"
        for each in _stuck(sick)
        if (each["kind"], key_of(each)) not in held
        # A node that pods wait for stands with them.
        and not (each["kind"] == "Node" and each["metadata"]["name"] in awaited)
    ]


def held_twice(sick: Sick) -> list[str]:
    """Pods and claims that more than one group counts."""
    pods = Counter(key for group in sick.found.groups for key in group.pods)
    claims = Counter(key for group in sick.found.groups for key in group.claims)
    return [f"{key} in {number} groups" for key, number in (pods + claims).items() if number > 1]


def counted_in_vain(sick: Sick) -> list[str]:
    """Pods in a group that run, or have ended, and that nobody deletes; and what is not there."""
    found: list[str] = []
    for key in (key for group in sick.found.groups for key in group.pods):
        pod = sick.evidence.find("Pod", key)
        if pod is None:
            found.append(f"{key} is not in the files")
        elif not pod["metadata"].get("deletionTimestamp") and _is_well(pod):
            found.append(f"{key} runs")
    for key in (key for group in sick.found.groups for key in group.claims):
        claim = sick.evidence.find("PersistentVolumeClaim", key)
        if claim is None:
            found.append(f"{key} is not in the files")
    return found


def _is_well(pod: Manifest) -> bool:
    phase = pod["status"].get("phase")
    return phase in _ENDED or (phase == "Running" and _waits_in(pod) in _STARTS)


def _stuck(sick: Sick) -> Iterator[Manifest]:
    evidence, knows_gates = sick.evidence, sick.cluster.profile in _WITH_GATES
    for pod in evidence.all("Pod"):
        is_gated = knows_gates and bool(pod["spec"].get("schedulingGates"))
        if is_gated or _is_stuck(evidence, pod):
            yield pod
    for claim in evidence.all("PersistentVolumeClaim"):
        status = claim["status"]["phase"]
        refused = evidence.events(claim, "ProvisioningFailed") and status == "Pending"
        if refused or status == "Lost" or _is_late(claim):
            yield claim
    for each in (*evidence.all("Node"), *evidence.all("Namespace")):
        conditions = each["status"].get("conditions") or []
        silent = [one for one in conditions if one["type"] == "Ready" and one["status"] != "True"]
        if silent or _is_late(each):
            yield each


def _is_stuck(evidence: Evidence, pod: Manifest) -> bool:
    if pod["metadata"].get("deletionTimestamp"):
        return _is_late(pod)
    warnings = [each.reason for each in evidence.events(pod) if each.is_warning]
    if not pod["spec"].get("nodeName"):
        refused = [each["status"] == "False" for each in pod["status"].get("conditions") or []]
        return any(refused) or bool(warnings)
    phase = pod["status"]["phase"]
    fails = _waits_in(pod) not in _STARTS
    return fails or (phase == "Pending" and (bool(warnings) or _starts_late(pod)))


def _waits_in(pod: Manifest) -> str | None:
    statuses = pod["status"].get("containerStatuses") or []
    waiting = [each["state"].get("waiting", {}).get("reason") for each in statuses]
    return next(iter(waiting), None)


def _starts_late(pod: Manifest) -> bool:
    return pod["status"].get("startTime") == EARLIER


def _is_late(manifest: Manifest) -> bool:
    return manifest["metadata"].get("deletionTimestamp") == EARLIER
