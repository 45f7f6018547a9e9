"""The StatefulSet controller: pods with ordinals, stable names and their own claims, in order.

Upstream: pkg/controller/statefulset (stateful_set_control.go, stateful_pod_control.go).
"""

from contextlib import suppress
from typing import ClassVar

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import (
    MOST_PODS_PER_SYNC,
    Controller,
    ControllerContext,
    generation_of,
    replicas_of,
)
from engine.controllers.shared.deletion import delete
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_of
from engine.controllers.shared.pods import is_available, is_running_and_ready, pod_of_template
from engine.controllers.shared.selection import selector_of
from engine.controllers.workloads.claim_retention import ClaimRetention
from engine.controllers.workloads.revisions import REVISION_LABEL, Revisions, revision_template
from engine.kernel.errors import AlreadyExists, ApiError, NotFound
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject, Manifest, Pod, from_manifest
from engine.storage.ports import NORMAL, WARNING, EventSink

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
POD_INDEX_LABEL = "apps.kubernetes.io/pod-index"


class _Status:
    """The counts of a StatefulSet's status, updated during a sync."""

    __slots__ = ("current", "current_revision", "ready", "replicas", "update_revision", "updated")

    def __init__(self, pods: list[Pod], current: str, update: str) -> None:
        living = [pod for pod in pods if not pod.deletion_timestamp]
        self.current_revision = current
        self.update_revision = update
        self.replicas = len(pods)
        self.ready = sum(is_running_and_ready(pod) for pod in pods)
        self.current = sum(_revision(pod) == current for pod in living)
        self.updated = sum(_revision(pod) == update for pod in living)

    def count(self, revision: str, by: int) -> None:
        """Count *by* more pods of *revision*."""
        if revision == self.current_revision:
            self.current += by
        if revision == self.update_revision:
            self.updated += by


class _AwaitAnswer(Exception):
    """Claims are being created; their pod is created when the API server has answered."""


