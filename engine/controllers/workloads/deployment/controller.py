"""The Deployment controller. Upstream: pkg/controller/deployment/deployment_controller.go."""

from typing import ClassVar

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import (
    Controller,
    ControllerContext,
    replicas_of,
)
from engine.controllers.shared.owners import controller_of, is_controlled_by
from engine.controllers.shared.selection import selector_of
from engine.controllers.workloads.deployment.progress import RolloutProgress
from engine.controllers.workloads.deployment.recreate import Recreate
from engine.controllers.workloads.deployment.revisions import DeploymentRevisions
from engine.controllers.workloads.deployment.rolling import RollingUpdate
from engine.controllers.workloads.deployment.rollout import (
    AUTHOR,
    DESIRED_REPLICAS,
    annotated_number,
    is_rolling,
)
from engine.controllers.workloads.deployment.scaling import ReplicaSetScaler
from engine.objects.objects import ApiObject
from engine.objects.selectors import LabelSelector
from engine.storage.ports import WARNING, EventSink


class DeploymentController(Controller):
    """Syncs Deployments: scales their ReplicaSets, or rolls out a new template by their strategy."""

    AUTHOR: ClassVar[str] = AUTHOR
    KIND: ClassVar[str] = "Deployment"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._scaler = ReplicaSetScaler(context, events)
        self._revisions = DeploymentRevisions(context, self._scaler, events)
        self._progress = RolloutProgress(context, self._queue)
        parts = self._revisions, self._scaler, self._progress
        self._rolling_update = RollingUpdate(*parts)
        self._recreate = Recreate(*parts, self._listers)
        self._listers.of("Deployment").on_event(self._on_deployment)
        self._listers.of("ReplicaSet").on_event(self._on_replica_set)
        # Without Deployments no pod matters.
        only_with = self._listers.of("Deployment")
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=only_with)

    # Watch events

    def _on_deployment(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._progress.forget_deadline(event.new.key)
        self._queue.add(event.new.key)

    def _on_replica_set(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        if old is not None and controller_of(old) != controller_of(new):
            before = self._owner_of(old)
            if before is not None:
                self._queue.add(before.key)
        owner = self._owner_of(new)
        if owner is not None:
            self._queue.add(owner.key)
        elif controller_of(new) is None and event.type != "DELETED":
            self._queue_selecting(self.KIND, new)

    def _on_pod(self, event: WatchEvent) -> None:
        # Only Recreate waits for pods; all else is in the status of the ReplicaSets.
        if event.type != "DELETED":
            return
        ref = controller_of(event.new)
        if ref is None or ref.get("kind") != "ReplicaSet":
            return
        parent = self._listers.of("ReplicaSet").get(f"{event.new.namespace}/{ref.get('name')}")
        owner = None if parent is None else self._owner_of(parent)
        if owner is not None and not is_rolling(owner):
            self._queue.add(owner.key)

    # Syncing

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncDeployment()."""
        deployment = self._listers.of("Deployment").get(key)
        if deployment is None:
            return
        if selector_of(deployment).empty:
            self._events.event(
                deployment,
                WARNING,
                "SelectingAll",
                "This deployment is selecting all pods. A non-empty selector is required.",
            )
            return
        sets = self._claim_replica_sets(deployment, selector_of(deployment))
        if deployment.deletion_timestamp:
            new, old = self._revisions.of(deployment, sets)
            self._progress.sync_status(deployment, new, old)
        elif deployment.spec.get("paused") or self._is_scaling(deployment, sets):
            self._sync_scale(deployment, sets)
        elif is_rolling(deployment):
            self._rolling_update.roll(deployment, sets)
        else:
            self._recreate.roll(deployment, sets)

    def _claim_replica_sets(
        self, deployment: ApiObject, selector: LabelSelector
    ) -> list[ApiObject]:
        claimed: list[ApiObject] = []
        for each in self._listers.of("ReplicaSet").claimable(deployment, selector):
            matches = selector.matches(each.labels)
            if is_controlled_by(each, deployment):
                if matches:
                    claimed.append(each)
                elif not deployment.deletion_timestamp:
                    self._release(deployment, each)
            elif matches and controller_of(each) is None and not each.deletion_timestamp:
                adopted = None
                if not deployment.deletion_timestamp:
                    adopted = self._adopt(deployment, each)
                if adopted is not None:
                    claimed.append(adopted)
        return claimed

    def _is_scaling(self, deployment: ApiObject, sets: list[ApiObject]) -> bool:
        """Whether its replicas were changed since the ReplicaSets were last annotated."""
        return any(
            replicas_of(each) > 0
            and DESIRED_REPLICAS in each.annotations
            and annotated_number(each, DESIRED_REPLICAS) != replicas_of(deployment)
            for each in sets
        )

    def _sync_scale(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        new, old = self._revisions.of(deployment, sets)
        sized = self._scaler.scale(deployment, new, old)
        new = sized.get(new.name, new) if new is not None else None
        old = [sized.get(each.name, each) for each in old]
        if deployment.spec.get("paused"):
            self._scaler.clean_up(deployment, old)
        self._progress.sync_status(deployment, new, old)
