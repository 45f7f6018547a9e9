"""Which devices are allocated, kept up to date claim by claim.

Upstream: plugins/dynamicresources/allocateddevices.go, dra_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from engine.framework.columns.kept import Kept
from engine.framework.nodes.listers import Listers
from engine.kernel.change_log import ChangeLog
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.objects.values.quantity import parse
from engine.plugins.dynamic_resources.allocation.claims import results_of
from engine.plugins.dynamic_resources.allocation.devices import DeviceID
from engine.plugins.dynamic_resources.allocation.search.counters import AllocatedState


class _Share(NamedTuple):
    """What one result of an allocation takes: a device, or some of its capacity."""

    device: DeviceID
    consumed: tuple[tuple[str, int], ...] | None


class AllocatedDevices:
    """The devices of all claims that a scheduler knows, and of those that it holds for pods.

    `held` are claims with allocations that are not written yet, by key; upstream:
    inFlightAllocations. `changes` are the devices that were taken, given back or shared otherwise,
    within one `generation`.
    """

    def __init__(self, listers: Listers, held: Mapping[str, ApiObject] | None = None) -> None:
        self._listers = listers
        self._held = dict(held or {})
        self._reset()
        self.generation = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return AllocatedDevices, (self._listers, self._held)

    def _reset(self) -> None:
        self._state = AllocatedState()
        self._kept = Kept()
        self.changes: ChangeLog[DeviceID] = ChangeLog()
        # The counted devices of each claim; True for those that are held.
        self._shares: dict[tuple[bool, str], tuple[_Share, ...]] = {}

    @property
    def held(self) -> Mapping[str, ApiObject]:
        """Claims with allocations that are not written yet."""
        return self._held

    def hold(self, claims: Mapping[str, ApiObject]) -> None:
        """Count the devices of *claims*, by key, before they are written."""
        self.state()
        for key, claim in claims.items():
            self._held[key] = claim
            self._count((True, key), claim)

    def let_go(self, key: str) -> None:
        """Hold the claim no longer: it was written, or its pod goes elsewhere."""
        # The written claim is counted first, so that the devices do not change.
        self.state()
        if self._held.pop(key, None) is not None:
            self._count((True, key), None)

    def state(self) -> AllocatedState:
        """What is allocated now. It changes with the claims."""
        changed = self._kept.catch_up(self._listers.claim_changes)
        if changed is None:
            self._count_all()
        elif changed:
            for key in dict.fromkeys(changed):
                self._count((False, key), self._listers.get(RESOURCE_CLAIM, key))
        return self._state

    def _count_all(self) -> None:
        self._reset()
        self.generation += 1
        self._kept.catch_up(self._listers.claim_changes)
        for claim in self._listers.all(RESOURCE_CLAIM):
            self._count((False, claim.key), claim)
        for key, claim in self._held.items():
            self._count((True, key), claim)

    def _count(self, place: tuple[bool, str], claim: ApiObject | None) -> None:
        before = self._shares.pop(place, ())
        shares = () if claim is None else tuple(_shares(claim))
        if shares:
            self._shares[place] = shares
        if shares == before:
            return
        for share in before:
            self._add(share, -1)
        for share in shares:
            self._add(share, 1)

    def _add(self, share: _Share, sign: int) -> None:
        state, device = self._state, share.device
        users = state.devices if share.consumed is None else state.shared
        count = users.get(device, 0) + sign
        if count:
            users[device] = count
        else:
            del users[device]
        if share.consumed is None:
            # Only a claim that was not to have the device shares it with another one.
            if count == (1 if sign > 0 else 0):
                self.changes.note(device)
            return
        self.changes.note(device)
        total = state.consumed.setdefault(device, {})
        for name, amount in share.consumed:
            total[name] = total.get(name, 0) + sign * amount
        if not count:
            del state.consumed[device]


def _shares(claim: ApiObject) -> Iterator[_Share]:
    """What the claim's allocation takes; admin access takes nothing."""
    for result in results_of(claim):
        if result.get("adminAccess"):
            continue
        device = DeviceID(result["driver"], result["pool"], result["device"])
        if not result.get("shareID"):
            yield _Share(device, None)
            continue
        consumed = section(result, "consumedCapacity")
        yield _Share(device, tuple((name, parse(each).nanos) for name, each in consumed.items()))
