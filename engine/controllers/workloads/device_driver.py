"""Stands in for the drivers whose devices must become ready for a node before a pod is bound.

    claim allocated ──latency ready_devices──▶ bindingConditions are True
                                        └────▶ bindingFailureConditions are True, after a fault

Real drivers attach such devices to nodes, over a fabric for example. Upstream: KEP-5007.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

from engine.api_server.store.faults import ClaimFaults
from engine.api_server.store.informer import Informer
from engine.api_server.store.store import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.manifests import part
from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Manifest
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.storage.ports import EventSink

_DEVICE: Final = ("driver", "pool", "device", "shareID")


class DeviceDriver(Controller):
    """Sets the conditions of devices that were allocated, in the status of their claims."""

    AUTHOR: ClassVar[str] = "dra-driver"
    KIND: ClassVar[str] = RESOURCE_CLAIM
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_claims")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self.faults = ClaimFaults()
        # The claims that were allocated and whose devices are not ready, by uid: when they will be.
        self._ready_at: dict[str, int] = {}
        self._claims: Informer[ApiObject] = Informer(
            context.store, RESOURCE_CLAIM, context.watch_latency
        )
        self._claims.on_event(self._on_claim)

    def _on_claim(self, event: WatchEvent) -> None:
        claim = event.new
        if event.type == "DELETED" or not any(True for _ in _waited_for(claim)):
            self._ready_at.pop(claim.uid, None)
        elif claim.uid not in self._ready_at:
            delay = self._context.latencies.draw("ready_devices")
            self._ready_at[claim.uid] = self._loop.now + delay
            self._queue.add_after(claim.key, delay)

    def sync(self, key: str) -> None:
        """Set the conditions of all devices of the claim. Raises ApiError."""
        claim = self._store.find(RESOURCE_CLAIM, key)
        if claim is None or self._ready_at.get(claim.uid, self._loop.now + 1) > self._loop.now:
            return
        waited_for = list(_waited_for(claim))
        if not waited_for:
            return
        failure = self.faults.strike(claim.key, "")
        others: list[Manifest] = [
            each
            for each in claim.status.get("devices") or ()
            if not any(_is_same(each, result) for result in waited_for)
        ]
        entries = [self._status(result, failure) for result in waited_for]
        patch: Manifest = {"status": {"devices": [*others, *entries]}}
        event = "ResourceClaimDevicesReady" if failure is None else "ResourceClaimDevicesFailed"
        self._store.patch(RESOURCE_CLAIM, key, patch, by=self.AUTHOR, event=event)
        self._ready_at.pop(claim.uid, None)

    def _status(self, result: Manifest, failure: str | None) -> Manifest:
        """What the driver writes of one device, which is ready unless there is a *failure*."""
        wanted, reason, message = result["bindingConditions"], "Ready", ""
        if failure is not None:
            wanted, reason, message = (
                result.get("bindingFailureConditions") or (),
                "Failed",
                failure,
            )
        conditions = [
            {
                "type": each,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastTransitionTime": timestamp(self._loop.clock),
            }
            for each in wanted
        ]
        device = {name: result[name] for name in _DEVICE if name in result}
        return {**device, "conditions": conditions}


def _waited_for(claim: ApiObject) -> Iterator[Manifest]:
    """The devices of the claim of whose binding conditions the status says nothing yet."""
    known: list[Manifest] = claim.status.get("devices") or []
    results: list[Manifest] = part(part(claim.status, "allocation"), "devices").get("results") or []
    for result in results:
        if result.get("bindingConditions") and not any(_is_same(each, result) for each in known):
            yield result


def _is_same(one: Manifest, other: Manifest) -> bool:
    return all(one.get(name) == other.get(name) for name in _DEVICE)
