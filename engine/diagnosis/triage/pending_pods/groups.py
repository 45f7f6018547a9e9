"""What triage says about pods without a node: the cause in words, what was observed, the claims."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from engine.diagnosis.causes import Obstacle
from engine.diagnosis.explaining import family_of
from engine.diagnosis.headline import headline_of_pods
from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.diagnosis.report import Cause, named
from engine.diagnosis.triage.deciding import Deciding
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.pending_pods.held import Held, containers_of, leaving_for, was_refused
from engine.diagnosis.triage.pending_pods.proposals import SELF_REMOVED
from engine.diagnosis.triage.pending_pods.signatures import device_classes
from engine.diagnosis.triage.report import Group, counted
from engine.diagnosis.triage.stuck.controllers import (
    IS_SCHEDULER,
    IS_THEIR_DRIVER,
    OPENS_GATE,
    REMOVES,
    behind,
    owners_text,
    stale_lease,
)
from engine.diagnosis.triage.stuck.explained import Explained, facts_of
from engine.diagnosis.triage.stuck.nodes import Broken
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import listed
from engine.framework.explaining.manifests import CONDITION, HOSTNAME, REQUIRED
from engine.kernel.sentences import NOTHING, Sentence, grouped, say, say_count, together
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod
from engine.objects.selectors import LabelSelector

# A pod as sentences name it: "shop/web-1".
_KEY = re.compile(r"[a-z0-9.-]+/[a-z0-9-]+")


def pending_group(
    evidence: Evidence, deciding: Deciding, held: Held, broken: Mapping[str, Broken]
) -> Group:
    """The group without its changes. Of *broken* nodes those that it waits for are part of it."""
    kind = held.signature[0]
    if kind == "gate":
        explained = _gated(evidence, held)
    elif kind == "scheduler":
        explained = _unserved(evidence, deciding, held)
    elif kind == "nominated":
        explained = _nominated(evidence, deciding, held)
    else:
        explained = _refused(evidence, held)
    pods = held.pods
    observed = observed_of(evidence, pods)
    return Group(
        kind="pending",
        cause=together(explained.cause, _foreseen(deciding, explained.cause)),
        by=explained.by,
        observed=observed,
        predicted=_predicted(deciding, held),
        contradicts=kind == "fits"
        and not unplayed_claims(held)
        and any(was_refused(evidence, pod) for pod in pods),
        since=min(filter(None, (_since(evidence, pod) for pod in pods)), default=""),
        pods=tuple(sorted(pod.key for pod in pods)),
        claims=tuple(_claims(evidence, held)),
        nodes=tuple(awaited_nodes(held, broken)),
        workloads=tuple(held.workloads),
        facts=tuple(dict.fromkeys((*explained.facts, *_facts(held)))),
    )


def _foreseen(deciding: Deciding, cause: str) -> Sentence:
    """Which of the pods that a cause names are only about to be where it says that they are."""
    said = set(_KEY.findall(cause))
    ahead = [
        say("{key} on {node}", key=key, node=node)
        for key, node in deciding.foreseen.items()
        if key in said
    ]
    if not ahead:
        return NOTHING
    return say_count(
        "{pods} has no node yet and is counted there: no refusal is known so far.",
        "{pods} have no node yet and are counted there: no refusal is known so far.",
        len(ahead),
        pods=listed(ahead),
    )


def awaited_nodes(held: Held, broken: Mapping[str, Broken]) -> list[str]:
    """The broken nodes that a volume leaves, or that are tainted for it, where no other is left."""
    family, *rest = held.signature
    left = rest if family == "volume" else []
    if family == "taint" and held.main is not None:
        left = list(held.main.nodes)
    return left if left and all(name in broken for name in left) else []


def since_of(pod: Manifest) -> str:
    """Since when a pod waits."""
    found = condition(pod, "PodScheduled")
    waits = found is not None and found.get("status") == "False"
    since = found.get("lastTransitionTime") if found is not None and waits else None
    return str(since or pod["metadata"].get("creationTimestamp") or "")


def _since(evidence: Evidence, pod: Pod) -> str:
    """As the files say it: a pod that is made from a bare manifest has waited for nothing yet."""
    found = evidence.find(Pod.KIND, pod.key)
    return since_of(found) if found is not None else ""


def observed_of(evidence: Evidence, pods: Sequence[Pod]) -> Sentence:
    """What the files say of the pods' scheduling: the newest Event, or else the condition."""
    events = [each for pod in pods for each in evidence.events(pod.raw, "FailedScheduling")]
    if events:
        newest = max(events, key=_last)
        about = len({each.key for each in events})
        count = sum(each.count for each in events)
        return say(
            "Event FailedScheduling ×{times} on {pods}, last {last}: {message}",
            times=count,
            pods=counted(about, "pod"),
            last=newest.last,
            message=newest.message,
        )
    for pod in pods:
        found = condition(pod.raw, "PodScheduled")
        if found is not None and found.get("status") == "False":
            reason, message = found.get("reason"), found.get("message")
            if not message:
                return say("Condition PodScheduled is False, {reason}", reason=reason)
            return say(
                "Condition PodScheduled is False, {reason}: {message}",
                reason=reason,
                message=message,
            )
    phases = {
        str(phase): None
        for pod in pods
        if (seen := evidence.find(Pod.KIND, pod.key)) is not None
        and (phase := section(seen, "status").get("phase"))
    }
    if not phases:
        return NOTHING
    return say_count(
        "Phase {phases}; no condition and no Event of it.",
        "Phase {phases}; no condition and no Event of them.",
        len(pods),
        phases=listed(list(phases)),
    )


