"""Strategy Recreate. Upstream: pkg/controller/deployment/recreate.go."""

from engine.controllers.shared.controller import replicas_of, status_number
from engine.controllers.shared.listers import WorkloadListers
from engine.controllers.workloads.deployment.progress import RolloutProgress
from engine.controllers.workloads.deployment.revisions import DeploymentRevisions
from engine.controllers.workloads.deployment.rollout import is_complete
from engine.controllers.workloads.deployment.scaling import ReplicaSetScaler
from engine.objects.objects import ApiObject


class Recreate:
    """Creates the new ReplicaSet once the pods of all old ones are gone."""

    def __init__(
        self,
        revisions: DeploymentRevisions,
        scaler: ReplicaSetScaler,
        progress: RolloutProgress,
        listers: WorkloadListers,
    ) -> None:
        self._revisions = revisions
        self._scaler = scaler
        self._progress = progress
        self._listers = listers

    def roll(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        """Take the next step of the rollout. Raises ApiError. Upstream: rolloutRecreate()."""
        new, old = self._revisions.of(deployment, sets)
        shrunk: dict[str, ApiObject] = {}
        for each in old:
            if replicas_of(each):
                shrunk[each.name] = self._scaler.resize(deployment, each, 0)
        old = [shrunk.get(each.name, each) for each in old]
        if shrunk or self._old_pods_run(old):
            self._progress.sync_rollout(deployment, new, old)
            return
        if new is None:
            new, old = self._revisions.of(deployment, sets, create=True)
        assert new is not None
        new = self._scaler.resize(deployment, new, replicas_of(deployment))
        if is_complete(deployment, dict(deployment.status)):
            self._scaler.clean_up(deployment, old)
        self._progress.sync_rollout(deployment, new, old)

    def _old_pods_run(self, old: list[ApiObject]) -> bool:
        # Terminating pods count too: with Recreate two revisions never run at the same time.
        return any(
            not pod.is_terminated for each in old for pod in self._listers.pods_controlled_by(each)
        ) or any(status_number(each, "replicas") > 0 for each in old)
