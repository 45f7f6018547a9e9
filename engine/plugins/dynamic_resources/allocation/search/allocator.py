"""Finds devices for the claims of a pod on one node: the first solution of an exhaustive search.

Claims, requests and devices are tried in order, with backtracking. Upstream:
structured/internal/incubating/allocator_incubating.go, which supports every feature that is on by
default in v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.objects.values.quantity import Quantity
from engine.plugins.dynamic_resources.allocation.devices import (
    Device,
    DeviceClass,
    DeviceID,
    NodeChoice,
    Slice,
)
from engine.plugins.dynamic_resources.allocation.requests import ALL, ClaimRequests, DeviceRequest
from engine.plugins.dynamic_resources.allocation.search.capacity import consumed_by, has_room
from engine.plugins.dynamic_resources.allocation.search.constraints import Constraint, constraint_of
from engine.plugins.dynamic_resources.allocation.search.counters import (
    AllocatedState,
    CounterUse,
    PoolCounters,
)
from engine.plugins.dynamic_resources.allocation.search.pools import Pool
from engine.plugins.dynamic_resources.allocation.search.published import SliceIndex
from engine.plugins.dynamic_resources.allocation.selectors import SelectorError, selector

# Upstream: resourceapi.AllocationResultsMaxSize.
MAX_RESULTS = 32
_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")


class AllocationError(Exception):
    """A claim, a class or a pool makes it impossible to look for devices at all."""


class InvalidPools(AllocationError):
    """Nothing was found on this node, and some of its pools are invalid; others may have devices."""

    def __init__(self) -> None:
        super().__init__("invalid resource pools were encountered")


class _TooManyResults(Exception):
    """One more device would be more than an allocation may hold."""


class AllocatedDevice(NamedTuple):
    """One device of an allocation, and the nodes from which it can be reached."""

    request: DeviceRequest
    device: Device
    nodes: NodeChoice
    consumed: Mapping[str, Quantity]
    """How much of the capacity of a shared device."""


class _Task(NamedTuple):
    """A request, or an alternative, as the search works on it."""

    request: DeviceRequest
    device_class: DeviceClass
    number: int
    every: tuple[tuple[Pool, Slice, Device], ...]
    """With allocationMode All: the devices to take."""


class _Place(NamedTuple):
    """The request, and the number of its device, for which the search looks next."""

    claim: int = 0
    request: int = 0
    alternative: int = 0
    device: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatorRules:
    """How one version searches; by default, as v1.36 does."""

    keeps_alternative: bool = True
    """An alternative that asks for all devices gets all of them; otherwise, from its second device on,
    the first alternative is looked for."""
    explains_errors: bool = False
    """The error of an expression names the device, and says what to do about a missing key."""
    counts_by_driver: bool = False
    """What is left of counters is known by driver and pool; otherwise by the pool's name alone."""
    gives_back: bool = False
    """What a candidate took is given back when it is rejected or undone; otherwise not always."""
    compares_all: bool = False
    """A distinct attribute differs from that of every device; otherwise from the last one of a request."""


class Allocator:
    """Looks for devices on one node after another, while nothing else changes."""

    def __init__(
        self,
        index: SliceIndex,
        classes: Callable[[str], DeviceClass | None],
        allocated: AllocatedState,
        rules: AllocatorRules,
    ) -> None:
        self.classes = classes
        self.rules = rules
        self.allocated = allocated
        self.available: dict[str, PoolCounters] = {}
        self._index = index

    def pools(self, name: str, labels: Mapping[str, str]) -> Sequence[Pool]:
        """The pools that can be reached from the node of that name and labels."""
        return self._index.pools(name, labels)

    def allocate(
        self, claims: Sequence[ClaimRequests], name: str, labels: Mapping[str, str]
    ) -> list[list[AllocatedDevice]] | None:
        """The devices of each claim on the node of that name and labels; None if there are not enough.

        Raises:
            AllocationError: a claim, a class or an expression is at fault, whatever the node.
            InvalidPools: nothing was found, and some pools of the node are invalid.
        """
        pools = self.pools(name, labels)
        search = _Search(self, claims, pools, name, labels)
        try:
            if search.run():
                return search.results
        except _TooManyResults:
            # Upstream catches this only between claims, and not for the first one.
            raise AllocationError("allocation max size exceeded") from None
        if any(pool.invalid_reason for pool in pools):
            raise InvalidPools
        return None


