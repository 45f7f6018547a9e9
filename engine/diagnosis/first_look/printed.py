"""What the files say of the state of each kind, in one line, as kubectl would print it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.input.instants import is_time
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.outside import NAMED, NODE_LEASES
from engine.objects.values.quantity import milli_value

_NODE_STATES: Final = {"True": "ready", "False": "not ready", "Unknown": "unknown"}
# How many namespaces with a used-up quota, or drivers, are named.
_NAMED_AT_MOST: Final = 3


def printed_state(evidence: Evidence, kind: str) -> str:
    """The state of all objects of a kind: "35 run, 40 wait for a node"; "" where it has none."""
    say = _SAYERS.get(kind)
    if say is not None:
        return say(evidence)
    if kind in NAMED:
        return "only the names are kept"
    count = _PHASES.get(kind)
    if count is not None:
        return _counted(count(each) for each in evidence.all(kind))
    return ""


def pod_state(pod: Manifest) -> str:
    """One word for where the files say a pod stands; terminating goes before all."""
    phase = section(pod, "status").get("phase")
    if pod["metadata"].get("deletionTimestamp"):
        return "terminating"
    if phase in ("Succeeded", "Failed"):
        return "ended"
    if not section(pod, "spec").get("nodeName"):
        return "waits"
    return "runs" if phase == "Running" else "placed"


_POD_WORDS: Final = {
    "runs": "run",
    "waits": "wait for a node",
    "placed": "have a node and do not run",
    "terminating": "are terminating",
    "ended": "have ended",
}
_POD_WORD: Final = {
    "runs": "runs",
    "waits": "waits for a node",
    "placed": "has a node and does not run",
    "terminating": "is terminating",
    "ended": "has ended",
}


def _pods(evidence: Evidence) -> str:
    found = Counter(pod_state(each) for each in evidence.all("Pod"))
    parts = [
        f"{found[state]:,} {words if found[state] != 1 else _POD_WORD[state]}"
        for state, words in _POD_WORDS.items()
        if found[state]
    ]
    return ", ".join(parts)


def _nodes(evidence: Evidence) -> str:
    cordoned = sum(
        bool(section(each, "spec").get("unschedulable")) for each in evidence.all("Node")
    )
    states = _counted(node_state(each) for each in evidence.all("Node"))
    return f"{states}; {cordoned:,} cordoned" if cordoned else states


def node_state(node: Manifest) -> str:
    """Whether a node is ready: "ready", "not ready", "unknown"; "" where the files do not say."""
    ready = condition(node, "Ready")
    return _NODE_STATES.get(str(ready.get("status")), "") if ready else ""


def _workloads(kind: str) -> Callable[[Evidence], str]:
    def said(evidence: Evidence) -> str:
        short = sum(map(_lacks_pods, evidence.all(kind)))
        if not short:
            return ""
        return f"{short:,} {'has' if short == 1 else 'have'} too few pods that are ready"

    return said


def _lacks_pods(workload: Manifest) -> bool:
    status, spec = section(workload, "status"), section(workload, "spec")
    if not status:
        return False
    if workload["kind"] == "DaemonSet":
        return _int(status, "numberReady") < _int(status, "desiredNumberScheduled")
    wanted = spec.get("replicas")
    return _int(status, "readyReplicas") < (1 if wanted is None else int(wanted))


def _int(part: Manifest, name: str) -> int:
    return int(part.get(name) or 0)


def _phase(manifest: Manifest) -> str:
    return str(section(manifest, "status").get("phase") or "").lower()


def _job(job: Manifest) -> str:
    for name, word in (("Complete", "complete"), ("Failed", "failed"), ("Suspended", "suspended")):
        found = condition(job, name)
        if found is not None and found.get("status") == "True":
            return word
    return "active" if section(job, "status") else ""


def _attachment(attachment: Manifest) -> str:
    if attachment["metadata"].get("deletionTimestamp"):
        return "being detached"
    status = section(attachment, "status")
    return ("attached" if status.get("attached") else "not attached") if status else ""


def _snapshot(snapshot: Manifest) -> str:
    status = section(snapshot, "status")
    return ("ready to use" if status.get("readyToUse") else "not ready") if status else ""


def _claim_of_node(claim: Manifest) -> str:
    ready = condition(claim, "Ready")
    return ("ready" if ready.get("status") == "True" else "not ready") if ready else ""


def _devices(claim: Manifest) -> str:
    return "allocated" if section(claim, "status", "allocation") else "not allocated"


def _drivers(evidence: Evidence) -> str:
    nodes = list(evidence.all("CSINode"))
    found = Counter(
        str(each.get("name")) for node in nodes for each in items(section(node, "spec"), "drivers")
    )
    parts = [
        f"{name} on {'every node' if number == len(nodes) else f'{number:,} of {len(nodes):,}'}"
        for name, number in sorted(found.items())
    ]
    return _first(parts) or "no driver is registered"


def _quotas(evidence: Evidence) -> str:
    parts = [
        f"{key_of(quota)}: {used} of {hard} {resource}"
        for quota in evidence.all("ResourceQuota")
        for resource, used, hard in _used_up(quota)
    ]
    return _first(parts)


def _used_up(quota: Manifest) -> Iterator[tuple[str, str, str]]:
    status = section(quota, "status")
    used: Mapping[str, object] = section(status, "used")
    for resource, hard in section(status, "hard").items():
        given = used.get(resource)
        if given is None:
            continue
        try:
            is_full = milli_value(str(given)) >= milli_value(str(hard))
        except ValueError:
            continue
        if is_full:
            yield str(resource), str(given), str(hard)


def _budgets(evidence: Evidence) -> str:
    none = sum(
        section(each, "status").get("disruptionsAllowed") == 0
        for each in evidence.all("PodDisruptionBudget")
    )
    return f"{none:,} {'allows' if none == 1 else 'allow'} no disruption now" if none else ""


def _leases(evidence: Evidence) -> str:
    nodes = sum(each["metadata"].get("namespace") == NODE_LEASES for each in evidence.all("Lease"))
    return f"{nodes:,} of nodes" if nodes else "none of nodes"


def _events(evidence: Evidence) -> str:
    found = list(evidence.all_events())
    warnings = sum(each.is_warning for each in found)
    last = max((each.last for each in found if is_time(each.last)), default="")
    when = f", the last at {last[:10]} {last[11:19]}" if last else ""
    return f"{warnings:,} of them {'Warning' if warnings == 1 else 'Warnings'}{when}"


def _first(parts: list[str]) -> str:
    more = len(parts) - _NAMED_AT_MOST
    return ", ".join(parts[:_NAMED_AT_MOST]) + (f" and {more:,} more" if more > 0 else "")


def _counted(states: Iterable[str]) -> str:
    """ "9 bound, 1 pending", the most frequent first; "all bound" where there are several of one."""
    found = Counter(each for each in states if each)
    parts = sorted(found.items(), key=_often)
    if len(parts) == 1 and parts[0][1] > 1:
        return f"all {parts[0][0]}"
    return ", ".join(f"{number:,} {state}" for state, number in parts)


def _often(part: tuple[str, int]) -> tuple[int, str]:
    return -part[1], part[0]


_SAYERS: Final[dict[str, Callable[[Evidence], str]]] = {
    "Pod": _pods,
    "Node": _nodes,
    "Deployment": _workloads("Deployment"),
    "ReplicaSet": _workloads("ReplicaSet"),
    "StatefulSet": _workloads("StatefulSet"),
    "DaemonSet": _workloads("DaemonSet"),
    "ReplicationController": _workloads("ReplicationController"),
    "CSINode": _drivers,
    "ResourceQuota": _quotas,
    "PodDisruptionBudget": _budgets,
    "Lease": _leases,
    "Event": _events,
}
_PHASES: Final[dict[str, Callable[[Manifest], str]]] = {
    "PersistentVolumeClaim": _phase,
    "PersistentVolume": _phase,
    "Namespace": _phase,
    "Job": _job,
    "VolumeAttachment": _attachment,
    "VolumeSnapshot": _snapshot,
    "VolumeSnapshotContent": _snapshot,
    "NodeClaim": _claim_of_node,
    "NodePool": _claim_of_node,
    "ResourceClaim": _devices,
}
