"""Holds a run against what was expected of it: each expectation, whether it holds, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.input.header.expectations import Expectation
from engine.kernel.units import SECOND
from engine.objects.objects import Node, PersistentVolumeClaim, Pod
from engine.objects.pods.pod_resources import pod_resources
from engine.versions.registry import VERSIONS
from kscope.program.asking.gate.budgets import Budgets
from kscope.program.asking.play.tally import PodLife, Tally
from kscope.program.speech.words import counted

_ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_PLACED: Final = {
    "placed": "placed",
    "waiting": "waiting",
    "running": "running",
    "evicted": "evicted",
}


@dataclass(frozen=True, slots=True)
class Held:
    """One expectation: what it says, what was found, and whether it holds.

    `pod` is the pod to ask about where it does not.
    """

    title: str
    holds: bool
    found: str = ""
    pod: str = ""
    # The key of what is wanted, in the expectation.
    what: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run at its end: its cluster, its pods, and what the last attempt of each said."""

    cluster: Cluster
    tally: Tally
    # Of pods without a node: the plugins that refused them, and upstream's message.
    refusals: Mapping[str, tuple[frozenset[str], str]]
    budgets: Budgets


def held(expectation: Expectation, ended: Ended) -> Held:
    """Whether it holds."""
    return replace(_OF[expectation.about](expectation, ended), what=expectation.what)


def _pod(expectation: Expectation, ended: Ended) -> Held:
    key, what, wanted = expectation.key, expectation.what, expectation.wanted
    life = ended.tally.pods.get(key)
    title = f"pod {key} {_pod_title(what, wanted)}"
    if life is None:
        return Held(title, holds=False, found="there is no such pod in the run")
    holds, found = _POD[what](life, wanted, ended)
    return Held(title, holds, found, "" if holds else key)


def _pod_title(what: str, wanted: Any) -> str:
    if what == "refused":
        return "is refused" if wanted is True else f"is refused by {wanted}"
    if what == "waitsAtMost":
        return f"waits at most {wanted / SECOND:g} s"
    if isinstance(wanted, bool):
        return f"is {'' if wanted else 'not '}{what}"
    return {"node": f"is on node {wanted}", "zone": f"is in zone {wanted}"}.get(
        what, f"is {wanted}"
    )


def _bound(life: PodLife, wanted: bool, _: Ended) -> tuple[bool, str]:
    return bool(life.node) == wanted, f"on {life.node}" if life.node else "it waits"


def _node(life: PodLife, wanted: str, _: Ended) -> tuple[bool, str]:
    return life.node == wanted, f"on {life.node}" if life.node else "it waits"


def _zone(life: PodLife, wanted: str, ended: Ended) -> tuple[bool, str]:
    node = ended.cluster.store.find(Node.KIND, life.node) if life.node else None
    labels = node.labels if node is not None else {}
    zone = next((labels[name] for name in _ZONES if name in labels), "")
    return zone == wanted, f"on {life.node}, in {zone or 'no zone'}" if life.node else "it waits"


def _phase(life: PodLife, wanted: str, _: Ended) -> tuple[bool, str]:
    phase = life.phase or "Pending"
    return phase == wanted, phase


def _refused(life: PodLife, wanted: Any, ended: Ended) -> tuple[bool, str]:
    if life.node:
        return False, f"on {life.node}"
    plugins, message = ended.refusals.get(life.key, (frozenset[str](), ""))
    if not message:
        return False, "it was not tried"
    by = ", ".join(sorted(plugins)) or message
    return wanted is True or wanted in plugins or str(wanted) in message, f"refused by {by}"


def _evicted(life: PodLife, wanted: bool, _: Ended) -> tuple[bool, str]:
    return bool(
        life.evicted_by
    ) == wanted, f"evicted by {life.evicted_by}" if life.evicted_by else "it was not"


def _waits(life: PodLife, wanted: int, ended: Ended) -> tuple[bool, str]:
    waited = life.waited(ended.cluster.now)
    return waited <= wanted, f"{waited / SECOND:.1f} s" + (", still waits" if life.waits else "")


_POD: Final[Mapping[str, Callable[[PodLife, Any, Ended], tuple[bool, str]]]] = {
    "bound": _bound,
    "node": _node,
    "zone": _zone,
    "phase": _phase,
    "refused": _refused,
    "evicted": _evicted,
    "waitsAtMost": _waits,
}


def _pods(expectation: Expectation, ended: Ended) -> Held:
    lives = list(_chosen(expectation, ended))
    if expectation.what == "waitAtMost":
        return _all_wait(expectation, lives, ended)
    matching = [each for each in lives if _COUNTED[expectation.what](each)]
    least, most = expectation.wanted
    holds = len(matching) >= least and (most is None or len(matching) <= most)
    others = [each for each in lives if each not in matching]
    suspects = others if len(matching) < least else matching
    title = (
        f"{_amount(least, most)}{_who(expectation)} {_are(least, most)} {_PLACED[expectation.what]}"
    )
    found = f"{len(matching):,} of {len(lives):,} {'is' if len(matching) == 1 else 'are'}"
    return Held(title, holds, found, suspects[0].key if suspects and not holds else "")


_COUNTED: Final[Mapping[str, Callable[[PodLife], bool]]] = {
    "placed": lambda life: bool(life.node),
    "waiting": lambda life: life.waits,
    "running": lambda life: life.is_there and life.phase == "Running",
    "evicted": lambda life: bool(life.evicted_by),
}


