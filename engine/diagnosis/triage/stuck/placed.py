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
    times_of,
)
from engine.diagnosis.triage.carrying_out import bodies, created, named, patch_of
from engine.diagnosis.triage.report import Change, Group
from engine.diagnosis.triage.stuck.controllers import behind, owners_text
from engine.diagnosis.triage.stuck.explained import Explained, Stuck, facts_of
from engine.diagnosis.triage.stuck.inferred import pod_refusal
from engine.diagnosis.triage.stuck.nodes import (
    Broken,
    changes_of_dead,
    is_of_network,
    network_owner,
)
from engine.diagnosis.triage.stuck.refusals import started
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
from engine.objects.phases import SELECTED_NODE
from engine.objects.pods.told_containers import STARTING

_MISSING: Final = re.compile(r'(secret|configmap|serviceaccount) "([^"]+)" not found')
_DRIVER: Final = re.compile(
    r"driver name (\S+) not found in the list of registered CSI drivers"
    r"|CSINode \S+ does not contain driver (\S+)"
)
_ZONE: Final = re.compile(
    r"node affinity|in the same (?:availability )?zone|different zone", re.IGNORECASE
)
_MULTI: Final = re.compile(r'Multi-Attach error for volume "([^"]+)"')
_NO_KEY: Final = re.compile(r"couldn't find key (\S+) in (Secret|ConfigMap) (\S+)")
_NOT_RESERVED: Final = re.compile(r"is not allowed to use (?:R|r)esource ?(?:C|c)laim ([^\s(]+)")
_UNBOUND: Final = re.compile(r"error processing PVC (\S+): PVC is not bound")
_HANDLER: Final = re.compile(r'no runtime for "([^"]+)" is configured')
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
        return ("image", image[1] if image is not None else _failing_image(pod))
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


def _failing_image(pod: Manifest) -> str:
    """The image of the first container that waits for it, else that of the first container."""
    images = {
        str(each.get("name")): str(each.get("image"))
        for name in ("initContainers", "containers")
        for each in items(section(pod, "spec"), name)
    }
    for each in container_statuses(pod):
        if "Image" in str(section(each, "state", "waiting").get("reason")):
            return images.get(str(each.get("name")), str(each.get("image")))
    return next(iter(images.values()), "")


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
        predicted=_predicted(found),
        contradicts=not found.is_inferred,
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


def _predicted(found: Stuck) -> str:
    if found.is_inferred:
        return f"{found.reason}: {found.message}."
    return "Healthy nodes would run them: what keeps them lies outside scheduling."


def _explained(evidence: Evidence, key: tuple[str, ...], found: Stuck) -> Explained:
    if key[0] == "missing":
        return _missing(evidence, key[1], key[2])
    if key[0] == "key":
        text = f"{key[1]} {key[2]} has no key {key[3]}."
        change = Change(text=f"Add the key {key[3]} to {key[1]} {key[2]}", kind="key")
        by = f"{key[1].lower()} {key[2]}"
        return Explained(text, by, (change,), (by.replace(" ", "/", 1),))
    if key[0] == "driver":
        return _driver(evidence, key[1], found)
    if key[0] == "image":
        return _image(evidence, key[1], found)
    if key[0] == "container":
        return _container(found)
    if key[0] == "devices":
        return _devices(evidence, found)
    if key[0] == "unbound":
        return _bypassed(key[1], found)
    if key[0] in (SANDBOX, "NodeNotFound", "ReadinessGatesNotReady"):
        return _EXPLAINED[key[0]](evidence, found)
    multi = _MULTI.search(found.message)
    if multi is not None:
        return _multi_attach(evidence, multi[1], found)
    return Explained(f"{found.reason}{': ' if found.message else ''}{found.message}.", "")


