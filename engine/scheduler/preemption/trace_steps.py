"""The steps of a preemption."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.framework.framework import Status


@dataclass(frozen=True, slots=True)
class DryRunsOrdered:
    """The nodes on which evictions might help, in the order of the dry runs.

    It begins at a drawn `offset` into the list, None in versions that look at all; the dry runs end
    with `wanted` candidates, one of them without a violation.
    """

    nodes: tuple[str, ...]
    offset: int | None
    wanted: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A pod that was off the node on trial: whether it got its place back, and why not."""

    pod: str
    priority: int
    violates: bool
    reprieved: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DryRunMade:
    """A dry run on one node: all pods of lower priority are off, then come back one by one.

    `refused` says why the node is no candidate, even without them. Those of budgets come first.
    """

    node: str
    asked: tuple[Asked, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedCandidate:
    """A node with room once the victims are gone, and what that costs at each rung."""

    node: str
    victims: tuple[str, ...]
    reprieved: tuple[str, ...]
    violations: int
    costs: Mapping[str, int | None]


@dataclass(frozen=True, slots=True)
class Rung:
    """A criterion of the choice, and the candidates that are left after it."""

    rung: str
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hopeless:
    """Nodes that are no candidates for the same reasons."""

    reasons: tuple[str, ...]
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PostFiltered:
    """What the preemption came to: the chosen node, "" with a `message` that says why none is."""

    node: str
    message: str
    candidates: tuple[ComparedCandidate, ...]
    rungs: tuple[Rung, ...]
    hopeless: tuple[Hopeless, ...]


def hopeless(statuses: Mapping[str, Status]) -> tuple[Hopeless, ...]:
    """The nodes of *statuses*, by reason."""
    by_reason: dict[tuple[str, ...], list[str]] = {}
    for node, status in sorted(statuses.items()):
        by_reason.setdefault(status.reasons, []).append(node)
    return tuple(Hopeless(reasons, tuple(nodes)) for reasons, nodes in by_reason.items())


def rungs(named: Iterable[tuple[str, list[str]]]) -> tuple[Rung, ...]:
    """The rungs, as a step has them."""
    return tuple(Rung(name, tuple(left)) for name, left in named)
