"""Random histories of what pages draw: pods, nodes, claims and volumes in all their states."""

import random
from typing import Any

from engine.kernel.units import SECOND
from engine.kernel.view import Attributes, Changes, State, diff, fold

_PHASES = ("Pending", "Running", "Succeeded")
_QUEUES = ("unschedulable", "backoff", "active", "in_flight", "gated")
_NODES = ("n1", "n2", "n10", "gone")
_CLAIMS = ("shop/data-1", "shop/data-2", "ci/cache")
_VOLUMES = ("d1", "d2", "d10")
_CLASSES = ("", "fast", "slow")
_PODS = ("shop/web-1", "shop/web-2", "shop/web-10", "ci/build", "ci/web-1")
_FAULT = {"container": "app", "reason": "CrashLoopBackOff", "is_fault": True, "since": 0}

History = list[tuple[int, int, Changes]]


def history(seed: int, length: int) -> History:
    """So many events as (seq, at, changes), each of which sets or removes some objects."""
    dice = random.Random(seed)
    state: State = {}
    events: History = []
    at = 0
    for seq in range(1, length + 1):
        at += dice.choice((0, SECOND, 7 * SECOND))
        changes = _changes(dice, state, at)
        fold(state, changes)
        events.append((seq, at, changes))
    return events


def state_after(events: History) -> State:
    """The state that the events lead to."""
    state: State = {}
    for _, _, changes in events:
        fold(state, changes)
    return state


def _changes(dice: random.Random, state: State, at: int) -> Changes:
    changes: Changes = {}
    for entity in dice.sample(_ENTITIES, dice.choice((0, 1, 1, 2, 5))):
        old = state.get(entity)
        if old is not None and dice.random() < 0.2:
            changes[entity] = None
            continue
        new = _MADE[entity.partition("/")[0]](dice, at)
        changes[entity] = diff(old or {}, new)
    return changes


def _pod(dice: random.Random, at: int) -> Attributes:
    return _some(
        dice,
        node=dice.choice(_NODES),
        assumed=dice.choice(_NODES),
        nominated=dice.choice(_NODES),
        queue=dice.choice(_QUEUES),
        phase=dice.choice(_PHASES),
        told=dice.choice((_FAULT, {"reason": "ContainersNotReady", "since": -700 * SECOND})),
        priority=dice.randrange(3),
        attempts=dice.randrange(3),
        created=dice.randrange(3),
    ) | _rarely(
        dice,
        deleting=at,
        trouble={"name": "FailedMount", "failures": 2, "failed": at, "error": "no"},
    )


def _node(dice: random.Random, at: int) -> Attributes:
    return _some(
        dice,
        ready=True,
        zone=dice.choice("ab"),
        allocatable={"cpu": 4000, "memory": 2**30, "pods": 110},
        requested={"cpu": dice.randrange(4000), "pods": dice.randrange(9)},
        volumes={name: _kubelet(dice, at) for name in dice.sample(_VOLUMES, dice.randrange(3))},
        attachments={
            name: _controller(dice, at) for name in dice.sample(_VOLUMES, dice.randrange(3))
        },
    ) | _rarely(
        dice,
        deleting=at,
        unschedulable=True,
        taints=[{"key": "node.kubernetes.io/disk-pressure", "effect": "NoSchedule"}],
    )


def _kubelet(dice: random.Random, at: int) -> Attributes:
    pods = dice.sample(_PODS, dice.randrange(3))
    return {"name": "disk", "desired": dict.fromkeys(pods, at)} | _some(
        dice,
        mounts={pod: "VolumeMounted" for pod in pods if dice.random() < 0.5},
        operations={dice.choice(("*", *_PODS)): _operation(dice, at)},
        attached=True,
        attachable=True,
    )


def _controller(dice: random.Random, at: int) -> Attributes:
    return {"name": "disk"} | _some(
        dice,
        desired=dict.fromkeys(dice.sample(_PODS, dice.randrange(2)), at),
        attached=True,
        mounted_by_node=True,
        detach_requested=at,
        multi_attach_error_reported=True,
        operation=_operation(dice, at),
    )


def _operation(dice: random.Random, at: int) -> Attributes:
    failed = {"failures": 3, "retry_at": at + SECOND, "error": "no"}
    return {"name": "volume_mount", **(failed if dice.random() < 0.4 else {"started": at})}


def _claim(dice: random.Random, at: int) -> Attributes:
    return _some(
        dice,
        phase=dice.choice(("Pending", "Bound", "Bound", "Lost")),
        volume=dice.choice(_VOLUMES),
        selected_node=dice.choice(_NODES),
        completed=True,
        **{"class": dice.choice(_CLASSES[1:])},
    )


def _volume(dice: random.Random, at: int) -> Attributes:
    return _some(
        dice,
        phase=dice.choice(("Available", "Bound", "Bound", "Released", "Failed")),
        claim=dice.choice(_CLAIMS),
        **{"class": dice.choice(_CLASSES[1:])},
    )


def _some(dice: random.Random, **values: Any) -> Attributes:
    return {name: value for name, value in values.items() if dice.random() < 0.6}


def _rarely(dice: random.Random, **values: Any) -> Attributes:
    return {name: value for name, value in values.items() if dice.random() < 0.1}


_MADE = {"pod": _pod, "node": _node, "claim": _claim, "volume": _volume}
_ENTITIES = [
    *(f"pod/{key}" for key in _PODS),
    *(f"node/{name}" for name in _NODES[:3]),
    *(f"claim/{key}" for key in _CLAIMS),
    *(f"volume/{name}" for name in _VOLUMES),
]
