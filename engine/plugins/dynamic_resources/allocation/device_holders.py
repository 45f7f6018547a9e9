"""Which claim has a device, for those who read why another one does not get it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.framework.columns.kept import Kept
from engine.framework.nodes.listers import Listers
from engine.objects.objects import ApiObject
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.plugins.dynamic_resources.allocation.claims import results_of
from engine.plugins.dynamic_resources.allocation.devices import DeviceID


class DeviceHolders:
    """The claims by the devices of their allocations, kept up to date claim by claim."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._reset()

    def __reduce__(self) -> tuple[Any, ...]:
        return DeviceHolders, (self._listers,)

    def _reset(self) -> None:
        self._kept = Kept()
        # Admin access takes no device, so that several claims may have one.
        self._claims: dict[DeviceID, dict[str, None]] = {}
        self._devices: dict[str, tuple[DeviceID, ...]] = {}

    def holder(self, device: DeviceID) -> str:
        """The key of the claim that has the device: the last one, if there are several; or ""."""
        self._catch_up()
        found = self._claims.get(device, {})
        if len(found) <= 1:
            return next(iter(found), "")
        return next(key for key in reversed([*self._listers.live(RESOURCE_CLAIM)]) if key in found)

    def _catch_up(self) -> None:
        changed = self._kept.catch_up(self._listers.claim_changes)
        if changed is None:
            self._reset()
            self._kept.catch_up(self._listers.claim_changes)
            changed = [*self._listers.live(RESOURCE_CLAIM)]
        for key in changed:
            self._put(key, self._listers.get(RESOURCE_CLAIM, key))

    def _put(self, key: str, claim: ApiObject | None) -> None:
        for device in self._devices.pop(key, ()):
            self._claims[device].pop(key, None)
            if not self._claims[device]:
                del self._claims[device]
        devices = () if claim is None else tuple(devices_of(claim))
        if devices:
            self._devices[key] = tuple(dict.fromkeys(devices))
        for device in self._devices.get(key, ()):
            self._claims.setdefault(device, {})[key] = None


def devices_of(claim: ApiObject) -> Iterable[DeviceID]:
    """The devices of the claim's allocation."""
    return (DeviceID(each["driver"], each["pool"], each["device"]) for each in results_of(claim))


def devices_held(held: Mapping[str, ApiObject]) -> dict[DeviceID, str]:
    """The keys of the claims *held*, whose allocations are not written yet, by device."""
    return {device: claim.key for claim in held.values() for device in devices_of(claim)}
