"""The revisions of a Deployment: its new ReplicaSet and the old ones.

Upstream: pkg/controller/deployment/sync.go, getAllReplicaSetsAndSyncRevision().
"""

from contextlib import suppress

from engine.controllers.shared.controller import ControllerContext, write_status
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_ref, is_controlled_by
from engine.controllers.shared.pods import plain_template
from engine.controllers.workloads.deployment.conditions import (
    FOUND_REPLICA_SET,
    NEW_REPLICA_SET,
    PROGRESSING,
    REPLICA_SET_REFUSED,
    Condition,
    find_condition,
    progress_deadline,
    with_condition,
)
from engine.controllers.workloads.deployment.rollout import (
    AUTHOR,
    HASH_LABEL,
    NOT_COPIED,
    REVISION,
    REVISION_HISTORY,
    annotated_number,
    find_new,
    new_replicas,
)
from engine.controllers.workloads.deployment.scaling import ReplicaSetScaler, size_annotations
from engine.kernel.errors import AlreadyExists, Conflict, Forbidden, NotFound
from engine.objects.naming import template_hash
from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.storage.ports import WARNING, EventSink


class DeploymentRevisions:
    """Finds or creates the ReplicaSet of a Deployment's current template, and numbers it."""

    def __init__(
        self, context: ControllerContext, scaler: ReplicaSetScaler, events: EventSink
    ) -> None:
        self._context = context
        self._events = events
        self._scaler = scaler

    def of(
        self, deployment: ApiObject, sets: list[ApiObject], *, create: bool = False
    ) -> tuple[ApiObject | None, list[ApiObject]]:
        """The new ReplicaSet, created if *create* is set, and the old ones.

        Upstream: getAllReplicaSetsAndSyncRevision().
        """
        found = find_new(deployment, sets)
        old = [each for each in sets if found is None or each.name != found.name]
        revision = 1 + max((annotated_number(each, REVISION) for each in old), default=0)
        if found is not None:
            return self._renumbered(deployment, found, revision), old
        return (self._create_new(deployment, old, revision) if create else None), old

    def _renumbered(self, deployment: ApiObject, found: ApiObject, revision: int) -> ApiObject:
        annotations = _annotations(deployment, found, revision)
        seconds = deployment.spec.get("minReadySeconds") or 0
        if annotations != found.annotations or seconds != (found.spec.get("minReadySeconds") or 0):
            patch: Manifest = {"metadata": {"annotations": annotations}}
            if seconds:
                patch["spec"] = {"minReadySeconds": seconds}
            return self._context.store.update(found.patched(patch), by=AUTHOR)
        message = f'Found new replica set "{found.name}"'
        progress = Condition(PROGRESSING, "True", FOUND_REPLICA_SET, message)
        self._write_revision(deployment, found.annotations.get(REVISION, ""), progress)
        return found

    def _create_new(self, deployment: ApiObject, old: list[ApiObject], revision: int) -> ApiObject:
        manifest = _new_replica_set(deployment, old, revision)
        name, replicas = manifest["metadata"]["name"], manifest["spec"]["replicas"]
        try:
            wanted = from_manifest(manifest)
            self._context.admission.charge(wanted)
            made = self._context.store.create(wanted, by=AUTHOR)
        except Forbidden as refusal:
            self._report_refusal(deployment, name, refusal)
            raise
        except AlreadyExists:
            taken = self._context.store.get("ReplicaSet", f"{deployment.namespace}/{name}")
            if is_controlled_by(taken, deployment) and find_new(deployment, [taken]):
                return taken
            # Two templates have the same hash: the next attempt includes the collision count.
            collisions = deployment.status.get("collisionCount") or 0
            status = {**deployment.status, "collisionCount": collisions + 1}
            write_status(self._context.store, deployment, status, by=AUTHOR)
            raise
        if replicas:
            self._scaler.report_scaled(deployment, made, 0, replicas)
        message = f'Created new replica set "{name}"'
        progress = Condition(PROGRESSING, "True", NEW_REPLICA_SET, message)
        self._write_revision(deployment, str(revision), progress)
        return made

    def _report_refusal(self, deployment: ApiObject, name: str, refusal: Forbidden) -> None:
        """Report that the new ReplicaSet cannot be created, in the status and by an Event."""
        message = f'Failed to create new replica set "{name}": {refusal}'
        if progress_deadline(deployment):
            refused = Condition(PROGRESSING, "False", REPLICA_SET_REFUSED, message)
            conditions = with_condition(deployment.status, refused, self._context.loop.clock)
            if conditions != deployment.status.get("conditions"):
                status = {**deployment.status, "conditions": conditions}
                with suppress(Conflict, NotFound):  # The refusal matters more.
                    write_status(self._context.store, deployment, status, by=AUTHOR)
        self._events.event(deployment, WARNING, REPLICA_SET_REFUSED, message)

    def _write_revision(self, deployment: ApiObject, revision: str, progress: Condition) -> None:
        """Write the Deployment's revision and condition Progressing, if they are not there already.

        As upstream, the sync keeps the old version of the Deployment, so that a status written later
        in the same sync is refused and follows with the next sync.
        """
        status: Manifest = dict(deployment.status)
        is_due = progress.reason == NEW_REPLICA_SET or (
            find_condition(deployment, PROGRESSING) is None
        )
        if progress_deadline(deployment) and is_due:
            clock = self._context.loop.clock
            status["conditions"] = with_condition(deployment.status, progress, clock)
        annotated = deployment.annotations.get(REVISION) == revision
        if annotated and status == deployment.status:
            return
        noted = deployment.patched({"metadata": {"annotations": {REVISION: revision}}})
        write_status(self._context.store, noted, status, by=AUTHOR)


def _annotations(deployment: ApiObject, found: ApiObject | None, revision: int) -> Manifest:
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
        kept |= size_annotations(deployment)
    return kept


def _new_replica_set(deployment: ApiObject, old: list[ApiObject], revision: int) -> Manifest:
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
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": name,
            "namespace": deployment.namespace,
            "labels": labels,
            "annotations": _annotations(deployment, None, revision),
            "ownerReferences": [controller_ref(deployment)],
        },
        "spec": spec,
        "status": {"replicas": 0},
    }
