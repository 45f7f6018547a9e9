"""Nodes that take part no more: not ready or silent, with the pods that cannot go on there."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, condition, key_of
from engine.diagnosis.triage.carrying_out import (
    bodies,
    deleted_at_once,
    out_of_service,
    ready_again,
)
from engine.diagnosis.triage.report import Change, Group
from engine.diagnosis.triage.stuck.controllers import IS_NETWORK, Behind, owners_text
from engine.diagnosis.triage.stuck.explained import facts_of
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, say, say_count, together
from engine.objects.manifest_parts import section
from engine.objects.objects import OUT_OF_SERVICE_TAINT, Manifest, Node

# How the kubelet says that its network plugin is missing. Upstream: kubelet/container/runtime.go.
_NETWORK: Final = ("network plugin", "NetworkPluginNotReady", "cni plugin", "NetworkReady=false")
_SANDBOX_NETWORK: Final = (
    "failed to setup network for sandbox",
    "networkPlugin cni",
    "plugin type=",
)


_LEASE_OVER: Final = "its Lease is over"


@dataclass(slots=True)
class Broken:
    """Nodes that are not ready for one reason, and the pods that are caught there."""

    reason: str
    message: str
    nodes: list[Manifest] = field(default_factory=list[Manifest])
    pods: list[Manifest] = field(default_factory=list[Manifest])


def broken_nodes(evidence: Evidence, silent: Container[str] = ()) -> dict[str, Broken]:
    """The nodes that are not ready, by name, each with its group; *silent* ones have a Lease that is over."""
    groups: dict[tuple[str, ...], Broken] = {}
    found: dict[str, Broken] = {}
    for node in evidence.all("Node"):
        ready, name = condition(node, "Ready"), str(node["metadata"]["name"])
        if ready is None or ready.get("status") == "True":
            if name in silent:
                found[name] = groups[_LEASE_OVER, name] = Broken(_LEASE_OVER, "", [node])
            continue
        message = str(ready.get("message") or "")
        reason = str(ready.get("status"))
        reason += f", {ready['reason']}" if ready.get("reason") else ""
        # Nodes that say nothing, or something of their own, are each a cause.
        key = (reason, message) if is_of_network(message) else (reason, name)
        group = groups.setdefault(key, Broken(reason, message))
        group.nodes.append(node)
        found[name] = group
    return found


def node_groups(
    evidence: Evidence, broken: dict[str, Broken], awaited: Container[str]
) -> Iterator[Group]:
    """One group for the nodes that one reason keeps from being ready.

    Nodes *awaited* belong to the group of the pods that wait for them, if nothing is caught there.
    """
    seen: dict[int, Broken] = {id(each): each for each in broken.values()}
    for group in seen.values():
        if group.reason == _LEASE_OVER:
            # It says that it is ready: by itself it is not stuck, but what is caught there is.
            yield from [_of_silent(evidence, group)] if group.pods else ()
        elif group.pods or not all(each["metadata"]["name"] in awaited for each in group.nodes):
            yield _group(evidence, group)


def _of_silent(evidence: Evidence, group: Broken) -> Group:
    """A node that says Ready=True, and whose kubelet does not renew its Lease."""
    (node,) = group.nodes
    name = key_of(node)
    lease = evidence.find("Lease", f"kube-node-lease/{name}") or {}
    renewed = str(section(lease, "spec").get("renewTime") or "")
    minutes = evidence.age_seconds(renewed) // 60
    text = say(
        "Node {name} says Ready=True, but its Lease was last renewed {minutes} min before the newest "
        "time in the files: its kubelet is silent, so nothing starts, ends, mounts or unmounts there.",
        name=name,
        minutes=minutes,
    )
    return Group(
        kind="node",
        cause=together(text, _not_ended(evidence, group)),
        by=f"node {name}",
        observed=say(
            "Condition Ready is True; the Lease was renewed at {renewed}.", renewed=renewed
        ),
        predicted=say("No kubelet acts there; the node controller will call the node unknown."),
        since=renewed,
        pods=tuple(sorted(key_of(each) for each in group.pods)),
        nodes=(name,),
        workloads=tuple(evidence.workloads(group.pods)),
        facts=(f"node/{name}",),
        changes=tuple(_changes(group, is_silent=True)),
    )


def _not_ended(evidence: Evidence, group: Broken) -> Sentence:
    """Which pods cannot end on a node, and whose replacement that delays; "" for none."""
    leaving = [key_of(each) for each in group.pods if each["metadata"].get("deletionTimestamp")]
    owners = [each for each in evidence.workloads(group.pods) if each.startswith("statefulset/")]
    return _cannot_end(leaving, owners) if leaving else NOTHING


def _group(evidence: Evidence, group: Broken) -> Group:
    names = [str(each["metadata"]["name"]) for each in group.nodes]
    one = len(names) == 1
    is_silent = group.reason.startswith("Unknown")
    parts = [_not_ready(group, names)]
    if is_silent:
        silent = say_count(
            "Its kubelet is silent (unreachable), so nothing starts, ends, mounts or unmounts "
            "there.",
            "Their kubelets are silent (unreachable), so nothing starts, ends, mounts or unmounts "
            "there.",
            len(names),
        )
        parts.append(silent)
    parts.append(_not_ended(evidence, group))
    owner = network_owner(evidence) if is_of_network(group.message) else None
    by = f"node{'' if one else 's'} {listed(names)}"
    if owner is not None:
        parts.append(owner.said(evidence, IS_NETWORK))
        by = f"{owner.name} ({by})"
    return Group(
        kind="node",
        cause=together(*parts),
        by=by,
        observed=say(
            "Condition Ready is {reason}: {message}", reason=group.reason, message=group.message
        )
        if group.message
        else say("Condition Ready is {reason}", reason=group.reason),
        predicted=say("No kubelet acts there until the node is ready again."),
        since=min((_since(each) for each in group.nodes), default=""),
        pods=tuple(sorted(key_of(each) for each in group.pods)),
        nodes=tuple(names),
        workloads=tuple(evidence.workloads(group.pods)),
        facts=(*(f"node/{name}" for name in names), *facts_of(owner)),
        changes=tuple(_changes(group, is_silent=is_silent)),
    )


def _not_ready(group: Broken, names: list[str]) -> Sentence:
    message = group.message.rstrip(".")
    if not message:
        return say_count(
            "Node {nodes} is not ready (Ready={reason}).",
            "Nodes {nodes} are not ready (Ready={reason}).",
            len(names),
            nodes=listed(names),
            reason=group.reason,
        )
    return say_count(
        "Node {nodes} is not ready (Ready={reason}): {message}.",
        "Nodes {nodes} are not ready (Ready={reason}): {message}.",
        len(names),
        nodes=listed(names),
        reason=group.reason,
        message=message,
    )


def _cannot_end(leaving: list[str], owners: list[str]) -> Sentence:
    pods = listed(leaving, 4)
    if not owners:
        return say_count(
            "Pod {pods} cannot end: only the kubelet can confirm it.",
            "Pods {pods} cannot end: only the kubelet can confirm it.",
            len(leaving),
            pods=pods,
        )
    return say_count(
        "Pod {pods} cannot end: only the kubelet can confirm it, and {workloads} makes no "
        "replacement before.",
        "Pods {pods} cannot end: only the kubelet can confirm it, and {workloads} makes no "
        "replacement before.",
        len(leaving),
        pods=pods,
        workloads=owners_text(owners),
    )


def changes_of_dead(node: Manifest) -> Iterator[Change]:
    """What frees the volumes of a node that is not ready; one that still reports comes back first."""
    off, back = (each(key_of(node), [Node(node)]) for each in (_off, _back))
    is_silent = (condition(node, "Ready") or {}).get("status") == "Unknown"
    yield from (off, back) if is_silent else (back, off)


def _back(names: str, nodes: list[Node]) -> Change:
    return Change(
        text=say("Bring {names} back: repair the machine, its kubelet or its network", names=names),
        kind="ready",
        commands=bodies(chain.from_iterable(map(ready_again, nodes))),
    )


OFF: Final = "out-of-service"
_PRICE: Final = say("data, if the machine still runs: two copies may then write to one volume")


def _off(names: str, nodes: list[Node]) -> Change:
    return Change(
        text=say(
            "Taint {names} with {out_of_service_taint} once the machine is surely off",
            names=names,
            out_of_service_taint=OUT_OF_SERVICE_TAINT,
        ),
        kind=OFF,
        loses=_PRICE,
        note=say("Its pods are then removed and their volumes detached."),
        commands=bodies(map(out_of_service, nodes)),
    )


def _changes(group: Broken, *, is_silent: bool) -> Iterator[Change]:
    names = listed([key_of(each) for each in group.nodes])
    nodes = [Node(each) for each in group.nodes]
    leaving = [each for each in group.pods if each["metadata"].get("deletionTimestamp")]
    if not is_silent or not leaving:
        yield _back(names, nodes)
        return
    # Who cannot end there is not helped by waiting for the machine.
    yield _off(names, nodes)
    yield Change(
        text=say(
            "Delete {pods} by force (grace period 0) once the machine is surely off",
            pods=listed([key_of(each) for each in leaving], 4),
        ),
        kind="force",
        loses=_PRICE,
        commands=bodies(map(deleted_at_once, leaving)),
    )
    yield _back(names, nodes)


def _since(node: Manifest) -> str:
    ready = condition(node, "Ready") or {}
    return str(ready.get("lastTransitionTime") or "")


def is_of_network(message: str) -> bool:
    """Whether a kubelet or a runtime speaks of the network plugin."""
    return any(word in message for word in (*_NETWORK, *_SANDBOX_NETWORK))


def network_owner(evidence: Evidence) -> Behind | None:
    """The DaemonSet of a network plugin, by the usual names; one that is not ready first."""
    words = ("cni", "calico", "cilium", "flannel", "weave", "aws-node", "netd", "antrea", "canal")
    found = [
        each
        for each in evidence.all("DaemonSet")
        if any(word in each["metadata"]["name"] for word in words)
    ]
    best = min(found, key=_ready_share, default=None)
    return None if best is None else Behind(best)


def _ready_share(workload: Manifest) -> tuple[float, str]:
    status = section(workload, "status")
    wanted = int(status.get("desiredNumberScheduled") or 0)
    ready = int(status.get("numberReady") or 0)
    return (ready / wanted if wanted else 0.0), key_of(workload)
