"""Strategy RollingUpdate. Upstream: pkg/controller/deployment/rolling.go."""

from engine.controllers.shared.controller import replicas_of, status_number
from engine.controllers.workloads.deployment.progress import RolloutProgress
from engine.controllers.workloads.deployment.revisions import DeploymentRevisions
from engine.controllers.workloads.deployment.rollout import (
    is_complete,
    max_unavailable,
    new_replicas,
    oldest_first,
    spec_replicas,
    status_sum,
)
from engine.controllers.workloads.deployment.scaling import ReplicaSetScaler
from engine.objects.objects import ApiObject


class RollingUpdate:
    """Grows the new ReplicaSet and shrinks the old ones within maxSurge and maxUnavailable."""

    def __init__(
        self,
        revisions: DeploymentRevisions,
        scaler: ReplicaSetScaler,
        progress: RolloutProgress,
    ) -> None:
        self._revisions = revisions
        self._scaler = scaler
        self._progress = progress

    def roll(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        """Take the next step of the rollout. Raises ApiError. Upstream: rolloutRolling()."""
        new, old = self._revisions.of(deployment, sets, create=True)
        assert new is not None
        grown = self._grow_new(deployment, new, old)
        if grown is not None:
            self._progress.sync_rollout(deployment, grown, old)
            return
        shrunk = self._shrink_old(deployment, new, old)
        old = [shrunk.get(each.name, each) for each in old]
        if not shrunk and is_complete(deployment, dict(deployment.status)):
            self._scaler.clean_up(deployment, old)
        self._progress.sync_rollout(deployment, new, old)

    def _grow_new(
        self, deployment: ApiObject, new: ApiObject, old: list[ApiObject]
    ) -> ApiObject | None:
        """Upstream: reconcileNewReplicaSet()."""
        current, wanted = replicas_of(new), replicas_of(deployment)
        if current < wanted:
            wanted = new_replicas(deployment, [*old, new], current)
        return self._scaler.resize(deployment, new, wanted) if wanted != current else None

    def _shrink_old(
        self, deployment: ApiObject, new: ApiObject, old: list[ApiObject]
    ) -> dict[str, ApiObject]:
        """Upstream: reconcileOldReplicaSets()."""
        if not spec_replicas(old):
            return {}
        at_least = replicas_of(deployment) - max_unavailable(deployment)
        new_unavailable = replicas_of(new) - status_number(new, "availableReplicas")
        spare = spec_replicas([*old, new]) - at_least - new_unavailable
        if spare <= 0:
            return {}
        shrunk = self._drop_unhealthy(deployment, oldest_first(old), spare)
        left = [shrunk.get(each.name, each) for each in oldest_first(old)]
        available = status_sum([*old, new], "availableReplicas")
        excess = available - at_least
        for each in left:
            if excess <= 0:
                break
            count = min(replicas_of(each), excess)
            if count:
                shrunk[each.name] = self._scaler.resize(deployment, each, replicas_of(each) - count)
                excess -= count
        return shrunk

    def _drop_unhealthy(
        self, deployment: ApiObject, old: list[ApiObject], spare: int
    ) -> dict[str, ApiObject]:
        """Remove old pods that are not available first. Upstream: cleanupUnhealthyReplicas()."""
        shrunk: dict[str, ApiObject] = {}
        for each in old:
            unhealthy = replicas_of(each) - status_number(each, "availableReplicas")
            count = min(spare, unhealthy)
            if replicas_of(each) and count > 0:
                shrunk[each.name] = self._scaler.resize(deployment, each, replicas_of(each) - count)
                spare -= count
        return shrunk
