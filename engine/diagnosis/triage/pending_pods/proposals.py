"""The changes that are proposed for a group: of its nodes, and of the templates of its pods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation
from engine.diagnosis.changes.of_plugins import plugin_changes
from engine.diagnosis.triage.pending_pods.held import GroupChange, Held, PodClass, containers_of
from engine.framework.explaining.case import listed
from engine.framework.explaining.manifests import (
    CONDITION,
    HOSTNAME,
    REQUIRED,
    deep_copy,
    taint_of,
    taint_text,
)
from engine.kernel.sentences import NOTHING, Sentence, phrase, say, say_count
from engine.objects.kinds import split_entity_id
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.pods.tolerations import Taint

# Per kind, how many changes are tried for a class, and how many nodes at most are added.
_PER_KIND: Final = 3
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/", "CriticalAddonsOnly")


def proposed(held: Held) -> Iterator[GroupChange]:
    """All changes that are worth trying, but for more nodes."""
    first = held.classes[0]
    if first.world is None or not first.refused:
        return
    situations = [each.situation for each in held.classes]
    yield from _recovered(situations[0])
    yield from _relieved(situations[0])
    yield from _uncordoned(situations[0])
    for kind, generate, is_mutual in _TEMPLATE:
        yield from _of_templates(held, situations, kind, generate, is_mutual=is_mutual)
    for kind, find in _OF_NODES:
        yield from islice(_changed_nodes(situations[0], kind, find), _PER_KIND)
    yield from _without_taints(situations[0])


def _changed_nodes(situation: Situation, kind: str, find: _Generate) -> Iterator[GroupChange]:
    """Changes of a node that are tried for single pods, too."""
    for candidate in find(situation):
        prefix, name = split_entity_id(candidate.command.object)
        if prefix != "node":
            continue
        node = situation.world.table.node(situation.world.table.rows[name])
        changed = node.patched(candidate.command.patch or {})
        yield GroupChange(kind, candidate.text, objects=(changed,), note=candidate.note)


def _hostname_instead(situation: Situation) -> Iterator[Candidate]:
    """Anti-affinity over single nodes instead of larger domains."""
    pod = situation.pod
    terms = items(section(pod.spec, "affinity", "podAntiAffinity"), REQUIRED)
    for place, term in enumerate(terms):
        key = term.get("topologyKey")
        if key == HOSTNAME:
            continue
        affinity = deep_copy(pod.spec.get("affinity"))
        affinity["podAntiAffinity"][REQUIRED][place]["topologyKey"] = HOSTNAME
        yield _fields(
            {"affinity": affinity},
            kind="affinity",
            text=say(
                "Keep such pods apart over {hostname} instead of {key}", hostname=HOSTNAME, key=key
            ),
            note=say("Several of them may then fail with one domain."),
        )


def _pods_on_nodes(situation: Situation) -> Iterator[Pod]:
    """The pods that have a node."""
    for row, _ in situation.world.nodes():
        yield from (info.pod for info in situation.world.table.pods[row].values())


def _is_held_by_siblings(situation: Situation, ports: Iterable[int]) -> bool:
    """Whether all pods that hold one of *ports* are of the pod's own Deployment."""
    holders = [each for each in _pods_on_nodes(situation) if {*ports} & {*_host_ports(each)}]
    mine = _without_hash(situation.pod)
    return bool(holders) and all(_without_hash(each) == mine for each in holders)


def _without_hash(pod: Pod) -> tuple[str, dict[str, str]]:
    """Namespace and labels, without the one in which the ReplicaSets of a Deployment differ."""
    labels = {key: value for key, value in pod.labels.items() if key != "pod-template-hash"}
    return pod.namespace, labels


def _other_ports(situation: Situation) -> Iterator[Candidate]:
    """The next host port that no pod has, for each that is taken."""
    pod = situation.pod
    wanted = _host_ports(pod)
    if not wanted:
        return
    taken = {number for other in _pods_on_nodes(situation) for number in _host_ports(other)}
    if _is_held_by_siblings(situation, wanted):
        # A rollout is in its own way: another port would only be another rollout.
        return
    for number in [each for each in dict.fromkeys(wanted) if each in taken]:
        free = next(each for each in range(number + 1, number + 65_536) if each not in taken)
        containers = deep_copy(pod.spec.get("containers"))
        for each in containers:
            for port in items(each, "ports"):
                if port.get("hostPort") == number:
                    port["hostPort"] = free
                    if pod.spec.get("hostNetwork"):
                        port["containerPort"] = free
        yield _fields(
            {"containers": containers},
            kind="port",
            text=say("Use host port {free} instead of {number}", free=free, number=number),
            note=say("What asks for the port has to know the new one."),
        )


