"""The sizes of a Deployment's ReplicaSets. Upstream: pkg/controller/deployment/sync.go."""

from typing import Final

from engine.controllers.shared.controller import (
    ControllerContext,
    generation_of,
    replicas_of,
    status_number,
)
from engine.controllers.shared.deletion import delete
from engine.controllers.workloads.deployment.rollout import (
    AUTHOR,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    REVISION,
    annotated_number,
    is_rolling,
    max_surge,
    oldest_first,
    proportion,
    spec_replicas,
)
from engine.objects.objects import ApiObject, Manifest
from engine.storage.ports import NORMAL, EventSink

HISTORY_LIMIT: Final = 10


class ReplicaSetScaler:
    """Changes the sizes of a Deployment's ReplicaSets, and deletes the oldest empty ones."""

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        self._context = context
        self._events = events

    def scale(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> dict[str, ApiObject]:
        """Spread changed replicas of the Deployment over its ReplicaSets. Upstream: sync.go, scale()."""
        wanted = replicas_of(deployment)
        sets = [*old, *([new] if new is not None else [])]
        active = [each for each in sets if replicas_of(each) > 0]
        if len(active) <= 1:
            only = active[0] if active else new
            if only is None and old:
                only = oldest_first(old)[-1]
            if only is None:
                return {}
            return {only.name: self.resize(deployment, only, wanted)}
        if new is not None and _is_saturated(new, wanted):
            return {
                each.name: self.resize(deployment, each, 0)
                for each in oldest_first(old)
                if replicas_of(each)
            }
        return self._spread(deployment, active) if is_rolling(deployment) else {}

    def _spread(self, deployment: ApiObject, active: list[ApiObject]) -> dict[str, ApiObject]:
        wanted = replicas_of(deployment)
        allowed = wanted + max_surge(deployment) if wanted else 0
        to_add = allowed - spec_replicas(active)
        # The largest first; among equal ones the newest grows and the oldest shrinks.
        by_age = oldest_first(active)
        ordered = sorted(by_age[::-1] if to_add > 0 else by_age, key=replicas_of, reverse=True)
        sizes: list[int] = []
        added = 0
        for each in ordered:
            share = proportion(each, deployment, to_add, added)
            sizes.append(replicas_of(each) + share)
            added += share
        sizes[0] = max(0, sizes[0] + to_add - added)
        return {
            each.name: self.resize(deployment, each, size)
            for each, size in zip(ordered, sizes, strict=True)
        }

    def resize(self, deployment: ApiObject, replica_set: ApiObject, size: int) -> ApiObject:
        """Give a ReplicaSet *size* replicas. Raises ApiError. Upstream: scaleReplicaSet()."""
        before = replicas_of(replica_set)
        annotations = size_annotations(deployment)
        if before == size and annotations.items() <= replica_set.annotations.items():
            return replica_set
        patch: Manifest = {"spec": {"replicas": size}, "metadata": {"annotations": annotations}}
        if before == size:
            return self._context.store.update(replica_set.patched(patch), by=AUTHOR)
        resized = self._context.store.update(
            replica_set.patched(patch),
            by=AUTHOR,
            event="ReplicaSetScaled",
            message=f"from {before} to {size}",
        )
        self.report_scaled(deployment, replica_set, before, size)
        return resized

    def report_scaled(
        self, deployment: ApiObject, replica_set: ApiObject, before: int, size: int
    ) -> None:
        """Emit the Event that a ReplicaSet was scaled from *before* to *size*."""
        direction = "up" if size > before else "down"
        since = f"from {before} " if self._context.rules.scaled_from else ""
        message = f"Scaled {direction} replica set {replica_set.name} {since}to {size}"
        self._events.event(deployment, NORMAL, "ScalingReplicaSet", message)

    def clean_up(self, deployment: ApiObject, old: list[ApiObject]) -> None:
        """Delete the oldest ReplicaSets beyond the history limit. Upstream: cleanupDeployment()."""
        limit = deployment.spec.get("revisionHistoryLimit")
        limit = HISTORY_LIMIT if limit is None else limit
        idle = [each for each in old if not each.deletion_timestamp]
        for each in sorted(idle, key=_revision_of)[: max(0, len(idle) - limit)]:
            busy = replicas_of(each) or status_number(each, "replicas")
            if busy or generation_of(each) > status_number(each, "observedGeneration"):
                continue
            delete(self._context.store, each, by=AUTHOR)


def size_annotations(deployment: ApiObject) -> Manifest:
    """The annotations of a ReplicaSet with the size of its Deployment."""
    replicas = replicas_of(deployment)
    return {
        DESIRED_REPLICAS: str(replicas),
        MAX_REPLICAS: str(replicas + max_surge(deployment)),
    }


def _is_saturated(new: ApiObject, wanted: int) -> bool:
    """Upstream: IsSaturated()."""
    return (
        replicas_of(new)
        == annotated_number(new, DESIRED_REPLICAS)
        == status_number(new, "availableReplicas")
        == wanted
    )


def _revision_of(replica_set: ApiObject) -> int:
    return annotated_number(replica_set, REVISION)
