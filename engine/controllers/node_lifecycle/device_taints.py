"""Evicts pods whose devices got a NoExecute taint that their claims do not tolerate (since v1.36).

Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go. DeviceTaintRules are alpha
and not modelled.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.deletion import delete
from engine.controllers.shared.manifests import part
from engine.controllers.shared.pods import time_of
from engine.kernel.units import nanoseconds
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import disruption_target, with_condition
from engine.objects.pods.resource_claims import RESOURCE_CLAIM, extended_claim, pod_claims
from engine.storage.ports import NORMAL, EventSink

NO_EXECUTE: Final = "NoExecute"

# Driver, pool and name of a device.
DeviceKey = tuple[str, str, str]
# Driver and name of a pool.
PoolKey = tuple[str, str]


class DeviceTaintEviction(Controller):
    """Deletes pods when their claims no longer tolerate the taints of their devices."""

    AUTHOR: ClassVar[str] = "device-taint-eviction-controller"
    KIND: ClassVar[str] = "Pod"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_slices", "_claims")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        watch = context.watch_latency
        self._slices: Informer[ApiObject] = Informer(context.store, "ResourceSlice", watch)
        self._claims: Informer[ApiObject] = Informer(context.store, RESOURCE_CLAIM, watch)
        # Since when devices have which taints.
        self._since: dict[tuple[DeviceKey, str], int] = {}
        self._by_pool: dict[PoolKey, dict[str, ApiObject]] = {}
        self._slices.on_event(self._on_slice)
        self._claims.on_event(self._on_claim)
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=self._claims)

    def _on_slice(self, event: WatchEvent) -> None:
        if event.old is not None:
            self._by_pool.get(_pool(event.old), {}).pop(event.old.key, None)
        if event.type != "DELETED":
            self._by_pool.setdefault(_pool(event.new), {})[event.new.key] = event.new
        self._loop.tried_each(self._queue_users, self._claims)

    def _on_claim(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            self._queue_users(event.new)

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.new
        if event.type != "DELETED" and isinstance(pod, Pod) and _claim_names(pod):
            self._queue.add(pod.key)

    def _queue_users(self, claim: ApiObject) -> None:
        for user in claim.status.get("reservedFor") or ():
            if user.get("resource", "pods") == "pods":
                self._queue.add(f"{claim.namespace}/{user.get('name')}")

    def sync(self, key: str) -> None:
        """See Controller. Upstream: maybeEvictPod()."""
        pod = self._store.find("Pod", key)
        if not isinstance(pod, Pod) or not pod.node_name:
            return
        if pod.deletion_timestamp or pod.is_terminated:
            return
        ends = [end for claim in self._claims_of(pod) for end in self._tolerated_until(claim)]
        if not ends:
            return
        left = min(ends) - self._loop.clock
        if left > 0:
            self._queue.add_after(key, left)
        else:
            self._evict(pod)

    def _claims_of(self, pod: Pod) -> Iterator[ApiObject]:
        """The claims that are reserved for the pod."""
        for name in _claim_names(pod):
            claim = self._claims.get(f"{pod.namespace}/{name}")
            users = () if claim is None else claim.status.get("reservedFor") or ()
            if claim is not None and any(user.get("uid") == pod.uid for user in users):
                yield claim

    def _tolerated_until(self, claim: ApiObject) -> Iterator[int]:
        """Until when, by the clock, the taints of the claim's devices are tolerated, if not for ever."""
        devices = part(part(claim.status, "allocation"), "devices")
        for result in devices.get("results") or ():
            device = (result["driver"], result["pool"], result["device"])
            tolerations = _tolerations(claim, result["request"])
            for taint in self._taints(device):
                since = self._added_at(device, taint)
                borne = [each for each in tolerations if _tolerates(each, taint)]
                if not borne:
                    yield since
                    continue
                limits = [
                    each["tolerationSeconds"] for each in borne if "tolerationSeconds" in each
                ]
                if limits:
                    yield since + nanoseconds(max(0, min(limits)))

    def _added_at(self, device: DeviceKey, taint: Manifest) -> int:
        """When the device got the taint, as a time of the clock: as it says itself, if it does."""
        seen = self._since.setdefault((device, taint["key"]), self._loop.clock)
        return min(seen, time_of(taint.get("timeAdded")) or seen)

    def _taints(self, device: DeviceKey) -> list[Manifest]:
        """The NoExecute taints that the newest slices of its pool say that the device has."""
        driver, pool, name = device
        slices = self._by_pool.get((driver, pool), {}).values()
        newest = max((_generation(each) for each in slices), default=0)
        return [
            taint
            for each in slices
            if _generation(each) == newest
            for found in each.spec.get("devices") or ()
            if found.get("name") == name
            for taint in found.get("taints") or ()
            if taint.get("effect") == NO_EXECUTE
        ]

    def _evict(self, pod: Pod) -> None:
        """Raises ApiError."""
        event = "DeviceTaintManagerEviction"
        self._events.event(pod, NORMAL, event, "Marking for deletion")
        message = "Device Taint manager: deleting due to NoExecute taint"
        condition = disruption_target("DeletionByDeviceTaintManager", message, self._loop.clock)
        patch: Manifest = {"status": {"conditions": with_condition(pod, condition)}}
        marked = self._store.patch("Pod", pod.key, patch, by=self.AUTHOR, event="PodDisrupted")
        why = "its claims do not tolerate a taint of its devices"
        delete(self._store, marked, by=self.AUTHOR, message=why)


def _claim_names(pod: Pod) -> list[str]:
    names = [each.claim for each in pod_claims(pod)]
    return [name for name in (*names, extended_claim(pod)) if name]


def _pool(one: ApiObject) -> PoolKey:
    return one.spec.get("driver") or "", part(one.spec, "pool").get("name") or ""


def _generation(resource_slice: ApiObject) -> int:
    return part(resource_slice.spec, "pool").get("generation") or 0


def _tolerations(claim: ApiObject, request_name: str) -> list[Manifest]:
    """The NoExecute tolerations of a request, which is named "request" or "request/alternative".

    A toleration without an effect counts for the scheduler, but not for this controller.
    """
    parent, _, alternative = request_name.partition("/")
    for request in part(claim.spec, "devices").get("requests") or ():
        if request.get("name") != parent:
            continue
        chosen = [
            each for each in request.get("firstAvailable") or () if each.get("name") == alternative
        ] or [part(request, "exactly")]
        given: list[Manifest] = chosen[0].get("tolerations") or []
        return [each for each in given if each.get("effect") == NO_EXECUTE]
    return []


def _tolerates(toleration: Manifest, taint: Manifest) -> bool:
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return (toleration.get("value") or "") == (taint.get("value") or "")