class StatefulSetController(Controller):
    """Creates and deletes the pods and claims of StatefulSets, one after the other."""

    AUTHOR: ClassVar[str] = "statefulset-controller"
    KIND: ClassVar[str] = "StatefulSet"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._retention = ClaimRetention(context.store, self.AUTHOR)
        self._revisions = Revisions(context.store, context.listers, self.AUTHOR)
        self._listers.of("StatefulSet").on_event(self._on_set)
        # Without StatefulSets no pod matters.
        only_with = self._listers.of("StatefulSet")
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=only_with)

    def _on_set(self, event: WatchEvent) -> None:
        self._queue.add(event.new.key)

    def _on_pod(self, event: WatchEvent) -> None:
        owner = self._owner_of(event.new)
        if owner is not None:
            self._queue.add(owner.key)
        elif controller_of(event.new) is None and event.type != "DELETED":
            self._queue_selecting(self.KIND, event.new)

    # Syncing

    def sync(self, key: str) -> None:
        """See Controller. Upstream: UpdateStatefulSet()."""
        owner = self._listers.of("StatefulSet").get(key)
        if owner is None:
            return
        pods = self._claim_pods(owner, selector_of(owner))
        pods = [pod for pod in pods if _ordinal(owner, pod) >= 0]
        update = self._revisions.newest(owner)
        known = {each.name: each for each in self._revisions.of(owner)}
        current = known.get(owner.status.get("currentRevision") or "", update)
        status = _Status(pods, current.name, update.name)
        try:
            if not owner.deletion_timestamp:
                self._update_pods(owner, pods, current, update, status)
        except _AwaitAnswer:
            return
        except ApiError:
            # The status is written even if a later write failed.
            self._report_status(owner, pods, status)
            raise
        self._report_status(owner, pods, status)
        self._revisions.trim(owner, {current.name, update.name, *map(_revision, pods)})

    def _update_pods(
        self,
        owner: ApiObject,
        pods: list[Pod],
        current: ApiObject,
        update: ApiObject,
        status: _Status,
    ) -> None:
        """Upstream: updateStatefulSet()."""
        start = _start(owner)
        wanted = range(start, start + replicas_of(owner))
        by_ordinal = {_ordinal(owner, pod): pod for pod in pods}
        condemned = [by_ordinal[n] for n in sorted(by_ordinal, reverse=True) if n not in wanted]
        in_order = (owner.spec.get("podManagementPolicy") or "OrderedReady") != "Parallel"
        kept = {n: pod for n, pod in by_ordinal.items() if n in wanted}
        made = len(kept)
        for ordinal in wanted:
            if (
                not self._process_replica(owner, ordinal, kept, current, update, status)
                and in_order
            ):
                return
            if len(kept) - made >= MOST_PODS_PER_SYNC:
                # The watch events of the new pods queue the set again; the next sync continues.
                self._store.limit.still_to_make(owner, len(wanted) - len(kept))
                return
        self._store.limit.still_to_make(owner, 0)
        if not self._scale_down(owner, kept, condemned, in_order, status):
            return
        self._roll(owner, kept, update, status)

    def _process_replica(
        self,
        owner: ApiObject,
        ordinal: int,
        pods: dict[int, Pod],
        current: ApiObject,
        update: ApiObject,
        status: _Status,
    ) -> bool:
        """Create or repair the pod of *ordinal*; False while the next one has to wait for it.

        Upstream: processReplica().
        """
        pod = pods.get(ordinal)
        if pod is not None and pod.is_terminated and not pod.deletion_timestamp:
            message = (
                f"StatefulSet {owner.namespace}/{owner.name} is recreating "
                f"{'failed' if pod.phase == 'Failed' else 'terminated'} Pod {pod.name}"
            )
            self._events.event(owner, WARNING, "RecreatingFailedPod", message)
            self._remove(owner, pod)
            status.replicas -= 1
            status.count(_revision(pod), -1)
            pods.pop(ordinal)
            # The new pod is created when the old one is deleted, because they have the same name.
            return False
        if pod is None:
            revision = self._revision_for(owner, ordinal, current, update)
            pods[ordinal] = self._create(owner, ordinal, revision)
            status.replicas += 1
            status.count(revision.name, +1)
            return False
        if pod.phase == "Pending" and self._rules.pending_pods_get_claims:
            self._refuse_terminating_claims(owner, ordinal)
            self._ensure_claims(owner, ordinal, pod)
        if pod.deletion_timestamp:
            return False
        if not is_running_and_ready(pod):
            return False
        self._ensure_claims(owner, ordinal, pod)
        self._retain_claims(owner, pod)
        seconds = owner.spec.get("minReadySeconds") or 0
        if not is_available(pod, seconds, self._loop.clock):
            self._queue.add_after(owner.key, seconds * SECOND)
            return False
        return True

    def _revision_for(
        self,
        owner: ApiObject,
        ordinal: int,
        current: ApiObject,
        update: ApiObject,
    ) -> ApiObject:
        """The revision from whose template a new pod is made. Upstream: newVersionedStatefulSetPod()."""
        below = _start(owner) + _partition(owner)
        return current if ordinal < below and not _is_on_delete(owner) else update

    def _scale_down(
        self,
        owner: ApiObject,
        kept: dict[int, Pod],
        condemned: list[Pod],
        in_order: bool,
        status: _Status,
    ) -> bool:
        """Delete the pods beyond the replicas, highest ordinal first; False while one is being deleted."""
        unhealthy = [pod for pod in [*kept.values(), *condemned[::-1]] if not _is_healthy(pod)]
        first = min(unhealthy, key=_ordinal_of_name, default=None)
        for pod in condemned:
            self._retain_claims(owner, pod, is_condemned=True)
        for pod in condemned:
            if pod.deletion_timestamp:
                if in_order:
                    return False
                continue
            if in_order and not is_running_and_ready(pod) and pod is not first:
                return False
            self._remove(owner, pod)
            status.count(_revision(pod), -1)
            if in_order:
                return False
        return True

    def _roll(
        self, owner: ApiObject, pods: dict[int, Pod], update: ApiObject, status: _Status
    ) -> None:
        """Replace one pod of an old revision, the highest ordinal first."""
        if _is_on_delete(owner):
            return
        for ordinal in sorted(pods, reverse=True):
            if ordinal < _start(owner) + _partition(owner):
                return
            pod = pods[ordinal]
            if _revision(pod) != update.name and not pod.deletion_timestamp:
                self._remove(owner, pod)
                status.count(_revision(pod), -1)
                return
            if not _is_healthy(pod):
                return

    # Pods and claims

    def _create(self, owner: ApiObject, ordinal: int, revision: ApiObject) -> Pod:
        pod = _new_pod(owner, ordinal, revision, has_index=self._rules.pod_index)
        try:
            self._refuse_terminating_claims(owner, ordinal)
        except ApiError as refusal:
            self._report_pod(owner, pod, "create", refusal)
            raise
        if self._ensure_claims(owner, ordinal, pod):
            written = self._context.latencies.draw("api_write")
            if written:
                # So the watches deliver the claim before the pod that uses it.
                self._queue.add_after(owner.key, written)
                raise _AwaitAnswer
        return self._create_in_store(owner, pod)

    def _create_in_store(self, owner: ApiObject, pod: Pod) -> Pod:
        try:
            made = self._store.create(
                self._context.admission.admit(pod, self.AUTHOR), by=self.AUTHOR
            )
        except AlreadyExists:
            raise
        except ApiError as refusal:
            self._report_pod(owner, pod, "create", refusal)
            raise
        assert isinstance(made, Pod)
        self._retain_claims(owner, made)
        self._report_pod(owner, pod, "create", None)
        return made

    def _refuse_terminating_claims(self, owner: ApiObject, ordinal: int) -> None:
        """A pod cannot be made for a claim that is being deleted. Raises ApiError."""
        if not self._rules.awaits_claim_deletion:
            return
        for template in _claim_templates(owner):
            name = _claim_name(template, owner, ordinal)
            found = self._store.find("PersistentVolumeClaim", f"{owner.namespace}/{name}")
            if found is not None and found.deletion_timestamp:
                raise ApiError(f"pvc {name} is being deleted")

    def _retain_claims(self, owner: ApiObject, pod: Pod, *, is_condemned: bool = False) -> None:
        """Raises ApiError."""
        if self._rules.claim_retention:
            ordinal = _ordinal(owner, pod)
            names = [_claim_name(each, owner, ordinal) for each in _claim_templates(owner)]
            self._retention.apply(owner, pod, names, is_condemned=is_condemned)

    def _ensure_claims(self, owner: ApiObject, ordinal: int, pod: Pod) -> bool:
        """Create the missing claims of the pod, which outlive it. Returns whether it created any.

        Upstream: createPersistentVolumeClaims().
        """
        created = False
        for template in _claim_templates(owner):
            name = _claim_name(template, owner, ordinal)
            if self._store.find("PersistentVolumeClaim", f"{owner.namespace}/{name}") is not None:
                continue
            metadata: Manifest = template["metadata"]
            selector: Manifest = part(owner.spec, "selector")
            labels = {**part(metadata, "labels"), **part(selector, "matchLabels")}
            made: Manifest = {"name": name, "namespace": owner.namespace, "labels": labels}
            if metadata.get("annotations"):
                made["annotations"] = metadata["annotations"]
            claim = from_manifest(
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": made,
                    "spec": part(template, "spec"),
                }
            )
            what = f"Claim {name} Pod {pod.name} in StatefulSet {owner.name}"
            try:
                self._store.create(
                    self._context.admission.admit(claim, self.AUTHOR), by=self.AUTHOR
                )
            except ApiError as refusal:
                message = f"{self._said('create')} {what} failed error: {refusal}"
                self._events.event(owner, WARNING, "FailedCreate", message)
                raise
            message = f"{self._said('create')} {what} success"
            self._events.event(owner, NORMAL, "SuccessfulCreate", message)
            created = True
        return created

    def _remove(self, owner: ApiObject, pod: Pod) -> None:
        with suppress(NotFound):
            delete(self._store, pod, by=self.AUTHOR)
            self._report_pod(owner, pod, "delete", None)

    def _report_pod(self, owner: ApiObject, pod: Pod, verb: str, refusal: ApiError | None) -> None:
        """Upstream: recordPodEvent()."""
        what = f"{self._said(verb)} Pod {pod.name} in StatefulSet {owner.name}"
        if refusal is None:
            reason = f"Successful{verb.title()}"
            self._events.event(owner, NORMAL, reason, f"{what} successful")
        else:
            reason = f"Failed{verb.title()}"
            self._events.event(owner, WARNING, reason, f"{what} failed error: {refusal}")

    def _said(self, verb: str) -> str:
        """*verb* as the messages of Events begin."""
        return verb.title() if self._rules.capital_events else verb

    # Status

    def _report_status(self, owner: ApiObject, pods: list[Pod], counts: _Status) -> None:
        if (
            not _is_on_delete(owner)
            and counts.update_revision != counts.current_revision
            and counts.updated == counts.replicas == counts.ready == replicas_of(owner)
        ):
            # The rollout is complete. Upstream: completeRollingUpdate().
            counts.current_revision = counts.update_revision
            counts.current = counts.updated
        seconds = owner.spec.get("minReadySeconds") or 0
        available = sum(
            is_running_and_ready(pod) and is_available(pod, seconds, self._loop.clock)
            for pod in pods
        )
        status: Manifest = {
            **owner.status,
            "observedGeneration": generation_of(owner),
            "replicas": counts.replicas,
            "readyReplicas": counts.ready,
            "currentReplicas": counts.current,
            "updatedReplicas": counts.updated,
            "currentRevision": counts.current_revision,
            "updateRevision": counts.update_revision,
            "collisionCount": owner.status.get("collisionCount") or 0,
        }
        if self._rules.pod_index or "availableReplicas" in owner.status:
            status["availableReplicas"] = available
        always = ("replicas", "collisionCount", "availableReplicas")
        status = {k: v for k, v in status.items() if v or k in always}
        if status != owner.status:
            self._write_status(owner, status)


