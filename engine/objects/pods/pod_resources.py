"""What a pod requests of its node, by the rules of each Kubernetes version: one place decides.

The scheduler fits and scores by these amounts, kubelets admit by them, and the pages show them.
Pods with equal specs share one answer.

Upstream: component-helpers/resource PodRequests() (v1.34); pkg/scheduler/nodeinfo/node_info.go
calculateResource(), predicates.go GetResourceRequest() (v1.16).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

import orjson

from engine.objects.manifest_parts import items, section
from engine.objects.values.quantity import NANO, Format, Quantity, counted, parse

Manifest = Mapping[str, Any]

# What a container without a request counts for in scores. Upstream: util/non_zero.go, util/pod_resources.go.
DEFAULT_MILLI_CPU_REQUEST = 100
DEFAULT_MEMORY_REQUEST = 200 * 1024 * 1024

# Bytes: what pods of a longer essence request is not kept, so that they cannot fill the memory.
LONGEST_KEPT = 4096
HUGE_PAGES = "hugepages-"
_MILLI = NANO // 1000
_NATIVE_PREFIX = "kubernetes.io/"
_ATTACHABLE_VOLUMES = "attachable-volumes-"
_DEFAULT_REQUESTS = {
    "cpu": DEFAULT_MILLI_CPU_REQUEST * _MILLI,
    "memory": DEFAULT_MEMORY_REQUEST * NANO,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRules:
    """How one version of the scheduler reads pods: what they request and tolerate.

    By default, as the oldest does.
    """

    sums_exactly: bool = False
    """Requests are added exactly and rounded once; sidecars, pod-level requests and resized containers count."""
    init_containers_occupy: bool = False
    """Init containers count in what the pods of a node have requested, and in default requests."""
    overhead: bool = False
    """The overhead of a pod's RuntimeClass is added to its requests."""
    resizes_whole_pods: bool = False
    """What the status of a pod says of the resources of the whole pod counts, too."""
    resizes_as_one: bool = False
    """A pod in a resize counts with the most of three sums over its containers: of what is desired,
    allocated and in force; otherwise with the sum of what is most of each container."""
    compares_tolerations: bool = False
    """Tolerations with the operators Lt and Gt compare numbers; otherwise they match no taint."""
    memo: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Name these rules, so that a pod's template can keep what they made of it."""
        flags = (self.sums_exactly, self.init_containers_occupy, self.overhead)
        object.__setattr__(self, "memo", "".join("01"[flag] for flag in flags))


