"""The question: what is stuck in this cluster, why, and what would let it go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.alone import Alone, unbound_explained
from engine.diagnosis.triage.deciding import Trials, deciding_on
from engine.diagnosis.triage.page.happened import happened
from engine.diagnosis.triage.page.looked_for import looked_for, not_counted
from engine.diagnosis.triage.page.shown import Shown
from engine.diagnosis.triage.pending_pods.groups import awaited_nodes, pending_group
from engine.diagnosis.triage.pending_pods.held import Held, held_back
from engine.diagnosis.triage.pending_pods.remedies import with_changes
from engine.diagnosis.triage.pending_pods.together import tried_together
from engine.diagnosis.triage.report import Group, Together, Triage
from engine.diagnosis.triage.resting import with_assumed
from engine.diagnosis.triage.sharing import shared_causes
from engine.diagnosis.triage.stuck.claims import claim_groups
from engine.diagnosis.triage.stuck.drains import drain_groups
from engine.diagnosis.triage.stuck.leaving import leaving_groups
from engine.diagnosis.triage.stuck.nodes import broken_nodes, node_groups
from engine.diagnosis.triage.stuck.placed.groups import placed_groups
from engine.diagnosis.triage.stuck.refused import refused_groups, with_places
from engine.diagnosis.triage.stuck.stalled import (
    InOrder,
    overdue_groups,
    rejected_groups,
    stalled_groups,
)
from engine.diagnosis.triage.stuck.volumes import volume_groups
from engine.input.assumed.questions import NO_NODES


def triage(cluster: Cluster, evidence: Evidence, *, tries_changes: bool = True) -> Triage:
    """What is stuck in *cluster*, whose files are *evidence*.

    *cluster* is only read. Nothing is played: causes are what the files say, and what the
    schedulers decide on the objects as they stand. Without *tries_changes* there are causes alone.
    """
    asked = ask(cluster, evidence, Alone(cluster), tries_changes=tries_changes)
    groups = list(asked.causes.groups)
    for place, group in asked.answers():
        groups[place] = group
    together = asked.together(groups) if tries_changes else None
    return replace(asked.causes, groups=tuple(groups), together=together)


def triage_parts(
    cluster: Cluster, evidence: Evidence
) -> Iterator[Triage | Answer | Together | None]:
    """The same in parts: the causes without changes, each group, with its place, as it is answered.

    The last part is what the best changes do together, or None.
    """
    asked = ask(cluster, evidence, Alone(cluster))
    groups = list(asked.causes.groups)
    yield asked.causes
    for place, group in asked.answers():
        groups[place] = group
        yield place, group
    yield asked.together(groups)


# A group with its changes, and its place among the groups.
Answer = tuple[int, Group]
# Gives a group its changes.
_Ask = Callable[[], Group]


@dataclass(frozen=True, slots=True)
class _Found:
    """A group, what gives it its changes (None where it has them), and the pods that it is about."""

    group: Group
    ask: _Ask | None = None
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The causes, and the groups with their changes, each computed when it is asked for."""

    causes: Triage
    found: list[_Found]
    trials: Trials
    alone: Alone | None

    def group(self, place: int) -> Group:
        """The group at *place* with its changes."""
        return self._answered(self.found[place])

    def answers(self) -> Iterator[Answer]:
        """Each group whose changes are tried, as it is answered."""
        for place, each in enumerate(self.found):
            group = self._answered(each)
            helped = group if self.alone is None else self.alone.helped(group)
            if helped is not each.group:
                yield place, helped

    @staticmethod
    def _answered(found: _Found) -> Group:
        if found.ask is None:
            return found.group
        return replace(found.ask(), because=found.group.because, assumed=found.group.assumed)

    def together(self, groups: Sequence[Group]) -> Together | None:
        """What the best changes of *groups*, all that there are, do together."""
        pending = [
            (place, each.held, group)
            for place, (each, group) in enumerate(zip(self.found, groups, strict=True))
            if each.held is not None
        ]
        return tried_together(self.trials, pending)