def _image(evidence: Evidence, image: str, found: Stuck) -> Explained:
    """An image that cannot be pulled: what the registry said, and the Secrets that are missing."""
    said = [
        each.message for each in found.events if each.reason == "Failed" and image in each.message
    ]
    reason = (said[-1] if said else found.message).rstrip(".")
    namespace = str(found.objects[0]["metadata"].get("namespace"))
    wanted = {
        str(each.get("name")): None
        for pod in found.objects
        for each in items(section(pod, "spec"), "imagePullSecrets")
    }
    is_told = any(each["metadata"].get("namespace") == namespace for each in evidence.all("Secret"))
    absent = [
        name for name in wanted if is_told and not evidence.find("Secret", f"{namespace}/{name}")
    ]
    text = f"image {image} cannot be pulled ({reason})."
    if not absent:
        return Explained(text, f"image {image}")
    text = (
        f"{text} Its imagePullSecrets name {listed(absent)}, which is not in namespace {namespace}."
    )
    changes = [
        Change(
            text=f"Create Secret {namespace}/{name} with the credentials of the registry",
            kind="missing",
            commands=bodies([created(named("Secret", f"{namespace}/{name}"))]),
        )
        for name in absent
    ]
    return Explained(text, f"secret {namespace}/{absent[0]}", tuple(changes))


def _container(found: Stuck) -> Explained:
    """A container that ends again and again: which one, how often, and how it last ended."""
    said = f"{found.reason}: {found.message}" if found.message else found.reason
    text, changes = f"{said.rstrip('.')}.", list[Change]()
    for name in ("initContainerStatuses", "containerStatuses"):
        for each in items(section(found.objects[0], "status"), name):
            last = section(each, "lastState", "terminated")
            if not last or each.get("ready"):
                continue
            what = "init container" if name.startswith("init") else "container"
            text = f"{text} Its {what} {each.get('name')} was restarted {each.get('restartCount')} times"
            text += f" and last ended with {last.get('reason')} (exit code {last.get('exitCode')})."
            if last.get("reason") == "OOMKilled":
                change = (
                    f"Give container {each.get('name')} a higher memory limit, or let it use less"
                )
                changes.append(Change(text=change, kind="template"))
    return Explained(text, "", tuple(changes))


def _devices(evidence: Evidence, found: Stuck) -> Explained:
    """Claims that the kubelet does not prepare: they are not for the pod, or their driver fails."""
    refused = _NOT_RESERVED.search(found.message)
    if refused is None:
        return Explained(f"{found.message}.", "")
    namespace = found.objects[0]["metadata"].get("namespace")
    claim = evidence.find("ResourceClaim", f"{namespace}/{refused[1]}")
    is_allocated = claim is not None and bool(section(claim, "status").get("allocation"))
    lacks = "reserved for it" if is_allocated else "allocated, nor reserved for it"
    text = (
        f"ResourceClaim {namespace}/{refused[1]} is not {lacks}. A scheduler does both before it "
        "binds a pod: most likely spec.nodeName was set by hand, and no scheduler has seen the pod."
    )
    return Explained(text, "", (_BY_A_SCHEDULER,))


def _bypassed(claim: str, found: Stuck) -> Explained:
    """A claim that waits for a scheduler, of a pod that no scheduler has seen."""
    text = (
        f"claim {claim} waits until a scheduler has chosen a node (WaitForFirstConsumer, no annotation "
        f"{SELECTED_NODE}), and {'the pod has its' if len(found.objects) == 1 else 'the pods have their'} "
        "nodeName without one."
    )
    return Explained(text, f"persistentvolumeclaim {claim}", (_BY_A_SCHEDULER,))


def _sandbox(evidence: Evidence, found: Stuck) -> Explained:
    """A sandbox that cannot be made: the network plugin behind it, or the handler that is missing.

    Upstream: kubelet/kuberuntime/kuberuntime_sandbox.go, createPodSandbox().
    """
    text = f"{found.reason}: {found.message.rstrip('.')}."
    nodes = listed(
        sorted({str(section(each, "spec").get("nodeName")) for each in found.objects}), 4
    )
    handler = _HANDLER.search(found.message)
    if handler is not None:
        classes = [
            str(each["metadata"]["name"])
            for each in evidence.all("RuntimeClass")
            if each.get("handler") == handler[1]
        ]
        named = f"RuntimeClass {listed(classes)}" if classes else "Its RuntimeClass"
        text = f"{text} {named} asks for the handler {handler[1]}, which the container runtime of {nodes} lacks."
        change = Change(
            text=f"Configure the handler {handler[1]} in the container runtime of {nodes}, or let the "
            "RuntimeClass select the nodes that have it (scheduling.nodeSelector)",
            kind="runtime",
        )
        facts = tuple(f"runtimeclass/{name}" for name in classes)
        by = f"runtimeclass {listed(classes)}" if classes else f"node {nodes}"
        return Explained(text, by, (change,), facts)
    owner = network_owner(evidence) if is_of_network(found.message) else None
    if owner is None:
        return Explained(text, "")
    text = f"{text} {owner.said(evidence, 'is the network plugin')}"
    change = Change(
        text=f"Let {owner.name} work on {nodes}: see the log of its pod there", kind="start"
    )
    return Explained(text, f"{owner.name} (node {nodes})", (change,), facts_of(owner))


