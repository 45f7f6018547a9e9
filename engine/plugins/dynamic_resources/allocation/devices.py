"""What drivers publish: ResourceSlices with devices, and DeviceClasses, which select among them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from engine.objects.device_taint_rules import rules_for, taint_of
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject
from engine.objects.pods.tolerations import Taint
from engine.objects.selectors import NodeSelector
from engine.objects.values.quantity import Quantity, parse

Manifest = Mapping[str, Any]
Attribute = bool | int | str
Counters = Mapping[str, int]

DEVICE_CLASS = "DeviceClass"
RESOURCE_SLICE = "ResourceSlice"
# The fields of slices and devices that the API server drops while a gate is off, by the setting of
# the plugin that says the same. Upstream: registry/resource/resourceslice, dropDisabledFields().
GATED_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "partitions_devices": ("sharedCounters", "consumesCounters", "perDeviceNodeSelection"),
    "shares_capacity": ("allowMultipleAllocations",),
    "taints_devices": ("taints",),
    "awaits_conditions": ("bindsToNode", "bindingConditions", "bindingFailureConditions"),
}


class DeviceID(NamedTuple):
    """A device within the cluster."""

    driver: str
    pool: str
    device: str

    @property
    def pool_id(self) -> PoolID:
        """The pool that the device is in."""
        return PoolID(self.driver, self.pool)

    def __str__(self) -> str:
        return "/".join(self)


class PoolID(NamedTuple):
    """A pool of devices: one driver's, often those of one node."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return "/".join(self)


