"""What a scheduling cycle would have decided, had the pod asked for another amount of a resource.

Decided by the scheduler that is asked about, on what it knows; no time passes, and no controller acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.cluster.cluster import Cluster
from engine.diagnosis.world import World
from engine.framework.trace_steps.filters import Filtered
from engine.framework.trace_steps.nodes import NodesOrdered
from engine.kernel.trace import Trace
from engine.objects.objects import Pod
from engine.plugins.node_resources_fit.asking import asking
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.trace_scores import HostChosen, Scored

BEST = 10
"""Of more nodes that fit, only so many of the best are named."""
_FEW_NODES = 200
_AMOUNTS, _AMOUNTS_OF_MANY = 30, 6
_STEPS = tuple(factor * 10**power for power in range(9) for factor in (1, 2, 5))


@dataclass(frozen=True, slots=True)
class Supposed:
    """The decision with another `amount`: the nodes with the highest `total`, and their scores.

    `fits` counts the nodes that pass Filter; `refused` has each reason of the others, with how many
    nodes have it. `fields` of its spec let the pod ask for so much.
    """

    amount: int
    fits: int
    tied: tuple[str, ...]
    total: int | None
    refused: tuple[str, ...]
    score: Scored | None
    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class WhatIf:
    """How much of `resource` the pod asks for, and what other amounts would come to, by amount."""

    resource: str
    asked: int
    supposed: tuple[Supposed, ...]


def what_if(cluster: Cluster, pod: Pod, resource: str, searched: NodesOrdered) -> WhatIf | None:
    """What the pod's scheduler would decide just now; its search takes the nodes as *searched* did.

    *cluster* is of no use afterwards. None where no scheduler has the pod's profile.
    """
    algorithm = next(
        filter(
            None, (each.scheduler.algorithm_for(pod.scheduler_name) for each in cluster.replicas)
        ),
        None,
    )
    if algorithm is None:
        return None
    world = World.over(algorithm, pod)
    asked = world.info().resources.fit.get(resource)
    decided = (
        _decided(cluster, world, resource, amount, searched)
        for amount in _amounts(algorithm, resource, asked)
    )
    return WhatIf(resource, asked, tuple(filter(None, decided)))


def _amounts(algorithm: SchedulingAlgorithm, resource: str, asked: int) -> Sequence[int]:
    """In even steps up to what the emptiest node has room for and one more, and the recorded one."""
    table = algorithm.table
    column, rows = table.resource(resource), table.active
    free = table.allocatable[column][rows] - table.requested[column][rows]
    largest = max(int(free.max()) if len(free) else 0, asked, 1)
    number = _AMOUNTS if len(table) <= _FEW_NODES else _AMOUNTS_OF_MANY
    step = next(each for each in _STEPS if each * number >= largest)
    return sorted({*range(step, largest + step + 1, step), asked})


def _decided(
    cluster: Cluster, world: World, resource: str, amount: int, searched: NodesOrdered
) -> Supposed | None:
    fields = asking(world.info(), resource, amount)
    if fields is None:
        return None
    algorithm, pod = world.algorithm, world.pod.patched({"spec": fields})
    trace = Trace(cluster.loop, cluster.recorder, (pod.id,))
    algorithm.handle.next_start = searched.start
    algorithm.schedule(world.info(pod), _rows(algorithm, searched), trace=trace)
    steps = {type(entry.step): entry.step for entry in trace.entries}
    score, host, search = steps.get(Scored), steps.get(HostChosen), steps.get(Filtered)
    return Supposed(
        amount,
        len(score.nodes) if isinstance(score, Scored) else 0,
        host.tied if isinstance(host, HostChosen) else (),
        host.total if isinstance(host, HostChosen) else None,
        _refusals(search) if isinstance(search, Filtered) else (),
        _best(score) if isinstance(score, Scored) else None,
        fields,
    )


def _rows(algorithm: SchedulingAlgorithm, searched: NodesOrdered) -> Any:
    """The order of all nodes, from which the search begins at its start."""
    rows = [algorithm.table.rows[name] for name in searched.order]
    return np.roll(np.array(rows, np.int64), searched.start)


def _refusals(search: Filtered) -> tuple[str, ...]:
    numbers: dict[str, int] = {}
    for node in search.nodes:
        for reason in search.refusals[node.refusal].reasons if node.refusal >= 0 else ():
            numbers[reason] = numbers.get(reason, 0) + 1
    return tuple(f"{number} {reason}" for reason, number in numbers.items())


def _best(score: Scored) -> Scored:
    best = sorted(score.nodes, key=lambda node: -node.total)[:BEST]
    return replace(score, nodes=tuple(best))
