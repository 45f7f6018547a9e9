"""Evicts pods whose devices got a NoExecute taint that their claims do not tolerate (since v1.36).

The taints of a device are those that its driver publishes, and behind the gate DRADeviceTaintRules
those of DeviceTaintRules. Upstream: pkg/controller/devicetainteviction/device_taint_eviction.go.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from engine.api_server.store.informer import Informer
from engine.api_server.store.watches import WatchEvent
from engine.controllers.node_lifecycle.device_taint_rules import TaintRules
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.deletion import delete
from engine.controllers.shared.manifests import part
from engine.controllers.shared.pods import time_of
from engine.kernel.units import nanoseconds
from engine.objects.device_taint_rules import NO_EXECUTE, rules_for, selects, taint_of
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import disruption_target, with_condition
from engine.objects.pods.resource_claims import RESOURCE_CLAIM, all_claims_named
from engine.storage.ports import NORMAL, EventSink

# Driver, pool and name of a device.
DeviceKey = tuple[str, str, str]
# Driver and name of a pool.
PoolKey = tuple[str, str]


class Hit(NamedTuple):
    """A taint that a claim does not tolerate for ever: until when, and the rule that gives it."""

    until: int
    rule: ApiObject | None = None


class DeviceTaintEviction(Controller):
    """Deletes pods when their claims no longer tolerate the taints of their devices."""

    AUTHOR: ClassVar[str] = "device-taint-eviction-controller"
    KIND: ClassVar[str] = "Pod"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_slices", "_claims", "_of_rules")

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
        # None while the gate is off.
        applies = context.rules.applies_device_taint_rules
        self._taint_rules = TaintRules(context, self) if applies else None
        of_rules = self._taint_rules
        self._of_rules = [] if of_rules is None else [of_rules, of_rules.queue, of_rules.informer]

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
        if event.type != "DELETED" and isinstance(pod, Pod) and all_claims_named(pod):
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
        hits = self._hits(pod, self._evicting_rules())
        if not hits:
            return
        left = min(hit.until for hit in hits) - self._loop.clock
        rules = [hit.rule for hit in hits if hit.rule is not None]
        if left > 0:
            self._queue.add_after(key, left)
        else:
            self._evict(pod)
        if self._taint_rules is not None and rules:
            tell = self._taint_rules.concern if left > 0 else self._taint_rules.evicted
            tell([*{rule.uid: rule for rule in rules}.values()])

    # The rules that taint devices

    def rules_changed(self) -> None:
        """See Evictions."""
        self._loop.tried_each(self._queue_users, self._claims)

    def pods_hit_by(self, rule: ApiObject) -> list[Pod]:
        """See Evictions. Upstream: countPendingPods()."""
        return [
            pod
            for pod in self._listers.pods
            if all_claims_named(pod)
            and pod.node_name
            and not pod.deletion_timestamp
            and any(hit.rule is rule for hit in self._hits(pod, [rule]))
        ]

    def devices_hit_by(self, rule: ApiObject) -> tuple[int, int]:
        """See Evictions. Upstream: countTaintedDevices()."""
        published = [
            (driver, pool, device["name"])
            for (driver, pool), slices in self._by_pool.items()
            for device in _devices(_newest(slices.values()))
        ]
        allocated = [device for claim in self._claims for _, device in _allocated(claim)]
        count, used = (
            sum(selects(rule, *device) for device in found) for found in (published, allocated)
        )
        return count, used

    def _evicting_rules(self) -> list[ApiObject]:
        return [] if self._taint_rules is None else self._taint_rules.evicting()

    def _hits(self, pod: Pod, rules: list[ApiObject]) -> list[Hit]:
        """What drives the pod away, now or later. Upstream: podEvictionTime()."""
        return [hit for claim in self._claims_of(pod) for hit in self._hits_of(claim, rules)]

    def _claims_of(self, pod: Pod) -> Iterator[ApiObject]:
        """The claims that are reserved for the pod."""
        for name in all_claims_named(pod):
            claim = self._claims.get(f"{pod.namespace}/{name}")
            users = () if claim is None else claim.status.get("reservedFor") or ()
            if claim is not None and any(user.get("uid") == pod.uid for user in users):
                yield claim

    def _hits_of(self, claim: ApiObject, rules: list[ApiObject]) -> Iterator[Hit]:
        """Until when, by the clock, the taints of the claim's devices are tolerated, if not for ever."""
        for request, device in _allocated(claim):
            tolerations = _tolerations(claim, request)
            for taint in self._taints(device):
                until = _tolerated_until(tolerations, taint, self._added_at(device, taint))
                if until is not None:
                    yield Hit(until)
            for rule in rules_for(rules, *device):
                taint = taint_of(rule)
                until = _tolerated_until(tolerations, taint, self._added_by(rule))
                if until is not None:
                    yield Hit(until, rule)

    def _added_by(self, rule: ApiObject) -> int:
        """When the rule got its taint, as a time of the clock."""
        added = taint_of(rule).get("timeAdded") or rule.creation_timestamp
        return time_of(added) if added else self._loop.clock

    def _added_at(self, device: DeviceKey, taint: Manifest) -> int:
        """When the device got the taint, as a time of the clock: as it says itself, if it does."""
        seen = self._since.setdefault((device, taint["key"]), self._loop.clock)
        return min(seen, time_of(taint.get("timeAdded")) or seen)

    def _taints(self, device: DeviceKey) -> list[Manifest]:
        """The NoExecute taints that the newest slices of its pool say that the device has."""
        driver, pool, name = device
        slices = self._by_pool.get((driver, pool), {}).values()
        return [
            taint
            for found in _devices(_newest(slices))
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


def _pool(one: ApiObject) -> PoolKey:
    return one.spec.get("driver") or "", part(one.spec, "pool").get("name") or ""


def _newest(slices: Iterable[ApiObject]) -> list[ApiObject]:
    """The slices of the newest generation of their pool."""
    found = [*slices]
    newest = max((_generation(each) for each in found), default=0)
    return [each for each in found if _generation(each) == newest]


def _devices(slices: list[ApiObject]) -> Iterator[Manifest]:
    for each in slices:
        yield from each.spec.get("devices") or ()


def _allocated(claim: ApiObject) -> Iterator[tuple[str, DeviceKey]]:
    """The devices that are allocated to the claim, each with its request."""
    devices = part(part(claim.status, "allocation"), "devices")
    for result in devices.get("results") or ():
        yield result["request"], (result["driver"], result["pool"], result["device"])


def _tolerated_until(tolerations: list[Manifest], taint: Manifest, since: int) -> int | None:
    """Until when *tolerations* bear the taint, which is there *since* then; None: for ever."""
    borne = [each for each in tolerations if _tolerates(each, taint)]
    if not borne:
        return since
    limits = [each["tolerationSeconds"] for each in borne if "tolerationSeconds" in each]
    return since + nanoseconds(max(0, min(limits))) if limits else None


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
