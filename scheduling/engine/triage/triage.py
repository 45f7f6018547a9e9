"""The question: what is stuck in this cluster, why, and what would let it go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.observed.evidence import Evidence
from scheduling.engine.triage.deciding import Trials, deciding_on
from scheduling.engine.triage.pending_pods.groups import awaited_nodes, pending_group
from scheduling.engine.triage.pending_pods.held import held_back
from scheduling.engine.triage.pending_pods.remedies import with_changes
from scheduling.engine.triage.report import Group, Triage
from scheduling.engine.triage.stuck.claims import claim_groups
from scheduling.engine.triage.stuck.leaving import leaving_groups
from scheduling.engine.triage.stuck.nodes import broken_nodes, node_groups
from scheduling.engine.triage.stuck.placed import placed_groups
from scheduling.engine.triage.stuck.refused import refused_groups, with_places


def triage(cluster: Cluster, evidence: Evidence, *, tries_changes: bool = True) -> Triage:
    """What is stuck in *cluster*, whose files are *evidence*.

    *cluster* is only read. Nothing is played: causes are what the files say, and what the
    schedulers decide on the objects as they stand. Without *tries_changes* there are causes alone.
    """
    found, answers = _asked(cluster, evidence, tries_changes=tries_changes)
    groups = list(found.groups)
    for place, group in answers:
        groups[place] = group
    return replace(found, groups=tuple(groups))


def triage_parts(cluster: Cluster, evidence: Evidence) -> Iterator[Triage | Answer]:
    """The same in parts: the causes without changes, then each group, with its place, as answered."""
    found, answers = _asked(cluster, evidence, tries_changes=True)
    yield found
    yield from answers


# A group with its changes, and its place among the groups.
Answer = tuple[int, Group]
# Gives a group its changes.
_Ask = Callable[[], Group]


def _asked(
    cluster: Cluster, evidence: Evidence, *, tries_changes: bool
) -> tuple[Triage, Iterator[Answer]]:
    """The causes, and the groups with their changes, each computed when it is asked for."""
    found = sorted(_groups(cluster, evidence, tries_changes=tries_changes), key=_largest)
    looked_at = {"pod": len(list(evidence.all("Pod"))), "node": len(list(evidence.all("Node")))}
    causes = Triage(
        instant=evidence.instant,
        profile=cluster.profile,
        groups=tuple(group for group, _ in found),
        looked_at=looked_at,
    )
    return causes, ((place, ask()) for place, (_, ask) in enumerate(found) if ask is not None)


def _groups(
    cluster: Cluster, evidence: Evidence, *, tries_changes: bool
) -> Iterator[tuple[Group, _Ask | None]]:
    """Each group, and what gives it its changes; None where it has them already."""
    broken = broken_nodes(evidence)
    placed = list(placed_groups(evidence, broken))
    # What holds pods is named with them.
    named = {group.by.replace(" ", "/", 1) for group in placed}
    leaving = leaving_groups(evidence, broken, named)
    claims = list(claim_groups(evidence))
    yield from ((group, None) for group in (*placed, *leaving, *claims))
    # A pod that waits for a claim which was refused is held by what holds the claim.
    waiting = {pod for group in claims for pod in group.pods}
    deciding = deciding_on(cluster)
    deciding.pending = [pod for pod in deciding.pending if pod.key not in waiting]
    held_ones = held_back(evidence, deciding)
    trials = Trials(deciding)
    awaited = {name for held in held_ones for name in awaited_nodes(held, broken)}
    yield from ((group, None) for group in node_groups(evidence, broken, awaited))
    for group, made in refused_groups(evidence):
        tried = partial(with_places, trials, made, group) if made and tries_changes else None
        yield group, tried
    for held in held_ones:
        group = pending_group(evidence, deciding, held, broken)
        tried = partial(with_changes, evidence, trials, held, group) if tries_changes else None
        yield group, tried


def _largest(found: tuple[Group, _Ask | None]) -> tuple[int, str, str]:
    group, _ = found
    return -group.size, group.kind, group.by