def _last(event: object) -> str:
    return str(getattr(event, "last", ""))


def _who(held: Held) -> Sentence:
    """ "The 10 pods of deployment ml/embed"."""
    pods, workloads = held.pods, held.workloads
    if not workloads:
        return say_count(
            "The pod {pods}",
            "The {count} pods {pods}",
            len(pods),
            pods=listed([pod.key for pod in pods], 3),
            count=grouped(len(pods)),
        )
    return say_count(
        "The pod of {workloads}",
        "The {count} pods of {workloads}",
        len(pods),
        workloads=owners_text(workloads),
        count=grouped(len(pods)),
    )


# -- gates and schedulers --------------------------------------------------------------------------


def _gated(evidence: Evidence, held: Held) -> Explained:
    """Who holds a gate, and why, as far as its objects say."""
    gates = held.pods[0].scheduling_gates
    gate = gates[0]
    text = say_count(
        "{pods} is held by the scheduling gate {gates}.",
        "{pods} are held by the scheduling gate {gates}.",
        len(held.pods),
        pods=_who(held),
        gates=listed(gates),
    )
    why, by = _why_gated(evidence, held)
    if why:
        text = together(text, why)
    owner = behind(evidence, gate, "controller", "manager")
    facts = [by.replace(" ", "/", 1)] if by else []
    if owner is not None:
        text = together(text, owner.said(evidence, OPENS_GATE))
        if not owner.is_running:
            by = owner.name
    return Explained(text, by or known_as("gate", gate), facts=(*facts, *facts_of(owner)))


def _why_gated(evidence: Evidence, held: Held) -> tuple[Sentence, str]:
    """What the objects that belong to the pods say: Kueue's Workloads, and their ClusterQueue."""
    for pod in held.pods:
        for each in evidence.all("Workload.kueue.x-k8s.io"):
            owners = items(each["metadata"], "ownerReferences")
            named = any(owner.get("name") == pod.name for owner in owners)
            if not named or each["metadata"].get("namespace") != pod.namespace:
                continue
            found = condition(each, "QuotaReserved") or condition(each, "Admitted")
            message = str(found.get("message") or "") if found is not None else ""
            queue, text = _cluster_queue(evidence, each)
            said = say("Its Workload says: {message}.", message=message) if message else NOTHING
            return together(text, said), known_as("clusterqueue", queue) if queue else ""
    return NOTHING, ""


