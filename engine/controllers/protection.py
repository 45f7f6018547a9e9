"""Storage object in use protection: what is in use is not deleted.

Claims that pods use, bound volumes, and classes of volume attributes that a claim or a volume names:
admission adds a finalizer to each of them when it is created. A DELETE then only marks the
object; the controller here removes the finalizer once the object is no longer in use.
Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection,
pkg/controller/volume/{pvcprotection,pvprotection}, pkg/controller/storage/vacprotection.
"""

from itertools import takewhile
from typing import ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.loop import EventLoop
from engine.kernel.units import timestamp
from engine.objects.attributes_classes import attributes_classes_of
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Manifest, PersistentVolumeClaim, Pod
from engine.objects.phases import (
    ATTRIBUTES_CLASS,
    CLAIM_PROTECTION,
    CLASS_PROTECTION,
    VOLUME_BOUND,
    VOLUME_PROTECTION,
)
from engine.storage.ephemeral import owner_is
from engine.storage.ports import InformerListers

# The condition of a claim that no pod names. Upstream: PersistentVolumeClaimUnused.
UNUSED: Final = "Unused"
# The event of a write that leaves another finalizer, or adds this one.
_CHANGED: Final = {
    "PersistentVolumeClaim": "ClaimProtectionChanged",
    "PersistentVolume": "VolumeProtectionChanged",
    ATTRIBUTES_CLASS: "VolumeAttributesClassProtectionChanged",
}


class ClaimProtection:
    """Removes the finalizer of deleted claims that no scheduled pod uses any more.

    A pod that has ended still uses the claims that it names until it is deleted, but no longer those
    of its ephemeral volumes once it is shut down. A pod without a node uses none: the kubelet would
    refuse to start it. With *tells_unused* it keeps the condition Unused of bound claims.
    Upstream: pvc_protection_controller.go.
    """

    AUTHOR: Final = "pvc-protection"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue",)

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        listers: InformerListers,
        *,
        tells_unused: bool = False,
    ) -> None:
        self._loop = loop
        self._store = store
        self._listers = listers
        self._tells_unused = tells_unused
        self._queue = WorkQueue(loop, self.sync, answers=store.answers.of(self.AUTHOR))
        listers.claim_informer.on_event(self._on_claim)
        listers.pod_informer.on_event(self._on_pod, plain=False)

    def _on_claim(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and (
            self._tells_unused or _needs_work(event.new, CLAIM_PROTECTION)
        ):
            self._queue.add(event.new.key)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.new
        assert isinstance(pod, Pod)
        if self._tells_unused and (event.type != "MODIFIED" or pod.is_terminated):
            for name in pod.claim_names:
                self._queue.add(f"{pod.namespace}/{name}")
        has_ended = event.type == "DELETED" or pod.is_terminated or _is_shut_down(pod)
        if pod.node_name and not has_ended:
            # It still uses its claims.
            return
        for name in pod.claim_names:
            claim = self._listers.claim(f"{pod.namespace}/{name}")
            if claim is not None and _needs_work(claim, CLAIM_PROTECTION):
                self._queue.add(claim.key)

    def sync(self, key: str) -> None:
        """Add or remove the finalizer of the claim of that key."""
        claim = self._listers.claim(key)
        if claim is None:
            return
        try:
            if not claim.deletion_timestamp:
                if CLAIM_PROTECTION not in claim.finalizers:
                    _write(self._store, claim, _with(claim, CLAIM_PROTECTION), self.AUTHOR)
                elif self._tells_unused and claim.phase == "Bound":
                    self._tell_use(claim)
            elif CLAIM_PROTECTION in claim.finalizers and not self._users(claim):
                message = "no pod uses the claim"
                left = _without(claim, CLAIM_PROTECTION)
                _write(self._store, claim, left, self.AUTHOR, message)
            # Else the end of the last pod queues the claim again.
        except NotFound:
            return
        except ApiError:
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)

    def _tell_use(self, claim: PersistentVolumeClaim) -> None:
        """Write whether any pod that has not ended names the claim, where that has changed."""
        informed = self._listers.pods_of_claim(claim.key)
        is_used = any(not pod.is_terminated for pod in informed)
        status, reason = ("False", "PodUsingPVC") if is_used else ("True", "NoPodsUsingPVC")
        conditions = items(claim.status, "conditions")
        known = next((each for each in conditions if each.get("type") == UNUSED), None)
        if known is not None and known.get("status") == status:
            return
        told: Manifest = {
            "type": UNUSED,
            "status": status,
            "lastTransitionTime": timestamp(self._loop.clock),
            "reason": reason,
        }
        others = [each for each in conditions if each.get("type") != UNUSED]
        new = claim.patched({"status": {"conditions": [*others, told]}})
        self._store.update(new, by=self.AUTHOR, event="ClaimUseChanged")

    def _users(self, claim: PersistentVolumeClaim) -> list[str]:
        """Pods that use the claim, by the informer and then, because it may be stale, by the API server."""
        informed = self._listers.pods_of_claim(claim.key)
        known = [pod.key for pod in informed if _uses(pod, claim)]
        if known:
            return known
        newest = [self._store.find("Pod", pod.key) for pod in informed]
        return [
            pod.key
            for pod in (*newest, *self._pods_not_in_informer())
            if isinstance(pod, Pod) and _uses(pod, claim)
        ]

    def _pods_not_in_informer(self) -> list[ApiObject]:
        """The pods that the API server has but the informer does not have yet: the newest ones."""

        def is_missing(pod: ApiObject) -> bool:
            known = self._listers.pod_informer.get(pod.key)
            return known is None or known.uid != pod.uid

        return [*takewhile(is_missing, self._store.newest("Pod"))]


