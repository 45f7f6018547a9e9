"""The plugin DynamicResources: a node fits if the pod's resource claims can have devices on it.

Upstream: plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, cast

import numpy as np

from kscope.sim.objects.manifest_parts import items
from kscope.sim.objects.objects import ApiObject, Pod
from kscope.sim.objects.resource_claims import RESOURCE_CLAIM
from kscope.sim.objects.selectors import NodeSelector
from scheduling.engine import names
from scheduling.engine.dynamic_resources.allocator import (
    AllocatedDevice,
    AllocationError,
    Allocator,
    InvalidPools,
)
from scheduling.engine.dynamic_resources.claims import (
    ClaimMissing,
    allocated_state,
    allocation_of,
    can_be_reserved,
    claims_of,
    is_reserved_for,
    results_of,
)
from scheduling.engine.dynamic_resources.devices import (
    DEVICE_CLASS,
    RESOURCE_SLICE,
    DeviceClass,
    DeviceID,
    Slice,
)
from scheduling.engine.dynamic_resources.extended import (
    ListedClasses,
    Mapped,
    claim_for,
    may_be_devices,
)
from scheduling.engine.dynamic_resources.obstacles import DeviceObstacle, obstacles
from scheduling.engine.dynamic_resources.requests import MAX_ALTERNATIVES, ClaimRequests
from scheduling.engine.framework.framework import (
    FITS,
    MAX_NODE_SCORE,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SUCCESS,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
    default_normalize,
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.pods.pod_info import PodInfo

REASON_CANNOT_ALLOCATE: Final = "cannot allocate all claims"
REASON_NOT_AVAILABLE: Final = "resourceclaim not available on the node"
_CANNOT_ALLOCATE, _NOT_AVAILABLE, _INVALID_POOLS = 1, 2, 3
# A code from here on is the place of an error among those of the cycle.
_FIRST_ERROR: Final = 16


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
    """What PreFilter found out about a pod with claims, and Filter about the nodes."""

    claims: tuple[ApiObject, ...]
    to_allocate: tuple[ClaimRequests, ...]
    selectors: tuple[NodeSelector, ...]
    """Where the allocated claims can be reached from, and which claims they are of."""
    selected: tuple[int, ...]
    extended: Mapping[str, int]
    """How much the pod wants of the resources that devices may provide."""
    classes: Mapping[str, DeviceClass]
    allocator: Allocator | None
    by_node: dict[str, NodeAllocation] = field(default_factory=dict[str, NodeAllocation])
    unavailable: set[int] = field(default_factory=set[int])
    errors: list[str] = field(default_factory=list[str])


class DynamicResources(Plugin):
    """Finds devices for the pod's claims on each node; prefers earlier alternatives."""

    name: ClassVar[str] = names.DYNAMIC_RESOURCES

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        # The gate DRAExtendedResource.
        self._provides_extended: bool = arguments.get("provides_extended", True)
        self._slices: tuple[Slice, ...] = ()
        self._generation = 0
        self._classes = ListedClasses(handle.listers)
        self._listed_classes = handle.listers.live(DEVICE_CLASS)
        # Claims with allocations that are not written yet, by key. Upstream: inFlightAllocations.
        self.in_flight: dict[str, ApiObject] = {}

    @property
    def claims(self) -> Mapping[str, ApiObject]:
        """All resource claims by key."""
        return self._listers.live(RESOURCE_CLAIM)

    # -- before the nodes ------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Keeps a pod waiting whose claims are not there yet."""
        if not pod.pod.spec.get("resourceClaims"):
            return SUCCESS
        try:
            claims_of(pod.pod, self.claims)
        except ClaimMissing as missing:
            return Status(Code.UNRESOLVABLE, (str(missing),), self.name)
        return SUCCESS

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod asks for devices."""
        return self.asks_for_devices(state.pod)

    def asks_for_devices(self, pod: PodInfo) -> bool:
        """By a claim, or by an extended resource that a class stands for."""
        if pod.pod.spec.get("resourceClaims"):
            return True
        return bool(self._listed_classes) and bool(self._extended(pod))

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for a pod without claims."""
        pod, extended = state.pod.pod, self._extended(state.pod)
        try:
            claims = tuple(claims_of(pod, self.claims))
        except ClaimMissing as missing:
            return self._refused(str(missing))
        if not claims and not extended:
            return PRE_FILTER_SKIP
        selectors: list[NodeSelector] = []
        selected: list[int] = []
        to_allocate: list[ClaimRequests] = []
        for place, claim in enumerate(claims):
            allocation = allocation_of(claim)
            if allocation is None:
                requests = ClaimRequests.parse(claim)
                missing_class = self._missing_class(requests)
                if missing_class:
                    return self._refused(missing_class)
                if claim.key in self.in_flight:
                    return self._refused(
                        f"resource claim {claim.key} is in the process of being allocated"
                    )
                to_allocate.append(requests)
                continue
            if not can_be_reserved(claim) and not is_reserved_for(claim, pod):
                return self._refused("resourceclaim in use")
            if allocation.get("nodeSelector") is not None:
                selectors.append(NodeSelector.parse(allocation["nodeSelector"]))
                selected.append(place)
        allocator = None
        if to_allocate or extended:
            claims_there = self._listers.all(RESOURCE_CLAIM)
            allocated = allocated_state((*claims_there, *self.in_flight.values()))
            allocator = Allocator(self._published(), self._classes.by_name.get, allocated)
        state.data[self.name] = Prepared(
            claims=claims,
            to_allocate=tuple(to_allocate),
            selectors=tuple(selectors),
            selected=tuple(selected),
            extended=extended,
            classes=self._classes.by_resource,
            allocator=allocator,
        )
        return PRE_FILTER_OK

    def _refused(self, reason: str) -> PreFilterResult:
        return PreFilterResult(status=Status(Code.UNRESOLVABLE, (reason,), self.name))

    def _missing_class(self, claim: ClaimRequests) -> str:
        for alternatives in claim.requests:
            for request in alternatives:
                if request.class_name not in self._classes.by_name:
                    return (
                        f"request {request.full_name}: device class {request.class_name} "
                        "does not exist"
                    )
        return ""

    def _extended(self, pod: PodInfo) -> dict[str, int]:
        """The resources that the pod wants and a class stands for; none where no class does."""
        if not self._provides_extended or not self._listed_classes:
            return {}
        wanted = {
            name: amount
            for name, amount in pod.resources.fit.scalars
            if amount and may_be_devices(name)
        }
        return wanted if any(name in self._classes.by_resource for name in wanted) else {}

    def _published(self) -> tuple[Slice, ...]:
        """The slices, read again only when one has changed."""
        generation = self._listers.generation.get(RESOURCE_SLICE, 0)
        if generation != self._generation:
            self._generation = generation
            self._slices = tuple(map(Slice.parse, self._listers.all(RESOURCE_SLICE)))
        return self._slices

    # -- the nodes -------------------------------------------------------------------------------

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The first obstacle on each node."""
        prepared = cast("Prepared | None", state.data.get(self.name))
        if prepared is None:
            return np.zeros(len(rows), np.int64)
        return np.array(
            [self._filter_row(state.pod.pod, prepared, row) for row in rows.tolist()], np.int64
        )

    def _filter_row(self, pod: Pod, prepared: Prepared, row: int) -> int:
        node = self._table.node(row)
        unavailable = [
            place
            for place, selector in zip(prepared.selected, prepared.selectors, strict=True)
            if not selector.matches(node.labels, node.name)
        ]
        if prepared.allocator is not None:
            claims, mapped, has_extended_claim = self._requested(pod, prepared, row)
            try:
                devices = prepared.allocator.allocate(claims, node.name, node.labels)
            except InvalidPools:
                return _INVALID_POOLS
            except AllocationError as error:
                prepared.errors.append(str(error))
                return _FIRST_ERROR + len(prepared.errors) - 1
            if devices is None:
                return _CANNOT_ALLOCATE
            found = NodeAllocation(claims, devices, has_extended_claim, mapped)
            if not unavailable:
                prepared.by_node[node.name] = found
        if unavailable:
            prepared.unavailable.update(unavailable)
            return _NOT_AVAILABLE
        return FITS

    def _requested(
        self, pod: Pod, prepared: Prepared, row: int
    ) -> tuple[tuple[ClaimRequests, ...], tuple[Mapped, ...], bool]:
        """The claims to allocate on a node; the last one may be for extended resources."""
        from_devices = self._from_devices(prepared, row)
        if not prepared.extended or not (from_devices or prepared.claims):
            return prepared.to_allocate, (), False
        claim, mapped = claim_for(pod, from_devices)
        return (*prepared.to_allocate, claim), mapped, True

    def _from_devices(self, prepared: Prepared, row: int) -> dict[str, DeviceClass]:
        """The extended resources that the node does not have itself."""
        return {
            name: prepared.classes[name]
            for name in prepared.extended
            if name in prepared.classes
            and not self._table.allocatable[self._table.resource(name)][row]
        }

    def explain(self, state: CycleState, code: int) -> Status:
        """The reason; an error of a claim or a class ends the attempt."""
        if code >= _FIRST_ERROR:
            prepared = cast("Prepared", state.data[self.name])
            return Status(Code.ERROR, (prepared.errors[code - _FIRST_ERROR],), self.name)
        reason = {
            _CANNOT_ALLOCATE: REASON_CANNOT_ALLOCATE,
            _NOT_AVAILABLE: REASON_NOT_AVAILABLE,
            _INVALID_POOLS: str(InvalidPools()),
        }[code]
        return Status(Code.UNRESOLVABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """What speaks against each device of the node."""
        prepared = self.prepared(state)
        if code != _CANNOT_ALLOCATE or prepared is None or prepared.allocator is None:
            return Detail(text=self.explain(state, code).message)
        node = self._table.node(row)
        claims, _, _ = self._requested(state.pod.pod, prepared, row)
        holders = {
            DeviceID(each["driver"], each["pool"], each["device"]): claim.key
            for claim in (*self.claims.values(), *self.in_flight.values())
            for each in results_of(claim)
        }
        found = obstacles(prepared.allocator, claims, node.name, node.labels, holders)
        return Detail(text=_summary(found), numbers={"devices": [each.to_dict() for each in found]})

    # -- scores ----------------------------------------------------------------------------------

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """More for earlier alternatives. Upstream: computeScore()."""
        prepared = cast("Prepared | None", state.data.get(self.name))
        if prepared is None:
            return np.zeros(len(rows), np.int64)
        found = [prepared.by_node.get(self._table.name(row)) for row in rows.tolist()]
        return np.array([0 if one is None else _preference(one) for one in found], np.int64)

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The best node gets all."""
        return default_normalize(scores, MAX_NODE_SCORE, reverse=False)

    # -- after them ------------------------------------------------------------------------------

    def prepared(self, state: CycleState) -> Prepared | None:
        """What is known of the pod's claims in this cycle; None for a pod without any."""
        return cast("Prepared | None", state.data.get(self.name))

    def answer_post_filter(self, state: CycleState) -> tuple[str, ApiObject | None]:
        """What PostFilter says, and the claim that it deallocates so that the pod may fit.

        Upstream takes any of the claims that would help; this takes the first.
        """
        prepared = self.prepared(state)
        if prepared is None:
            return "no new claims to deallocate", None
        pod = state.pod.pod
        for place in sorted(prepared.unavailable):
            claim = prepared.claims[place]
            users = items(claim.status, "reservedFor")
            if all(each.get("uid") == pod.uid for each in users) and len(users) <= 1:
                return "deallocation of ResourceClaim completed", claim
        return "still not schedulable", None

    def pre_bind_error(self, state: CycleState, node: str) -> str:
        """Why the pod cannot be bound, although there are devices; "" if it can.

        Upstream: patchPodExtendedResourceClaimStatus(), which asks for what the node has itself.
        """
        prepared = self.prepared(state)
        found = None if prepared is None else prepared.by_node.get(node)
        return "" if found is None else self.mapping_error(state.pod.key, found)

    def mapping_error(self, pod: str, found: NodeAllocation) -> str:
        """The same for what the pod would get."""
        if not found.has_extended_claim or found.mapped:
            return ""
        return f"nil or empty request mappings, no update of pod {pod} ExtendedResourceClaimStatus"


_SUMMARY: Final[Mapping[str, str]] = {
    "class": "not of the class",
    "selector": "not selected",
    "allocated": "allocated",
    "taint": "tainted",
    "capacity": "without room",
    "none": "free",
}


def _summary(found: Sequence[DeviceObstacle]) -> str:
    """The devices for the first request, counted by what speaks against them."""
    if not found:
        return "no device"
    first = [each for each in found if each.request == found[0].request]
    counts = Counter(each.kind for each in first)
    parts = [f"{counts[kind]} {text}" for kind, text in _SUMMARY.items() if counts[kind]]
    return f"devices for {first[0].request}: {', '.join(parts)}"


def _preference(allocation: NodeAllocation) -> int:
    total = 0
    for claim, devices in zip(allocation.claims, allocation.devices, strict=True):
        given = {each.request.full_name for each in devices}
        for alternatives, prioritized in zip(claim.requests, claim.prioritized, strict=True):
            if prioritized:
                total += sum(
                    MAX_ALTERNATIVES - place
                    for place, request in enumerate(alternatives)
                    if request.full_name in given
                )
    return total
