"""What a pod needs of devices, before any node is looked at.

Upstream: plugins/dynamicresources/dynamicresources.go PreFilter(), validateDeviceClass().
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from engine.framework import names
from engine.framework.handle import Arguments, Handle
from engine.framework.pods.pod_info import PodInfo
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.objects.selectors import NodeSelector
from engine.plugins.dynamic_resources.allocation.allocated_devices import AllocatedDevices
from engine.plugins.dynamic_resources.allocation.binding_conditions import why_never_ready
from engine.plugins.dynamic_resources.allocation.claims import (
    ClaimMissing,
    allocation_of,
    can_be_reserved,
    claims_of,
    is_reserved_for,
    results_of,
)
from engine.plugins.dynamic_resources.allocation.devices import (
    DEVICE_CLASS,
    GATED_FIELDS,
    DeviceClass,
)
from engine.plugins.dynamic_resources.allocation.extended import (
    ListedClasses,
    left_over_claim,
    may_be_devices,
)
from engine.plugins.dynamic_resources.allocation.requests import ClaimRequests
from engine.plugins.dynamic_resources.allocation.search.allocator import Allocator, AllocatorRules
from engine.plugins.dynamic_resources.allocation.search.published import ListedSlices
from engine.plugins.dynamic_resources.kept_searches import KeptSearches, preference_of_claim
from engine.plugins.dynamic_resources.prepared import Prepared


@dataclass(slots=True)
class SharedDevices:
    """What all profiles of a scheduler know of devices. Upstream: SharedDRAManager."""

    slices: ListedSlices
    allocated: AllocatedDevices

    @classmethod
    def of(cls, handle: Handle, dropped: frozenset[str], *, applies_rules: bool) -> SharedDevices:
        """The one of the scheduler that has the handle; see ListedSlices."""
        found: SharedDevices | None = handle.shared.get(names.DYNAMIC_RESOURCES)
        if found is None:
            slices = ListedSlices(handle.listers, dropped, applies_rules=applies_rules)
            found = cls(slices, AllocatedDevices(handle.listers))
            handle.shared[names.DYNAMIC_RESOURCES] = found
        return found


class PodReader:
    """Reads the claims of pods, and prepares the search for their devices."""

    def __init__(self, handle: Handle, arguments: Arguments) -> None:
        """*arguments* are the plugin's, which stand for feature gates; all are on by default."""
        off = [name for name in GATED_FIELDS if not arguments.get(name, True)]
        dropped = frozenset(field for name in off for field in GATED_FIELDS[name])
        self._handle = handle
        self._listers = handle.listers
        self._provides_extended: bool = arguments.get("provides_extended", True)
        self._shares_capacity: bool = arguments.get("shares_capacity", True)
        self._rules = AllocatorRules(
            keeps_alternative=arguments.get("keeps_alternative", True),
            explains_errors=arguments.get("explains_errors", False),
            counts_by_driver=arguments.get("counts_by_driver", False),
            gives_back=arguments.get("gives_back", False),
            compares_all=arguments.get("compares_all_devices", False),
        )
        self.awaits_conditions: bool = arguments.get("awaits_conditions", True)
        self._classes = ListedClasses(handle.listers)
        self._listed_classes = handle.listers.live(DEVICE_CLASS)
        applies_rules: bool = arguments.get("applies_taint_rules", False)
        shared = SharedDevices.of(handle, dropped, applies_rules=applies_rules)
        self._slices = shared.slices
        self.allocated = shared.allocated
        self._kept = KeptSearches(handle.table, handle.listers, shared.slices, shared.allocated)

    @property
    def claims(self) -> Mapping[str, ApiObject]:
        """All resource claims by key."""
        return self._listers.live(RESOURCE_CLAIM)

    def device_class(self, name: str) -> DeviceClass | None:
        """The class of that name, or None."""
        return self._classes.by_name.get(name)

    def extended(self, pod: PodInfo) -> dict[str, int]:
        """The resources that the pod wants and a class stands for; none where no class does."""
        if not self._provides_extended or not self._listed_classes:
            return {}
        wanted = {
            name: amount
            for name, amount in pod.resources.fit.scalars
            if amount and may_be_devices(name)
        }
        return wanted if any(name in self._classes.by_resource for name in wanted) else {}

    def keeps_searches(self, extended: Mapping[str, int]) -> bool:
        """Whether searches are kept for the next pod, if a pod wants these extended resources."""
        # The rest of the counters of a pool depends on the node that is searched first.
        return not extended and not self._slices.index.has_counters

    def read(self, pod: PodInfo) -> Prepared | None:
        """What the pod needs; None if it needs no devices.

        Raises:
            ClaimMissing: a claim or its class is not there, or the pod may not use it.
        """
        extended = self.extended(pod)
        claims = tuple(claims_of(pod.pod, self.claims))
        if not claims and not extended:
            return None
        new: list[ApiObject] = []
        to_allocate: list[ClaimRequests] = []
        selectors: dict[int, NodeSelector] = {}
        never_ready: dict[int, str] = {}
        allocated_preference = 0
        for place, claim in enumerate(claims):
            allocation = allocation_of(claim)
            if allocation is None:
                new.append(claim)
                to_allocate.append(self._requests(claim))
            elif not can_be_reserved(claim) and not is_reserved_for(claim, pod.pod):
                raise ClaimMissing("resourceclaim in use")
            else:
                allocated_preference += _preference(claim)
                if allocation.get("nodeSelector") is not None:
                    selectors[place] = NodeSelector.parse(allocation["nodeSelector"])
                if self.awaits_conditions and (why := why_never_ready(claim, self._handle.clock)):
                    never_ready[place] = why
        found = Prepared(
            claims=claims,
            to_allocate=tuple(to_allocate),
            selectors=selectors,
            never_ready=never_ready,
            extended=extended,
            classes=self._classes.by_resource,
            allocated_preference=allocated_preference,
            left_over=left_over_claim(pod.pod, self.claims.values()) if extended else None,
        )
        if found.needs_devices:
            self._prepare_search(found, new)
        return found

    def _requests(self, claim: ApiObject) -> ClaimRequests:
        """What the claim asks for. Raises ClaimMissing if it cannot be allocated on any node."""
        requests = ClaimRequests.parse(claim)
        if not self._shares_capacity:
            requests = requests.without_capacity()
        for alternatives in requests.requests:
            for request in alternatives:
                if request.class_name not in self._classes.by_name:
                    raise ClaimMissing(
                        f"request {request.full_name}: device class {request.class_name} "
                        "does not exist"
                    )
        if claim.key in self.allocated.held:
            raise ClaimMissing(f"resource claim {claim.key} is in the process of being allocated")
        return requests

    def _prepare_search(self, found: Prepared, new: Sequence[ApiObject]) -> None:
        index, allocated = self._slices.index, self.allocated.state()
        found.allocator = Allocator(index, self.device_class, allocated, self._rules)
        if self.keeps_searches(found.extended):
            key = orjson.dumps([claim.spec for claim in new])
            found.kept = self._kept.of(key, found.allocator, found.to_allocate)


def _preference(claim: ApiObject) -> int:
    """What an allocated claim adds to the score of each node. Upstream: computeScore()."""
    requests = items(section(claim.spec, "devices"), "requests")
    if not any(each.get("firstAvailable") for each in requests):
        return 0
    given = [each["request"] for each in results_of(claim)]
    return preference_of_claim(ClaimRequests.parse(claim), given)
