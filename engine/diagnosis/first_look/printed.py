"""What the files say of the state of each kind, in one line, as kubectl would print it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.input.instants import is_time
from engine.kernel.sentences import (
    NOTHING,
    Sentence,
    count_phrase,
    enumerated,
    grouped,
    say,
    say_count,
    verbatim,
)
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.outside import NAMED, NODE_LEASES
from engine.objects.values.quantity import milli_value

_NODE_STATES: Final = {"True": "ready", "False": "not ready", "Unknown": "unknown"}
# How many namespaces with a used-up quota, or drivers, are named.
_NAMED_AT_MOST: Final = 3


def printed_state(evidence: Evidence, kind: str) -> Sentence:
    """The state of all objects of a kind: "35 run, 40 wait for a node"; "" where it has none."""
    sayer = _SAYERS.get(kind)
    if sayer is not None:
        return sayer(evidence)
    if kind in NAMED:
        return say("only the names are kept")
    count = _PHASES.get(kind)
    if count is not None:
        return _counted(count(each) for each in evidence.all(kind))
    return NOTHING


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
    "runs": count_phrase("{count} runs", "{count} run"),
    "waits": count_phrase("{count} waits for a node", "{count} wait for a node"),
    "placed": count_phrase(
        "{count} has a node and does not run", "{count} have a node and do not run"
    ),
    "terminating": count_phrase("{count} is terminating", "{count} are terminating"),
    "ended": count_phrase("{count} has ended", "{count} have ended"),
}


def _pods(evidence: Evidence) -> Sentence:
    found = Counter(pod_state(each) for each in evidence.all("Pod"))
    parts = [
        words.say(found[state], count=grouped(found[state]))
        for state, words in _POD_WORDS.items()
        if found[state]
    ]
    return enumerated(parts)


def _nodes(evidence: Evidence) -> Sentence:
    cordoned = sum(
        bool(section(each, "spec").get("unschedulable")) for each in evidence.all("Node")
    )
    states = _counted(_NODE_WORDS[node_state(each)] for each in evidence.all("Node"))
    if not cordoned:
        return states
    return say("{states}; {count} cordoned", states=states, count=grouped(cordoned))


# What is printed of a node in each state.
_NODE_WORDS: Final = {
    "ready": say("ready"),
    "not ready": say("not ready"),
    "unknown": say("unknown"),
    "": NOTHING,
}


def node_state(node: Manifest) -> str:
    """Whether a node is ready: "ready", "not ready", "unknown"; "" where the files do not say."""
    ready = condition(node, "Ready")
    return _NODE_STATES.get(str(ready.get("status")), "") if ready else ""


def _workloads(kind: str) -> Callable[[Evidence], Sentence]:
    def said(evidence: Evidence) -> Sentence:
        short = sum(map(_lacks_pods, evidence.all(kind)))
        if not short:
            return NOTHING
        return say_count(
            "{count} has too few pods that are ready",
            "{count} have too few pods that are ready",
            short,
            count=grouped(short),
        )

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


def _phase(manifest: Manifest) -> Sentence:
    return verbatim(str(section(manifest, "status").get("phase") or "").lower())


_JOB_WORDS: Final = {
    "Complete": say("complete"),
    "Failed": say("failed"),
    "Suspended": say("suspended"),
}


def _job(job: Manifest) -> Sentence:
    for name, word in _JOB_WORDS.items():
        found = condition(job, name)
        if found is not None and found.get("status") == "True":
            return word
    return say("active") if section(job, "status") else NOTHING


def _attachment(attachment: Manifest) -> Sentence:
    if attachment["metadata"].get("deletionTimestamp"):
        return say("being detached")
    status = section(attachment, "status")
    if not status:
        return NOTHING
    return say("attached") if status.get("attached") else say("not attached")


def _snapshot(snapshot: Manifest) -> Sentence:
    status = section(snapshot, "status")
    if not status:
        return NOTHING
    return say("ready to use") if status.get("readyToUse") else say("not ready")


def _claim_of_node(claim: Manifest) -> Sentence:
    ready = condition(claim, "Ready")
    if not ready:
        return NOTHING
    return say("ready") if ready.get("status") == "True" else say("not ready")


def _devices(claim: Manifest) -> Sentence:
    is_allocated = bool(section(claim, "status", "allocation"))
    return say("allocated") if is_allocated else say("not allocated")


def _drivers(evidence: Evidence) -> Sentence:
    nodes = list(evidence.all("CSINode"))
    found = Counter(
        str(each.get("name")) for node in nodes for each in items(section(node, "spec"), "drivers")
    )
    parts = [
        say("{driver} on every node", driver=name)
        if number == len(nodes)
        else say(
            "{driver} on {count} of {all}",
            driver=name,
            count=grouped(number),
            all=grouped(len(nodes)),
        )
        for name, number in sorted(found.items())
    ]
    return _first(parts) or say("no driver is registered")


def _quotas(evidence: Evidence) -> Sentence:
    parts = [
        say(
            "{key_of}: {used} of {hard} {resource}",
            key_of=key_of(quota),
            used=used,
            hard=hard,
            resource=resource,
        )
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


def _budgets(evidence: Evidence) -> Sentence:
    none = sum(
        section(each, "status").get("disruptionsAllowed") == 0
        for each in evidence.all("PodDisruptionBudget")
    )
    if not none:
        return NOTHING
    return say_count(
        "{count} allows no disruption now",
        "{count} allow no disruption now",
        none,
        count=grouped(none),
    )


def _leases(evidence: Evidence) -> Sentence:
    nodes = sum(each["metadata"].get("namespace") == NODE_LEASES for each in evidence.all("Lease"))
    return say("{count} of nodes", count=grouped(nodes)) if nodes else say("none of nodes")


def _events(evidence: Evidence) -> Sentence:
    found = list(evidence.all_events())
    warnings = sum(each.is_warning for each in found)
    last = max((each.last for each in found if is_time(each.last)), default="")
    if not last:
        return say_count(
            "{count} of them Warning", "{count} of them Warnings", warnings, count=grouped(warnings)
        )
    return say_count(
        "{count} of them Warning, the last at {time}",
        "{count} of them Warnings, the last at {time}",
        warnings,
        count=grouped(warnings),
        time=f"{last[:10]} {last[11:19]}",
    )


def _first(parts: list[Sentence]) -> Sentence:
    return enumerated(parts, _NAMED_AT_MOST)


def _counted(states: Iterable[Sentence]) -> Sentence:
    """ "9 bound, 1 pending", the most frequent first; "all bound" where there are several of one."""
    found = Counter(each for each in states if each)
    parts = sorted(found.items(), key=_often)
    if len(parts) == 1 and parts[0][1] > 1:
        return say("all {state}", state=parts[0][0])
    return enumerated(
        [say("{count} {state}", count=grouped(number), state=state) for state, number in parts]
    )


def _often(part: tuple[Sentence, int]) -> tuple[int, str]:
    return -part[1], part[0]


_SAYERS: Final[dict[str, Callable[[Evidence], Sentence]]] = {
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
_PHASES: Final[dict[str, Callable[[Manifest], Sentence]]] = {
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
