"""Changes of a path tried in forks: when the pod would have been bound."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.fork import Limits, run_fork
from engine.diagnosis.path.shorter import Change

_LIMITS = Limits(steps=200_000, cycles=4_000)


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a change in a fork: the node and when the pod was bound, and how much sooner.

    `saves` is negative where it came later, None where it was not bound. `refusal` is why a command
    was not carried out.
    """

    name: str
    objects: tuple[str, ...]
    node: str
    at: int | None
    saves: int | None
    refusal: str


def tried(
    change: Change, pod_key: str, bound_at: int, cluster_after: Callable[[int], Cluster]
) -> Tried | None:
    """Try *change* on the cluster as it was after its event; None where no command does it.

    *cluster_after* makes a cluster that may be used up; *bound_at* is when the pod was bound.
    """
    if change.seq is None or not change.commands:
        return None
    commands = [Command.from_dict(dict(each)) for each in change.commands]
    trial = run_fork(cluster_after(change.seq), pod_key, _LIMITS, commands)
    at: Any = trial.at if trial.node else None
    saves = None if at is None else bound_at - at
    return Tried(change.name, change.objects, trial.node, at, saves, trial.refusal)