def _host_ports(pod: Pod) -> list[int]:
    ports = [port for each in containers_of(pod) for port in items(each, "ports")]
    return [port["hostPort"] for port in ports if port.get("hostPort")]


def _fields(fields: Manifest, *, kind: str, text: Sentence, note: Sentence) -> Candidate:
    command = Command(verb="replace", manifest={"spec": fields})
    return Candidate(kind=kind, text=text, command=command, note=note)


_Generate = Callable[[Situation], Iterator[Candidate]]
_OF_NODES: Final[tuple[tuple[str, _Generate], ...]] = (
    ("device", plugin_changes("device")),
    ("label", plugin_changes("label")),
    ("plugin", plugin_changes("plugin")),
)
_TEMPLATE: Final[tuple[tuple[str, _Generate, bool], ...]] = (
    ("toleration", plugin_changes("toleration"), False),
    ("selector", plugin_changes("selector"), False),
    ("spread", plugin_changes("spread"), True),
    ("namespaces", plugin_changes("namespaces"), False),
    ("affinity", _hostname_instead, True),
    ("affinity", plugin_changes("affinity"), True),
    ("port", _other_ports, True),
    ("requests", plugin_changes("requests"), False),
    ("plugin", plugin_changes("plugin"), False),
)


def _of_templates(
    held: Held,
    situations: Sequence[Situation],
    kind: str,
    generate: _Generate,
    *,
    is_mutual: bool,
) -> Iterator[GroupChange]:
    """One kind of change, the same in all classes that it can be made in."""
    found: dict[Sentence, dict[int, Candidate]] = {}
    for place, situation in enumerate(situations):
        of_pods = filter(_is_of_a_pod, generate(situation))
        for candidate in islice(of_pods, _PER_KIND):
            found.setdefault(candidate.text, {})[place] = candidate
    for text, candidates in islice(found.items(), _PER_KIND):
        fields = {
            place: _changed_fields(held.classes[place], candidate)
            for place, candidate in candidates.items()
        }
        fields = {place: each for place, each in fields.items() if each}
        if not fields:
            continue
        yield GroupChange(
            kind=kind,
            text=text,
            fields=fields,
            shared=_kept_for_others(held, text) if kind == "toleration" else NOTHING,
            is_mutual=is_mutual,
        )


def _is_of_a_pod(candidate: Candidate) -> bool:
    return candidate.command.verb == "replace" or candidate.command.object.startswith("pod/")


def _kept_for_others(held: Held, text: str) -> Sentence:
    """Whom a toleration takes nodes from; "" where the taint alone is what holds the pods."""
    if any(key in text for key in _CONTROL_PLANE):
        return say("the nodes are kept for the control plane or for add-ons")
    if any(key in text for key in _LEAVING):
        return _IS_LEAVING
    if any(key in text for key in SELF_REMOVED):
        return say("the component that set the taint takes it off when pods may run there")
    if held.signature[0] == "taint":
        return NOTHING
    return say("the taint keeps these nodes for other pods")


# The taints by which autoscalers empty a node that they are about to remove.
_LEAVING: Final = (
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
    "karpenter.sh/disruption",
)
_IS_LEAVING: Final = say("an autoscaler is about to remove these nodes, with the pods on them")


def _changed_fields(found: PodClass, candidate: Candidate) -> Manifest:
    """The fields of the spec that a change of one pod changes, to change them in others."""
    command = candidate.command
    wanted = section(command.manifest or command.patch or {}, "spec")
    spec: Mapping[str, Any] = found.pod.spec
    changed = {name: part for name, part in wanted.items() if spec.get(name) != part}
    if command.verb == "replace" and "metadata" in (command.manifest or {}):
        gone = [name for name in spec if name not in wanted and name != "nodeName"]
        changed |= dict.fromkeys(gone)
    return changed


def _recovered(situation: Situation) -> Iterator[GroupChange]:
    """The nodes that are not ready come back, and the node controller takes their taints off."""
    nodes = [node for _, node in situation.world.nodes() if not node.is_ready]
    if nodes:
        yield GroupChange(
            kind="ready",
            text=say_count(
                "Bring {nodes} back, so that it is Ready",
                "Bring {nodes} back, so that they are Ready",
                len(nodes),
                nodes=listed([node.name for node in nodes], 4),
            ),
            objects=tuple(_ready(node) for node in nodes),
            note=say("The kubelet has to run again: repair the machine or its network."),
        )


