"""The Deployment controller: ReplicaSets by revision, rolled over or recreated.

Upstream: pkg/controller/deployment (deployment_controller.go, sync.go, rolling.go, recreate.go,
progress.go).
"""

from contextlib import suppress
from typing import ClassVar, Final

from kscope.sim.api_server.store import WatchEvent
from kscope.sim.errors import AlreadyExists, Conflict, Forbidden, NotFound
from kscope.sim.kernel.loop import Timer
from kscope.sim.kernel.units import SECOND, timestamp
from kscope.sim.objects.objects import ApiObject, Manifest, from_manifest
from kscope.sim.objects.selectors import LabelSelector
from scheduling.engine.workloads.controller import (
    Controller,
    Surroundings,
    generation_of,
    lean,
    replicas_of,
    selector_of,
    status_number,
)
from scheduling.engine.workloads.controllers.creation import with_replica_failure
from scheduling.engine.workloads.controllers.rollout import (
    DESIRED_REPLICAS,
    HASH_LABEL,
    MAX_REPLICAS,
    NOT_COPIED,
    REVISION,
    REVISION_HISTORY,
    annotated_number,
    find_new,
    is_complete,
    is_progressing,
    is_rolling,
    max_surge,
    max_unavailable,
    new_replicas,
    oldest_first,
    proportion,
    spec_replicas,
    status_sum,
)
from scheduling.engine.workloads.deletion import delete
from scheduling.engine.workloads.manifests import part
from scheduling.engine.workloads.naming import template_hash
from scheduling.engine.workloads.owners import controller_of, controller_ref, is_controlled_by
from scheduling.engine.workloads.pods import plain_template, time_of
from volumes.engine.ports import NORMAL, WARNING, EventSink

PROGRESS_DEADLINE: Final = 600
HISTORY_LIMIT: Final = 10

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"

NEW_REPLICA_SET: Final = "NewReplicaSetCreated"
FOUND_REPLICA_SET: Final = "FoundNewReplicaSet"
REPLICA_SET_UPDATED: Final = "ReplicaSetUpdated"
NEW_AVAILABLE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
REPLICA_SET_REFUSED: Final = "ReplicaSetCreateError"


