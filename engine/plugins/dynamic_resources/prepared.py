"""What is known in one scheduling cycle about a pod with claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.objects.objects import ApiObject
from engine.objects.selectors import NodeSelector
from engine.plugins.dynamic_resources.allocation.devices import DeviceClass
from engine.plugins.dynamic_resources.allocation.extended import Mapped
from engine.plugins.dynamic_resources.allocation.requests import ClaimRequests
from engine.plugins.dynamic_resources.allocation.search.allocator import AllocatedDevice, Allocator
from engine.plugins.dynamic_resources.kept_searches import NodeSearches


@dataclass(slots=True)
class NodeAllocation:
    """What the pod would get on one node."""

    claims: tuple[ClaimRequests, ...]
    devices: list[list[AllocatedDevice]]
    """For each claim, in that order."""
    has_extended_claim: bool
    """The last of `claims` is made for extended resources."""
    mapped: tuple[Mapped, ...]


@dataclass(slots=True)
class Prepared:
    """What PreFilter found out about a pod with claims, and Filter about the nodes.

    A checkpoint has it without the search, which is not continued after the cycle.
    """

    claims: tuple[ApiObject, ...]
    to_allocate: tuple[ClaimRequests, ...]
    selectors: Mapping[int, NodeSelector]
    """Where the allocated claims can be reached from, by the claim's place."""
    never_ready: Mapping[int, str]
    """Why devices of allocated claims do not become ready, by the claim's place."""
    extended: Mapping[str, int]
    """How much the pod wants of the resources that devices may provide."""
    classes: Mapping[str, DeviceClass]
    allocated_preference: int = 0
    """What the claims that are allocated already add to the score of each node."""
    left_over: ApiObject | None = None
    """The claim for extended resources that an earlier attempt made, and did not delete."""
    allocator: Allocator | None = None
    kept: NodeSearches | None = None
    """The searches on all nodes, if they can be kept for the next pod."""
    by_node: dict[str, NodeAllocation] = field(default_factory=dict[str, NodeAllocation])
    unavailable: dict[int, None] = field(default_factory=dict[int, None])
    errors: list[str] = field(default_factory=list[str])

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.claims, self.to_allocate, self.selectors, self.never_ready)
        found = (self.by_node, self.unavailable, self.errors)
        constants = (self.extended, self.classes, self.allocated_preference, self.left_over)
        return Prepared, (*fields, *constants, None, None, *found)

    @property
    def needs_devices(self) -> bool:
        """Whether devices have to be found for the pod."""
        return bool(self.to_allocate or self.extended)

    @property
    def prefers(self) -> bool:
        """Whether some request has alternatives, so that nodes have different scores."""
        return any(any(claim.prioritized) for claim in self.to_allocate)
