"""What speaks against each device of a node: the evidence for "cannot allocate all claims"."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.plugins.dynamic_resources.allocation.devices import Device, DeviceID, Slice
from engine.plugins.dynamic_resources.allocation.requests import ClaimRequests, DeviceRequest
from engine.plugins.dynamic_resources.allocation.search.allocator import (
    Allocator,
    blocking_taint,
    selecting_failure,
)
from engine.plugins.dynamic_resources.allocation.search.capacity import has_room

Holder = Callable[[DeviceID], str]
"""The key of the claim that has the device, or ""."""
Kind = Literal["class", "selector", "taint", "allocated", "capacity", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceObstacle:
    """Why one device cannot serve one request; of kind "none" where nothing speaks against it.

    `place` is that of the selector or of the taint.
    """

    claim: str
    request: str
    slice: str
    device: str
    kind: Kind
    text: str
    place: int = 0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        # All fields are plain; `asdict` copies each deeply, which is most of the work.
        return {name: getattr(self, name) for name in self.__slots__}


def obstacles(
    allocator: Allocator,
    claims: Sequence[ClaimRequests],
    node: str,
    labels: Mapping[str, str],
    holder: Holder,
) -> list[DeviceObstacle]:
    """For each request and each device that can be reached from the node."""
    pools = allocator.pools(node, labels)
    return [
        _found(claim, request, one, device, _obstacle(allocator, request, device, holder))
        for claim in claims
        for alternatives in claim.requests
        for request in alternatives
        for pool in pools
        for one in pool.slices
        for device in one.devices
        if not one.chooses_per_device or device.nodes.matches(node, labels)
    ]


def _found(
    claim: ClaimRequests,
    request: DeviceRequest,
    one: Slice,
    device: Device,
    obstacle: tuple[Kind, str, int],
) -> DeviceObstacle:
    kind, text, place = obstacle
    return DeviceObstacle(
        claim=claim.key,
        request=request.full_name,
        slice=one.name,
        device=device.name,
        kind=kind,
        text=text,
        place=place,
    )


def _obstacle(
    allocator: Allocator,
    request: DeviceRequest,
    device: Device,
    holder: Holder,
) -> tuple[Kind, str, int]:
    device_class = allocator.classes(request.class_name)
    by_class = () if device_class is None else device_class.selectors
    failed = selecting_failure(device, by_class)
    if failed is not None:
        return "class", f"class {request.class_name} does not select it", failed
    failed = selecting_failure(device, request.selectors)
    if failed is not None:
        return "selector", "the request does not select it", failed
    if device.id in allocator.allocated.devices and not request.admin_access:
        return "allocated", f"it is allocated to claim {holder(device.id)}", 0
    taint = blocking_taint(device, request)
    if taint is not None:
        found = device.taints[taint]
        written = f"{found.key}={found.value}:{found.effect}"
        return "taint", f"it has the taint {written}", taint
    if not has_room(request.capacity, device, allocator.allocated.consumed.get(device.id, {})):
        return "capacity", "it has too little capacity left", 0
    return "none", "nothing speaks against it", 0
