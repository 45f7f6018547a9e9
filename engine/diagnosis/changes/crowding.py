"""Changes that delete one pod, so that the pod in question fits on a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, Situation
from engine.framework.explaining.case import Refusal
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import Sentence, say
from engine.objects.objects import Pod

# On how many nodes, the closest first, and for how many pods of each, one pod less is tried.
_CROWDED, _LEAVING_PODS = 6, 40


@dataclass(frozen=True, slots=True)
class Leaving:
    """A pod to delete, the node that it blocks, and whether its volumes must be detached first."""

    pod: PodInfo
    node: str
    detaches: bool


def lone_pods(situation: Situation) -> Iterator[Candidate]:
    """Delete one pod that is in the way and that no workload recreates."""
    return _fewer_pods(situation, owned=False)


def peers(situation: Situation) -> Iterator[Candidate]:
    """Delete one pod that is in the way; its workload creates another."""
    return _fewer_pods(situation, owned=True)


def _fewer_pods(situation: Situation, *, owned: bool) -> Iterator[Candidate]:
    """The pods to delete, those of the lowest priority first, then the smallest."""
    found: dict[str, Leaving] = {}
    for each, node in situation.near(_CROWDED):
        attached = any(obstacle.detail.unit == "volumes" for obstacle in each.obstacles)
        for row, other in _in_the_way(situation, each):
            if other.key in found or not _may_go(other.pod):
                continue
            if bool(other.pod.owner_references) != owned:
                continue
            detaches = attached and bool(other.pod.claim_names)
            if detaches or situation.world.fits_without(each.row, other, row):
                found[other.key] = Leaving(other, node.name, detaches)
    for leaving in sorted(found.values(), key=_missed_least):
        other = leaving.pod
        yield Candidate(
            kind="pod",
            text=say(
                "Delete the pod {pod} on {node}",
                pod=other.key,
                node=other.node_name or leaving.node,
            ),
            command=Command(verb="delete", object=other.pod.id),
            # Its volumes have to be detached first.
            decidable=not leaving.detaches,
            note=_deletion_note(other.pod),
        )


def _deletion_note(pod: Pod) -> Sentence:
    owner = next(iter(pod.owner_references), None)
    if owner is None:
        return say("Its work ends: no workload creates that pod again.")
    return say(
        "Its work is interrupted; {kind} {name} creates another pod, which needs room elsewhere.",
        kind=str(owner.get("kind")),
        name=str(owner.get("name")),
    )


def _may_go(pod: Pod) -> bool:
    """Whether deleting the pod helps: it is not being deleted, and would not be back at once."""
    back = any(owner.get("kind") in ("DaemonSet", "Node") for owner in pod.owner_references)
    mirrored = "kubernetes.io/config.mirror" in pod.annotations
    return not back and not mirrored and not pod.deletion_timestamp


def _missed_least(leaving: Leaving) -> tuple[int, bool, int, int, str]:
    info = leaving.pod
    held = info.resources.requested
    owned = bool(info.pod.owner_references)
    return info.priority, owned, held.milli_cpu, held.memory, info.key


def _in_the_way(situation: Situation, refused: Refusal) -> Iterable[tuple[int, PodInfo]]:
    """Pods that may block the node: those on it, in its domain, or with the same claims."""
    world, info = situation.world, situation.world.info()
    here = sorted(world.table.pods[refused.row].values(), key=_small_first)
    found = [(refused.row, other) for other in here[:_LEAVING_PODS]]
    domains = {
        str(obstacle.detail.numbers["topologyKey"]): str(obstacle.detail.numbers["domain"])
        for obstacle in refused.obstacles
        if "domain" in obstacle.detail.numbers
    }
    if domains or situation.pod.claim_names:
        found.extend(_elsewhere(situation, refused.row, domains, info))
    return found


def _elsewhere(
    situation: Situation, row: int, domains: Mapping[str, str], info: PodInfo
) -> Iterator[tuple[int, PodInfo]]:
    claims, namespace = set(info.pod.claim_names), info.pod.namespace
    left = _LEAVING_PODS
    for other_row, node in situation.world.nodes():
        near = any(node.labels.get(key) == value for key, value in domains.items())
        if other_row == row or not (near or claims):
            continue
        for other in situation.world.table.pods[other_row].values():
            shares = other.pod.namespace == namespace and not claims.isdisjoint(
                other.pod.claim_names
            )
            if shares or (near and _concerns(info, other)):
                yield other_row, other
                left -= 1
                if left == 0:
                    return


def _concerns(info: PodInfo, other: PodInfo) -> bool:
    """Whether a rule of either pod, or the pod's spreading, applies to the other."""
    pod = info.pod
    own = any(
        term.matches(other.pod.namespace, other.pod.labels) for term in info.affinity.required_anti
    )
    theirs = any(term.matches(pod.namespace, pod.labels) for term in other.affinity.required_anti)
    spreads = bool(pod.spec.get("topologySpreadConstraints"))
    return own or theirs or (spreads and other.pod.namespace == pod.namespace)


def _small_first(info: PodInfo) -> tuple[int, int, int, str]:
    held = info.resources.requested
    return info.priority, held.milli_cpu, held.memory, info.key
