"""Pods that have a node and do not run there: what their Events and containers say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from engine.diagnosis.observed.evidence import (
    Evidence,
    SeenEvent,
    is_ready,
    key_of,
    times_of,
)
from engine.diagnosis.triage.report import Change, Group
from engine.diagnosis.triage.stuck.controllers import owners_text
from engine.diagnosis.triage.stuck.explained import Explained, Stuck
from engine.diagnosis.triage.stuck.inferred import pod_refusal
from engine.diagnosis.triage.stuck.nodes import Broken
from engine.diagnosis.triage.stuck.placed.attaching import explain_driver, explain_multi_attach
from engine.diagnosis.triage.stuck.placed.containers import (
    explain_container,
    explain_image,
    explain_missing,
    failing_image,
)
from engine.diagnosis.triage.stuck.placed.readiness import explain_readiness_gates, explain_sandbox
from engine.diagnosis.triage.stuck.placed.unseen import (
    explain_bypassed,
    explain_devices,
    explain_no_node,
)
from engine.diagnosis.triage.stuck.told import (
    PATIENCE_SECONDS,
    SANDBOX,
    UNREADY,
    Told,
    container_statuses,
    told_by,
    unready,
)
from engine.framework.explaining.case import listed
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.pods.told_containers import STARTING

_MISSING: Final = re.compile(r'(secret|configmap|serviceaccount) "([^"]+)" not found')
_DRIVER: Final = re.compile(
    r"driver name (\S+) not found in the list of registered CSI drivers"
    r"|CSINode \S+ does not contain driver (\S+)"
)
_MULTI: Final = re.compile(r'Multi-Attach error for volume "([^"]+)"')
_OF_VOLUME: Final = re.compile(r'failed for volume "([^"]+)"')
_NO_KEY: Final = re.compile(r"couldn't find key (\S+) in (Secret|ConfigMap) (\S+)")
_UNBOUND: Final = re.compile(r"error processing PVC (\S+): PVC is not bound")
_IMAGE: Final = re.compile(r'image "([^"]+)"')
# What differs from pod to pod of one cause: uids, addresses, times, hashes, numbers.
_OWN: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|\b[0-9a-f]{12,64}\b|\d+(?:\.\d+)*[a-z]*")


def placed_groups(evidence: Evidence, broken: dict[str, Broken]) -> Iterator[Group]:
    """The groups; a pod on a node that is not ready goes to the group of that node."""
    found: dict[tuple[str, ...], Stuck] = {}
    for pod in evidence.pods_under_way:
        node = str(section(pod, "spec").get("nodeName") or "")
        phase = section(pod, "status").get("phase")
        if not node or pod["metadata"].get("deletionTimestamp"):
            continue
        said = _trouble(evidence, pod)
        if said is None:
            continue
        if node in broken and phase == "Pending":
            broken[node].pods.append(pod)
            continue
        if node in broken and said.reason in UNREADY:
            continue  # The node controller has said so for the kubelet.
        key = _key(evidence, pod, said.reason, said.message)
        group = found.setdefault(key, Stuck(said.message, said.reason, said.is_inferred))
        group.objects.append(pod)
        group.events += said.events
    for key, group in found.items():
        yield _group(evidence, key, group)


def _trouble(evidence: Evidence, pod: Manifest) -> Told | None:
    """Why the pod does not run: reason, message and the Events that say so; None if it runs."""
    status, waiting = section(pod, "status"), _waiting(pod)
    # Most pods of a cluster run and are ready: of them nothing more is asked.
    if not waiting and status.get("phase") == "Running" and is_ready(pod):
        return None
    faulty = next((each for each in waiting if str(each.get("reason")) not in STARTING), None)
    warnings = [each for each in evidence.events(pod) if each.is_warning]
    warnings = [each for each in warnings if each.reason != "FailedScheduling"]
    if faulty is not None:
        message = str(faulty.get("message") or "")
        if not message and warnings:
            message = warnings[-1].message
        return Told(str(faulty.get("reason")), message, warnings)
    if status.get("phase") == "Running":
        return unready(evidence, pod, warnings)
    if warnings and not _has_started_since(evidence, pod, warnings[-1]):
        return Told(*told_by(warnings), warnings)
    if status.get("phase") == "Pending" and (refusal := pod_refusal(evidence, pod)) is not None:
        return Told(*refusal, [], is_inferred=True)
    since = str(status.get("startTime") or pod["metadata"].get("creationTimestamp") or "")
    has_started = bool(waiting) or status.get("phase") == "Pending"
    if has_started and evidence.age_seconds(since) > PATIENCE_SECONDS:
        return Told("ContainerCreating", "", [])
    return None


def _waiting(pod: Manifest) -> list[Manifest]:
    """The states of the containers that wait."""
    states = (section(each, "state", "waiting") for each in container_statuses(pod))
    return [each for each in states if each.get("reason")]


def _has_started_since(evidence: Evidence, pod: Manifest, warning: SeenEvent) -> bool:
    """Whether a container has started after the newest warning."""
    started = evidence.events(pod, "Started")
    return bool(started) and started[-1].last > warning.last


def _key(evidence: Evidence, pod: Manifest, reason: str, message: str) -> tuple[str, ...]:
    namespace = str(pod["metadata"].get("namespace"))
    missing = _MISSING.search(message)
    if missing is not None:
        return ("missing", missing[1], f"{namespace}/{missing[2]}")
    no_key = _NO_KEY.search(message)
    if no_key is not None:
        return ("key", no_key[2], f"{namespace}/{no_key[3].rpartition('/')[2]}", no_key[1])
    driver = _DRIVER.search(message)
    if driver is not None:
        return ("driver", driver[1] or driver[2])
    if "FailedPrepareDynamicResources" in reason:
        return ("devices", evidence.workload(pod) or key_of(pod))
    unbound = _UNBOUND.search(message)
    if unbound is not None:
        return ("unbound", unbound[1])
    image = _IMAGE.search(message)
    if "Image" in reason or reason == "ErrImagePull":
        return ("image", image[1] if image is not None else failing_image(pod))
    owner = evidence.workload(pod) or key_of(pod)
    if reason in ("BackOff", "CrashLoopBackOff", "RunContainerError", "CreateContainerError"):
        return ("container", reason, owner)
    return (reason, _general(pod, message), owner if _is_own(reason) else "")


def _is_own(reason: str) -> bool:
    """Whether the cause has to do with the pod's own volumes or settings."""
    return reason in ("FailedAttachVolume", "FailedMount", "FailedMapVolume", "ContainerCreating")


