"""Creates resource claims from templates, and releases those that no pod uses any more.

Upstream: pkg/controller/resourceclaim/controller.go.
"""

from typing import Any, ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import (
    controller_of,
    controller_ref,
    is_controlled_by,
    owner_keys,
    ref_key,
)
from engine.kernel.errors import ApiError
from engine.objects.naming import generated_name
from engine.objects.objects import ApiObject, Manifest, Pod, from_manifest
from engine.objects.pods.resource_claims import (
    FINALIZER,
    RESOURCE_CLAIM,
    all_claims_named,
    pod_claims,
)
from engine.storage.ports import WARNING, EventSink

_TEMPLATE: Final = "ResourceClaimTemplate"
_POD_CLAIM: Final = "resource.kubernetes.io/pod-claim-name"
# Keys of the queue: of pods, and of claims.
_POD_KEY, _CLAIM_KEY = "pod:", "claim:"


class ResourceClaimController(Controller):
    """Creates the claims of pods and deletes them afterwards; deallocates claims without users."""

    AUTHOR: ClassVar[str] = "resource-claim-controller"
    KIND: ClassVar[str] = "Pod"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_claims", "_templates")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._claims: Informer[ApiObject] = Informer(
            context.store, RESOURCE_CLAIM, context.watch_latency
        )
        self._templates: Informer[ApiObject] = Informer(
            context.store, _TEMPLATE, context.watch_latency
        )
        # By what refers to their owner, the keys of claims: those that were heard of, and those that
        # were made here. Upstream: claimPodOwnerIndex, claimCache.
        self._by_owner: dict[str, dict[str, None]] = {}
        self._claims.on_event(self._on_claim)
        self._templates.on_event(self._on_template)
        self._listers.pods.on_event(self._on_pod, plain=False)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.new
        if not isinstance(pod, Pod):
            return
        if pod.spec.get("resourceClaims") and event.type != "DELETED":
            self._queue.add(_POD_KEY + pod.key)
        if event.type == "DELETED" or pod.is_terminated:
            for name in all_claims_named(pod):
                self._queue.add(f"{_CLAIM_KEY}{pod.namespace}/{name}")

    def _on_template(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            return
        template = event.new
        pods = self._listers.pods_in(template.namespace)
        self._loop.tried_each(self._queue_if_naming, pods, template)

    def _queue_if_naming(self, pod: Pod, template: ApiObject) -> None:
        if any(each.template == template.name for each in pod_claims(pod)):
            self._queue.add(_POD_KEY + pod.key)

    def _on_claim(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._forget(event.new)
        else:
            self._note(event.new)
        self._queue.add(_CLAIM_KEY + event.new.key)

    def _note(self, claim: ApiObject) -> None:
        if (ref := controller_of(claim)) is not None:
            self._by_owner.setdefault(ref_key(ref, claim.namespace), {})[claim.key] = None

    def _forget(self, claim: ApiObject) -> None:
        if (ref := controller_of(claim)) is not None:
            owner = ref_key(ref, claim.namespace)
            claims = self._by_owner.get(owner, {})
            claims.pop(claim.key, None)
            if not claims:
                self._by_owner.pop(owner, None)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncHandler()."""
        if key.startswith(_POD_KEY):
            self._sync_pod(key.removeprefix(_POD_KEY))
        else:
            self._sync_claim(key.removeprefix(_CLAIM_KEY))

    # -- pods --------------------------------------------------------------------------------------

    def _sync_pod(self, key: str) -> None:
        pod = self._listers.pods.get(key)
        if pod is None or pod.deletion_timestamp or pod.is_terminated:
            return
        statuses: list[Manifest] = list(pod.status.get("resourceClaimStatuses") or ())
        before = len(statuses)
        for each in pod_claims(pod):
            if each.template and not each.is_made:
                name = self._made(pod, each.name, each.template)
                statuses.append({"name": each.name, "resourceClaimName": name})
        if len(statuses) > before:
            patch: Manifest = {"status": {"resourceClaimStatuses": statuses}}
            self._store.patch(Pod.KIND, pod.key, patch, by=self.AUTHOR)

    def _made(self, pod: Pod, name: str, template_name: str) -> str:
        """The name of the claim, which is created if there is none. Raises ApiError."""
        known = (key for owner in owner_keys(pod) for key in self._by_owner.get(owner, ()))
        for claim in (self._store.find(RESOURCE_CLAIM, key) for key in known):
            if (
                claim is not None
                and is_controlled_by(claim, pod)
                and claim.annotations.get(_POD_CLAIM) == name
            ):
                return claim.name
        template = self._templates.get(f"{pod.namespace}/{template_name}")
        if template is None:
            text = (
                f'PodResourceClaim {name}: resource claim template "{template_name}": '
                f'resourceclaimtemplate.resource.k8s.io "{template_name}" not found'
            )
            self._events.event(pod, WARNING, "FailedResourceClaimCreation", text)
            raise ApiError(text)
        given = part(template.spec, "metadata")
        claim = from_manifest(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": RESOURCE_CLAIM,
                "metadata": {
                    "name": generated_name(f"{pod.name}-{name}-", self._context.names),
                    "generateName": f"{pod.name}-{name}-",
                    "namespace": pod.namespace,
                    "labels": part(given, "labels"),
                    "annotations": {**part(given, "annotations"), _POD_CLAIM: name},
                    "ownerReferences": [controller_ref(pod)],
                },
                "spec": part(template.spec, "spec"),
            }
        )
        made = self._store.create(claim, by=self.AUTHOR)
        self._note(made)
        return made.name

    # -- claims ------------------------------------------------------------------------------------

    def _sync_claim(self, key: str) -> None:
        claim = self._store.find(RESOURCE_CLAIM, key)
        if claim is None:
            return
        users: list[Manifest] = list(claim.status.get("reservedFor") or ())
        left = [each for each in users if not self._is_done(claim, each)]
        if len(left) < len(users) or (not users and claim.deletion_timestamp):
            claim = self._without_others(claim, left)
        if self._has_ended_owner(claim) and not claim.deletion_timestamp:
            self._store.delete(RESOURCE_CLAIM, key, by=self.AUTHOR)

    def _without_others(self, claim: ApiObject, left: list[Manifest]) -> ApiObject:
        """Remove all users but those *left*; if there are none, deallocate the devices."""
        status: dict[str, Any] = {"reservedFor": left or None}
        if left:
            return self._store.patch(
                RESOURCE_CLAIM,
                claim.key,
                {"status": status},
                by=self.AUTHOR,
                event="ResourceClaimReleased",
            )
        if claim.status:
            # The API server drops what drivers wrote about devices that are not allocated.
            status |= {"allocation": None, "devices": None}
            claim = self._store.patch(
                RESOURCE_CLAIM,
                claim.key,
                {"status": status},
                by=self.AUTHOR,
                event="ResourceClaimDeallocated",
            )
        if FINALIZER in claim.finalizers:
            others = [each for each in claim.finalizers if each != FINALIZER]
            patch: Manifest = {"metadata": {"finalizers": others or None}}
            claim = self._store.patch(RESOURCE_CLAIM, claim.key, patch, by=self.AUTHOR)
        return claim

    def _is_done(self, claim: ApiObject, user: Manifest) -> bool:
        """Whether the pod is gone, has ended, or will never run because it is being deleted."""
        if user.get("resource", "pods") != "pods":
            return False
        pod = self._store.find(Pod.KIND, f"{claim.namespace}/{user.get('name')}")
        if not isinstance(pod, Pod) or pod.uid != user.get("uid"):
            return True
        return pod.is_terminated or bool(pod.deletion_timestamp and not pod.node_name)

    def _has_ended_owner(self, claim: ApiObject) -> bool:
        """Whether the pod for which the claim was made has ended. Upstream: isPodDone()."""
        owner = claim.controller
        if owner is None or owner.get("kind") != "Pod":
            return False
        pod = self._store.find(Pod.KIND, f"{claim.namespace}/{owner.get('name')}")
        return isinstance(pod, Pod) and pod.uid == owner.get("uid") and pod.is_terminated