class _Search:
    """One search on one node."""

    def __init__(
        self,
        allocator: Allocator,
        claims: Sequence[ClaimRequests],
        pools: Sequence[Pool],
        node: str,
        labels: Mapping[str, str],
    ) -> None:
        self._allocator = allocator
        self._allocated = allocator.allocated
        self._claims = claims
        self._pools = pools
        self._node = node
        self._labels = labels
        self._matches: dict[tuple[DeviceID, int, int, int], bool] = {}
        self._tasks: list[list[list[_Task]]] = []
        self._constraints: list[list[Constraint]] = []
        # The claims that take a device which only one claim may have.
        self._taken: dict[DeviceID, set[int]] = {}
        self._consumed: dict[DeviceID, dict[str, int]] = {}
        self._rules = allocator.rules
        self._counters = CounterUse(
            allocator.available, allocator.allocated, by_driver=self._rules.counts_by_driver
        )
        self.results: list[list[AllocatedDevice]] = [[] for _ in claims]

    def run(self) -> bool:
        """Whether devices were found for all claims; they are in `results` then."""
        for place, claim in enumerate(self._claims):
            self._tasks.append([])
            for number, alternatives in enumerate(claim.requests):
                self._tasks[place].append(
                    [
                        self._task(_Place(place, number, each), request)
                        for each, request in enumerate(alternatives)
                    ]
                )
            least = sum(min(task.number for task in several) for several in self._tasks[place])
            if least > MAX_RESULTS:
                raise AllocationError(
                    f"claim {claim.key}: number of requested devices {least} exceeds the claim limit "
                    f"of {MAX_RESULTS}"
                )
            self._constraints.append(
                [
                    constraint_of(rule, compares_all=self._rules.compares_all)
                    for rule in claim.constraints
                ]
            )
        return self._allocate(_Place())

    def _task(self, place: _Place, request: DeviceRequest) -> _Task:
        where = f"claim {self._claims[place.claim].key}, request {request.name}"
        device_class = self._allocator.classes(request.class_name)
        if device_class is None:
            raise AllocationError(
                f"{where}: could not retrieve device class {request.class_name}: "
                f'deviceclass.resource.k8s.io "{request.class_name}" not found'
            )
        if request.mode != ALL:
            return _Task(request, device_class, request.count, ())
        every: list[tuple[Pool, Slice, Device]] = []
        for pool in self._pools:
            state = "being updated" if pool.is_incomplete else "invalid"
            if pool.is_incomplete or pool.invalid_reason:
                raise AllocationError(
                    f"{where}: asks for all devices, but resource pool {pool.id} is currently {state}"
                )
            for one in pool.slices:
                every += [
                    (pool, one, device)
                    for device in one.devices
                    if self._is_selectable(place, request, device_class, one, device)
                    and self._has_room(request, device)
                ]
        return _Task(request, device_class, len(every), tuple(every))

    # -- the search ------------------------------------------------------------------------------

    def _allocate(self, place: _Place) -> bool:
        """Find a solution for everything from *place* on. Upstream: allocateOne()."""
        if place.claim >= len(self._claims):
            return True
        requests = self._tasks[place.claim]
        if place.request >= len(requests):
            try:
                return self._allocate(_Place(place.claim + 1))
            except _TooManyResults:
                # Another choice for this claim may need fewer devices.
                return False
        if not self._claims[place.claim].prioritized[place.request]:
            return self._allocate_request(place, 0, 0, 0)
        return self._allocate_alternatives(place, len(requests[place.request]))

    def _allocate_alternatives(self, place: _Place, count: int) -> bool:
        all_too_large = True
        for alternative in range(count):
            try:
                if self._allocate_request(place._replace(alternative=alternative), 0, 0, 0):
                    return True
            except _TooManyResults:
                continue
            all_too_large = False
        if all_too_large:
            raise _TooManyResults
        return False

    def _allocate_request(self, place: _Place, pool: int, one: int, device: int) -> bool:
        """Find the next device of a request, from that pool, slice and device on."""
        task = self._tasks[place.claim][place.request][place.alternative]
        if task.request.mode == ALL and not task.every:
            return False
        if place.device >= task.number:
            return self._allocate(_Place(place.claim, place.request + 1))
        if len(self.results[place.claim]) + task.number - place.device > MAX_RESULTS:
            raise _TooManyResults
        if task.request.mode == ALL:
            return self._take_next_of_all(place, task)
        return self._take_one(place, task, pool, one, device)

    def _take_next_of_all(self, place: _Place, task: _Task) -> bool:
        undo = self._take(place, task.request, task.every[place.device], must=True)
        if undo is None:
            return False
        following = place._replace(device=place.device + 1)
        if not self._rules.keeps_alternative:
            # Upstream: allocateOne() of v1.35, which does not pass subRequestIndex on.
            following = following._replace(alternative=0)
        try:
            found = self._allocate_request(following, 0, 0, 0)
        except (_TooManyResults, AllocationError):
            undo()
            raise
        if not found:
            undo()
        return found

    def _take_one(self, place: _Place, task: _Task, pool: int, one: int, device: int) -> bool:
        for pool_place in range(pool, len(self._pools)):
            in_pool = self._pools[pool_place]
            if in_pool.is_incomplete or in_pool.invalid_reason:
                continue
            first_slice = one if pool_place == pool else 0
            for slice_place in range(first_slice, len(in_pool.slices)):
                in_slice = in_pool.slices[slice_place]
                goes_on = pool_place == pool and slice_place == one
                for device_place in range(device if goes_on else 0, len(in_slice.devices)):
                    following = (pool_place, slice_place, device_place + 1)
                    candidate = in_slice.devices[device_place]
                    if self._try(place, task, (in_pool, in_slice, candidate), following):
                        return True
        return False

    def _try(
        self,
        place: _Place,
        task: _Task,
        candidate: tuple[Pool, Slice, Device],
        following: tuple[int, int, int],
    ) -> bool:
        """Whether a solution with the device exists."""
        _, one, device = candidate
        if self._is_in_use(place, task.request, device.id):
            return False
        if not self._is_selectable(place, task.request, task.device_class, one, device):
            return False
        if not self._has_room(task.request, device):
            return False
        undo = self._take(place, task.request, candidate, must=False)
        if undo is None:
            return False
        try:
            found = self._allocate_request(place._replace(device=place.device + 1), *following)
        except (_TooManyResults, AllocationError):
            undo()
            raise
        if not found:
            undo()
        return found

    # -- one device ------------------------------------------------------------------------------

    def _is_in_use(self, place: _Place, request: DeviceRequest, device: DeviceID) -> bool:
        takers = self._taken.get(device)
        if request.admin_access:
            return takers is not None and place.claim in takers
        return device in self._allocated.devices or bool(takers)

    def _is_selectable(
        self,
        place: _Place,
        request: DeviceRequest,
        device_class: DeviceClass,
        one: Slice,
        device: Device,
    ) -> bool:
        """By its attributes and the node; kept, for the same question comes often."""
        key = (device.id, place.claim, place.request, place.alternative)
        known = self._matches.get(key)
        if known is None:
            known = self._matches[key] = (
                self._select(device, f"class {device_class.name}", device_class.selectors)
                and self._select(
                    device, f"claim {self._claims[place.claim].key}", request.selectors
                )
                and (not one.chooses_per_device or device.nodes.matches(self._node, self._labels))
            )
        return known

    def _has_room(self, request: DeviceRequest, device: Device) -> bool:
        return has_room(
            request.capacity,
            device,
            self._allocated.consumed.get(device.id, {}),
            self._consumed.get(device.id, {}),
        )

    def _take(
        self,
        place: _Place,
        request: DeviceRequest,
        candidate: tuple[Pool, Slice, Device],
        *,
        must: bool,
    ) -> Callable[[], None] | None:
        """Choose the device; returns how to undo it, or None if it is not available.

        Raises:
            AllocationError: a device that *must* be taken breaks a constraint.
        """
        pool, one, device = candidate
        takers = self._taken.setdefault(device.id, set())
        if self._is_in_use(place, request, device.id) and not (
            device.is_shared and request.admin_access
        ):
            return None
        counts = bool(device.consumes) and not (
            device.is_shared and self._is_partly_used(device.id)
        )
        if counts and not self._counters.take(device, pool):
            return None
        if blocking_taint(device, request) is not None:
            self._return_counters(device, pool, counts=counts)
            return None
        constraints = self._constraints[place.claim]
        for number, constraint in enumerate(constraints):
            if constraint.add(request, device):
                continue
            if must:
                raise AllocationError(
                    f"claim {self._claims[place.claim].key}, request {request.name}: cannot add device "
                    f"{device.id} because a claim constraint would not be satisfied"
                )
            for added in constraints[:number]:
                added.remove(request, device)
            self._return_counters(device, pool, counts=counts)
            return None
        if not device.is_shared:
            takers.add(place.claim)
        if not self._has_room(request, device):
            if self._rules.gives_back:
                takers.discard(place.claim)
                for added in constraints:
                    added.remove(request, device)
            self._return_counters(device, pool, counts=counts)
            return None
        consumed = consumed_by(request.capacity, device) if device.is_shared else {}
        if device.is_shared:
            self._consume(device.id, consumed)
        results = self.results[place.claim]
        length = len(results)
        results.append(
            AllocatedDevice(
                request,
                device,
                device.nodes if one.chooses_per_device else one.nodes,
                consumed,
            )
        )

        def undo() -> None:
            for constraint in constraints:
                constraint.remove(request, device)
            takers.discard(place.claim)
            if device.is_shared:
                self._give_back(device.id, consumed)
                self._return_counters(device, pool, counts=counts)
            elif device.consumes:
                self._counters.release(device, pool)
            del results[length:]

        return undo

    def _select(self, device: Device, whose: str, expressions: Sequence[str]) -> bool:
        for number, expression in enumerate(expressions):
            try:
                if not selector(expression).matches(device):
                    return False
            except SelectorError as error:
                where, hint = "", ""
                if self._rules.explains_errors:
                    where = f" on device {device.id}"
                    hint = _HINT if _MISSING_KEY in str(error) else ""
                raise AllocationError(
                    f"{whose}: selector #{number}{where}: {error}{hint}"
                ) from None
        return True

    def _return_counters(self, device: Device, pool: Pool, *, counts: bool) -> None:
        if counts and self._rules.gives_back:
            self._counters.release(device, pool)

    def _is_partly_used(self, device: DeviceID) -> bool:
        return device in self._allocated.consumed or device in self._consumed

    def _consume(self, device: DeviceID, amounts: Mapping[str, Quantity]) -> None:
        total = self._consumed.setdefault(device, {})
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount.nanos

    def _give_back(self, device: DeviceID, amounts: Mapping[str, Quantity]) -> None:
        # A device without capacities stays noted, as upstream. One of which nothing was consumed
        # is not noted any more once one of its choices was undone.
        if not amounts or device not in self._consumed:
            return
        total = self._consumed[device]
        for name, amount in amounts.items():
            total[name] -= amount.nanos
        if not any(total.values()):
            del self._consumed[device]


_MISSING_KEY: Final = "no such key"
# Upstream: dynamic-resource-allocation/cel/errors.go, EnhanceRuntimeError() (v1.37).
_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with "
    "has() for optional fields"
)


def blocking_taint(device: Device, request: DeviceRequest) -> int | None:
    """The place of the first taint that keeps the request from the device; None without one."""
    for place, taint in enumerate(device.taints):
        if taint.effect in _BLOCKING_EFFECTS and not any(
            each.tolerates(taint) for each in request.tolerations
        ):
            return place
    return None


def selecting_failure(device: Device, expressions: Sequence[str]) -> int | None:
    """The place of the first expression that passes the device over, or fails; None without one."""
    for place, expression in enumerate(expressions):
        try:
            if not selector(expression).matches(device):
                return place
        except SelectorError:
            return place
    return None