def ask(
    cluster: Cluster, evidence: Evidence, alone: Alone | None = None, *, tries_changes: bool = True
) -> Asked:
    """The same for who asks about some groups only: no change is tried before it is asked for.

    *alone* carries changes out in forks for groups of which no change is known.
    """
    trials = Trials(deciding_on(cluster))
    shown = Shown(evidence)
    known = list(_groups(cluster, trials, evidence, shown, tries_changes=tries_changes))
    held = {workload for each in known for workload in each.group.workloads}
    rejected = list(rejected_groups(evidence, held))
    held |= {workload for each in rejected for workload in each.workloads}
    late = (*rejected, *overdue_groups(evidence, held))
    found = sorted((*known, *map(_Found, map(shown.group, late))), key=_largest)
    if alone is not None:
        found = [replace(each, group=alone.explained(each.group)) for each in found]
    found = [replace(each, group=with_assumed(evidence, each.group)) for each in found]
    looked_at = {"pod": len(list(evidence.all("Pod"))), "node": len(list(evidence.all("Node")))}
    groups = tuple(each.group for each in found)
    causes = Triage(
        instant=evidence.instant,
        profile=cluster.profile,
        groups=groups,
        looked_at=looked_at,
        shared_causes=tuple(shared_causes(evidence, groups)),
        happened=happened(evidence, groups),
        looked_for=looked_for(evidence),
        not_counted=not_counted(evidence, groups),
        questions=tuple(map(str, evidence.questions)),
        unanswerable=_unanswerable(evidence),
        assumed=tuple(evidence.assumed.values()),
    )
    return Asked(causes, found, trials, alone if tries_changes else None)


def _unanswerable(evidence: Evidence) -> str:
    """Why nothing can be said about pods; "" where something can."""
    return next((each.text for each in evidence.questions if each.name == NO_NODES), "")


def _groups(
    cluster: Cluster, trials: Trials, evidence: Evidence, shown: Shown, *, tries_changes: bool
) -> Iterator[_Found]:
    broken = broken_nodes(evidence, cluster.workloads.silent_nodes)
    in_order = InOrder(evidence)
    claims = list(claim_groups(evidence))
    refused = {key for group in claims for key in group.claims}
    placed = [_beside(group, refused) for group in placed_groups(evidence, broken)]
    # What holds pods is named with them.
    named = {group.by.replace(" ", "/", 1) for group in placed}
    volumes = list(volume_groups(evidence))
    named |= {name for group in volumes for name in group.objects}
    drains = list(drain_groups(cluster, evidence))
    named |= {f"node/{name}" for group in drains for name in group.nodes}
    leaving = leaving_groups(evidence, broken, named)
    stalled = stalled_groups(evidence)
    found = map(in_order.named_in, (*placed, *leaving, *claims, *volumes, *stalled))
    yield from (_Found(shown.group(each)) for each in found)
    # A pod that waits for a claim which was refused is held by what holds the claim.
    waiting = {pod for group in claims for pod in group.pods}
    deciding = trials.deciding
    deciding.pending = [pod for pod in deciding.pending if pod.key not in waiting]
    held_ones = held_back(evidence, deciding)
    awaited = {name for held in held_ones for name in awaited_nodes(held, broken)}
    nodes = (*node_groups(evidence, broken, awaited), *drains)
    yield from (_Found(shown.group(in_order.named_in(each))) for each in nodes)
    for unmade, made in refused_groups(evidence, cluster):
        group = shown.group(unmade)
        tried = partial(with_places, trials, made, group) if made and tries_changes else None
        yield _Found(group, tried)
    counted = refused | {key for group in placed for key in group.claims}
    for held in held_ones:
        unbound = unbound_explained(cluster, pending_group(evidence, deciding, held, broken))
        unbound = _beside(unbound, counted)
        counted |= {*unbound.claims}
        group = shown.pending(in_order.named_in(unbound), deciding, held)
        tried = partial(with_changes, evidence, trials, held, group) if tries_changes else None
        yield _Found(group, tried, held)


def _beside(group: Group, counted: set[str]) -> Group:
    """*group* without the claims that another group has *counted*."""
    if counted.isdisjoint(group.claims):
        return group
    return replace(group, claims=tuple(key for key in group.claims if key not in counted))


def _largest(found: _Found) -> tuple[int, str, str]:
    group = found.group
    return -group.size, group.kind, group.by