def _no_node(evidence: Evidence, found: Stuck) -> Explained:
    """A pod that names a node which is not there."""
    name = str(section(found.objects[0], "spec").get("nodeName"))
    known = listed(sorted(str(each["metadata"]["name"]) for each in evidence.all("Node")), 4)
    text = f"node {name} is not in the files, so no kubelet takes the pod. There are {known}."
    return Explained(text, f"node {name}", (_BY_A_SCHEDULER,))


def _gates(evidence: Evidence, found: Stuck) -> Explained:
    """Readiness gates that nobody sets. Upstream: kubelet/status/generate.go, GeneratePodReadyCondition()."""
    gates = [
        str(each.get("conditionType"))
        for each in items(section(found.objects[0], "spec"), "readinessGates")
    ]
    unset = [
        gate for gate in gates if (condition(found.objects[0], gate) or {}).get("status") != "True"
    ]
    text = f"its readiness gate {listed(unset or gates)} is not True."
    # "target-health.elbv2.k8s.aws/…" has the words of who sets it in front.
    domain = (unset or gates)[0].partition("/")[0] if gates else ""
    hints = ("load", "balancer") if "elb" in domain or "health" in domain else ("controller",)
    owner = behind(evidence, _GATE_OWNERS.get(domain, domain), *hints)
    if owner is None:
        return Explained(f"{text} No workload in the files looks like the one that sets it.", "")
    changes = () if owner.is_running else (started(owner.workload),)
    text = f"{text} {owner.said(evidence, 'sets it')}"
    return Explained(text, f"{owner.name} (readiness gate)", changes, facts_of(owner))


# Who sets a readiness gate whose name does not say so. Upstream: aws-load-balancer-controller,
# apis/elbv2, TargetHealthPodConditionTypePrefix; GKE's container-native load balancing.
_GATE_OWNERS: Final = {
    "target-health.elbv2.k8s.aws": "aws-load-balancer-controller",
    "target-health.alb.ingress.k8s.aws": "aws-load-balancer-controller",
}
_EXPLAINED: Final[dict[str, Callable[[Evidence, Stuck], Explained]]] = {
    SANDBOX: _sandbox,
    "NodeNotFound": _no_node,
    "ReadinessGatesNotReady": _gates,
}

_BY_A_SCHEDULER: Final = Change(
    text="Make the pods again without nodeName (with a node selector instead), so that a scheduler "
    "chooses the node and sees to their claims",
    kind="again",
)

_KIND_NAMES: Final = {
    "secret": "Secret",
    "configmap": "ConfigMap",
    "serviceaccount": "ServiceAccount",
}


def _missing(evidence: Evidence, kind: str, key: str) -> Explained:
    """An object that pods need and that is not there: what the namespace has instead."""
    name, namespace = _KIND_NAMES[kind], key.partition("/")[0]
    there = [
        str(each["metadata"]["name"])
        for each in evidence.all(name)
        if each["metadata"].get("namespace") == namespace
    ]
    others = [
        str(each["metadata"].get("namespace"))
        for each in evidence.all(name)
        if each["metadata"]["name"] == key.partition("/")[2]
    ]
    if not evidence.has(name):
        rest = f"No {name}s are in these files."
    else:
        rest = (
            f"Namespace {namespace} has {listed(there, 4)}."
            if there
            else (f"The files have no {name} in namespace {namespace}.")
        )
    if others:
        rest = f"{rest} One of that name is in {listed(others, 3)}."
    commands = bodies([created(named(name, key))])
    change = Change(text=f"Create {name} {key}", kind="missing", commands=commands)
    return Explained(f"{name} {key} does not exist. {rest}", f"{kind} {key}", (change,))