def _ready(node: Node) -> Node:
    conditions = [
        {**each, "status": "True"} if each.get("type") == "Ready" else each
        for each in items(node.status, "conditions")
    ]
    taints = [each for each in node.taints if not str(each.get("key")).startswith(CONDITION)]
    return node.patched({"spec": {"taints": taints}, "status": {"conditions": conditions}})


def _relieved(situation: Situation) -> Iterator[GroupChange]:
    """Taints that a component takes off by itself, once what they stand for is over."""
    for key, what in SELF_REMOVED.items():
        nodes = [
            node
            for _, node in situation.world.nodes()
            if any(each.get("key") == key for each in node.taints)
        ]
        if nodes:
            names = listed([node.name for node in nodes], 4)
            yield GroupChange(
                kind="ready",
                text=what.say(nodes=names),
                objects=tuple(_without_key(node, key) for node in nodes),
                note=say("The taint {key} is then taken off.", key=key),
            )


SELF_REMOVED: Final = {
    "node.kubernetes.io/disk-pressure": phrase(
        "Free disk on {nodes}, so that the kubelet reports no DiskPressure"
    ),
    "node.kubernetes.io/memory-pressure": phrase(
        "Free memory on {nodes}, so that the kubelet reports no MemoryPressure"
    ),
    "node.kubernetes.io/pid-pressure": phrase(
        "End processes on {nodes}, so that the kubelet reports no PIDPressure"
    ),
    "node.cloudprovider.kubernetes.io/uninitialized": phrase(
        "Let the cloud-controller-manager initialize {nodes}"
    ),
    "node.kubernetes.io/network-unavailable": phrase(
        "Let the network plugin report that the network of {nodes} is available"
    ),
    "node.cilium.io/agent-not-ready": phrase("Let the agent of Cilium run on {nodes}"),
    "ebs.csi.aws.com/agent-not-ready": phrase(
        "Let the node plugin of ebs.csi.aws.com run on {nodes}"
    ),
    "efs.csi.aws.com/agent-not-ready": phrase(
        "Let the node plugin of efs.csi.aws.com run on {nodes}"
    ),
    "karpenter.sh/unregistered": phrase("Let Karpenter register {nodes}"),
}


def _without_key(node: Node, key: str) -> Node:
    left = [each for each in node.taints if each.get("key") != key]
    conditions = [
        {**each, "status": "False"} if each.get("type") == _PRESSURES.get(key) else each
        for each in items(node.status, "conditions")
    ]
    return node.patched({"spec": {"taints": left}, "status": {"conditions": conditions}})


_PRESSURES: Final = {
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/memory-pressure": "MemoryPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
}


def _uncordoned(situation: Situation) -> Iterator[GroupChange]:
    nodes = [node for _, node in situation.world.nodes() if node.unschedulable]
    if nodes:
        names = listed([node.name for node in nodes], 4)
        yield GroupChange(
            kind="uncordon",
            text=say("Uncordon {names}", names=names),
            objects=tuple(_uncordoned_node(node) for node in nodes),
            note=say("Finish the maintenance first: new pods may be placed there at once."),
        )


def _uncordoned_node(node: Node) -> Node:
    taints = [each for each in node.taints if each.get("key") != "node.kubernetes.io/unschedulable"]
    return node.patched({"spec": {"unschedulable": None, "taints": taints}})


def _without_taints(situation: Situation) -> Iterator[GroupChange]:
    """One taint off all nodes that have it: everybody's rule, not that of one team."""
    closest = [situation.world.table.node(each.row) for each in situation.refused]
    found: dict[Taint, dict[str, Node]] = {}
    for node in (*closest, *(node for _, node in situation.world.nodes())):
        for taint in situation.untolerated(node) if node.taints else ():
            found.setdefault(taint, {})[node.name] = node
    tainted = {taint: list(nodes.values()) for taint, nodes in found.items()}
    for taint, nodes in islice(tainted.items(), _PER_KIND):
        if taint.key.startswith(("node.kubernetes.io/", *_CONTROL_PLANE)):
            continue
        names = listed([node.name for node in nodes], 4)
        yield GroupChange(
            kind="taint",
            text=say("Remove the taint {taint} from {names}", taint=taint_text(taint), names=names),
            objects=tuple(_untainted(node, taint) for node in nodes),
            shared=_IS_LEAVING
            if taint.key in _LEAVING
            else say("the taint keeps these nodes for others"),
        )


def _untainted(node: Node, taint: Taint) -> Node:
    left = [raw for raw in node.taints if taint_of(raw) != taint]
    return node.patched({"spec": {"taints": left}})