def _new_pod(owner: ApiObject, ordinal: int, revision: ApiObject, *, has_index: bool) -> Pod:
    """The pod of *ordinal*, not yet created. Upstream: newStatefulSetPod()."""
    name = f"{owner.name}-{ordinal}"
    manifest = pod_of_template(revision_template(revision, owner), owner, name)
    metadata = manifest["metadata"]
    metadata["generateName"] = f"{owner.name}-"
    labels: Manifest = {
        **part(metadata, "labels"),
        POD_NAME_LABEL: name,
        REVISION_LABEL: revision.name,
    }
    if has_index:
        labels[POD_INDEX_LABEL] = str(ordinal)
    metadata["labels"] = labels
    spec: Manifest = {**manifest["spec"], "hostname": name}
    if owner.spec.get("serviceName"):
        spec["subdomain"] = owner.spec["serviceName"]
    templates = {each["metadata"]["name"] for each in _claim_templates(owner)}
    volumes = [each for each in spec.get("volumes") or () if each.get("name") not in templates]
    own = [
        {
            "name": each["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": _claim_name(each, owner, ordinal)},
        }
        for each in _claim_templates(owner)
    ]
    if own or volumes:
        spec["volumes"] = [*own, *volumes]
    manifest["spec"] = spec
    return Pod(manifest)


def _revision(pod: Pod) -> str:
    return pod.labels.get(REVISION_LABEL) or ""


def _is_healthy(pod: Pod) -> bool:
    return is_running_and_ready(pod) and not pod.deletion_timestamp


def _ordinal(owner: ApiObject, pod: Pod) -> int:
    """The number at the end of the pod's name; -1 when it is not one of the owner's."""
    parent, _, number = pod.name.rpartition("-")
    return int(number) if parent == owner.name and number.isdigit() else -1


def _ordinal_of_name(pod: Pod) -> int:
    return int(pod.name.rpartition("-")[2])


def _start(owner: ApiObject) -> int:
    return part(owner.spec, "ordinals").get("start") or 0


def _partition(owner: ApiObject) -> int:
    strategy: Manifest = part(owner.spec, "updateStrategy")
    return part(strategy, "rollingUpdate").get("partition") or 0


def _is_on_delete(owner: ApiObject) -> bool:
    return part(owner.spec, "updateStrategy").get("type") == "OnDelete"


def _claim_templates(owner: ApiObject) -> list[Manifest]:
    return owner.spec.get("volumeClaimTemplates") or []


def _claim_name(template: Manifest, owner: ApiObject, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{owner.name}-{ordinal}"