def _driver(evidence: Evidence, driver: str, found: Stuck) -> Explained:
    """A CSI driver that is not registered: where, and which DaemonSet should do it."""
    nodes = sorted({str(section(each, "spec").get("nodeName")) for each in found.objects})
    text = _unregistered(evidence, driver, nodes)
    owner = behind(evidence, driver, "node", "driver", "csi")
    if owner is None:
        run = Change(text=f"Run the node plugin of {driver} on {listed(nodes, 4)}", kind="driver")
        return Explained(text, f"driver {driver}", (run,))
    change = (
        Change(
            text=f"Let {owner.name} run on {listed(nodes, 4)} and register {driver} there",
            kind="driver",
        )
        if owner.is_running
        else started(owner.workload)
    )
    text = f"{text} {owner.said(evidence, 'is its node plugin')}"
    return Explained(text, f"{owner.name} (driver {driver})", (change,), facts_of(owner))


def _unregistered(evidence: Evidence, driver: str, nodes: list[str]) -> str:
    """Where the driver is not registered; an Event may be older than a CSINode that has it."""
    listed_on = [name for name in nodes if _is_registered(evidence, driver, name)]
    others = [name for name in nodes if name not in listed_on]
    text = f"driver {driver} is not registered on {listed(others, 4)} (CSINode)." if others else ""
    if listed_on:
        has = "CSINode" if len(listed_on) == 1 else "CSINodes"
        text = (
            f"{text} The kubelet did not find driver {driver}, although {has} "
            f"{listed(listed_on, 4)} has it now."
        )
    return text.strip()


def _is_registered(evidence: Evidence, driver: str, node: str) -> bool:
    csi_node = evidence.find("CSINode", node)
    drivers = items(section(csi_node or {}, "spec"), "drivers")
    return any(each.get("name") == driver for each in drivers)


def _users(evidence: Evidence, volume: str, node: str) -> list[str]:
    """The pods on *node* that use *volume*."""
    found = evidence.find("PersistentVolume", volume)
    claim = section(found, "spec", "claimRef") if found is not None else {}
    key = f"{claim.get('namespace')}/{claim.get('name')}"
    return [
        key_of(pod) for pod in evidence.users(key) if section(pod, "spec").get("nodeName") == node
    ]


def _multi_attach(evidence: Evidence, volume: str, found: Stuck) -> Explained:
    """A volume that is still attached elsewhere: by which VolumeAttachment, and to which node."""
    text = f"{found.message.rstrip('.')}."
    for each in evidence.all("VolumeAttachment"):
        source = section(each, "spec", "source")
        node = str(section(each, "spec").get("nodeName"))
        if source.get("persistentVolumeName") != volume:
            continue
        name = str(each["metadata"]["name"])
        mine = {str(section(pod, "spec").get("nodeName")) for pod in found.objects}
        if node in mine:
            continue
        is_gone = evidence.find("Node", node) is None
        text = f"{text} VolumeAttachment {name} still ties volume {volume} to {node}"
        users = _users(evidence, volume, node)
        text += ", a node that is not in the files." if is_gone else ""
        text += f", where pod {listed(users, 3)} uses it." if users else "" if is_gone else "."
        changes: list[Change] = []
        dead = evidence.find("Node", node)
        ready = condition(dead, "Ready") if dead is not None else None
        if dead is not None and ready is not None and ready.get("status") != "True":
            text = f"{text} {node} is not ready (Ready={ready.get('status')}), so nothing is unmounted there."
            changes = list(changes_of_dead(dead))
            return Explained(text, f"node {node}", tuple(changes), (f"node/{node}",))
        if is_gone or each["metadata"].get("deletionTimestamp"):
            changes.append(
                Change(
                    text=f"Take the finalizers off VolumeAttachment {name} once the machine {node} is surely gone",
                    kind="finalizer",
                    loses="data, if the machine still writes to the volume",
                    commands=bodies([patch_of(each, {"metadata": {"finalizers": []}})]),
                )
            )
        return Explained(text, f"volumeattachment {name}", tuple(changes), (f"node/{node}",))
    return Explained(text, f"volume {volume}")
