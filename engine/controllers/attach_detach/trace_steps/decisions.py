"""The steps for one volume: in a pass of the reconciler, and at the end of an operation.

Upstream: pkg/controller/volume/attachdetach/reconciler/reconciler.go.
"""

from dataclasses import dataclass
from typing import Literal

Decision = Literal[
    "attach",
    "attached already",
    "attached to another node",
    "detach",
    "detach by force",
    "mounted by the node",
    "node status not written",
    "running",
    "backing off",
]


@dataclass(frozen=True, slots=True)
class AttachDecided:
    """A pass looked at a *volume* for a node, in *function* of upstream.

    *others* are the other nodes that have it, where the volume allows one only.
    """

    function: Literal["reconcile", "attachDesiredVolumes"]
    volume: str
    decision: Decision
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachEnded:
    """An attach or a detach of a *volume* ended, with an *error* or well."""

    operation: str
    volume: str
    error: str
    failures: int = 0
    delay: int = 0
