"""The status of a Deployment and the progress of its rollout.

Upstream: pkg/controller/deployment/progress.go and sync.go, calculateStatus().
"""

from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.shared.controller import (
    ControllerContext,
    generation_of,
    lean,
    replicas_of,
    status_number,
    write_status,
)
from engine.controllers.shared.pods import time_of
from engine.controllers.workloads.creation import with_replica_failure
from engine.controllers.workloads.deployment.conditions import (
    AVAILABLE,
    NEW_AVAILABLE,
    PROGRESSING,
    REPLICA_SET_UPDATED,
    TIMED_OUT,
    Condition,
    find_condition,
    progress_deadline,
    with_condition,
)
from engine.controllers.workloads.deployment.rollout import (
    AUTHOR,
    is_complete,
    is_progressing,
    max_unavailable,
    spec_replicas,
    status_sum,
)
from engine.kernel.loop import Timer
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject, Manifest


class RolloutProgress:
    """Writes the status of Deployments, and queues them again when their progress deadline passes."""

    def __init__(self, context: ControllerContext, queue: WorkQueue) -> None:
        self._context = context
        self._queue = queue
        # Deployment → the timer of its progress deadline; cancelled when the rollout is complete.
        self._deadlines: dict[str, Timer] = {}

    def sync_status(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> None:
        """Write the status, if it changed. Upstream: syncDeploymentStatus()."""
        status = self._status(deployment, new, old)
        if status != deployment.status:
            write_status(self._context.store, deployment, status, by=AUTHOR)

    def sync_rollout(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> None:
        """Write the status with the progress of the rollout. Upstream: syncRolloutStatus()."""
        status = self._status(deployment, new, old)
        if progress_deadline(deployment):
            self._set_progress(deployment, new, status)
        else:
            status["conditions"] = [
                each for each in status["conditions"] if each["type"] != PROGRESSING
            ]
        status["conditions"] = with_replica_failure(status["conditions"], new, old)
        status = lean(status)
        if status != deployment.status:
            write_status(self._context.store, deployment, status, by=AUTHOR)
        else:
            self._requeue_stuck(deployment)

    def _set_progress(self, deployment: ApiObject, new: ApiObject | None, status: Manifest) -> None:
        current = find_condition(deployment, PROGRESSING)
        settled = current is not None and current.get("reason") == NEW_AVAILABLE
        if settled and status.get("replicas", 0) == status.get("updatedReplicas", 0):
            return
        what = f'ReplicaSet "{new.name}"' if new else f'Deployment "{deployment.name}"'
        if is_complete(deployment, status):
            message = f"{what} has successfully progressed."
            progress = Condition(PROGRESSING, "True", NEW_AVAILABLE, message)
        elif is_progressing(deployment, status):
            progress = Condition(
                PROGRESSING, "True", REPLICA_SET_UPDATED, f"{what} is progressing."
            )
        elif current is not None and self._has_timed_out(deployment, current):
            message = f"{what} has timed out progressing."
            progress = Condition(PROGRESSING, "False", TIMED_OUT, message)
        else:
            return
        # Each progress restarts the deadline, even if status and reason stay the same.
        renewed = progress.reason == REPLICA_SET_UPDATED
        clock = self._context.loop.clock
        status["conditions"] = with_condition(status, progress, clock, renewed=renewed)

    def _has_timed_out(self, deployment: ApiObject, current: Manifest) -> bool:
        if current.get("reason") in (NEW_AVAILABLE, TIMED_OUT):
            return current.get("reason") == TIMED_OUT
        since = time_of(current.get("lastUpdateTime"))
        return self._context.loop.clock > since + progress_deadline(deployment) * SECOND

    def _requeue_stuck(self, deployment: ApiObject) -> None:
        """Queue the Deployment when its progress deadline has passed. Upstream: requeueStuckDeployment()."""
        self.forget_deadline(deployment.key)
        current = find_condition(deployment, PROGRESSING)
        if not progress_deadline(deployment) or current is None:
            return
        done = is_complete(deployment, dict(deployment.status))
        if done or current.get("reason") in (TIMED_OUT, NEW_AVAILABLE):
            return
        since = time_of(current.get("lastUpdateTime"))
        left = since + progress_deadline(deployment) * SECOND - self._context.loop.clock
        self._deadlines[deployment.key] = self._context.loop.call_after(
            max(left, 0) + SECOND, self._queue.add, deployment.key
        )

    def forget_deadline(self, key: str) -> None:
        """Cancel the timer of the Deployment *key*."""
        timer = self._deadlines.pop(key, None)
        if timer is not None:
            timer.cancel()

    def _status(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> Manifest:
        """Upstream: sync.go, calculateStatus()."""
        sets = [*old, *([new] if new is not None else [])]
        available = status_sum(sets, "availableReplicas")
        enough = available >= replicas_of(deployment) - max_unavailable(deployment)
        available_condition = (
            Condition(
                AVAILABLE,
                "True",
                "MinimumReplicasAvailable",
                "Deployment has minimum availability.",
            )
            if enough
            else Condition(
                AVAILABLE,
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
        )
        conditions = with_condition(
            deployment.status, available_condition, self._context.loop.clock
        )
        return lean(
            {
                **deployment.status,
                "observedGeneration": generation_of(deployment),
                "replicas": status_sum(sets, "replicas"),
                "updatedReplicas": 0 if new is None else status_number(new, "replicas"),
                "readyReplicas": status_sum(sets, "readyReplicas"),
                "availableReplicas": available,
                "unavailableReplicas": max(0, spec_replicas(sets) - available),
                "conditions": conditions,
            }
        )