def _general(pod: Manifest, message: str) -> str:
    """The message without what is the pod's own."""
    text = message.replace(str(pod["metadata"]["name"]), "POD")
    text = text.replace(str(section(pod, "spec").get("nodeName")), "NODE")
    return _OWN.sub("#", text)


def _group(evidence: Evidence, key: tuple[str, ...], found: Stuck) -> Group:
    workloads = evidence.workloads(found.objects)
    keys = sorted(key_of(each) for each in found.objects)
    nodes = sorted({str(section(each, "spec").get("nodeName")) for each in found.objects})
    who = f"{'The pod' if len(keys) == 1 else f'The {len(keys)} pods'} "
    who += f"of {owners_text(workloads)}" if workloads else listed(keys, 3)
    verb = _verb(found.reason, len(keys))
    explained = _explained(evidence, key, found)
    times = times_of(found.events)
    first = min((each.first for each in found.events), default="")
    started_at = min(
        (str(section(each, "status").get("startTime") or "") for each in found.objects), default=""
    )
    return Group(
        kind="placed-but-stuck",
        cause=f"{who} {verb} ({listed(nodes, 4)}): {explained.cause}",
        by=explained.by or (owners_text(workloads) if workloads else f"pod {keys[0]}"),
        observed=_observed(found, times),
        predicted=_predicted(found, explained),
        contradicts=not found.is_inferred or bool(explained.lets_go),
        since=min(filter(None, (first, started_at)), default=""),
        pods=tuple(keys),
        claims=(key[1],) if key[0] == "unbound" else (),
        workloads=tuple(workloads),
        facts=explained.facts,
        changes=explained.changes,
        conclusion=""
        if explained.changes
        else f"No change was tried: {_outside(found.reason)} outside the model.",
    )


