"""Generic ephemeral volumes: a claim that is created for a pod and deleted with it.

Upstream: pkg/controller/volume/ephemeral/controller.go.
"""

from typing import ClassVar

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_ref, is_controlled_by
from engine.kernel.errors import ApiError, Forbidden
from engine.objects.objects import Manifest, Pod, from_manifest
from engine.storage.ports import WARNING, EventSink


class EphemeralVolumeController(Controller):
    """Creates the claims of pods' ephemeral volumes."""

    AUTHOR: ClassVar[str] = "ephemeral-volume-controller"
    KIND: ClassVar[str] = "Pod"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._listers.pods.on_event(self._on_pod, plain=False)

    def _on_pod(self, event: WatchEvent) -> None:
        if event.type == "ADDED" and event.new.spec.get("volumes"):
            pod = event.new
            if any("ephemeral" in volume for volume in pod.spec["volumes"]):
                self._queue.add(pod.key)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncHandler()."""
        pod = self._listers.pods.get(key)
        if pod is None or pod.deletion_timestamp:
            return
        for volume in pod.volumes:
            template: Manifest | None = part(volume, "ephemeral").get("volumeClaimTemplate")
            if template is not None:
                self._make(pod, volume["name"], template)

    def _make(self, pod: Pod, volume: str, template: Manifest) -> None:
        name = f"{pod.name}-{volume}"
        found = self._store.find("PersistentVolumeClaim", f"{pod.namespace}/{name}")
        if found is not None:
            if not is_controlled_by(found, pod):
                message = (
                    f"PVC {pod.namespace}/{name} was not created for pod {pod.key} "
                    "(pod is not owner)"
                )
                retries = self._rules.retries_ephemeral_claims
                text = f"ephemeral volume {volume}: {message}" if retries else message
                self._events.event(pod, WARNING, "FailedBinding", text)
                if retries:
                    raise ApiError(message)
            return
        given: Manifest = part(template, "metadata")
        metadata: Manifest = {
            "name": name,
            "namespace": pod.namespace,
            "ownerReferences": [controller_ref(pod)],
        }
        for field in ("labels", "annotations"):
            if given.get(field):
                metadata[field] = given[field]
        manifest: Manifest = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": metadata,
            "spec": part(template, "spec"),
        }
        try:
            claim = self._context.admission.admit(from_manifest(manifest), self.AUTHOR)
        except Forbidden as refusal:
            message = f"ephemeral volume {volume}: create PVC {name}: {refusal}"
            self._events.event(pod, WARNING, "FailedBinding", message)
            raise
        self._store.create(claim, by=self.AUTHOR)
