"""A pod that has evicted others and waits for them to leave its nominated node."""

from __future__ import annotations

from collections.abc import Sequence

from engine.api_server.store.store import ObjectStore
from engine.diagnosis.report import Cause
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import fact
from engine.kernel.sentences import say
from engine.kernel.units import SECOND, nanoseconds_of
from engine.objects.objects import Node, Pod
from engine.plugins.taint_toleration.facts import condition_facts


def nomination_cause(store: ObjectStore, pod: Pod, victims: Sequence[Pod]) -> Cause:
    """*victims* are terminating on the node that *pod* is nominated to."""
    name = pod.nominated_node_name
    names = listed([each.name for each in victims], 4)
    because = [
        fact(
            pod,
            ("status", "nominatedNodeName"),
            say("Pod {pod} is nominated to {name}.", pod=pod.key, name=name),
        ),
    ]
    for victim in victims[:FEW]:
        since = victim.deletion_timestamp
        text = say(
            "Pod {victim} on {name} is terminating: its deletionTimestamp is {since}.",
            victim=victim.key,
            name=name,
            since=since,
        )
        because.append(fact(victim, ("metadata", "deletionTimestamp"), text))
        for place, finalizer in enumerate(victim.finalizers):
            text = say(
                "The finalizer {finalizer} holds pod {victim}.",
                finalizer=finalizer,
                victim=victim.key,
            )
            because.append(fact(victim, ("metadata", "finalizers", place), text))
    node = store.find(Node.KIND, name)
    why = say(
        "While a pod of lower priority is terminating on its nominated node, it "
        "evicts no others; raising its priority changes nothing."
    )
    if isinstance(node, Node) and not node.is_ready:
        because.extend(condition_facts(node, "Ready"))
        why = say(
            "Node {name} is not ready, so no kubelet ends them; a forced deletion would.", name=name
        )
    sentence = say("Waits for {pods} to leave {node}.", pods=names, node=name)
    left = _grace_left(store, victims)
    if left > 0:
        sentence = say(
            "Waits for {pods} to leave {node}; {seconds} s of grace are left.",
            pods=names,
            node=name,
            seconds=left,
        )
    return Cause(
        severity="delays",
        sentence=sentence,
        plugin="DefaultPreemption",
        why=why,
        because=tuple(because),
    )


def _grace_left(store: ObjectStore, victims: Sequence[Pod]) -> int:
    """How many seconds of the grace of all are left: a deletionTimestamp is when it is over."""
    ends = max(nanoseconds_of(each.deletion_timestamp) for each in victims)
    return (ends - store.clock) // SECOND


def stays(victim: Pod, store: ObjectStore) -> bool:
    """Whether a terminating pod may never go: no kubelet of its node answers, or it is overdue.

    It is overdue when its grace period was over before, as in the dump of a cluster where it stays.
    """
    node = store.find(Node.KIND, victim.node_name)
    if not isinstance(node, Node) or not node.is_ready:
        return True
    ends = nanoseconds_of(victim.deletion_timestamp)
    grace = int(victim.metadata.get("deletionGracePeriodSeconds") or 0) * SECOND
    # Timestamps are in whole seconds.
    return not store.clock - SECOND <= ends <= store.clock + grace + SECOND
