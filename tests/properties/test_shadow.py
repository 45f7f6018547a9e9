"""Whatever a client decides in place of a scheduler, and in what order, the run goes on."""

import random
from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.units import SECOND
from tests.builders import claim, node, pod, scene, storage_class

EXTERNAL = ({"name": "default-scheduler", "external": True},)
PODS, NODES, CLAIMS = ("p", "q", "r", "s"), ("a", "b", "c"), ("data", "more")
STEPS = 60


def scheduling(condition: str, node_name: str) -> dict[str, Any]:
    """A status as schedulers write it."""
    status: dict[str, Any] = {"nominatedNodeName": node_name or None}
    if condition:
        reason = {"type": "PodScheduled", "status": "False", "reason": condition}
        status["conditions"] = [
            {**reason, "message": "0/3 nodes are available: 3 Insufficient cpu."}
        ]
    return {"status": status}


def new_object(draw: random.Random) -> Any:
    name = draw.choice(PODS + NODES + CLAIMS)
    if name in NODES:
        return node(name, cpu=draw.choice("248"))
    if name in CLAIMS:
        return claim(name, "late")
    claims = [draw.choice(CLAIMS)] if draw.random() < 0.5 else []
    return pod(name, cpu=draw.choice("123"), priority=draw.choice((0, 0, 5)), claims=claims)


def next_command(draw: random.Random) -> Command:
    name, on = f"pod/default/{draw.choice(PODS)}", draw.choice((*NODES, "none"))
    match draw.randrange(8):
        case 0 | 1:
            return Command(verb="bind", object=name, node=on)
        case 2:
            return Command(verb="patch", object=name, patch=scheduling("", on))
        case 3:
            reason = draw.choice(("Unschedulable", "SchedulerError"))
            return Command(
                verb="patch", object=name, patch=scheduling(reason, draw.choice(("", on)))
            )
        case 4:
            chosen = {"volume.kubernetes.io/selected-node": draw.choice((on, None))}
            patch = {"metadata": {"annotations": chosen}}
            return Command(verb="patch", object=f"claim/default/{draw.choice(CLAIMS)}", patch=patch)
        case 5:
            gone = draw.choice((name, f"node/{on}", f"claim/default/{draw.choice(CLAIMS)}"))
            return Command(verb="delete", object=gone)
        case _:
            return Command(verb="create", manifest=new_object(draw))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("profile", ["v1.20", "v1.34", "v1.36"])
def test_any_decisions_of_a_client_are_compared(profile: str, seed: int) -> None:
    draw = random.Random(seed)
    objects = [node(name) for name in NODES[:2]] + [pod("p"), pod("q", claims=["data"])]
    first = scene(*objects, claim("data", "late"), storage_class("late", "csi.example.com"))
    cluster = Cluster.create(scene(*first.objects, schedulers=EXTERNAL), profile=profile, seed=seed)
    compared = 0
    for _ in range(STEPS):
        cluster.apply(next_command(draw))
        cluster.advance(cluster.now + draw.choice((0, SECOND // 20, SECOND, 40 * SECOND)))
        compared += sum(one.kind == "ShadowDecision" for one in cluster.take().events)
        assert cluster.failure == ""
    assert compared > 0