@dataclass(frozen=True, slots=True)
class Version:
    """An attribute that is a semantic version. It equals no string."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeChoice:
    """The nodes from which something can be reached; at most one field is set."""

    node_name: str = ""
    all_nodes: bool = False
    selector: NodeSelector | None = None
    manifest: Manifest | None = None
    """The selector as it is written."""

    @classmethod
    def parse(cls, spec: Manifest) -> NodeChoice:
        """From the fields nodeName, allNodes and nodeSelector."""
        selector = spec.get("nodeSelector")
        return cls(
            node_name=spec.get("nodeName") or "",
            all_nodes=bool(spec.get("allNodes")),
            selector=None if selector is None else NodeSelector.parse(selector),
            manifest=selector,
        )

    def __bool__(self) -> bool:
        return bool(self.node_name or self.all_nodes or self.selector is not None)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether it can be reached from the node. Upstream: NodeMatches()."""
        if self.node_name:
            return self.node_name == name
        if self.all_nodes:
            return True
        return self.selector is not None and self.selector.matches(labels, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPolicy:
    """How much of a capacity one request may consume."""

    default: Quantity | None
    valid_values: tuple[Quantity, ...]
    valid_range: Mapping[str, Quantity] | None
    """min, max and step, as far as they are set."""

    @classmethod
    def parse(cls, policy: Manifest | None) -> RequestPolicy | None:
        """From requestPolicy, or None without one."""
        if policy is None:
            return None
        default = policy.get("default")
        valid_range: Mapping[str, Any] | None = policy.get("validRange")
        return cls(
            default=None if default is None else parse(default),
            valid_values=tuple(parse(each) for each in policy.get("validValues") or ()),
            valid_range=None
            if valid_range is None
            else {name: parse(amount) for name, amount in valid_range.items()},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How much of something a device has."""

    value: Quantity
    policy: RequestPolicy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device, with its attributes and capacities by name, with or without a domain."""

    id: DeviceID
    attributes: Mapping[str, Attribute | Version]
    capacity: Mapping[str, Capacity]
    consumes: tuple[tuple[str, Counters], ...]
    """Counters by the set that they are in, in thousand-millionths."""
    nodes: NodeChoice
    taints: tuple[Taint, ...]
    is_shared: bool
    """It can be allocated to several claims, each of which consumes some of its capacity."""
    binding_conditions: tuple[str, ...]
    binding_failure_conditions: tuple[str, ...]
    has_binding_conditions: bool
    binds_to_node: bool
    """A claim that has it is for the node for which it was allocated."""

    @property
    def name(self) -> str:
        return self.id.device


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A ResourceSlice: some devices of a pool, or the counters that its devices share."""

    name: str
    pool: PoolID
    generation: int
    slice_count: int
    """How many slices its pool has in this generation."""
    nodes: NodeChoice
    chooses_per_device: bool
    devices: tuple[Device, ...]
    counters: tuple[tuple[str, Counters], ...]
    """Each counter set with its counters, in thousand-millionths."""

    @classmethod
    def parse(cls, obj: ApiObject, dropped: Collection[str] = ()) -> Slice:
        """The slice of a ResourceSlice of any version since resource.k8s.io/v1beta1.

        The fields *dropped* are ignored; see GATED_FIELDS.
        """
        spec = _without(obj.spec, dropped)
        pool = section(spec, "pool")
        pool_id = PoolID(spec.get("driver") or "", pool.get("name") or "")
        return cls(
            name=obj.name,
            pool=pool_id,
            generation=int(pool.get("generation") or 0),
            slice_count=int(pool.get("resourceSliceCount") or 0),
            nodes=NodeChoice.parse(spec),
            chooses_per_device=bool(spec.get("perDeviceNodeSelection")),
            devices=tuple(_device(pool_id, each, dropped) for each in items(spec, "devices")),
            counters=tuple(
                (each["name"], _counters(section(each, "counters")))
                for each in items(spec, "sharedCounters")
            ),
        )

    def reaches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the slice matters for a node. Upstream: GatherPools()."""
        if self.counters:
            return True
        if self.nodes:
            return self.nodes.matches(name, labels)
        return self.chooses_per_device and any(
            device.nodes.matches(name, labels) for device in self.devices
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass:
    """A DeviceClass: the CEL expressions that select its devices."""

    name: str
    selectors: tuple[str, ...]
    extended_resource_name: str
    config: tuple[Manifest, ...]
    """Opaque parameters for drivers."""

    @classmethod
    def parse(cls, obj: ApiObject) -> DeviceClass:
        """The class of a DeviceClass manifest."""
        return cls(
            name=obj.name,
            selectors=expressions(items(obj.spec, "selectors")),
            extended_resource_name=obj.spec.get("extendedResourceName") or "",
            config=tuple(items(obj.spec, "config")),
        )


def with_rules(found: Slice, rules: Collection[ApiObject]) -> Slice:
    """The slice whose devices have the taints of *rules*, too, after their own."""
    devices = tuple(_with_rules(device, rules) for device in found.devices)
    return found if devices == found.devices else replace(found, devices=devices)


def _with_rules(device: Device, rules: Collection[ApiObject]) -> Device:
    given = tuple(Taint.parse(taint_of(rule)) for rule in rules_for(rules, *device.id))
    return replace(device, taints=(*device.taints, *given)) if given else device


def expressions(selectors: Sequence[Manifest]) -> tuple[str, ...]:
    """The CEL expressions of selectors."""
    return tuple(str(section(each, "cel").get("expression") or "") for each in selectors)


def _without(manifest: Manifest, dropped: Collection[str]) -> Manifest:
    if not dropped:
        return manifest
    return {name: value for name, value in manifest.items() if name not in dropped}


def _device(pool: PoolID, manifest: Manifest, dropped: Collection[str]) -> Device:
    # v1beta1 has everything but the name in `basic`.
    device = _without({**manifest, **section(manifest, "basic")}, dropped)
    conditions = device.get("bindingConditions")
    return Device(
        id=DeviceID(pool.driver, pool.pool, device["name"]),
        attributes={name: _attribute(each) for name, each in section(device, "attributes").items()},
        capacity={
            name: Capacity(
                value=parse(each["value"]), policy=RequestPolicy.parse(each.get("requestPolicy"))
            )
            for name, each in section(device, "capacity").items()
        },
        consumes=tuple(
            (each["counterSet"], _counters(section(each, "counters")))
            for each in items(device, "consumesCounters")
        ),
        nodes=NodeChoice.parse(device),
        taints=tuple(map(Taint.parse, items(device, "taints"))),
        is_shared=bool(device.get("allowMultipleAllocations")),
        binding_conditions=tuple(conditions or ()),
        binding_failure_conditions=tuple(device.get("bindingFailureConditions") or ()),
        has_binding_conditions=conditions is not None,
        binds_to_node=bool(device.get("bindsToNode")),
    )


def _attribute(value: Manifest) -> Attribute | Version:
    for kind in ("int", "bool", "string"):
        if value.get(kind) is not None:
            found: Attribute = value[kind]
            return found
    return Version(str(value.get("version") or ""))


def _counters(counters: Manifest) -> Counters:
    return {name: parse(each["value"]).nanos for name, each in counters.items()}
