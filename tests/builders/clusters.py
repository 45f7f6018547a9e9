"""Clusters of a few objects, and what happens in them."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario, Step
from engine.kernel.units import SECOND

Manifest = dict[str, Any]


def scene(*objects: Manifest, **fields: Any) -> Scenario:
    """A scenario of *objects*; `steps` are (seconds, verb, further fields of the step)."""
    steps = [Step(at=at * SECOND, verb=verb, **more) for at, verb, more in fields.pop("steps", ())]
    return Scenario(name="test", objects=objects, steps=tuple(steps), **fields)


def played(cluster: Cluster, seconds: int = 60) -> Cluster:
    """*cluster* after some time."""
    cluster.advance(cluster.now + seconds * SECOND)
    return cluster


def apply_command(cluster: Cluster, **command: Any) -> None:
    """A command that must be accepted, such as `verb="delete", object="pod/default/p"`."""
    outcome = cluster.apply(Command(**command))
    assert outcome.applied, outcome.reason


def node_of(cluster: Cluster, name: str) -> str:
    """The node of a pod in namespace default; "" while it has none."""
    found = cluster.store.get("Pod", f"default/{name}")
    return found.spec.get("nodeName") or ""
