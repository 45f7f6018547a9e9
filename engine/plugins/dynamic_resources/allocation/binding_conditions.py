"""Binding conditions: whether drivers have made allocated devices ready for their node.

A device may name conditions that its driver sets in the claim's `status.devices`. A pod is bound
once all `bindingConditions` of its devices are true; one `bindingFailureCondition` ends the wait.

Upstream: plugins/dynamicresources/dynamicresources.go isClaimReadyForBinding(), isClaimTimeout(),
hasBindingConditions() (v1.36, gate DRADeviceBindingConditions).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from engine.kernel.units import SECOND, nanoseconds_of
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject
from engine.plugins.dynamic_resources.allocation.claims import allocation_of, results_of

Manifest = Mapping[str, Any]

# Upstream: BindingTimeoutDefaultSeconds.
BINDING_TIMEOUT: Final = 600 * SECOND


class BindingFailed(Exception):
    """A binding failure condition of a device is true; the text says which claim and why."""


def has_binding_conditions(claim: ApiObject) -> bool:
    """Whether a device of the claim has to become ready before the pod is bound."""
    return any(result.get("bindingConditions") for result in results_of(claim))


def is_ready(claim: ApiObject) -> bool:
    """Whether all devices of the claim are ready; False for a claim without an allocation.

    Raises:
        BindingFailed: a device will not become ready.
    """
    if allocation_of(claim) is None:
        return False
    for result in results_of(claim):
        if result.get("bindingConditions"):
            _check_failures(claim, result)
            if missing_conditions(claim, result):
                return False
    return True


def missing_conditions(claim: ApiObject, result: Manifest) -> list[str]:
    """The binding conditions of one device of the claim that are not true."""
    conditions = _conditions(claim, result)
    return [
        name
        for name in result.get("bindingConditions") or ()
        if conditions.get(name, {}).get("status") != "True"
    ]


def is_timed_out(claim: ApiObject, clock: int) -> bool:
    """Whether the claim was allocated so long ago that its devices count as never ready.

    *clock* is what clocks show now, in nanoseconds since EPOCH.
    """
    since = (allocation_of(claim) or {}).get("allocationTimestamp")
    if since is None or not has_binding_conditions(claim):
        return False
    return nanoseconds_of(since) + BINDING_TIMEOUT < clock


def why_never_ready(claim: ApiObject, clock: int) -> str:
    """Why an allocated claim is of no use to a pod any more; "" if it may be."""
    try:
        if not is_ready(claim) and is_timed_out(claim, clock):
            return f"claim {claim.name} binding timeout"
    except BindingFailed as failure:
        return str(failure)
    return ""


def _conditions(claim: ApiObject, result: Manifest) -> dict[str, Manifest]:
    """What the driver has written about one device of the claim, by type; nothing at first.

    Upstream: getAllocatedDeviceStatus().
    """
    for each in items(claim.status, "devices"):
        if all(each.get(part) == result.get(part) for part in ("driver", "pool", "device")):
            return {condition["type"]: condition for condition in items(each, "conditions")}
    return {}


def _check_failures(claim: ApiObject, result: Manifest) -> None:
    conditions = _conditions(claim, result)
    for name in result.get("bindingFailureConditions") or ():
        found = conditions.get(name)
        if found is not None and found.get("status") == "True":
            message = json.dumps(found.get("message") or "", ensure_ascii=False)
            reason = found.get("reason") or ""
            raise BindingFailed(
                f"claim {claim.name} binding failed: reason={reason}, message={message}"
            )
