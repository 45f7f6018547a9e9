"""Reserve and PreBind of DynamicResources: allocations are held in memory, then written.

Upstream: plugins/dynamicresources/dynamicresources.go Reserve(), Unreserve(), PreBind(),
bindClaim(); extendeddynamicresources.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from engine.api_server.store.store import ObjectStore
from engine.framework import names
from engine.framework.framework import SUCCESS, Code, CycleState, Status
from engine.framework.nodes.listers import Listers
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.loop import EventLoop
from engine.kernel.units import timestamp
from engine.objects.naming import fnv32a, safe_encode
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.plugins.dynamic_resources import allocation_results
from engine.plugins.dynamic_resources.allocation.binding_conditions import has_binding_conditions
from engine.plugins.dynamic_resources.allocation.claims import allocation_of, is_reserved_for
from engine.plugins.dynamic_resources.prepared import NodeAllocation, Prepared
from engine.plugins.dynamic_resources.protocol import AllocatesDevices
from engine.scheduler.cycle.chronicle import COMPONENT
from engine.scheduler.cycle.device_wait import DeviceWait

Manifest = Mapping[str, Any]

_ALLOCATED: Final = "ResourceClaimAllocated"
_RESERVED: Final = "ResourceClaimReserved"
_RELEASED: Final = "ResourceClaimReleased"
# The answer at PreBind when drivers have to make devices ready first.
WAIT_FOR_DEVICES: Final = Status(Code.WAIT, (), names.DYNAMIC_RESOURCES)


@dataclass(slots=True)
class PodDevices:
    """The claims of one pod on its way to a node."""

    plugin: AllocatesDevices
    pod: Pod
    node: str
    prepared: Prepared
    given: NodeAllocation | None
    in_flight: list[str] = field(default_factory=list[str])
    """The keys of the claims whose allocation is not written yet."""
    written: list[str] = field(default_factory=list[str])
    """The keys of the claims that are reserved for the pod."""
    extended: str = ""
    """The key of the claim that was made for extended resources."""
    wait: DeviceWait | None = None
    """While a device is not ready for the node."""

    @property
    def keys(self) -> list[str]:
        """The keys of the pod's claims."""
        keys = [claim.key for claim in self.prepared.claims]
        return [*keys, self.extended] if self.extended else keys

    def leave_written(self) -> None:
        """The scheduler has ended: what it wrote stays as it is."""
        self.written, self.extended = [], ""


