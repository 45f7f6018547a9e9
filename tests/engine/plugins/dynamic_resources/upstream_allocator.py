"""Upstream's allocator of devices, ported line by line: slow, and independent of kscope's.

It works on manifests of resource.k8s.io/v1, keeps upstream's names, and has every feature on that
is on by default in v1.36. Logs, share IDs and feature checks are left out. Selectors are evaluated
by a function that the caller passes in. Upstream: k8s.io/dynamic-resource-allocation v0.36.2,
structured/internal/incubating.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.objects.selectors import NodeSelector
from engine.objects.values.quantity import parse

Manifest = dict[str, Any]
DeviceID = tuple[str, str, str]
PoolID = tuple[str, str]
Amounts = dict[str, int]
CounterSets = dict[str, Amounts]
Node = tuple[str, dict[str, str]]
# The expression, and the driver and manifest of the device. Raises LiteralError.
Matches = Callable[[str, str, Manifest], bool]

RESULTS_MAX_SIZE = 32


class LiteralError(Exception):
    """Allocate() returns an error."""


class FailedOnNode(LiteralError):
    """ErrFailedAllocationOnNode."""


class MaxSizeExceeded(LiteralError):
    """errAllocationResultMaxSizeExceeded."""


class OutOfSteps(Exception):
    """The search takes longer than the test allows."""


@dataclass
class AllocatedState:
    devices: set[DeviceID] = field(default_factory=set[DeviceID])
    shared: set[DeviceID] = field(default_factory=set[DeviceID])
    capacity: dict[DeviceID, Amounts] = field(default_factory=dict[DeviceID, Amounts])

    def is_device_allocated(self, device: DeviceID) -> bool:
        return device in self.devices or device in self.shared or device in self.capacity


def gather_allocated_state(claims: Iterable[Manifest]) -> AllocatedState:
    """foreachAllocatedDevice() of plugins/dynamicresources/allocateddevices.go."""
    state = AllocatedState()
    for claim in claims:
        allocation = claim.get("status", {}).get("allocation")
        if allocation is None:
            continue
        for result in allocation["devices"]["results"]:
            if result.get("adminAccess"):
                continue
            device = (result["driver"], result["pool"], result["device"])
            if result.get("shareID") is not None:
                state.shared.add(device)
                consumed = {
                    name: parse(amount).nanos
                    for name, amount in result.get("consumedCapacity", {}).items()
                }
                insert_capacity(state.capacity, device, consumed)
                continue
            state.devices.add(device)
    return state


# -- schedulerapi/types.go: ConsumedCapacityCollection ---------------------------------------------


def insert_capacity(total: dict[DeviceID, Amounts], device: DeviceID, added: Amounts) -> None:
    if device in total:
        for name, amount in added.items():
            total[device][name] = total[device].get(name, 0) + amount
    else:
        total[device] = dict(added)


def remove_capacity(total: dict[DeviceID, Amounts], device: DeviceID, removed: Amounts) -> None:
    if device in total:
        for name, amount in removed.items():
            if name in total[device]:
                total[device][name] -= amount
        if all(amount == 0 for amount in total[device].values()):
            del total[device]


# -- pools_incubating.go ---------------------------------------------------------------------------


@dataclass
class Pool:
    pool_id: PoolID
    is_incomplete: bool = False
    invalid_reason: str | None = None
    slices_targeting_node: list[Manifest] = field(default_factory=list[Manifest])
    slices_not_targeting_node: list[Manifest] = field(default_factory=list[Manifest])
    counter_sets: dict[str, Manifest] = field(default_factory=dict[str, Manifest])

    def __str__(self) -> str:
        return "/".join(self.pool_id)


def node_matches(node: Node, chooser: Manifest) -> bool:
    name, labels = node
    if chooser.get("nodeName"):
        return bool(chooser["nodeName"] == name)
    if chooser.get("allNodes"):
        return True
    if chooser.get("nodeSelector") is not None:
        return NodeSelector.parse(chooser["nodeSelector"]).matches(labels, name)
    return False


def gather_pools(slices: list[Manifest], node: Node, all_slices: list[Manifest]) -> list[Pool]:
    pools: dict[PoolID, list[Manifest]] = {}
    for one in slices:
        spec = one["spec"]
        if spec.get("sharedCounters"):
            relevant = True
        elif spec.get("nodeName") or spec.get("allNodes") or (spec.get("nodeSelector") is not None):
            relevant = node_matches(node, spec)
        elif spec.get("perDeviceNodeSelection"):
            relevant = False
            for device in spec.get("devices", []):
                if node_matches(node, device):
                    relevant = True
                    break
        else:
            continue
        if relevant:
            add_slice(pools, one)

    result: list[Pool] = []
    with_binding_conditions: list[Pool] = []
    for pool_id, slices_for_pool in pools.items():
        pool_spec = slices_for_pool[0]["spec"]["pool"]
        is_complete = len(slices_for_pool) == pool_spec["resourceSliceCount"]
        if is_complete:
            pool = build_pool(pool_id, slices_for_pool, None)
            if pool_has_binding_conditions(pool):
                with_binding_conditions.append(pool)
                continue
            result.append(pool)
            continue
        is_obsolete, all_for_pool = check_slices_in_pool(
            all_slices, pool_id, pool_spec["generation"]
        )
        if is_obsolete:
            continue
        is_complete = len(all_for_pool) == pool_spec["resourceSliceCount"]
        if not is_complete:
            result.append(Pool(pool_id, is_incomplete=True))
            continue
        pool = build_pool(pool_id, slices_for_pool, all_for_pool)
        if pool_has_binding_conditions(pool):
            with_binding_conditions.append(pool)
            continue
        result.append(pool)
    result.sort(key=lambda pool: pool.pool_id)
    with_binding_conditions.sort(key=lambda pool: pool.pool_id)
    return result + with_binding_conditions


def add_slice(pools: dict[PoolID, list[Manifest]], one: Manifest) -> None:
    pool_id = (one["spec"]["driver"], one["spec"]["pool"]["name"])
    if pool_id not in pools:
        pools[pool_id] = [one]
        return
    generation = one["spec"]["pool"]["generation"]
    known = pools[pool_id][0]["spec"]["pool"]["generation"]
    if generation < known:
        return
    if generation > known:
        pools[pool_id] = [one]
        return
    pools[pool_id].append(one)


def build_pool(
    pool_id: PoolID, slices: list[Manifest], all_for_pool: list[Manifest] | None
) -> Pool:
    slices.sort(key=lambda one: one["metadata"]["name"])
    device_slices: list[Manifest] = []
    counter_slices: list[Manifest] = []
    for one in slices:
        if one["spec"].get("sharedCounters"):
            counter_slices.append(one)
        else:
            device_slices.append(one)
    reason = validate_device_names(device_slices)
    if reason is not None:
        return Pool(pool_id, invalid_reason=reason)
    counter_sets: dict[str, Manifest] = {}
    for one in counter_slices:
        for counter_set in one["spec"]["sharedCounters"]:
            if counter_set["name"] in counter_sets:
                reason = f"duplicate counter set name {counter_set['name']}"
                return Pool(pool_id, invalid_reason=reason)
            counter_sets[counter_set["name"]] = counter_set
    reason = validate_counter_consumption(counter_sets, slices)
    if reason is not None:
        return Pool(pool_id, invalid_reason=reason)
    if all_for_pool is None or len(slices) == len(all_for_pool):
        return Pool(pool_id, slices_targeting_node=device_slices, counter_sets=counter_sets)
    names = {one["metadata"]["name"] for one in slices}
    not_targeting = [one for one in all_for_pool if one["metadata"]["name"] not in names]
    reason = validate_counter_consumption(counter_sets, not_targeting)
    if reason is not None:
        return Pool(pool_id, invalid_reason=reason)
    return Pool(
        pool_id,
        slices_targeting_node=device_slices,
        slices_not_targeting_node=not_targeting,
        counter_sets=counter_sets,
    )


def validate_device_names(slices: list[Manifest]) -> str | None:
    names: set[str] = set()
    for one in slices:
        for device in one["spec"].get("devices", []):
            if device["name"] in names:
                return f"duplicate device name {device['name']}"
            names.add(device["name"])
    return None


def validate_counter_consumption(
    counter_sets: dict[str, Manifest], slices: list[Manifest]
) -> str | None:
    for one in slices:
        for device in one["spec"].get("devices", []):
            for consumption in device.get("consumesCounters", []):
                counter_set = counter_sets.get(consumption["counterSet"])
                if counter_set is None:
                    return f"counter set {consumption['counterSet']} not found"
                for name in consumption["counters"]:
                    if name not in counter_set["counters"]:
                        return f"counter {name} not found in counter set {counter_set['name']}"
    return None


def pool_has_binding_conditions(pool: Pool) -> bool:
    for one in pool.slices_targeting_node:
        for device in one["spec"].get("devices", []):
            if device.get("bindingConditions") is not None:
                return True
    return False


def check_slices_in_pool(
    slices: list[Manifest], pool_id: PoolID, generation: int
) -> tuple[bool, list[Manifest]]:
    found: list[Manifest] = []
    for one in slices:
        spec = one["spec"]
        if spec["driver"] != pool_id[0] or spec["pool"]["name"] != pool_id[1]:
            continue
        if spec["pool"]["generation"] == generation:
            found.append(one)
        elif spec["pool"]["generation"] > generation:
            return True, []
    return False, found


# -- consumable_capacity.go ------------------------------------------------------------------------


def nanos(amount: str) -> int:
    return parse(amount).nanos


def value_of(amount_nanos: int) -> int:
    """Quantity.Value(): rounded up to an integer."""
    return -(-amount_nanos // 1_000_000_000)


def cmp_request_over_capacity(
    consumed: Amounts, requested: Manifest, capacity: Manifest, allocating: Amounts
) -> bool | None:
    """None is the error that some requested capacity has not been defined."""
    for name in requested:
        if name not in capacity:
            return None
    clone = dict(consumed)
    for name, cap in capacity.items():
        amount = calculate_consumed_capacity(requested.get(name), cap)
        if violates_policy(amount, cap.get("requestPolicy")):
            return False
        clone[name] = clone.get(name, 0) + amount
        if name in allocating:
            clone[name] += allocating[name]
        if clone[name] > nanos(cap["value"]):
            return False
    return True


def calculate_consumed_capacity(requested: str | None, cap: Manifest) -> int:
    policy = cap.get("requestPolicy")
    if requested is None:
        if policy is not None and policy.get("default") is not None:
            return nanos(policy["default"])
        return nanos(cap["value"])
    if policy is None:
        return nanos(requested)
    if policy.get("validRange") is not None and policy["validRange"].get("min") is not None:
        return round_up_range(nanos(requested), policy["validRange"])
    if policy.get("validValues") is not None:
        for valid in policy["validValues"]:
            if nanos(requested) <= nanos(valid):
                return nanos(valid)
        return nanos(requested)
    return nanos(requested)


def round_up_range(requested: int, valid_range: Manifest) -> int:
    if requested < nanos(valid_range["min"]):
        return nanos(valid_range["min"])
    if valid_range.get("step") is None:
        return requested
    step = value_of(nanos(valid_range["step"]))
    least = value_of(nanos(valid_range["min"]))
    added = value_of(requested) - least
    n = added // step
    if added % step != 0:
        n += 1
    return (least + step * n) * 1_000_000_000


def violates_policy(amount: int, policy: Manifest | None) -> bool:
    if policy is None:
        return False
    # Upstream compares the texts as well, but a default has to satisfy the rules below anyway.
    if policy.get("default") is not None and amount == nanos(policy["default"]):
        return False
    valid_range = policy.get("validRange")
    if valid_range is not None:
        if valid_range.get("max") is not None and amount > nanos(valid_range["max"]):
            return True
        if valid_range.get("step") is not None:
            step = value_of(nanos(valid_range["step"]))
            least = value_of(nanos(valid_range["min"]))
            return (value_of(amount) - least) % step != 0
        return False
    if policy.get("validValues"):
        return all(amount != nanos(valid) for valid in policy["validValues"])
    return False


# -- constraint.go, matchAttributeConstraint -------------------------------------------------------


def lookup_attribute(device: Manifest, driver: str, name: str) -> Manifest | None:
    attributes: dict[str, Manifest] = device.get("attributes", {})
    if name in attributes:
        return attributes[name]
    index = name.find("/")
    if index < 0:
        return None
    if name[:index] != driver:
        return None
    return attributes.get(name[index + 1 :])


class Constraint:
    """Both kinds; they differ in `add` and in what `remove` forgets."""

    def __init__(self, spec: Manifest) -> None:
        self.request_names: set[str] = set(spec.get("requests", []))
        self.is_distinct = spec.get("matchAttribute") is None
        self.name: str = spec["distinctAttribute"] if self.is_distinct else spec["matchAttribute"]
        self.attribute: Manifest = {}
        self.attributes: dict[str, Manifest] = {}
        self.num_devices = 0

    def matches(self, request: str, sub_request: str) -> bool:
        if sub_request == "":
            return request in self.request_names
        return request in self.request_names or f"{request}/{sub_request}" in self.request_names

    def add(self, request: str, sub_request: str, device: Manifest, driver: str) -> bool:
        if self.request_names and not self.matches(request, sub_request):
            return True
        attribute = lookup_attribute(device, driver, self.name)
        if attribute is None:
            return False
        if self.num_devices == 0:
            self.attribute = attribute
            self.attributes[request] = attribute
            self.num_devices = 1
            return True
        if self.is_distinct:
            for taken in self.attributes.values():
                if same_attribute(attribute, taken):
                    return False
            self.attributes[request] = attribute
        elif not same_attribute(attribute, self.attribute):
            return False
        self.num_devices += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        if self.request_names and not self.matches(request, sub_request):
            return
        if self.is_distinct:
            self.attributes.pop(request, None)
        self.num_devices -= 1


def same_attribute(one: Manifest, other: Manifest) -> bool:
    for kind in ("string", "int", "bool", "version"):
        if one.get(kind) is not None:
            return other.get(kind) is not None and bool(one[kind] == other[kind])
    raise AssertionError(one)


# -- allocator_incubating.go -----------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """requestAccessor: an exact request, or a subrequest, which never has admin access."""

    name: str
    fields: Manifest
    is_sub_request: bool

    @property
    def is_all(self) -> bool:
        return bool(self.fields.get("allocationMode", "ExactCount") == "All")

    @property
    def admin_access(self) -> bool:
        return not self.is_sub_request and bool(self.fields.get("adminAccess"))

    @property
    def expressions(self) -> list[str]:
        return [each["cel"]["expression"] for each in self.fields.get("selectors", [])]

    @property
    def tolerations(self) -> list[Manifest]:
        found: list[Manifest] = self.fields.get("tolerations", [])
        return found

    @property
    def capacities(self) -> Manifest:
        found: Manifest = self.fields.get("capacity", {}).get("requests", {})
        return found


@dataclass(frozen=True)
class DeviceWithID:
    id: DeviceID
    device: Manifest
    slice: Manifest
    pool: Pool


@dataclass
class RequestData:
    request: Request
    parent: Request | None
    class_name: str = ""
    class_config: list[Manifest] = field(default_factory=list[Manifest])
    num_devices: int = 0
    selected: int = 0
    all_devices: list[DeviceWithID] = field(default_factory=list[DeviceWithID])

    @property
    def request_name(self) -> str:
        return (
            self.request.name if self.parent is None else f"{self.parent.name}/{self.request.name}"
        )


@dataclass
class DeviceResult:
    device: DeviceWithID
    request: Request
    parent: str
    consumed: Amounts | None

    @property
    def request_name(self) -> str:
        return f"{self.parent}/{self.request.name}" if self.parent else self.request.name


@dataclass(frozen=True)
class Indices:
    claim: int = 0
    request: int = 0
    sub_request: int = 0
    device: int = 0

    @property
    def key(self) -> tuple[int, int, int]:
        return (self.claim, self.request, self.sub_request)


class UpstreamAllocator:
    """Allocator: used for one node after the other."""

    def __init__(
        self,
        slices: list[Manifest],
        classes: dict[str, Manifest],
        state: AllocatedState,
        matches: Matches,
    ) -> None:
        self.all_slices = slices
        self.classes = classes
        self.state = state
        self.matches = matches
        self.slices_on_node: dict[str, list[Manifest]] = {}
        self.slices_shared: list[Manifest] = []
        self.available_counters: dict[str, CounterSets] = {}
        for one in slices:
            name = one["spec"].get("nodeName", "")
            if name == "" or one["spec"].get("sharedCounters"):
                self.slices_shared.append(one)
            else:
                self.slices_on_node.setdefault(name, []).append(one)

    def allocate(self, node: Node, claims: list[Manifest], steps: int) -> list[Manifest] | None:
        """The allocation of each claim.

        Raises:
            LiteralError: upstream returns an error.
            OutOfSteps: the search takes more than that number of steps.
        """
        return OneAllocation(self, node, claims, steps).run()


class OneAllocation:
    """allocator: one call of Allocate()."""

    def __init__(
        self, base: UpstreamAllocator, node: Node, claims: list[Manifest], steps: int
    ) -> None:
        self.base = base
        self.state = base.state
        self.node = node
        self.claims = claims
        self.steps = steps
        self.pools: list[Pool] = []
        self.device_matches_request: dict[tuple[DeviceID, tuple[int, int, int]], bool] = {}
        self.constraints: list[list[Constraint]] = []
        self.consumed_counters: dict[str, CounterSets] = {}
        self.request_data: dict[tuple[int, int, int], RequestData] = {}
        self.allocating_devices: dict[DeviceID, set[int]] = {}
        self.allocating_capacity: dict[DeviceID, Amounts] = {}
        self.result: list[list[DeviceResult]] = [[] for _ in claims]

    def run(self) -> list[Manifest] | None:
        slices = self.base.slices_on_node.get(self.node[0], []) + self.base.slices_shared
        self.pools = gather_pools(slices, self.node, self.base.all_slices)
        for claim_index, claim in enumerate(self.claims):
            devices = claim["spec"]["devices"]
            least = 0
            for request_index, spec in enumerate(devices["requests"]):
                parent = Request(spec["name"], spec.get("exactly", {}), is_sub_request=False)
                if spec.get("firstAvailable"):
                    least_of_request = 1 << 62
                    for place, sub_spec in enumerate(spec["firstAvailable"]):
                        request = Request(sub_spec["name"], sub_spec, is_sub_request=True)
                        key = (claim_index, request_index, place)
                        data = self.validate_device_request(request, parent, key)
                        self.request_data[key] = data
                        least_of_request = min(least_of_request, data.num_devices)
                    least += least_of_request
                else:
                    key = (claim_index, request_index, 0)
                    data = self.validate_device_request(parent, None, key)
                    self.request_data[key] = data
                    least += data.num_devices
            if least > RESULTS_MAX_SIZE:
                raise LiteralError(
                    f"claim {name_of(claim)}: number of requested devices {least} exceeds the "
                    f"claim limit of {RESULTS_MAX_SIZE}"
                )
            self.constraints.append([Constraint(each) for each in devices.get("constraints", [])])
        done = self.allocate_one(Indices(), False, (0, 0, 0))
        if not done:
            for pool in self.pools:
                if pool.invalid_reason is not None:
                    raise FailedOnNode("invalid resource pools were encountered")
            return None
        return [self.allocation_result(index) for index in range(len(self.claims))]

    def validate_device_request(
        self, request: Request, parent: Request | None, key: tuple[int, int, int]
    ) -> RequestData:
        where = f"claim {name_of(self.claims[key[0]])}, request {request.name}"
        data = RequestData(request, parent)
        class_name = request.fields["deviceClassName"]
        if class_name not in self.base.classes:
            raise LiteralError(
                f"{where}: could not retrieve device class {class_name}: "
                f'deviceclass.resource.k8s.io "{class_name}" not found'
            )
        data.class_name = class_name
        data.class_config = self.base.classes[class_name]["spec"].get("config", [])
        if not request.is_all:
            data.num_devices = request.fields.get("count", 1)
            return data
        for pool in self.pools:
            if pool.is_incomplete:
                raise LiteralError(
                    f"{where}: asks for all devices, but resource pool {pool} is currently being "
                    "updated"
                )
            if pool.invalid_reason is not None:
                raise LiteralError(
                    f"{where}: asks for all devices, but resource pool {pool} is currently invalid"
                )
            for one in pool.slices_targeting_node:
                for device in one["spec"].get("devices", []):
                    if self.is_selectable(key, data, one, device):
                        device_id = (
                            one["spec"]["driver"],
                            one["spec"]["pool"]["name"],
                            device["name"],
                        )
                        if not self.cmp_request_over_capacity(request, device_id, device):
                            continue
                        data.all_devices.append(DeviceWithID(device_id, device, one, pool))
        data.num_devices = len(data.all_devices)
        return data

    def allocate_one(
        self, r: Indices, allocate_sub_request: bool, start: tuple[int, int, int]
    ) -> bool:
        self.steps -= 1
        if self.steps < 0:
            raise OutOfSteps
        if r.claim >= len(self.claims):
            return True
        claim = self.claims[r.claim]
        if r.request >= len(claim["spec"]["devices"]["requests"]):
            try:
                return self.allocate_one(Indices(r.claim + 1), False, (0, 0, 0))
            except MaxSizeExceeded:
                return False
        data = self.request_data[r.key]
        if not allocate_sub_request and data.parent is not None:
            all_exceeded = True
            sub_request = 0
            while True:
                if (r.claim, r.request, sub_request) not in self.request_data:
                    if all_exceeded:
                        raise MaxSizeExceeded("allocation max size exceeded")
                    return False
                following = Indices(r.claim, r.request, sub_request, r.device)
                try:
                    success = self.allocate_one(following, True, (0, 0, 0))
                except MaxSizeExceeded:
                    sub_request += 1
                    continue
                all_exceeded = False
                if success:
                    data.selected = sub_request
                    return True
                sub_request += 1
        request = data.request
        if request.is_all and not data.all_devices:
            return False
        if r.device >= data.num_devices:
            return self.allocate_one(Indices(r.claim, r.request + 1), False, (0, 0, 0))
        if len(self.result[r.claim]) + data.num_devices - r.device > RESULTS_MAX_SIZE:
            raise MaxSizeExceeded("allocation max size exceeded")
        next_device = Indices(r.claim, r.request, r.sub_request, r.device + 1)
        if request.is_all:
            deallocate = self.allocate_device(r, data.all_devices[r.device], must=True)
            if deallocate is None:
                return False
            try:
                done = self.allocate_one(next_device, allocate_sub_request, (0, 0, 0))
            except LiteralError:
                deallocate()
                raise
            if not done:
                deallocate()
            return done
        for pool_index in range(start[0], len(self.pools)):
            pool = self.pools[pool_index]
            if pool.is_incomplete or pool.invalid_reason is not None:
                continue
            slice_start = start[1] if pool_index == start[0] else 0
            for slice_index in range(slice_start, len(pool.slices_targeting_node)):
                one = pool.slices_targeting_node[slice_index]
                device_start = 0
                if pool_index == start[0] and slice_index == start[1]:
                    device_start = start[2]
                devices = one["spec"].get("devices", [])
                for device_index in range(device_start, len(devices)):
                    device = devices[device_index]
                    device_id = (*pool.pool_id, device["name"])
                    if request.admin_access and self.allocating_for_claim(device_id, r.claim):
                        continue
                    if not request.admin_access and self.device_in_use(device_id):
                        continue
                    if not self.is_selectable(r.key, data, one, device):
                        continue
                    if not self.cmp_request_over_capacity(request, device_id, device):
                        continue
                    candidate = DeviceWithID(device_id, device, one, pool)
                    deallocate = self.allocate_device(r, candidate, must=False)
                    if deallocate is None:
                        continue
                    location = (pool_index, slice_index, device_index + 1)
                    try:
                        done = self.allocate_one(next_device, allocate_sub_request, location)
                    except LiteralError:
                        deallocate()
                        raise
                    if done:
                        return True
                    deallocate()
        return False

    def is_selectable(
        self, key: tuple[int, int, int], data: RequestData, one: Manifest, device: Manifest
    ) -> bool:
        driver = one["spec"]["driver"]
        match_key = ((driver, one["spec"]["pool"]["name"], device["name"]), key)
        if match_key in self.device_matches_request:
            return self.device_matches_request[match_key]
        class_selectors = self.base.classes[data.class_name]["spec"].get("selectors", [])
        expressions = [each["cel"]["expression"] for each in class_selectors]
        matched = (
            self.selectors_match(f"class {data.class_name}", driver, device, expressions)
            and self.selectors_match(
                f"claim {name_of(self.claims[key[0]])}", driver, device, data.request.expressions
            )
            and (not one["spec"].get("perDeviceNodeSelection") or node_matches(self.node, device))
        )
        self.device_matches_request[match_key] = matched
        return matched

    def selectors_match(
        self, whose: str, driver: str, device: Manifest, expressions: list[str]
    ) -> bool:
        for place, expression in enumerate(expressions):
            try:
                if not self.base.matches(expression, driver, device):
                    return False
            except LiteralError as error:
                raise LiteralError(
                    f"{whose}: selector #{place}: CEL runtime error: {error}"
                ) from None
        return True

    def cmp_request_over_capacity(
        self, request: Request, device_id: DeviceID, device: Manifest
    ) -> bool:
        return bool(
            cmp_request_over_capacity(
                self.state.capacity.get(device_id, {}),
                request.capacities,
                device.get("capacity", {}),
                self.allocating_capacity.get(device_id, {}),
            )
        )

    def allocate_device(
        self, r: Indices, device: DeviceWithID, *, must: bool
    ) -> Callable[[], None] | None:
        data = self.request_data[r.key]
        request = data.request
        shared = bool(device.device.get("allowMultipleAllocations"))
        if not shared and request.admin_access and self.allocating_for_claim(device.id, r.claim):
            return None
        if not request.admin_access and self.device_in_use(device.id):
            return None
        consumes = device.device.get("consumesCounters", [])
        skip_counter_check = shared and self.device_capacity_in_use(device.id)
        if not skip_counter_check and consumes and not self.check_available_counters(device):
            return None
        if data.parent is None:
            parent, base, sub = "", request.name, ""
        else:
            parent, base, sub = data.parent.name, data.parent.name, request.name
        if taint_prevents_allocation(device.device, request):
            return None
        constraints = self.constraints[r.claim]
        for place, constraint in enumerate(constraints):
            if not constraint.add(base, sub, device.device, device.id[0]):
                if must:
                    raise LiteralError(
                        f"claim {name_of(self.claims[r.claim])}, request {request.name}: cannot add "
                        f"device {'/'.join(device.id)} because a claim constraint would not be "
                        "satisfied"
                    )
                for added in constraints[:place]:
                    added.remove(base, sub)
                return None
        self.allocating_devices.setdefault(device.id, set())
        if not shared:
            self.allocating_devices[device.id].add(r.claim)
        if not self.cmp_request_over_capacity(request, device.id, device.device):
            return None
        consumed: Amounts = {}
        if shared:
            consumed = {
                name: calculate_consumed_capacity(request.capacities.get(name), cap)
                for name, cap in device.device.get("capacity", {}).items()
            }
            insert_capacity(self.allocating_capacity, device.id, consumed)
        previous = len(self.result[r.claim])
        self.result[r.claim].append(DeviceResult(device, request, parent, consumed or None))

        def deallocate() -> None:
            for each in constraints:
                each.remove(base, sub)
            self.allocating_devices[device.id].discard(r.claim)
            if shared:
                given = self.result[r.claim][previous].consumed
                if given is not None:
                    remove_capacity(self.allocating_capacity, device.id, given)
            elif consumes:
                self.deallocate_counters(device)
            del self.result[r.claim][previous:]

        return deallocate

    def check_available_counters(self, device: DeviceWithID) -> bool:
        pool_name = device.pool.pool_id[1]
        if pool_name not in self.base.available_counters:
            available = {
                name: {each: nanos(c["value"]) for each, c in counter_set["counters"].items()}
                for name, counter_set in device.pool.counter_sets.items()
            }
            for slices in (
                device.pool.slices_targeting_node,
                device.pool.slices_not_targeting_node,
            ):
                for one in slices:
                    for other in one["spec"].get("devices", []):
                        spec = one["spec"]
                        other_id = (spec["driver"], spec["pool"]["name"], other["name"])
                        if not self.state.is_device_allocated(other_id):
                            continue
                        for consumption in other.get("consumesCounters", []):
                            of_set = available.get(consumption["counterSet"], {})
                            for name, counter in consumption["counters"].items():
                                if name not in of_set:
                                    continue
                                of_set[name] -= nanos(counter["value"])
            self.base.available_counters[pool_name] = available
        consumed = self.consumed_counters.setdefault(pool_name, {})
        for consumption in device.device["consumesCounters"]:
            of_set = consumed.setdefault(consumption["counterSet"], {})
            for name, counter in consumption["counters"].items():
                of_set[name] = of_set.get(name, 0) + nanos(counter["value"])
        for set_name, counters in self.base.available_counters[pool_name].items():
            for name, amount in counters.items():
                if amount < consumed.get(set_name, {}).get(name, 0):
                    self.deallocate_counters(device)
                    return False
        return True

    def deallocate_counters(self, device: DeviceWithID) -> None:
        consumed = self.consumed_counters.setdefault(device.pool.pool_id[1], {})
        for consumption in device.device["consumesCounters"]:
            # Upstream would panic here if nothing had been consumed of the set.
            of_set = consumed.setdefault(consumption["counterSet"], {})
            for name, counter in consumption["counters"].items():
                of_set[name] = of_set.get(name, 0) - nanos(counter["value"])

    def device_in_use(self, device: DeviceID) -> bool:
        return device in self.state.devices or bool(self.allocating_devices.get(device))

    def device_capacity_in_use(self, device: DeviceID) -> bool:
        return device in self.state.capacity or device in self.allocating_capacity

    def allocating_for_claim(self, device: DeviceID, claim: int) -> bool:
        return claim in self.allocating_devices.get(device, set())

    def allocation_result(self, index: int) -> Manifest:
        results = [result_of(each) for each in self.result[index]]
        devices: Manifest = {"results": results}
        config = self.config_of(index)
        if config:
            devices["config"] = config
        found: Manifest = {"devices": devices}
        selector = self.create_node_selector(self.result[index])
        if selector is not None:
            found["nodeSelector"] = selector
        return found

    def config_of(self, index: int) -> list[Manifest]:
        claim = self.claims[index]["spec"]["devices"]
        config: list[Manifest] = []
        ranges: dict[str, tuple[int, int]] = {}
        for request_index in range(len(claim["requests"])):
            data = self.request_data[index, request_index, 0]
            if data.parent is not None:
                data = self.request_data[index, request_index, data.selected]
            if data.class_name in ranges:
                for place in range(*ranges[data.class_name]):
                    config[place]["requests"].append(data.request_name)
                continue
            start = len(config)
            for each in data.class_config:
                config.append({"source": "FromClass", "requests": [data.request_name], **each})
            ranges[data.class_name] = (start, len(config))
        for each in claim.get("config", []):
            opaque = {"opaque": each["opaque"]}
            if not each.get("requests"):
                config.append({"source": "FromClaim", **opaque})
                continue
            for place, request in enumerate(claim["requests"]):
                written = {"source": "FromClaim", "requests": each["requests"], **opaque}
                if request["name"] in each["requests"]:
                    config.append(written)
                    continue
                data = self.request_data[index, place, 0]
                if data.parent is None:
                    continue
                sub_request = request["firstAvailable"][data.selected]["name"]
                if f"{request['name']}/{sub_request}" in each["requests"]:
                    config.append(written)
        return config

    def create_node_selector(self, result: list[DeviceResult]) -> Manifest | None:
        fields: list[Manifest] = []
        expressions: list[Manifest] = []
        for each in result:
            spec = each.device.slice["spec"]
            chooser = each.device.device if spec.get("perDeviceNodeSelection") else spec
            if chooser.get("nodeName") is not None or each.device.device.get("bindsToNode"):
                here = {"key": "metadata.name", "operator": "In", "values": [self.node[0]]}
                return {"nodeSelectorTerms": [{"matchFields": [here]}]}
            selector = chooser.get("nodeSelector")
            if selector is not None:
                term = selector["nodeSelectorTerms"][0]
                add_new_requirements(term.get("matchFields", []), fields)
                add_new_requirements(term.get("matchExpressions", []), expressions)
        term = {}
        if fields:
            term["matchFields"] = fields
        if expressions:
            term["matchExpressions"] = expressions
        return {"nodeSelectorTerms": [term]} if term else None


def name_of(claim: Manifest) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def result_of(one: DeviceResult) -> Manifest:
    driver, pool, device = one.device.id
    result: Manifest = {
        "request": one.request_name,
        "driver": driver,
        "pool": pool,
        "device": device,
    }
    if one.request.admin_access:
        result["adminAccess"] = True
    if one.request.tolerations:
        result["tolerations"] = one.request.tolerations
    if one.consumed is not None:
        result["consumedCapacity"] = one.consumed
    for name in ("bindingConditions", "bindingFailureConditions"):
        if one.device.device.get(name):
            result[name] = one.device.device[name]
    return result


def taint_prevents_allocation(device: Manifest, request: Request) -> bool:
    for taint in device.get("taints", []):
        if taint["effect"] in ("NoExecute", "NoSchedule") and not any(
            tolerates_taint(each, taint) for each in request.tolerations
        ):
            return True
    return False


def tolerates_taint(toleration: Manifest, taint: Manifest) -> bool:
    """resourceclaim/devicetoleration.go."""
    if toleration.get("effect", "") not in ("", taint["effect"]):
        return False
    if toleration.get("key", "") not in ("", taint["key"]):
        return False
    operator = toleration.get("operator", "")
    if operator in ("", "Equal"):
        return bool(toleration.get("value", "") == taint.get("value", ""))
    return bool(operator == "Exists")


def add_new_requirements(added: list[Manifest], to: list[Manifest]) -> None:
    for requirement in added:
        values = set(requirement.get("values", []))
        for existing in to:
            if existing["key"] != requirement["key"]:
                continue
            if existing["operator"] != requirement["operator"]:
                continue
            if set(existing.get("values", [])) != values:
                continue
            break
        else:
            to.append(requirement)