def _cluster_queue(evidence: Evidence, workload: Manifest) -> tuple[str, Sentence]:
    """The ClusterQueue that a Workload of Kueue waits in, and how much of its quota is used."""
    name = str(section(workload, "spec").get("queueName") or "")
    local = evidence.find("LocalQueue", f"{workload['metadata'].get('namespace')}/{name}")
    queue = str(section(local, "spec").get("clusterQueue") or "") if local is not None else ""
    found = evidence.find("ClusterQueue", queue) if queue else None
    if found is None:
        text = (
            say("Kueue's LocalQueue {name} is not in the files.", name=name)
            if name and local is None
            else NOTHING
        )
        return queue, text
    used = {
        (str(flavor.get("name")), str(each.get("name"))): str(each.get("total"))
        for flavor in items(section(found, "status"), "flavorsUsage")
        for each in items(flavor, "resources")
    }
    parts = [
        say(
            "{used} of {quota} {resource} (flavor {flavor})",
            used=used.get((str(flavor.get("name")), str(each.get("name"))), "0"),
            quota=each.get("nominalQuota"),
            resource=each.get("name"),
            flavor=flavor.get("name"),
        )
        for group in items(section(found, "spec"), "resourceGroups")
        for flavor in items(group, "flavors")
        for each in items(flavor, "resources")
    ]
    return queue, say(
        "Kueue's ClusterQueue {queue} has used {parts} of its quota.",
        queue=queue,
        parts=listed(parts),
    )


def _unserved(evidence: Evidence, deciding: Deciding, held: Held) -> Explained:
    """A scheduler that does not work, or that is not in the files."""
    name = held.pods[0].scheduler_name
    known = listed(sorted(deciding.algorithms))
    owner = behind(evidence, name, "scheduler")
    if owner is None:
        text = say_count(
            "{pods} names the scheduler {name} (spec.schedulerName); no workload in the files looks "
            "like it, and {schedulers} leaves such pods alone.",
            "{pods} name the scheduler {name} (spec.schedulerName); no workload in the files looks "
            "like it, and {schedulers} leaves such pods alone.",
            len(held.pods),
            pods=_who(held),
            name=name,
            schedulers=known,
        )
        return Explained(text, known_as("scheduler", name))
    text = say_count(
        "{pods} names the scheduler {name} (spec.schedulerName), and {schedulers} leaves such pods "
        "alone.",
        "{pods} name the scheduler {name} (spec.schedulerName), and {schedulers} leaves such pods "
        "alone.",
        len(held.pods),
        pods=_who(held),
        name=name,
        schedulers=known,
    )
    text = together(text, owner.said(evidence, IS_SCHEDULER))
    if owner.is_running:
        text = together(
            text,
            say(
                "It has not placed them: look at its log and its permissions.",
            ),
        )
    text = together(text, stale_lease(evidence, owner.workload))
    return Explained(text, owner.name, facts=facts_of(owner))


# -- nominated pods --------------------------------------------------------------------------------


def _nominated(evidence: Evidence, deciding: Deciding, held: Held) -> Explained:
    """Whom the pods wait for, and how long that may take."""
    node = held.signature[1]
    leaving = {pod.key: pod for each in held.pods for pod in leaving_for(deciding, each)}
    names = listed(list(leaving), 4)
    left = max(grace_left(evidence, pod) for pod in leaving.values())
    text = say_count(
        "{pods} waits for {leaving} (terminating) to end on {node}, to which it is nominated: "
        "{grace}.",
        "{pods} wait for {leaving} (terminating) to end on {node}, to which they are nominated: "
        "{grace}.",
        len(held.pods),
        pods=_who(held),
        leaving=names,
        node=node,
        grace=grace_text(left, len(leaving)),
    )
    return Explained(text, known_as("pod", next(iter(leaving))))


def grace_left(evidence: Evidence, pod: Pod) -> int:
    """The seconds of grace that a pod has left; negative once they are over."""
    return -evidence.age_seconds(pod.deletion_timestamp)