# How the newest version reads pods: where it does not matter which version a run follows.
NEWEST: Final = ResourceRules(
    sums_exactly=True, init_containers_occupy=True, overhead=True, resizes_whole_pods=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """Amounts of each resource: cpu in milli, the others in bytes or counts."""

    milli_cpu: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    # Extended resources, huge pages, native prefixed and attachable-volumes-*; sorted by name.
    scalars: tuple[tuple[str, int], ...] = ()

    def get(self, name: str) -> int:
        """The amount of the resource called *name*; 0 when it is not asked for."""
        if name == "cpu":
            return self.milli_cpu
        if name == "memory":
            return self.memory
        if name == "ephemeral-storage":
            return self.ephemeral_storage
        return next((amount for scalar, amount in self.scalars if scalar == name), 0)

    def amounts(self) -> dict[str, int]:
        """The amounts by resource name, those that are not 0."""
        named = {
            "cpu": self.milli_cpu,
            "memory": self.memory,
            "ephemeral-storage": self.ephemeral_storage,
        }
        found = {name: amount for name, amount in named.items() if amount}
        found.update((name, amount) for name, amount in self.scalars if amount)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class PodResources:
    """The requests of a pod as the different parts of the scheduler see them."""

    # What a node must have free: max(sum of containers, init containers) + overhead.
    fit: Resources
    # What the pod takes once it is on a node (v1.16 forgets init containers here).
    requested: Resources
    # `requested` with 100m / 200Mi for each container that names no cpu / memory.
    non_zero_milli_cpu: int
    non_zero_memory: int
    # What a resource score adds for the incoming pod, cpu and memory with the same defaults. Differs
    # in v1.20, where the overhead's cpu is added in whole cores, and in v1.34 for pod-level requests,
    # which NewFit() does not pass on to its scorer (Upstream: resource_allocation.go, fit.go).
    scored: Resources

    @property
    def score_milli_cpu(self) -> int:
        """The cpu that a score adds, in milli."""
        return self.scored.milli_cpu

    @property
    def score_memory(self) -> int:
        """The memory that a score adds, in bytes."""
        return self.scored.memory


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPort:
    """A port claimed on the node; the address 0.0.0.0 means every address."""

    ip: str
    protocol: str
    port: int


def pod_resources(pod: Manifest, rules: ResourceRules) -> PodResources:
    """What the pod of this manifest requests under these rules; equal specs share one answer.

    Raises:
        QuantityError: a request is not a quantity.
    """
    spec: Manifest = pod.get("spec") or {}
    return requests_and_ports(spec, rules, resized_parts(pod, rules))[0]


def host_ports(pod: Manifest, rules: ResourceRules) -> tuple[HostPort, ...]:
    """The ports the pod takes on its node. Upstream: util.GetHostPorts()."""
    spec: Manifest = pod.get("spec") or {}
    return requests_and_ports(spec, rules, resized_parts(pod, rules))[1]


def is_scalar_resource_name(name: str) -> bool:
    """Is this neither cpu, memory, storage nor pods, but counted? Upstream: IsScalarResourceName()."""
    return (
        is_extended_resource_name(name)
        or name.startswith((HUGE_PAGES, _ATTACHABLE_VOLUMES))
        or _NATIVE_PREFIX in name
    )


def is_extended_resource_name(name: str) -> bool:
    """A resource outside kubernetes.io with a domain. Upstream: IsExtendedResourceName()."""
    return "/" in name and _NATIVE_PREFIX not in name and not name.startswith("requests.")


def requests_and_ports(
    spec: Manifest, rules: ResourceRules, resized: list[tuple[Any, ...]] | None
) -> tuple[PodResources, tuple[HostPort, ...]]:
    """What a pod of this spec asks for; *resized* is what `resized_parts` reads from its status."""
    essence = orjson.dumps(
        (
            [_container_essence(container) for container in spec.get("containers") or ()],
            [_container_essence(container) for container in spec.get("initContainers") or ()],
            spec.get("overhead"),
            spec.get("resources"),
            resized,
        )
    )
    parsed = _parse_essence if len(essence) <= LONGEST_KEPT else _parse_essence.__wrapped__
    return parsed(essence, rules)


def _container_essence(container: Manifest) -> tuple[Any, ...]:
    resources: Manifest = container.get("resources") or {}
    ports = container.get("ports")
    return (
        container.get("name"),
        resources.get("requests"),
        container.get("restartPolicy"),
        [
            (port.get("hostIP"), port.get("protocol"), port["hostPort"])
            for port in ports
            if port.get("hostPort")
        ]
        if ports
        else None,
    )


def may_resize(status: Manifest) -> bool:
    """Whether a pod's status may name resources that differ from the spec's."""
    return (
        "containerStatuses" in status or "initContainerStatuses" in status or "resources" in status
    )


def resized_parts(pod: Manifest, rules: ResourceRules) -> list[tuple[Any, ...]] | None:
    """What the status says to be allocated and in force: of the whole pod, then of containers.

    The first entry also says whether a resize is infeasible. None if the status says nothing.

    Upstream: PodResourcesOptions.UseStatusResources, in force since InPlacePodVerticalScaling;
    InPlacePodLevelResourcesVerticalScalingEnabled.
    """
    status: Manifest = pod.get("status") or {}
    if not rules.sums_exactly or not may_resize(status):
        return None
    whole_pod: tuple[Any, Any] | None = None
    if rules.resizes_whole_pods and status.get("resources") is not None:
        whole_pod = (section(status, "resources").get("requests"), status.get("allocatedResources"))
    statuses = (*items(status, "containerStatuses"), *items(status, "initContainerStatuses"))
    # The last one of a name counts, as in a Go map.
    by_name = {entry.get("name"): entry for entry in statuses}
    resized: list[tuple[Any, ...]] = [
        (
            entry.get("name"),
            section(entry, "resources").get("requests"),
            entry.get("allocatedResources"),
        )
        for entry in by_name.values()
        if entry.get("resources") is not None
    ]
    if not resized and whole_pod is None:
        return None
    # Upstream: IsPodResizeInfeasible() goes by the first condition of that type.
    conditions = items(status, "conditions")
    pending = [one.get("reason") for one in conditions if one.get("type") == "PodResizePending"]
    infeasible = pending[:1] == ["Infeasible"]
    return [(whole_pod, infeasible), *resized]


@lru_cache(maxsize=16384)
def _parse_essence(
    essence: bytes, rules: ResourceRules
) -> tuple[PodResources, tuple[HostPort, ...]]:
    containers, init_containers, overhead, pod_level, resized = orjson.loads(essence)
    sidecars = [c for c in init_containers if rules.sums_exactly and c[2] == "Always"]
    ports = tuple(
        HostPort(ip=ip or "0.0.0.0", protocol=protocol or "TCP", port=port)
        for _, _, _, claimed in (*containers, *sidecars)
        for ip, protocol, port in claimed or ()
    )
    if rules.sums_exactly:
        return _modern(containers, init_containers, overhead, pod_level, resized, rules), ports
    return _classic(containers, init_containers, overhead, rules), ports


def _classic(
    containers: list[tuple[Any, ...]],
    init_containers: list[tuple[Any, ...]],
    overhead: Manifest | None,
    rules: ResourceRules,
) -> PodResources:
    """v1.16 and v1.20: every container's quantity is rounded, then added."""
    fit: dict[str, int] = {}
    cpu = memory = 0
    for _, requests, *_ in containers:
        _add(fit, _rounded(requests))
        cpu += _non_zero(requests, "cpu")
        memory += _non_zero(requests, "memory")
    occupied = dict(fit)
    for _, requests, *_ in init_containers:
        amounts = _rounded(requests)
        _set_max(fit, amounts)
        if rules.init_containers_occupy:
            _set_max(occupied, amounts)
            cpu = max(cpu, _non_zero(requests, "cpu"))
            memory = max(memory, _non_zero(requests, "memory"))
    score_cpu, score_memory = cpu, memory
    if rules.overhead and overhead:
        extra = _rounded(overhead)
        _add(fit, extra)
        _add(occupied, extra)
        cpu += extra.get("cpu", 0)
        memory += extra.get("memory", 0)
        # Upstream: calculatePodResourceRequest() adds overhead.Value(), whole cores, to milli.
        score_cpu += parse(overhead["cpu"]).value if "cpu" in overhead else 0
        score_memory += extra.get("memory", 0)
    return PodResources(
        fit=_as_resources(fit),
        requested=_as_resources(occupied),
        non_zero_milli_cpu=counted(cpu),
        non_zero_memory=counted(memory),
        scored=_as_resources({**fit, "cpu": score_cpu, "memory": score_memory}),
    )


def _modern(
    containers: list[tuple[Any, ...]],
    init_containers: list[tuple[Any, ...]],
    overhead: Manifest | None,
    pod_level: Manifest | None,
    resized: list[Any] | None,
    rules: ResourceRules,
) -> PodResources:
    """v1.34: exact sums of thousandths, rounded once at the end. Upstream: PodRequests()."""
    sum_resized = _most_of_sums if rules.resizes_as_one and resized else _sum_up
    pod_requests = _pod_level_requests(pod_level, None)
    now_requests = _pod_level_requests(pod_level, resized, adds=rules.resizes_as_one)
    no_defaults: dict[str, int] = {}
    fit = _sum_up(containers, init_containers, overhead, pod_requests, None, no_defaults)
    taken = (
        sum_resized(containers, init_containers, overhead, now_requests, resized, no_defaults)
        if resized
        else fit
    )
    # With pod-level requests only what no container names is defaulted. Upstream:
    # getNonMissingContainerRequests().
    defaults = {
        name: amount
        for name, amount in _DEFAULT_REQUESTS.items()
        if not pod_requests or name not in taken
    }
    non_zero = sum_resized(containers, init_containers, overhead, now_requests, resized, defaults)
    # Nor does the scorer of v1.34 look at the status.
    scored = (
        _sum_up(containers, init_containers, overhead, {}, None, _DEFAULT_REQUESTS)
        if pod_requests or resized
        else non_zero
    )
    return PodResources(
        fit=_rounded_resources(fit),
        requested=_rounded_resources(taken),
        non_zero_milli_cpu=_round_up(non_zero.get("cpu", 0), _MILLI),
        non_zero_memory=_round_up(non_zero.get("memory", 0), NANO),
        scored=_rounded_resources(scored),
    )


def aggregated(spec: Manifest, kind: str) -> dict[str, str]:
    """The `requests`, or `limits`, of all containers, as they would be written.

    Upstream: component-helpers/resource AggregateContainerRequests(), AggregateContainerLimits().
    """
    containers, init_containers = (
        [
            (one.get("name"), section(one, "resources").get(kind), one.get("restartPolicy"), None)
            for one in items(spec, name)
        ]
        for name in ("containers", "initContainers")
    )
    total = _sum_up(containers, init_containers, None, {}, None, {})
    return {
        name: str(Quantity(amount, Format.DECIMAL_SI if name == "cpu" else Format.BINARY_SI))
        for name, amount in total.items()
    }


def _sum_up(
    containers: list[tuple[Any, ...]],
    init_containers: list[tuple[Any, ...]],
    overhead: Manifest | None,
    pod_requests: dict[str, int],
    resized: list[Any] | None,
    defaults: dict[str, int],
) -> dict[str, int]:
    statuses = {entry[0]: entry for entry in resized[1:]} if resized else {}
    infeasible = bool(resized and resized[0][1])
    total: dict[str, int] = {}
    for name, requests, *_ in containers:
        _add(total, _container_nanos(requests, statuses.get(name), infeasible, defaults))
    # Sidecars run on; an ordinary init container runs beside those started before it.
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for name, requests, restart_policy, _ in init_containers:
        if restart_policy == "Always":
            amounts = _container_nanos(requests, statuses.get(name), infeasible, defaults)
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise(peak, sidecars)
        else:
            amounts = _container_nanos(requests, None, infeasible, defaults)
            _add(amounts, sidecars)
            _raise(peak, amounts)
    _raise(total, peak)
    total.update(pod_requests)
    _add(total, _nanos(overhead))
    return total


def _most_of_sums(
    containers: list[tuple[Any, ...]],
    init_containers: list[tuple[Any, ...]],
    overhead: Manifest | None,
    pod_requests: dict[str, int],
    resized: list[Any] | None,
    defaults: dict[str, int],
) -> dict[str, int]:
    """The most of three sums over the whole pod: of what is desired, allocated and in force.

    Upstream: v1.37 component-helpers/resource AggregateContainerRequests(),
    aggregateContainerResourcesByFn().
    """
    assert resized
    statuses = {entry[0]: entry for entry in resized[1:]}
    (whole, infeasible) = resized[0]

    def allocated(container: tuple[Any, ...]) -> Manifest | None:
        """What a container was given; what it wants, before it was."""
        _, _, given = statuses.get(container[0]) or (None, None, None)
        return given if given is not None else (None if infeasible else container[1])

    def in_force(container: tuple[Any, ...]) -> Manifest | None:
        """What a container runs with; what it was given, before it does."""
        _, actual, _ = statuses.get(container[0]) or (None, None, None)
        return actual if actual is not None else allocated(container)

    total: dict[str, int] = {}
    if not infeasible:
        total = _sum_up(containers, init_containers, None, {}, None, defaults)
    if whole is not None and None not in whole:
        for amounts in whole:
            _raise(total, _nanos(amounts))
    else:
        for read in (allocated, in_force):
            main, init = (
                [(each[0], read(each), *each[2:]) for each in of_kind]
                for of_kind in (containers, init_containers)
            )
            _raise(total, _sum_up(main, init, None, {}, None, defaults))
    total.update(pod_requests)
    _add(total, _nanos(overhead))
    return total


def _container_nanos(
    requests: Manifest | None, status: Any, infeasible: bool, defaults: dict[str, int]
) -> dict[str, int]:
    amounts = _nanos(requests)
    if status is not None:
        _, actual, allocated = status
        amounts = _effective(amounts, actual, allocated, infeasible)
    return {**defaults, **amounts}


def _effective(
    desired: dict[str, int],
    actual: Manifest | None,
    allocated: Manifest | None,
    infeasible: bool,
) -> dict[str, int]:
    """The most of desired, actuated and allocated. Upstream: determineEffectiveRequests()."""
    amounts = {} if infeasible else dict(desired)
    _raise(amounts, _nanos(actual))
    _raise(amounts, _nanos(allocated))
    return amounts


def _pod_level_requests(
    pod_level: Manifest | None, resized: list[Any] | None, *, adds: bool = False
) -> dict[str, int]:
    """With *adds* what the status names counts also where the spec does not name it."""
    requests: Manifest = (pod_level or {}).get("requests") or {}
    supported = {
        name: amount
        for name, amount in _nanos(requests).items()
        if name in ("cpu", "memory") or name.startswith(HUGE_PAGES)
    }
    if not resized or resized[0][0] is None:
        return supported
    (actual, allocated), infeasible = resized[0]
    amounts = _effective(_nanos(requests), actual, allocated, infeasible)
    if adds and pod_level is not None:
        return amounts
    # Only what the spec names is replaced, by nothing if that alone named it.
    return {name: amounts.get(name, 0) for name in supported}


def _nanos(amounts: Manifest | None) -> dict[str, int]:
    # Upstream: SetDefaults_ResourceList() rounds what comes into the API up to thousandths.
    return {
        name: -(-parse(amount).nanos // _MILLI) * _MILLI for name, amount in (amounts or {}).items()
    }


def _rounded(amounts: Manifest | None) -> dict[str, int]:
    return {
        name: parse(amount).milli_value if name == "cpu" else parse(amount).value
        for name, amount in (amounts or {}).items()
    }


def _non_zero(requests: Manifest | None, name: str) -> int:
    # An explicit zero stays zero. Upstream: GetNonzeroRequests().
    if requests is None or name not in requests:
        return DEFAULT_MILLI_CPU_REQUEST if name == "cpu" else DEFAULT_MEMORY_REQUEST
    quantity = parse(requests[name])
    return quantity.milli_value if name == "cpu" else quantity.value


def _add(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        if amount > total.get(name, 0) or name not in total:
            total[name] = amount


def _set_max(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    # A zero that only an init container names is not asked for. Upstream: SetMaxResource().
    for name, amount in amounts.items():
        if amount > total.get(name, 0):
            total[name] = amount


def _rounded_resources(nanos: dict[str, int]) -> Resources:
    return _as_resources(
        {
            name: _round_up(amount, _MILLI if name == "cpu" else NANO)
            for name, amount in nanos.items()
        }
    )


def _round_up(nanos: int, unit: int) -> int:
    whole = -(-abs(nanos) // unit)
    return counted(whole if nanos >= 0 else -whole)


def _as_resources(amounts: dict[str, int]) -> Resources:
    amounts = {name: counted(amount) for name, amount in amounts.items()}
    return Resources(
        milli_cpu=amounts.get("cpu", 0),
        memory=amounts.get("memory", 0),
        ephemeral_storage=amounts.get("ephemeral-storage", 0),
        scalars=tuple(sorted(item for item in amounts.items() if is_scalar_resource_name(item[0]))),
    )