def _verb(reason: str, pods: int) -> str:
    if reason in UNREADY:
        return "runs and is not ready" if pods == 1 else "run and are not ready"
    return "has its node and does not run" if pods == 1 else "have their nodes and do not run"


def _outside(reason: str) -> str:
    """What of a failure kscope does not play."""
    is_of_volume = reason in ("FailedAttachVolume", "FailedMount", "FailedMapVolume")
    return "what drivers and mounts answer is" if is_of_volume else "containers and images are"


def _observed(found: Stuck, times: str) -> str:
    """What the files say; a refusal that was inferred from the objects stands in no Event."""
    status = section(found.objects[0], "status")
    waiting = [
        str(reason)
        for each in items(status, "containerStatuses")
        if (reason := section(each, "state", "waiting").get("reason"))
    ]
    if not found.events and found.reason not in waiting:
        seen = f"Phase {status.get('phase')}"
        return (
            f"{seen}, containers wait in {waiting[0]}; no Event."
            if waiting
            else f"{seen}; no Event."
        )
    return f"{found.reason}{times}: {found.message}".rstrip(": ")


def _predicted(found: Stuck, explained: Explained) -> str:
    if explained.lets_go:
        return explained.lets_go
    if found.is_inferred:
        return f"{found.reason}: {found.message}."
    return "Healthy nodes would run them: what keeps them lies outside scheduling."


def _explained(evidence: Evidence, key: tuple[str, ...], found: Stuck) -> Explained:
    if key[0] == "missing":
        return explain_missing(evidence, key[1], key[2])
    if key[0] == "key":
        text = f"{key[1]} {key[2]} has no key {key[3]}."
        change = Change(text=f"Add the key {key[3]} to {key[1]} {key[2]}", kind="key")
        by = f"{key[1].lower()} {key[2]}"
        return Explained(text, by, (change,), (by.replace(" ", "/", 1),))
    if key[0] == "driver":
        return explain_driver(evidence, key[1], found)
    if key[0] == "image":
        return explain_image(evidence, key[1], found)
    if key[0] == "container":
        return explain_container(found)
    if key[0] == "devices":
        return explain_devices(evidence, found)
    if key[0] == "unbound":
        return explain_bypassed(evidence, key[1], found)
    if key[0] in (SANDBOX, "NodeNotFound", "ReadinessGatesNotReady"):
        return _EXPLAINED[key[0]](evidence, found)
    multi = _MULTI.search(found.message)
    if multi is not None:
        return explain_multi_attach(evidence, multi[1], found)
    volume = _OF_VOLUME.search(found.message)
    by, facts = "", tuple[str, ...]()
    if volume is not None and (known := evidence.find("PersistentVolume", volume[1])) is not None:
        driver = section(known, "spec", "csi").get("driver")
        by = f"volume {volume[1]}{f' (driver {driver})' if driver else ''}"
        facts = (f"volume/{volume[1]}",)
    text = f"{found.reason}{': ' if found.message else ''}{found.message}."
    return Explained(text, by, facts=facts)


_EXPLAINED: Final[dict[str, Callable[[Evidence, Stuck], Explained]]] = {
    SANDBOX: explain_sandbox,
    "NodeNotFound": explain_no_node,
    "ReadinessGatesNotReady": explain_readiness_gates,
}