def grace_text(left: int, pods: int) -> Sentence:
    """How much of the grace period of some pods is left, in words."""
    if left > 0:
        return say_count(
            "{left} s of its grace period are left",
            "{left} s of their grace period are left",
            pods,
            left=left,
        )
    over = f"{-left // 60} min" if left <= -60 else f"{-left} s"
    return say_count(
        "its grace period was over {time} before",
        "their grace period was over {time} before",
        pods,
        time=over,
    )


# -- refusals --------------------------------------------------------------------------------------


def _facts(held: Held) -> Iterator[str]:
    """What the cause rests on: the objects of its facts, and nodes that would take the pods."""
    if held.main is not None:
        yield from (each.object for each in held.main.because if each.kind in _SHARED_KINDS)
    for found in held.classes:
        for each in found.refused:
            world = found.world
            assert world is not None
            if not world.table.node(each.row).is_ready and all(map(_is_condition, each.obstacles)):
                yield f"node/{each.node}"


_SHARED_KINDS: Final = ("PersistentVolumeClaim", "StorageClass", "ResourceQuota")


def _is_condition(obstacle: Obstacle) -> bool:
    """Whether it is the taint of a condition, which goes when the node is ready again."""
    return known_as("taint", CONDITION) in obstacle.detail.text


def _refused(evidence: Evidence, held: Held) -> Explained:
    """The refusal of a scheduler that looks at the pods, or none."""
    if held.signature[0] == "devices":
        return _devices(evidence, held)
    if held.main is None and unplayed_claims(held):
        return _unplayed_devices(evidence, held)
    if held.signature[0] == "taint":
        return _tainted(evidence, held)
    return Explained(*_refusal(held))


def unplayed_claims(held: Held) -> list[str]:
    """The ResourceClaims of the pods, where nothing holds these in this version of kscope."""
    return [
        str(each.get("resourceClaimName") or each.get("name"))
        for each in items(held.pods[0].spec, "resourceClaims")
    ]


def _unplayed_devices(evidence: Evidence, held: Held) -> Explained:
    """Pods that ask for devices where allocation is not played: what the files say of these."""
    claims = listed(unplayed_claims(held), 3)
    text = say_count(
        "{pods} asks for devices (resource claim {claims}), which kscope does not allocate in this "
        "version; without them a node would take it.",
        "{pods} ask for devices (resource claim {claims}), which kscope does not allocate in this "
        "version; without them a node would take them.",
        len(held.pods),
        pods=_who(held),
        claims=claims,
    )
    if not evidence.has("ResourceSlice"):
        text = together(text, _NO_SLICES)
    return Explained(text, known_as("resourceclaim", f"{held.pods[0].namespace}/{claims}"))


_NO_SLICES: Final = say(
    "There is no ResourceSlice in the files: as far as they show, no driver has published a device."
)


def _tainted(evidence: Evidence, held: Held) -> Explained:
    """Nodes with a taint; where an agent takes it off by itself, that agent."""
    text, by = _refusal(held)
    for key in SELF_REMOVED:
        domain = key.partition("/")[0]
        if f"{key}:" not in text and f"{key}=" not in text or domain.endswith("kubernetes.io"):
            continue
        owner = behind(evidence, domain, "agent", "node")
        if owner is not None:
            text = together(text, owner.said(evidence, REMOVES))
            by = by if owner.is_running else f"{owner.name} ({by})"
            return Explained(text, by, facts=facts_of(owner))
    return Explained(text, by)


def _refusal(held: Held) -> tuple[Sentence, str]:
    main, first = held.main, held.classes[0]
    if main is None or first.world is None:
        text = say_count(
            "{pods} fits {node} and was refused before: something has changed since.",
            "{pods} fit {node} and were refused before: something has changed since.",
            len(held.pods),
            pods=_who(held),
            node=first.fits,
        )
        return text, _workload_or_pod(held)
    text = _said(held, main)
    family = held.signature[0]
    if family == "taint":
        return together(text, _only_there(held, main)), f"taint of {_nodes(main)}"
    if family == "resources":
        nodes = _nodes(main)
        return text, _workload_or_pod(held) if held.signature[-1] in held.workloads else nodes
    if family == "affinity":
        return together(text, _domains(held)), _workload_or_pod(held)
    if family == "port":
        return _port(held, text)
    if family == "volume":
        left = held.signature[1:]
        is_few = 0 < len(left) <= len(main.nodes) and len(main.nodes) < len(first.world.table)
        return text, known_as("node", listed(left)) if is_few else _workload_or_pod(held)
    return text, _workload_or_pod(held)