class DeviceWork:
    """Reserves the devices of pods, writes their claims, and undoes both."""

    def __init__(self, loop: EventLoop, store: ObjectStore, listers: Listers) -> None:
        self._loop = loop
        self._store = store
        self._listers = listers

    def reserve(
        self, plugin: AllocatesDevices, state: CycleState, node: str
    ) -> PodDevices | Status | None:
        """Hold what the pod gets on *node*; None without claims, or why it cannot be held."""
        prepared = plugin.prepared(state)
        if prepared is None:
            return None
        given = prepared.by_node.get(node)
        if prepared.needs_devices and given is None:
            return _failed("claim allocation not found for node")
        pod = state.pod.pod
        held = allocation_results.allocated_claims(
            plugin, prepared, pod, node, name="pending", uid=""
        )
        plugin.allocated.hold(held)
        return PodDevices(plugin, pod, node, prepared, given, list(held))

    def bind(self, devices: PodDevices) -> Status:
        """Write the allocations, and the pod among the users of its claims.

        WAIT_FOR_DEVICES means that the pod must not be bound before its devices are ready.
        """
        try:
            self._bind_extended(devices)
            for claim in devices.prepared.claims:
                self._bind_claim(devices, claim)
        except ApiError as refusal:
            return _failed(str(refusal))
        claims = map(devices.plugin.claims.get, devices.keys)
        if devices.plugin.awaits_conditions and any(
            claim is not None and has_binding_conditions(claim) for claim in claims
        ):
            return WAIT_FOR_DEVICES
        return SUCCESS

    def await_devices(self, devices: PodDevices, done: Callable[[str | None], None]) -> None:
        """Call *done* with None once all devices are ready, or with the error."""
        devices.wait = DeviceWait(self._loop, devices.plugin.claims, devices.keys, done)
        devices.wait.start()

    def unreserve(self, devices: PodDevices) -> None:
        """Let go of what is held, and take the pod off its claims."""
        if devices.wait is not None:
            devices.wait.cancel()
        for key in devices.in_flight:
            devices.plugin.allocated.let_go(key)
        for key in devices.written:
            claim = self._store.find(RESOURCE_CLAIM, key)
            if claim is not None and is_reserved_for(claim, devices.pod):
                users = allocation_results.without_user(claim, devices.pod)
                self._patch(claim, {"status": {"reservedFor": users or None}}, _RELEASED)
        if devices.extended:
            self._delete_extended(devices.extended)

    def deallocate(self, plugin: AllocatesDevices, state: CycleState) -> None:
        """What PostFilter does for a pod that fits nowhere."""
        _, claim, left_over = plugin.answer_post_filter(state)
        if left_over is not None:
            self._delete_extended(left_over.key)
        stored = None if claim is None else self._store.find(RESOURCE_CLAIM, claim.key)
        if stored is not None:
            patch = {"status": {"allocation": None, "reservedFor": None, "devices": None}}
            self._patch(stored, patch, _RELEASED)

    # -- writes ----------------------------------------------------------------------------------

    def _bind_claim(self, devices: PodDevices, claim: ApiObject) -> None:
        """Raises ApiError."""
        held = None
        if claim.key in devices.in_flight:
            held = devices.plugin.allocated.held.get(claim.key)
        stored = self._store.find(RESOURCE_CLAIM, claim.key)
        if stored is None or stored.uid != claim.uid:
            raise NotFound(f'resourceclaims.resource.k8s.io "{claim.name}" not found')
        if is_reserved_for(stored, devices.pod):
            devices.written.append(claim.key)
            return
        allocation = None
        if held is not None:
            if allocation_of(stored) is not None:
                raise ApiError(f"claim {claim.key} got allocated elsewhere in the meantime")
            allocation = allocation_of(held)
            if allocation_results.FINALIZER not in stored.finalizers:
                finalizers = [*stored.finalizers, allocation_results.FINALIZER]
                stored = self._patch(stored, {"metadata": {"finalizers": finalizers}})
        status: dict[str, Any] = {"reservedFor": allocation_results.with_user(stored, devices.pod)}
        before = allocation_of(stored)
        given = allocation or before
        if given is not None:
            stamped = self._stamped(devices, given)
            if stamped is not before:
                status["allocation"] = stamped
        event = _RESERVED if allocation is None else _ALLOCATED
        stored = self._patch(stored, {"status": status}, event, devices)
        devices.written.append(claim.key)
        self._known(devices, claim.key, stored)

    def _bind_extended(self, devices: PodDevices) -> None:
        """Create the claim for extended resources, and note it in the pod. Raises ApiError."""
        given = devices.given
        if given is None or not given.has_extended_claim:
            return
        problem = devices.plugin.mapping_error(devices.pod.key, given)
        if problem:
            raise ApiError(problem)
        requests = given.claims[-1]
        suffix = safe_encode(str(fnv32a(devices.pod.uid.encode())))[:5]
        name = f"{devices.pod.name}-extended-resources-{suffix}"
        made = self._store.create(
            allocation_results.extended_claim(devices.pod, requests, name, ""), by=COMPONENT
        )
        devices.extended = made.key
        held = devices.plugin.allocated.held[requests.key]
        status = {
            "allocation": self._stamped(devices, allocation_of(held) or {}),
            "reservedFor": allocation_results.with_user(made, devices.pod),
        }
        finalizers = [*made.finalizers, allocation_results.FINALIZER]
        made = self._patch(made, {"metadata": {"finalizers": finalizers}})
        stored = self._patch(made, {"status": status}, _ALLOCATED, devices)
        self._known(devices, requests.key, stored)
        mappings = [
            {"containerName": container, "resourceName": resource, "requestName": request}
            for container, resource, request in given.mapped
        ]
        claim_status = {"requestMappings": mappings, "resourceClaimName": name}
        patch = {"status": {"extendedResourceClaimStatus": claim_status}}
        self._store.patch(Pod.KIND, devices.pod.key, patch, by=COMPONENT)

    def _stamped(self, devices: PodDevices, allocation: Manifest) -> Manifest:
        """The allocation with the time of this write, from which the wait for devices is counted."""
        if not devices.plugin.awaits_conditions or "allocationTimestamp" in allocation:
            return allocation
        return {**allocation, "allocationTimestamp": timestamp(self._loop.clock)}

    def _known(self, devices: PodDevices, key: str, stored: ApiObject) -> None:
        """From now on the written claim says what was held in memory."""
        self._listers.put(stored)
        devices.plugin.allocated.let_go(key)

    def _delete_extended(self, key: str) -> None:
        claim = self._store.find(RESOURCE_CLAIM, key)
        if claim is None:
            return
        others = [each for each in claim.finalizers if each != allocation_results.FINALIZER]
        self._patch(claim, {"metadata": {"finalizers": others or None}})
        self._store.delete(RESOURCE_CLAIM, key, by=COMPONENT)

    def _patch(
        self,
        claim: ApiObject,
        patch: dict[str, Any],
        event: str = "",
        devices: PodDevices | None = None,
    ) -> ApiObject:
        message = ""
        if devices is not None:
            message = f"for {devices.pod.key} on {devices.node}"
        return self._store.patch(
            RESOURCE_CLAIM, claim.key, patch, by=COMPONENT, event=event, message=message
        )


def _failed(text: str) -> Status:
    return Status(Code.ERROR, (text,), names.DYNAMIC_RESOURCES)
