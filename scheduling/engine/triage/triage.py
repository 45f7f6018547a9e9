"""The question: what is stuck in this cluster, why, and what would let it go on."""

from __future__ import annotations

from collections.abc import Iterator

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
from scheduling.engine.triage.stuck.refused import refused_groups


def triage(cluster: Cluster, evidence: Evidence, *, tries_changes: bool = True) -> Triage:
    """What is stuck in *cluster*, whose files are *evidence*.

    *cluster* is only read. Nothing is played: causes are what the files say, and what the
    schedulers decide on the objects as they stand. Without *tries_changes* there are causes alone.
    """
    groups = sorted(_groups(cluster, evidence, tries_changes=tries_changes), key=_largest)
    looked_at = {"pod": len(list(evidence.all("Pod"))), "node": len(list(evidence.all("Node")))}
    return Triage(
        instant=evidence.instant,
        profile=cluster.profile,
        groups=tuple(groups),
        looked_at=looked_at,
    )


def _groups(cluster: Cluster, evidence: Evidence, *, tries_changes: bool) -> Iterator[Group]:
    broken = broken_nodes(evidence)
    placed = list(placed_groups(evidence, broken))
    yield from placed
    # What holds pods is named with them.
    named = {group.by.replace(" ", "/", 1) for group in placed}
    yield from leaving_groups(evidence, broken, named)
    claims = list(claim_groups(evidence))
    yield from claims
    # A pod that waits for a claim which was refused is held by what holds the claim.
    waiting = {pod for group in claims for pod in group.pods}
    deciding = deciding_on(cluster)
    deciding.pending = [pod for pod in deciding.pending if pod.key not in waiting]
    held_ones = held_back(evidence, deciding)
    trials = Trials(deciding)
    awaited = {name for held in held_ones for name in awaited_nodes(held, broken)}
    yield from node_groups(evidence, broken, awaited)
    yield from refused_groups(evidence, trials if tries_changes else None)
    for held in held_ones:
        group = pending_group(evidence, deciding, held, broken)
        yield with_changes(evidence, trials, held, group) if tries_changes else group


def _largest(group: Group) -> tuple[int, str, str]:
    return -group.size, group.kind, group.by