def _said(held: Held, main: Cause) -> Sentence:
    text = headline_of_pods(held.classes[0].sentence, _who(held), len(held.pods))
    detail = _rule(main)
    return together(text, detail) if detail and detail not in text else text


def _nodes(main: Cause) -> str:
    return f"node{'' if len(main.nodes) == 1 else 's'} {named(main.nodes)}"


def _workload_or_pod(held: Held) -> str:
    if held.workloads:
        return owners_text(held.workloads)
    return known_as("pod", held.pods[0].key)


def _rule(main: Cause) -> Sentence:
    """The rule of the pod that the cause is about, where it has one of its own."""
    facts = [each.text for each in main.because if each.text.startswith(("The pod", "Container"))]
    added = [each.text for each in main.because if each.field.startswith("spec.overhead.")]
    return together(*dict.fromkeys((*facts[:1], *added[:1])))


def _only_there(held: Held, main: Cause) -> Sentence:
    """Where only the tainted nodes have a resource that the pods ask for, that, and what is free."""
    world = held.classes[0].world
    assert world is not None
    wanted = dict(world.info().resources.fit.scalars)
    sentences: list[Sentence] = []
    for name in sorted(wanted):
        rows = [row for row, node in world.nodes() if name in node.allocatable]
        tainted = [row for row in rows if world.table.name(row) in main.nodes]
        if not rows or len(rows) != len(tainted):
            continue
        free = sum(
            world.table.node(row).allocatable_units.get(name, 0)
            - world.table.requested_at(row).get(name, 0)
            for row in rows
        )
        amount = format_amount(name, free)
        sentences.append(
            say(
                "These are the only nodes with {name}, of which {amount} are free.",
                name=name,
                amount=amount,
            )
        )
    return together(*sentences)


def _devices(evidence: Evidence, held: Held) -> Explained:
    """Which driver should publish the devices, and whether it runs."""
    world = held.classes[0].world
    assert world is not None
    assert held.main is not None
    classes = device_classes(world)
    drivers = sorted(
        {str(section(each, "spec").get("driver")) for each in evidence.all("ResourceSlice")}
    )
    which = say("They ask for devices of DeviceClass {classes}.", classes=listed(classes))
    slices = (
        say("The files have ResourceSlices of {drivers}.", drivers=listed(drivers))
        if drivers
        else _NO_SLICES
    )
    owner = next(
        (found for name in classes if (found := behind(evidence, name, "driver", "dra"))), None
    )
    parts, by = (
        [_said(held, held.main), which, slices],
        known_as("deviceclass", listed(classes)),
    )
    if owner is not None:
        parts.append(owner.said(evidence, IS_THEIR_DRIVER))
        if not owner.is_running:
            by = f"{owner.name} ({by})"
    return Explained(together(*parts), by, facts=facts_of(owner))


def _port(held: Held, text: Sentence) -> tuple[Sentence, str]:
    """Who holds the host port where the pods may go: the workload, where it is one."""
    world = held.classes[0].world
    assert world is not None
    wanted = sorted(held.signature[1:-1])
    holders: dict[str, None] = {}
    for row, node in world.nodes():
        del node
        for info in world.table.pods[row].values():
            ports = {
                str(port.get("hostPort"))
                for each in containers_of(info.pod)
                for port in items(each, "ports")
            }
            if ports & set(wanted):
                owner = info.pod.controller
                found = known_as("pod", info.key)
                if owner is not None:
                    kind = str(owner.get("kind")).lower()
                    found = f"{kind} {info.pod.namespace}/{owner.get('name')}"
                holders[found] = None
    if not holders:
        return text, _workload_or_pod(held)
    who, ports = listed(list(holders), 3), listed(wanted)
    taken = say("Host port {ports} is taken by {holders}.", ports=ports, holders=who)
    return together(text, taken), f"{who} (host port {ports})"