def _uses(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether *claim* has to stay for *pod*. Upstream: podUsesPVCForDeletion()."""
    if not pod.node_name or pod.namespace != claim.namespace:
        return False
    if claim.name in pod.named_claims:
        return True
    is_ephemeral = claim.name in pod.claim_names and owner_is(claim, pod.uid)
    return is_ephemeral and not _is_shut_down(pod)


def _is_shut_down(pod: Pod) -> bool:
    """Whether its kubelet has ended it, or it was deleted by force; only finalizers hold it.

    Without this a pod whose finalizer waits for the claim of an ephemeral volume, as in a foreground
    deletion, and that claim would wait for each other. Upstream: podIsShutDown().
    """
    return bool(pod.deletion_timestamp) and pod.metadata.get("deletionGracePeriodSeconds") == 0


class VolumeProtection:
    """Removes the finalizer of deleted volumes that are not bound. Upstream: pv_protection_controller.go."""

    AUTHOR: Final = "pv-protection"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue",)

    def __init__(self, loop: EventLoop, store: ObjectStore, listers: InformerListers) -> None:
        self._store = store
        self._listers = listers
        self._queue = WorkQueue(loop, self.sync, answers=store.answers.of(self.AUTHOR))
        listers.volume_informer.on_event(self._on_volume)

    def _on_volume(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and _needs_work(event.new, VOLUME_PROTECTION):
            self._queue.add(event.new.key)

    def sync(self, key: str) -> None:
        """Add or remove the finalizer of the volume of that name."""
        volume = self._listers.volume(key)
        if volume is None:
            return
        try:
            if not volume.deletion_timestamp:
                if VOLUME_PROTECTION not in volume.finalizers:
                    _write(self._store, volume, _with(volume, VOLUME_PROTECTION), self.AUTHOR)
            elif VOLUME_PROTECTION in volume.finalizers and volume.phase != VOLUME_BOUND:
                left = _without(volume, VOLUME_PROTECTION)
                _write(self._store, volume, left, self.AUTHOR, "the volume is not bound")
            # Else the change of its phase queues the volume again.
        except NotFound:
            return
        except ApiError:
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)


class AttributesClassProtection:
    """Removes the finalizer of deleted VolumeAttributesClasses that no claim and no volume names.

    Upstream: pkg/controller/storage/vacprotection.
    """

    AUTHOR: Final = "vac-protection"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_classes")

    def __init__(self, loop: EventLoop, store: ObjectStore, listers: InformerListers) -> None:
        self._store = store
        self._listers = listers
        self._queue = WorkQueue(loop, self.sync, answers=store.answers.of(self.AUTHOR))
        self._classes: Informer[ApiObject] = Informer(store, ATTRIBUTES_CLASS)
        self._classes.on_event(self._on_class)
        # Without a class, no claim or volume is of interest.
        listers.claim_informer.on_event(self._on_user, only_with=self._classes)
        listers.volume_informer.on_event(self._on_user, only_with=self._classes)

    def _on_class(self, event: WatchEvent) -> None:
        if event.type != "DELETED" and _needs_work(event.new, CLASS_PROTECTION):
            self._queue.add(event.new.key)

    def _on_user(self, event: WatchEvent) -> None:
        for each in self._classes:
            if each.deletion_timestamp:
                self._queue.add(each.key)

    def sync(self, key: str) -> None:
        """Add or remove the finalizer of the class of that name."""
        found = self._classes.get(key)
        if found is None or not _needs_work(found, CLASS_PROTECTION):
            return
        try:
            if not found.deletion_timestamp:
                _write(self._store, found, _with(found, CLASS_PROTECTION), self.AUTHOR)
            elif not self._is_used(found.name):
                left = _without(found, CLASS_PROTECTION)
                message = "no claim and no volume uses the class"
                _write(self._store, found, left, self.AUTHOR, message)
        except NotFound:
            return
        except ApiError:
            self._queue.add_rate_limited(key)
        else:
            self._queue.forget(key)

    def _is_used(self, name: str) -> bool:
        """Upstream: isBeingUsed()."""
        if any(
            volume.spec.get("volumeAttributesClassName") == name
            for volume in self._listers.volumes()
        ):
            return True
        return any(name in attributes_classes_of(claim) for claim in self._listers.claims())


def _needs_work(obj: ApiObject, finalizer: str) -> bool:
    """Whether it has the finalizer though it is being deleted, or lacks it though it is not."""
    metadata = obj.raw["metadata"]
    has = finalizer in (metadata.get("finalizers") or ())
    return has if metadata.get("deletionTimestamp") else not has


def _with(obj: ApiObject, finalizer: str) -> Manifest:
    return {"metadata": {"finalizers": [*obj.finalizers, finalizer]}}


def _without(obj: ApiObject, finalizer: str) -> Manifest:
    left = [name for name in obj.finalizers if name != finalizer]
    return {"metadata": {"finalizers": left or None}}


def _write(
    store: ObjectStore,
    obj: ApiObject,
    patch: Manifest,
    author: str,
    message: str = "",
) -> None:
    # The write that removes the last finalizer deletes the object; the store records the deletion.
    removed = patch["metadata"]["finalizers"] is None
    event = "" if removed else _CHANGED[obj.kind]
    store.update(obj.patched(patch), by=author, event=event, message=message)
