"""VolumeBinding with the feature gate StorageCapacityScoring: nodes are scored by free storage.

Upstream: plugins/volumebinding/volume_binding.go Score(), scorer.go (alpha since v1.33).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from engine.framework.arithmetic import Term, Terms
from engine.framework.framework import MAX_NODE_SCORE, CycleState, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import say
from engine.objects.phases import claim_class
from engine.plugins.node_resources_fit.score import broken_linear
from engine.plugins.volume_binding.plugin import VolumeBinding
from engine.plugins.volume_binding.volume_finder import FreeStorage, PodClaims

# Utilization in percent and score out of 10: the more is left, the better. Upstream: SetDefaults_VolumeBindingArgs().
_DEFAULT_SHAPE: Final = ({"utilization": 0, "score": 10}, {"utilization": 100, "score": 0})
_MAX_CUSTOM_SCORE: Final = 10
_FULL: Final = 100


@dataclass(slots=True)
class _Resource:
    """What the claims of one class request, and what the volumes or the node have; in bytes."""

    requested: int = 0
    capacity: int = 0

    @property
    def utilization(self) -> int:
        if not self.capacity or self.requested > self.capacity:
            return _FULL
        return self.requested * _FULL // self.capacity


class CapacityScoring(VolumeBinding):
    """Prefers nodes whose storage the pod's claims fill least, or as the argument `shape` says."""

    skips_score: ClassVar[bool] = False

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__(arguments, handle)
        points: tuple[Mapping[str, int], ...] = tuple(arguments.get("shape") or _DEFAULT_SHAPE)
        scale = MAX_NODE_SCORE // _MAX_CUSTOM_SCORE
        self._shape = [
            (point.get("utilization", 0), point.get("score", 0) * scale) for point in points
        ]

    def look(self, state: CycleState) -> None:
        """A pod with claims has its nodes scored one by one."""
        return

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Also of a pod without claims, whose nodes all get nothing."""
        return Status()

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """The mean over the classes of the volumes that would be bound; without any, of the
        storage in which volumes would be provisioned.
        """
        storage = self._storage(state)
        if storage is None:
            return np.zeros(len(rows), np.int64)
        scores = [self._mean(self._resources(state, row, storage)) for row in rows.tolist()]
        return np.array(scores, np.int64)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: what the claims request of each class, and what there is."""
        storage = self._storage(state)
        resources = {} if storage is None else self._resources(state, row, storage)
        terms: list[Term] = []
        for name, one in resources.items():
            terms.append(Term(say("requested of class {name}", name=name), one.requested, "B"))
            terms.append(Term(say("capacity of class {name}", name=name), one.capacity, "B"))
        return Terms(tuple(terms), self._mean(resources))

    def _storage(self, state: CycleState) -> dict[str, list[FreeStorage]] | None:
        """The storage with enough room, by the claim's key; None for a pod without claims."""
        claims: PodClaims | None = state.data.get(self.name)
        if claims is None:
            return None
        return {claim.key: self._finder.free_storage(claim) or [] for claim in claims.delayed}

    def _resources(
        self, state: CycleState, row: int, storage: Mapping[str, list[FreeStorage]]
    ) -> dict[str, _Resource]:
        """By class what would be used on the node at *row*, of *storage* by the claim's key."""
        plan = self.plan(state, row)
        resources: dict[str, _Resource] = {}
        if plan.bind:
            for key, name in plan.bind.items():
                self._add_volume(resources, key, name)
        else:
            labels = self._table.node(row).labels
            for key in plan.provision:
                # The first that the node can reach is the one that is taken.
                found = (one for one in storage.get(key, ()) if one.topology.matches(labels))
                chosen, claim = next(found, None), self._listers.claim(key)
                if chosen is not None and claim is not None:
                    resource = resources.setdefault(claim_class(claim), _Resource())
                    resource.requested += claim.request_bytes
                    # All claims of a class share one storage, that of the last claim.
                    resource.capacity = chosen.capacity
        return resources

    def _mean(self, resources: Mapping[str, _Resource]) -> int:
        if not resources:
            return 0
        values = np.array([one.utilization for one in resources.values()], np.int64)
        total, count = int(broken_linear(self._shape, values).sum()), len(values)
        # Half is rounded up, as in math.Round().
        return (2 * total + count) // (2 * count)

    def _add_volume(self, resources: dict[str, _Resource], claim_key: str, name: str) -> None:
        claim, volume = self._listers.claim(claim_key), self._listers.volume(name)
        if claim is not None and volume is not None:
            of: str = volume.spec.get("storageClassName") or ""
            resource = resources.setdefault(of, _Resource())
            resource.requested += claim.request_bytes
            resource.capacity += volume.capacity_bytes


def volume_binding(arguments: Arguments, handle: Handle) -> VolumeBinding:
    """The plugin VolumeBinding, which scores nodes behind the feature gate only."""
    kind = CapacityScoring if arguments.get("scores_capacity") else VolumeBinding
    return kind(arguments, handle)