def _domains(held: Held) -> Sentence:
    """How many domains there are for pods that keep away from their own kind."""
    first = held.classes[0]
    assert first.world is not None
    sentences: list[Sentence] = []
    terms = items(section(first.pod.spec, "affinity", "podAntiAffinity"), REQUIRED)
    for term in terms:
        key = str(term.get("topologyKey"))
        selector = LabelSelector.parse(term.get("labelSelector"))
        if key == HOSTNAME or not selector.matches(first.pod.labels):
            continue
        values = sorted({node.labels[key] for _, node in first.world.nodes() if key in node.labels})
        sentences.append(
            say(
                "{key} has {domains} ({values}), and each may have one of these pods: more "
                "replicas than that can never be placed.",
                key=key,
                domains=counted(len(values), "domain"),
                values=listed(values),
            )
        )
    return together(*sentences)


# -- what else it says -----------------------------------------------------------------------------


def _predicted(deciding: Deciding, held: Held) -> Sentence:
    """What the model decides on the pods."""
    kind, first = held.signature[0], held.classes[0]
    if kind == "gate":
        return say("No scheduler looks at a pod that has a gate.")
    if kind == "scheduler":
        return say(
            "Schedulers {schedulers} leave these pods alone.",
            schedulers=listed(sorted(deciding.algorithms)),
        )
    if kind == "nominated":
        return say("It is placed on {node} when they have ended.", node=held.signature[1])
    if kind == "fits" and unplayed_claims(held):
        return say("kscope keeps it pending: it does not allocate devices in this version.")
    if kind == "fits":
        return say("It fits {node} now.", node=first.fits)
    reasons = {reason: None for each in first.causes for reason in each.reasons}
    said = listed(list(reasons), 4)
    return say_count(
        "{reasons}.", "The same for all {count}: {reasons}.", len(held.pods), reasons=said
    )


def _claims(evidence: Evidence, held: Held) -> list[str]:
    """The claims that are part of the matter: unbound ones where a volume or device is missing."""
    if held.signature[0] == "devices":
        return sorted(
            f"{pod.namespace}/{each.get('resourceClaimName')}"
            for pod in held.pods
            for each in items(pod.status, "resourceClaimStatuses")
            if each.get("resourceClaimName")
        ) or sorted(_owned_claims(evidence, held.pods))
    world = held.classes[0].world
    if held.main is None or world is None:
        return []
    if family_of(world, held.main.plugin) not in ("volume", "volume zone"):
        return []
    keys = {f"{pod.namespace}/{name}" for pod in held.pods for name in pod.claim_names}
    found = [evidence.find("PersistentVolumeClaim", key) for key in sorted(keys)]
    return [key_of(each) for each in found if each is not None and _is_unbound(each)]


def _is_unbound(claim: Manifest) -> bool:
    """Whether a claim has no volume; one that is being deleted is a matter of its own."""
    is_deleted = claim["metadata"].get("deletionTimestamp")
    return section(claim, "status").get("phase") != "Bound" and not is_deleted


def _owned_claims(evidence: Evidence, pods: Sequence[Pod]) -> list[str]:
    """The ResourceClaims of the pods: those that they own, and those that they name."""
    mine = {pod.key for pod in pods}
    named_ones = {
        f"{pod.namespace}/{each.get('resourceClaimName')}"
        for pod in pods
        for each in items(pod.spec, "resourceClaims")
    }
    return [
        key_of(each)
        for each in evidence.all("ResourceClaim")
        if key_of(each) in named_ones
        or any(
            f"{each['metadata'].get('namespace')}/{owner.get('name')}" in mine
            for owner in items(each["metadata"], "ownerReferences")
        )
    ]