def _all_wait(expectation: Expectation, lives: list[PodLife], ended: Ended) -> Held:
    longest = max(lives, key=lambda each: each.waited(ended.cluster.now), default=None)
    title = f"pods{_who(expectation)} wait at most {expectation.wanted / SECOND:g} s"
    if longest is None:
        return Held(title, holds=True, found="there are no such pods")
    waited = longest.waited(ended.cluster.now)
    holds = waited <= expectation.wanted
    return Held(
        title, holds, f"{longest.key} waited {waited / SECOND:.1f} s", "" if holds else longest.key
    )


def _chosen(expectation: Expectation, ended: Ended) -> Iterator[PodLife]:
    for life in ended.tally.lives():
        if expectation.namespace and life.key.partition("/")[0] != expectation.namespace:
            continue
        if all(life.labels.get(name) == value for name, value in expectation.labels):
            yield life


def _amount(least: int, most: int | None) -> str:
    if most == least:
        return counted(least, "pod")
    if most is None:
        return f"at least {counted(least, 'pod')}"
    return f"{least:,} to {counted(most, 'pod')}" if least else f"at most {counted(most, 'pod')}"


def _are(least: int, most: int | None) -> str:
    return "is" if (most if most is not None else least) == 1 else "are"


def _who(expectation: Expectation) -> str:
    labels = ",".join(f"{name}={value}" for name, value in expectation.labels)
    of = f" of {labels}" if labels else ""
    return f"{of} in {expectation.namespace}" if expectation.namespace else of


def _claim(expectation: Expectation, ended: Ended) -> Held:
    key, wanted = expectation.key, expectation.wanted
    claim = ended.cluster.store.find(PersistentVolumeClaim.KIND, key)
    if expectation.what == "bound":
        title = f"claim {key} is {'' if wanted else 'not '}bound"
    else:
        title = f"claim {key} has volume {wanted}"
    if not isinstance(claim, PersistentVolumeClaim):
        return Held(title, holds=False, found="there is no such claim at the end")
    phase, volume = claim.status.get("phase") or "Pending", claim.volume_name
    if expectation.what == "bound":
        return Held(title, (phase == "Bound") == wanted, str(phase))
    return Held(title, volume == wanted, f"it has {volume}" if volume else str(phase))


def _nodes(expectation: Expectation, ended: Ended) -> Held:
    nodes = [
        node
        for node in ended.cluster.store.objects(Node.KIND)
        if isinstance(node, Node)
        and all(node.labels.get(name) == value for name, value in expectation.labels)
    ]
    wanted: Mapping[str, tuple[int, int | None]] = expectation.wanted
    limits = ", ".join(f"{name} {_share(*each)}" for name, each in wanted.items())
    title = f"pods ask for {limits} of nodes{_who(expectation)}"
    if not nodes:
        return Held(title, holds=False, found="there are no such nodes at the end")
    asked = _asked_of(nodes, ended.cluster)
    found: list[str] = []
    holds = True
    for name, (least, most) in wanted.items():
        there = sum(node.allocatable_units.get(name, 0) for node in nodes)
        share = 100 * asked.get(name, 0)
        holds &= least * there <= share and (most is None or share <= most * there)
        found.append(f"{name} {share // there if there else 0} %")
    return Held(title, holds, ", ".join(found))


def _share(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} %"
    return f"{least} to {most} %" if least else f"at most {most} %"


def _asked_of(nodes: list[Node], cluster: Cluster) -> dict[str, int]:
    """What the pods on *nodes* request that have not ended, as the scheduler counts it."""
    names = {node.name for node in nodes}
    asked: dict[str, int] = {}
    for pod in cluster.store.objects(Pod.KIND):
        if isinstance(pod, Pod) and pod.node_name in names and not pod.is_terminated:
            requested = pod_resources(pod.raw, VERSIONS[cluster.profile].resources).requested
            for name, amount in {"pods": 1, **requested.amounts()}.items():
                asked[name] = asked.get(name, 0) + amount
    return asked


def _budget(expectation: Expectation, ended: Ended) -> Held:
    key, wanted = expectation.key, expectation.wanted
    title = f"budget {key} is {'' if wanted else 'not '}kept"
    if not ended.budgets.has(key):
        return Held(title, holds=False, found="there is no such budget in the run")
    worst = ended.budgets.worst(key)
    found = worst.text if worst is not None else "it was kept"
    return Held(title, (worst is None) == wanted, found)


_OF: Final[Mapping[str, Callable[[Expectation, Ended], Held]]] = {
    "pod": _pod,
    "pods": _pods,
    "claim": _claim,
    "nodes": _nodes,
    "budget": _budget,
}


def refusals_at_end(cluster: Cluster) -> Mapping[str, tuple[frozenset[str], str]]:
    """What the schedulers last said of the pods that wait, with the plugins that refused them."""
    found: dict[str, tuple[frozenset[str], str]] = {}
    for scheduler in cluster.schedulers:
        for pod in cluster.store.objects(Pod.KIND):
            queued = scheduler.queue.get(pod.key)
            if queued is None:
                continue
            conditions = pod.status.get("conditions") or ()
            told = next((each for each in conditions if each.get("type") == "PodScheduled"), {})
            plugins = frozenset(queued.unschedulable_plugins)
            found[pod.key] = plugins, str(told.get("message") or "")
    return found