class DeploymentController(Controller):
    """Rolls Deployments over from one ReplicaSet to the next."""

    AUTHOR: ClassVar[str] = "deployment-controller"
    KIND: ClassVar[str] = "Deployment"

    def __init__(self, around: Surroundings, events: EventSink) -> None:
        super().__init__(around, events)
        # Deployment → when its progress deadline is looked at; cancelled once it is complete.
        self._deadlines: dict[str, Timer] = {}
        self._listers.of("Deployment").on_event(self._on_deployment)
        self._listers.of("ReplicaSet").on_event(self._on_replica_set)
        # Without any, no pod is of interest.
        only_with = self._listers.of("Deployment")
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=only_with)

    # What it hears

    def _on_deployment(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._forget_deadline(event.new.key)
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
            for deployment in self._listers.in_namespace("Deployment", new.namespace):
                if selector_of(deployment).matches(new.labels):
                    self._queue.add(deployment.key)

    def _on_pod(self, event: WatchEvent) -> None:
        # Only Recreate waits for pods; everything else shows in the ReplicaSets' statuses.
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
            new, old = self._revisions(deployment, sets)
            self._sync_status(deployment, new, old)
        elif deployment.spec.get("paused") or self._is_scaling(deployment, sets):
            self._sync_scale(deployment, sets)
        elif is_rolling(deployment):
            self._roll(deployment, sets)
        else:
            self._recreate(deployment, sets)

    def _claim_replica_sets(
        self, deployment: ApiObject, selector: LabelSelector
    ) -> list[ApiObject]:
        claimed: list[ApiObject] = []
        for each in self._listers.in_namespace("ReplicaSet", deployment.namespace):
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
        """Whether its replicas were changed since the ReplicaSets were last told."""
        return any(
            replicas_of(each) > 0
            and DESIRED_REPLICAS in each.annotations
            and annotated_number(each, DESIRED_REPLICAS) != replicas_of(deployment)
            for each in sets
        )

    def _sync_scale(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        new, old = self._revisions(deployment, sets)
        sized = self._scale(deployment, new, old)
        new = sized.get(new.name, new) if new is not None else None
        old = [sized.get(each.name, each) for each in old]
        if deployment.spec.get("paused"):
            self._clean_up(deployment, old)
        self._sync_status(deployment, new, old)

    def _roll(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        """Upstream: rolloutRolling()."""
        new, old = self._revisions(deployment, sets, create=True)
        assert new is not None
        grown = self._grow_new(deployment, new, old)
        if grown is not None:
            self._sync_rollout(deployment, grown, old)
            return
        shrunk = self._shrink_old(deployment, new, old)
        old = [shrunk.get(each.name, each) for each in old]
        if not shrunk and is_complete(deployment, dict(deployment.status)):
            self._clean_up(deployment, old)
        self._sync_rollout(deployment, new, old)

    def _recreate(self, deployment: ApiObject, sets: list[ApiObject]) -> None:
        """Upstream: rolloutRecreate()."""
        new, old = self._revisions(deployment, sets)
        shrunk: dict[str, ApiObject] = {}
        for each in old:
            if replicas_of(each):
                shrunk[each.name] = self._resize(deployment, each, 0)
        old = [shrunk.get(each.name, each) for each in old]
        if shrunk or self._old_pods_run(old):
            self._sync_rollout(deployment, new, old)
            return
        if new is None:
            new, old = self._revisions(deployment, sets, create=True)
        assert new is not None
        new = self._resize(deployment, new, replicas_of(deployment))
        if is_complete(deployment, dict(deployment.status)):
            self._clean_up(deployment, old)
        self._sync_rollout(deployment, new, old)

    def _old_pods_run(self, old: list[ApiObject]) -> bool:
        # Terminating pods count: Recreate never lets two revisions run side by side.
        return any(
            not pod.is_terminated for each in old for pod in self._listers.pods_controlled_by(each)
        ) or any(status_number(each, "replicas") > 0 for each in old)

    # Revisions

    def _revisions(
        self, deployment: ApiObject, sets: list[ApiObject], *, create: bool = False
    ) -> tuple[ApiObject | None, list[ApiObject]]:
        """The new ReplicaSet, made if asked for, and the old ones.

        Upstream: getAllReplicaSetsAndSyncRevision().
        """
        found = find_new(deployment, sets)
        old = [each for each in sets if found is None or each.name != found.name]
        revision = 1 + max((annotated_number(each, REVISION) for each in old), default=0)
        if found is not None:
            return self._renumbered(deployment, found, revision), old
        return (self._create_new(deployment, old, revision) if create else None), old

    def _renumbered(self, deployment: ApiObject, found: ApiObject, revision: int) -> ApiObject:
        annotations = self._annotations(deployment, found, revision)
        seconds = deployment.spec.get("minReadySeconds") or 0
        if annotations != found.annotations or seconds != (found.spec.get("minReadySeconds") or 0):
            patch: Manifest = {"metadata": {"annotations": annotations}}
            if seconds:
                patch["spec"] = {"minReadySeconds": seconds}
            return self._store.update(found.patched(patch), by=self.AUTHOR)
        message = f'Found new replica set "{found.name}"'
        self._note_revision(
            deployment, found.annotations.get(REVISION, ""), FOUND_REPLICA_SET, message, False
        )
        return found

    def _create_new(self, deployment: ApiObject, old: list[ApiObject], revision: int) -> ApiObject:
        template: Manifest = part(deployment.spec, "template")
        collisions = deployment.status.get("collisionCount")
        label = template_hash(plain_template(template), collisions)
        metadata: Manifest = part(template, "metadata")
        labels = {**part(metadata, "labels"), HASH_LABEL: label}
        selector: Manifest = part(deployment.spec, "selector")
        name = f"{deployment.name}-{label}"
        replicas = new_replicas(deployment, old, 0)
        spec: Manifest = {
            "replicas": replicas,
            "selector": {
                **selector,
                "matchLabels": {**part(selector, "matchLabels"), HASH_LABEL: label},
            },
            "template": {**template, "metadata": {**metadata, "labels": labels}},
        }
        if deployment.spec.get("minReadySeconds"):
            spec["minReadySeconds"] = deployment.spec["minReadySeconds"]
        manifest: Manifest = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": name,
                "namespace": deployment.namespace,
                "labels": labels,
                "annotations": self._annotations(deployment, None, revision),
                "ownerReferences": [controller_ref(deployment)],
            },
            "spec": spec,
            "status": {"replicas": 0},
        }
        try:
            wanted = from_manifest(manifest)
            self._around.admission.charge(wanted)
            made = self._store.create(wanted, by=self.AUTHOR)
        except Forbidden as refusal:
            self._note_refusal(deployment, name, refusal)
            raise
        except AlreadyExists:
            taken = self._store.get("ReplicaSet", f"{deployment.namespace}/{name}")
            if is_controlled_by(taken, deployment) and find_new(deployment, [taken]):
                return taken
            # Two templates of one hash: the next attempt counts the collision in.
            status = {**deployment.status, "collisionCount": (collisions or 0) + 1}
            self._write_status(deployment, status)
            raise
        if replicas:
            self._tell_scaled(deployment, made, 0, replicas)
        message = f'Created new replica set "{name}"'
        self._note_revision(deployment, str(revision), NEW_REPLICA_SET, message, True)
        return made

    def _note_refusal(self, deployment: ApiObject, name: str, refusal: Forbidden) -> None:
        """Say that the new ReplicaSet cannot be created."""
        message = f'Failed to create new replica set "{name}": {refusal}'
        if _deadline_of(deployment):
            refused = "False", REPLICA_SET_REFUSED, message
            conditions = self._with_condition(deployment.status, PROGRESSING, *refused)
            if conditions != deployment.status.get("conditions"):
                with suppress(Conflict, NotFound):  # The refusal matters more.
                    self._write_status(deployment, {**deployment.status, "conditions": conditions})
        self._events.event(deployment, WARNING, REPLICA_SET_REFUSED, message)

    def _note_revision(
        self, deployment: ApiObject, revision: str, reason: str, message: str, is_made: bool
    ) -> None:
        """Write the Deployment's revision, and that it progresses, unless it says so already.

        As upstream, what is at hand of the Deployment stays the old version, so that a status
        written later in the same sync is refused and comes with the next one.
        """
        status: Manifest = dict(deployment.status)
        if _deadline_of(deployment) and (is_made or _condition(deployment, PROGRESSING) is None):
            status["conditions"] = self._with_condition(
                deployment.status, PROGRESSING, "True", reason, message
            )
        annotated = deployment.annotations.get(REVISION) == revision
        if annotated and status == deployment.status:
            return
        noted = deployment.patched({"metadata": {"annotations": {REVISION: revision}}})
        self._write_status(noted, status)

    def _annotations(
        self, deployment: ApiObject, found: ApiObject | None, revision: int
    ) -> Manifest:
        """Upstream: SetNewReplicaSetAnnotations()."""
        kept: Manifest = dict(found.annotations) if found is not None else {}
        kept.update((k, v) for k, v in deployment.annotations.items() if k not in NOT_COPIED)
        before = annotated_number(found, REVISION) if found is not None else 0
        if before < revision:
            kept[REVISION] = str(revision)
            if before:
                history = kept.get(REVISION_HISTORY)
                kept[REVISION_HISTORY] = f"{history},{before}" if history else str(before)
        if found is None:
            kept |= self._size_annotations(deployment)
        return kept

    def _size_annotations(self, deployment: ApiObject) -> Manifest:
        replicas = replicas_of(deployment)
        return {
            DESIRED_REPLICAS: str(replicas),
            MAX_REPLICAS: str(replicas + max_surge(deployment)),
        }

    # Sizes

    def _grow_new(
        self, deployment: ApiObject, new: ApiObject, old: list[ApiObject]
    ) -> ApiObject | None:
        """Upstream: reconcileNewReplicaSet()."""
        current, wanted = replicas_of(new), replicas_of(deployment)
        if current < wanted:
            wanted = new_replicas(deployment, [*old, new], current)
        return self._resize(deployment, new, wanted) if wanted != current else None

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
                shrunk[each.name] = self._resize(deployment, each, replicas_of(each) - count)
                excess -= count
        return shrunk

    def _drop_unhealthy(
        self, deployment: ApiObject, old: list[ApiObject], spare: int
    ) -> dict[str, ApiObject]:
        """Old pods that are not available go first: they serve nobody."""
        shrunk: dict[str, ApiObject] = {}
        for each in old:
            unhealthy = replicas_of(each) - status_number(each, "availableReplicas")
            count = min(spare, unhealthy)
            if replicas_of(each) and count > 0:
                shrunk[each.name] = self._resize(deployment, each, replicas_of(each) - count)
                spare -= count
        return shrunk

    def _scale(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> dict[str, ApiObject]:
        """The Deployment's replicas were changed: share it out. Upstream: sync.go, scale()."""
        wanted = replicas_of(deployment)
        sets = [*old, *([new] if new is not None else [])]
        active = [each for each in sets if replicas_of(each) > 0]
        if len(active) <= 1:
            only = active[0] if active else new
            if only is None and old:
                only = oldest_first(old)[-1]
            if only is None:
                return {}
            return {only.name: self._resize(deployment, only, wanted)}
        if new is not None and _is_saturated(new, wanted):
            return {
                each.name: self._resize(deployment, each, 0)
                for each in oldest_first(old)
                if replicas_of(each)
            }
        return self._share_out(deployment, active) if is_rolling(deployment) else {}

    def _share_out(self, deployment: ApiObject, active: list[ApiObject]) -> dict[str, ApiObject]:
        wanted = replicas_of(deployment)
        allowed = wanted + max_surge(deployment) if wanted else 0
        to_add = allowed - spec_replicas(active)
        # The larger first; of equals the newer grows, the older shrinks.
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
            each.name: self._resize(deployment, each, size)
            for each, size in zip(ordered, sizes, strict=True)
        }

    def _resize(self, deployment: ApiObject, replica_set: ApiObject, size: int) -> ApiObject:
        """Upstream: scaleReplicaSet()."""
        before = replicas_of(replica_set)
        annotations = self._size_annotations(deployment)
        if before == size and annotations.items() <= replica_set.annotations.items():
            return replica_set
        patch: Manifest = {"spec": {"replicas": size}, "metadata": {"annotations": annotations}}
        if before == size:
            return self._store.update(replica_set.patched(patch), by=self.AUTHOR)
        resized = self._store.update(
            replica_set.patched(patch),
            by=self.AUTHOR,
            event="ReplicaSetScaled",
            message=f"from {before} to {size}",
        )
        self._tell_scaled(deployment, replica_set, before, size)
        return resized

    def _tell_scaled(
        self, deployment: ApiObject, replica_set: ApiObject, before: int, size: int
    ) -> None:
        way = "up" if size > before else "down"
        since = f"from {before} " if self._rules.scaled_from else ""
        message = f"Scaled {way} replica set {replica_set.name} {since}to {size}"
        self._events.event(deployment, NORMAL, "ScalingReplicaSet", message)

    def _clean_up(self, deployment: ApiObject, old: list[ApiObject]) -> None:
        """Delete the oldest ReplicaSets beyond the history limit. Upstream: cleanupDeployment()."""
        limit = deployment.spec.get("revisionHistoryLimit")
        limit = HISTORY_LIMIT if limit is None else limit
        idle = [each for each in old if not each.deletion_timestamp]
        for each in sorted(idle, key=_revision_of)[: max(0, len(idle) - limit)]:
            busy = replicas_of(each) or status_number(each, "replicas")
            if busy or generation_of(each) > status_number(each, "observedGeneration"):
                continue
            delete(self._store, each, by=self.AUTHOR, now=self._loop.now)

    # Status

    def _sync_status(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> None:
        status = self._status(deployment, new, old)
        if status != deployment.status:
            self._write_status(deployment, status)

    def _sync_rollout(
        self, deployment: ApiObject, new: ApiObject | None, old: list[ApiObject]
    ) -> None:
        """Upstream: progress.go, syncRolloutStatus()."""
        status = self._status(deployment, new, old)
        if _deadline_of(deployment):
            self._note_progress(deployment, new, status)
        else:
            status["conditions"] = [
                each for each in status["conditions"] if each["type"] != PROGRESSING
            ]
        status["conditions"] = with_replica_failure(status["conditions"], new, old)
        status = lean(status)
        if status != deployment.status:
            self._write_status(deployment, status)
        else:
            self._requeue_stuck(deployment)

    def _note_progress(
        self, deployment: ApiObject, new: ApiObject | None, status: Manifest
    ) -> None:
        current = _condition(deployment, PROGRESSING)
        settled = current is not None and current.get("reason") == NEW_AVAILABLE
        if settled and status.get("replicas", 0) == status.get("updatedReplicas", 0):
            return
        what = f'ReplicaSet "{new.name}"' if new else f'Deployment "{deployment.name}"'
        told: tuple[str, str, str] | None = None
        if is_complete(deployment, status):
            told = "True", NEW_AVAILABLE, f"{what} has successfully progressed."
        elif is_progressing(deployment, status):
            told = "True", REPLICA_SET_UPDATED, f"{what} is progressing."
        elif current is not None and self._has_timed_out(deployment, current):
            told = "False", TIMED_OUT, f"{what} has timed out progressing."
        if told is None:
            return
        # Every progress counts, even if reason and status stay: the deadline starts anew.
        renewed = told[1] == REPLICA_SET_UPDATED
        status["conditions"] = self._with_condition(status, PROGRESSING, *told, renewed=renewed)

    def _has_timed_out(self, deployment: ApiObject, current: Manifest) -> bool:
        if current.get("reason") in (NEW_AVAILABLE, TIMED_OUT):
            return current.get("reason") == TIMED_OUT
        since = time_of(current.get("lastUpdateTime"))
        return self._loop.now > since + _deadline_of(deployment) * SECOND

    def _requeue_stuck(self, deployment: ApiObject) -> None:
        """Look again when the progress deadline has passed. Upstream: requeueStuckDeployment()."""
        self._forget_deadline(deployment.key)
        current = _condition(deployment, PROGRESSING)
        if not _deadline_of(deployment) or current is None:
            return
        done = is_complete(deployment, dict(deployment.status))
        if done or current.get("reason") in (TIMED_OUT, NEW_AVAILABLE):
            return
        since = time_of(current.get("lastUpdateTime"))
        left = since + _deadline_of(deployment) * SECOND - self._loop.now
        self._deadlines[deployment.key] = self._loop.call_after(
            max(left, 0) + SECOND, self._queue.add, deployment.key
        )

    def _forget_deadline(self, key: str) -> None:
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
        told = (
            ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
            if enough
            else (
                "False",
                "MinimumReplicasUnavailable",
                "Deployment does not have minimum availability.",
            )
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
                "conditions": self._with_condition(deployment.status, AVAILABLE, *told),
            }
        )

    def _with_condition(
        self,
        status: object,
        kind: str,
        state: str,
        reason: str,
        message: str,
        renewed: bool = False,
    ) -> list[Manifest]:
        """The conditions with one set. Upstream: SetDeploymentCondition()."""
        conditions: list[Manifest] = list(
            (status.get("conditions") if isinstance(status, dict) else None) or ()  # pyright: ignore
        )
        current = next((each for each in conditions if each.get("type") == kind), None)
        if (
            current
            and not renewed
            and (current.get("status"), current.get("reason"))
            == (
                state,
                reason,
            )
        ):
            return conditions
        now = timestamp(self._loop.now)
        same = current is not None and current.get("status") == state
        made: Manifest = {
            "type": kind,
            "status": state,
            "lastUpdateTime": now,
            "lastTransitionTime": current.get("lastTransitionTime", now)
            if same and current
            else now,
            "reason": reason,
            "message": message,
        }
        return [*(each for each in conditions if each.get("type") != kind), made]


def _condition(deployment: ApiObject, kind: str) -> Manifest | None:
    conditions: list[Manifest] = deployment.status.get("conditions") or []
    return next((each for each in conditions if each.get("type") == kind), None)


def _deadline_of(deployment: ApiObject) -> int:
    """spec.progressDeadlineSeconds; 0 when it has none."""
    seconds = deployment.spec.get("progressDeadlineSeconds")
    if seconds is None:
        return PROGRESS_DEADLINE
    # The largest number is how the API spells "none".
    return 0 if seconds == 2**31 - 1 else seconds


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
