"""Pods that have a node and do not run there: what their Events and containers say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from engine.diagnosis.observed.evidence import (
    Evidence,
    SeenEvent,
    condition,
    is_ready,
    key_of,
)
from engine.diagnosis.observed.evidence import (
    told_by as told_by_events,
)
from engine.diagnosis.triage.drawn import known_as
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
    RESIZING,
    SANDBOX,
    UNREADY,
    Told,
    container_statuses,
    told_by,
    unready,
    unresized,
)
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, count_phrase, say, say_count, verbatim
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
    # Most pods of a cluster run and are ready: of them only resizes are asked.
    if not waiting and status.get("phase") == "Running" and is_ready(pod):
        return unresized(evidence, pod)
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
        # Kubelets say of containers that wait for an init container: PodInitializing.
        reasons = {str(each.get("reason")): None for each in waiting}
        return Told(next(iter(reasons), "ContainerCreating"), "", [])
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
    explained = _explained(evidence, key, found)
    first = min((each.first for each in found.events), default="")
    started_at = min(
        (str(section(each, "status").get("startTime") or "") for each in found.objects), default=""
    )
    return Group(
        kind="placed-but-stuck",
        cause=_cause(found.reason, keys, workloads, nodes, explained.cause),
        by=explained.by or (owners_text(workloads) if workloads else known_as("pod", keys[0])),
        observed=_observed(found),
        predicted=_predicted(found, explained),
        contradicts=not (found.is_inferred or found.reason in RESIZING) or bool(explained.lets_go),
        since=_resized_since(found) or min(filter(None, (first, started_at)), default=""),
        pods=tuple(keys),
        claims=(key[1],) if key[0] == "unbound" else (),
        workloads=tuple(workloads),
        facts=explained.facts,
        changes=explained.changes,
        conclusion=NOTHING if explained.changes else _outside(found.reason),
    )


def _resized_since(found: Stuck) -> str:
    """Since when the first of the pods waits for its resize; "" for pods that wait for nothing."""
    if found.reason not in RESIZING:
        return ""
    seen = (condition(each, found.reason) or {} for each in found.objects)
    return min(
        filter(None, (str(each.get("lastTransitionTime") or "") for each in seen)), default=""
    )


def _cause(
    reason: str, keys: list[str], workloads: list[str], nodes: list[str], why: Sentence
) -> Sentence:
    pods = say_count("The pod {pods}", "The {count} pods {pods}", len(keys), pods=listed(keys, 3))
    if workloads:
        owners = owners_text(workloads)
        pods = say_count(
            "The pod of {workloads}", "The {count} pods of {workloads}", len(keys), workloads=owners
        )
    text = _UNREADY if reason in UNREADY else _UNRESIZED if reason in RESIZING else _IDLE
    return text.say(len(keys), pods=pods, nodes=listed(nodes, 4), why=why)


_UNREADY: Final = count_phrase(
    "{pods} runs and is not ready ({nodes}): {why}",
    "{pods} run and are not ready ({nodes}): {why}",
)
_UNRESIZED: Final = count_phrase(
    "{pods} runs and is not resized ({nodes}): {why}",
    "{pods} run and are not resized ({nodes}): {why}",
)
_IDLE: Final = count_phrase(
    "{pods} has its node and does not run ({nodes}): {why}",
    "{pods} have their nodes and do not run ({nodes}): {why}",
)


def _outside(reason: str) -> Sentence:
    """What of a failure kscope does not play."""
    if reason in RESIZING:
        return say("No change was tried: what a node has is not changed by a resize.")
    if reason in ("FailedAttachVolume", "FailedMount", "FailedMapVolume"):
        return say("No change was tried: what drivers and mounts answer is outside the model.")
    return say("No change was tried: containers and images are outside the model.")


def _observed(found: Stuck) -> Sentence:
    """What the files say; a refusal that was inferred from the objects stands in no Event."""
    status = section(found.objects[0], "status")
    if found.reason in RESIZING:
        return say("Condition {type} is True, {reason}", type=found.reason, reason=found.message)
    waiting = [
        str(reason)
        for each in items(status, "containerStatuses")
        if (reason := section(each, "state", "waiting").get("reason"))
    ]
    if not found.events and found.reason not in waiting:
        phase = status.get("phase")
        if not waiting:
            return say("Phase {phase}; no Event.", phase=phase)
        return say(
            "Phase {phase}, containers wait in {reason}; no Event.", phase=phase, reason=waiting[0]
        )
    return told_by_events(found.events, found.reason, found.message)


def _predicted(found: Stuck, explained: Explained) -> Sentence:
    if explained.lets_go:
        return explained.lets_go
    if found.is_inferred:
        return say("{reason}: {message}.", reason=found.reason, message=found.message)
    if found.reason in RESIZING:
        return say("The kubelet leaves it as it is: a pod does not move while it runs.")
    return say("Healthy nodes would run them: what keeps them lies outside scheduling.")


def _explained(evidence: Evidence, key: tuple[str, ...], found: Stuck) -> Explained:
    if key[0] == "missing":
        return explain_missing(evidence, key[1], key[2])
    if key[0] == "key":
        text = say("{kind} {name} has no key {key}.", kind=key[1], name=key[2], key=key[3])
        change = Change(
            text=say("Add the key {key} to {kind} {name}", key=key[3], kind=key[1], name=key[2]),
            kind="key",
        )
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
        by = known_as("volume", f"{volume[1]} (driver {driver})" if driver else volume[1])
        facts = (f"volume/{volume[1]}",)
    message = found.message.rstrip(".")
    said = f"{found.reason}: {message}" if message else found.reason
    return Explained(verbatim(f"{said}."), by, facts=facts)


_EXPLAINED: Final[dict[str, Callable[[Evidence, Stuck], Explained]]] = {
    SANDBOX: explain_sandbox,
    "NodeNotFound": explain_no_node,
    "ReadinessGatesNotReady": explain_readiness_gates,
}
