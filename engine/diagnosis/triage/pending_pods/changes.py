"""Changes for a whole group of pending pods, each tried on a copy of what the schedulers see.

A change of a pod's template is made in all pods of its workload, those that run among them where it
is about other pods. All pending pods are then decided on in their order, so that others may take
the room first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation
from engine.diagnosis.changes.new_nodes import NewNode, new_nodes
from engine.diagnosis.changes.node_changes import advertised_devices, node_labels
from engine.diagnosis.changes.pod_rules import (
    affinity_namespaces,
    pod_affinities,
    selectors,
    spreading,
    tolerations,
)
from engine.diagnosis.changes.requests import smaller_requests
from engine.diagnosis.observed.autoscalers import Pools, said_by_autoscaler
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.carrying_out import Body, bodies, of_nodes, of_pods
from engine.diagnosis.triage.deciding import Deciding, Trials
from engine.diagnosis.triage.pending_pods.held import GroupChange, Held, PodClass, containers_of
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import owners_text
from engine.framework.explaining.case import listed
from engine.framework.explaining.manifests import (
    CONDITION,
    HOSTNAME,
    REQUIRED,
    deep_copy,
    taint_of,
    taint_text,
)
from engine.framework.pods.pod_template import Taint
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod

# Per kind, how many changes are tried for a class, and how many nodes at most are added.
_PER_KIND: Final = 3
_MOST_NODES: Final = 64
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
_CONTROL_PLANE: Final = ("node-role.kubernetes.io/", "CriticalAddonsOnly")
_HARD: Final = ("NoSchedule", "NoExecute")
_NO_TEMPLATE_CHANGE: Final = "job/"
_REPLACED_AT_ONCE: Final = (
    "Pods that run with the old rule keep the new ones away, so that a rolling update does not end: "
    "replace them all at once (strategy Recreate)."
)


def changes_for(evidence: Evidence, trials: Trials, held: Held) -> tuple[list[Change], int]:
    """The changes that place some of the group, the best first, and how many were tried."""
    found: list[Change] = []
    tried = 0
    for change in _proposed(held):
        places = _placed(trials, held, change)
        tried += 1
        if places:
            found.append(_offered(evidence, trials, held, change, places))
    more = _more_nodes(evidence, trials, held, is_needed=not any(map(_settles, found)))
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


def _offered(
    evidence: Evidence, trials: Trials, held: Held, change: GroupChange, places: int
) -> Change:
    text = change.text
    if change.fields:
        owners = [held.classes[place].workload for place in change.fields]
        names = list(dict.fromkeys(filter(None, owners)))
        text = f"{text} in the template of {owners_text(names)}" if names else text
    note = change.note
    if _keeps_apart(held, change):
        note = f"{note} {_REPLACED_AT_ONCE}".strip()
    if any(held.classes[place].workload.startswith(_NO_TEMPLATE_CHANGE) for place in change.fields):
        note = (
            f"{note} A Job's template cannot be changed: it is deleted and created again.".strip()
        )
    held.tried[text] = change
    return Change(
        text=text,
        kind=change.kind,
        places=places,
        of=len(held.pods),
        loses=change.loses,
        shared=change.shared,
        note=note,
        commands=commands_of(evidence, trials, held, change),
    )


def commands_of(
    evidence: Evidence, trials: Trials, held: Held, change: GroupChange
) -> tuple[Body, ...]:
    """What carries *change* out in a fork of the run."""
    table = trials.deciding.cluster.handle.table
    before = {
        each.name: table.node(table.rows[each.name])
        for each in change.objects
        if each.name in table.rows
    }
    of_classes = (
        command
        for place, fields in change.fields.items()
        for command in of_pods(
            evidence, held.classes[place].pods, fields, at_once=_keeps_apart(held, change)
        )
    )
    return bodies(chain(of_nodes(change.objects, before), of_classes))


def _keeps_apart(held: Held, change: GroupChange) -> bool:
    """Whether it changes anti-affinity, by which pods with the old rule keep new ones away."""
    return any(
        "affinity" in fields
        and section(fields, "affinity", "podAntiAffinity")
        != section(held.classes[place].pod.spec, "affinity", "podAntiAffinity")
        for place, fields in change.fields.items()
    )


# -- trying ----------------------------------------------------------------------------------------


def _placed(trials: Trials, held: Held, change: GroupChange) -> int:
    """How many pods of the group get a node after *change*."""
    mine = {pod.key for pod in held.pods}

    def prepare() -> None:
        for node in change.objects:
            trials.deciding.put_node(node)
        change_siblings(trials.deciding, held, change)

    return len(trials.placed(prepare, changed_pods(held, change), mine))


def changed_pods(held: Held, change: GroupChange) -> dict[str, Pod]:
    """The waiting pods of the group as *change* makes them, by key."""
    return {
        pod.key: _with(pod, change.fields[place])
        for place, each in enumerate(held.classes)
        if place in change.fields
        for pod in each.pods
    }


def change_siblings(copy: Deciding, held: Held, change: GroupChange) -> None:
    """Make a change that is read from both sides in the pods of the workloads that run."""
    if change.is_mutual:
        for place, fields in change.fields.items():
            _change_siblings(copy, held.classes[place].pod, fields)


def _with(pod: Pod, fields: Manifest) -> Pod:
    spec = {key: part for key, part in {**pod.spec, **fields}.items() if part is not None}
    return Pod({**pod.raw, "spec": spec})


def _change_siblings(copy: Deciding, pod: Pod, fields: Manifest) -> None:
    """The pods of the same controller that run get the same fields, where they are."""
    owner = pod.controller
    if owner is None:
        return
    table = copy.cluster.handle.table
    for row in list(table.rows.values()):
        for info in list(table.pods[row].values()):
            other = info.pod.controller
            same = info.pod.namespace == pod.namespace and other is not None
            if same and other is not None and other.get("name") == owner.get("name"):
                copy.remove(info.pod)
                copy.put(_with(info.pod, fields))


# -- what is proposed ------------------------------------------------------------------------------


def _proposed(held: Held) -> Iterator[GroupChange]:
    first = held.classes[0]
    if first.world is None or not first.refused:
        return
    yield from _recovered(first.situation)
    yield from _relieved(first.situation)
    yield from _uncordoned(first.situation)
    for kind, generate, is_mutual in _TEMPLATE:
        yield from _of_templates(held, kind, generate, is_mutual=is_mutual)
    for kind, find in _OF_NODES:
        yield from islice(_changed_nodes(first.situation, kind, find), _PER_KIND)
    yield from _without_taints(first.situation)


def _changed_nodes(situation: Situation, kind: str, find: _Generate) -> Iterator[GroupChange]:
    """Changes of a node that are tried for single pods, too."""
    for candidate in find(situation):
        name = candidate.command.object.partition("/")[2]
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
            text=f"Keep such pods apart over {HOSTNAME} instead of {key}",
            note="Several of them may then fail with one domain.",
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
            text=f"Use host port {free} instead of {number}",
            note="What asks for the port has to know the new one.",
        )


def _host_ports(pod: Pod) -> list[int]:
    ports = [port for each in containers_of(pod) for port in items(each, "ports")]
    return [port["hostPort"] for port in ports if port.get("hostPort")]


def _fields(fields: Manifest, *, kind: str, text: str, note: str) -> Candidate:
    command = Command(verb="replace", manifest={"spec": fields})
    return Candidate(kind=kind, text=text, command=command, note=note)


_Generate = Callable[[Situation], Iterator[Candidate]]
_OF_NODES: Final[tuple[tuple[str, _Generate], ...]] = (
    ("device", advertised_devices),
    ("label", node_labels),
)
_TEMPLATE: Final[tuple[tuple[str, _Generate, bool], ...]] = (
    ("toleration", tolerations, False),
    ("selector", selectors, False),
    ("spread", spreading, True),
    ("namespaces", affinity_namespaces, False),
    ("affinity", _hostname_instead, True),
    ("affinity", pod_affinities, True),
    ("port", _other_ports, True),
    ("requests", smaller_requests, False),
)


def _of_templates(
    held: Held, kind: str, generate: _Generate, *, is_mutual: bool
) -> Iterator[GroupChange]:
    """One kind of change, the same in all classes that it can be made in."""
    found: dict[str, dict[int, Candidate]] = {}
    for place, each in enumerate(held.classes):
        for candidate in islice(generate(each.situation), _PER_KIND):
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
            shared=_kept_for_others(held, text) if kind == "toleration" else "",
            is_mutual=is_mutual,
        )


def _kept_for_others(held: Held, text: str) -> str:
    """Whom a toleration takes nodes from; "" where the taint alone is what holds the pods."""
    if any(key in text for key in _CONTROL_PLANE):
        return "the nodes are kept for the control plane or for add-ons"
    if any(key in text for key in SELF_REMOVED):
        return "the component that set the taint takes it off when pods may run there"
    return "" if held.signature[0] == "taint" else "the taint keeps these nodes for other pods"


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
            text=f"Bring {listed([node.name for node in nodes], 4)} back, so that it is Ready",
            objects=tuple(_ready(node) for node in nodes),
            note="The kubelet has to run again: repair the machine or its network.",
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
                text=what.format(names),
                objects=tuple(_without_key(node, key) for node in nodes),
                note=f"The taint {key} is then taken off.",
            )


SELF_REMOVED: Final = {
    "node.kubernetes.io/disk-pressure": "Free disk on {}, so that the kubelet reports no DiskPressure",
    "node.kubernetes.io/memory-pressure": "Free memory on {}, so that the kubelet reports no "
    "MemoryPressure",
    "node.kubernetes.io/pid-pressure": "End processes on {}, so that the kubelet reports no PIDPressure",
    "node.cloudprovider.kubernetes.io/uninitialized": "Let the cloud-controller-manager initialize {}",
    "node.kubernetes.io/network-unavailable": "Let the network plugin report that the network of {} is "
    "available",
    "node.cilium.io/agent-not-ready": "Let the agent of Cilium run on {}",
    "ebs.csi.aws.com/agent-not-ready": "Let the node plugin of ebs.csi.aws.com run on {}",
    "efs.csi.aws.com/agent-not-ready": "Let the node plugin of efs.csi.aws.com run on {}",
    "karpenter.sh/unregistered": "Let Karpenter register {}",
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
            text=f"Uncordon {names}",
            objects=tuple(_uncordoned_node(node) for node in nodes),
            note="Finish the maintenance first: new pods may be placed there at once.",
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
            text=f"Remove the taint {taint_text(taint)} from {names}",
            objects=tuple(_untainted(node, taint) for node in nodes),
            shared="the taint keeps these nodes for others",
        )


def _untainted(node: Node, taint: Taint) -> Node:
    left = [raw for raw in node.taints if taint_of(raw) != taint]
    return node.patched({"spec": {"taints": left}})


# -- more nodes ------------------------------------------------------------------------------------


def _more_nodes(
    evidence: Evidence, trials: Trials, held: Held, *, is_needed: bool
) -> Change | None:
    """As many nodes like one that is there as place all pods of the group."""
    first = held.classes[0]
    if first.world is None or not is_needed:
        return None
    pools, limited = Pools(evidence), list[tuple[GroupChange, int]]()
    for new in islice(new_nodes(first.situation), _PER_KIND):
        places = _placed(trials, held, _with_nodes(held, new.candidate, 1))
        if not places:
            continue
        change, places = _enough_nodes(trials, held, new.candidate, places)
        obstacle = _not_made(pools, new, change.objects)
        change = replace(
            change, shared=obstacle, note=f"{change.note} {_heard(evidence, held)}".strip()
        )
        if not obstacle:
            return _offered(evidence, trials, held, change, places)
        limited.append((change, places))
    return _offered(evidence, trials, held, *limited[0]) if limited else None


def _not_made(pools: Pools, new: NewNode, nodes: Sequence[Node]) -> str:
    """Why the pool of the model does not make these nodes; "" for a model of no known pool."""
    pool = None if new.model is None else pools.of(new.model.raw)
    if pool is None:
        return ""
    wanted = new.difference
    if wanted.respects:
        taints = tuple({"key": each.key} for each in wanted.without)
        never = pool.lacks(wanted.labels, taints)
        if never:
            return never
    return pool.refusal(nodes[0], len(nodes))


def _heard(evidence: Evidence, held: Held) -> str:
    """What an autoscaler has last said of the pods."""
    heard = [said for pod in held.pods if (said := said_by_autoscaler(evidence, pod.raw))]
    newest = max(heard, key=lambda each: each.last, default=None)
    return f"The autoscaler says ({newest.last}): {newest.text}" if newest is not None else ""


def _enough_nodes(
    trials: Trials, held: Held, candidate: Candidate, of_one: int
) -> tuple[GroupChange, int]:
    """The least number of nodes that places all, or as many as can be afforded."""
    of = len(held.pods)
    number, places = 1, of_one
    while places < of and number < _MOST_NODES:
        step = max(1, -(-(of - places) * number // max(places, 1)))
        number = min(number + step, _MOST_NODES)
        places = _placed(trials, held, _with_nodes(held, candidate, number))
    while places == of and number > 1:
        if _placed(trials, held, _with_nodes(held, candidate, number - 1)) < of:
            break
        number -= 1
    return _with_nodes(held, candidate, number), places


def _with_nodes(held: Held, candidate: Candidate, number: int) -> GroupChange:
    text, note = candidate.text, candidate.note
    if number > 1:
        text = text.replace("Add one more node", f"Add {number} nodes", 1)
        note = f"It costs {number} machines, and the time to set them up."
    manifest = candidate.command.manifest or {}
    name = f"{manifest['metadata']['name']}-{held.number}"
    nodes = tuple(_named(manifest, f"{name}-{place}") for place in range(1, number + 1))
    return GroupChange(kind="node", text=text, objects=nodes, note=note)


def _named(manifest: Manifest, name: str) -> Node:
    labels = dict(manifest["metadata"].get("labels") or {})
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    return Node({**manifest, "metadata": {**manifest["metadata"], "name": name, "labels": labels}})


# -- what no scheduler decides on as it stands -----------------------------------------------------


def without_gates(held: Held) -> GroupChange:
    """The gates off, by whoever opens them."""
    return _for_all(held, {"schedulingGates": None})


def served_by(held: Held, scheduler: str) -> GroupChange:
    """Another scheduler, for one that does not work."""
    return _for_all(held, {"schedulerName": scheduler})


def _for_all(held: Held, fields: Manifest) -> GroupChange:
    return GroupChange("", "", fields=dict.fromkeys(range(len(held.classes)), fields))


def placed_by(trials: Trials, held: Held, change: GroupChange) -> int:
    """How many pods of the group get a node after *change*."""
    return _placed(trials, held, change)
