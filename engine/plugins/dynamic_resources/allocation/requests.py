"""What resource claims ask for. Upstream: resource.k8s.io/v1 ResourceClaimSpec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.framework.pods.pod_template import parse_tolerations
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject
from engine.objects.pods.tolerations import Toleration
from engine.objects.values.quantity import Quantity, parse
from engine.plugins.dynamic_resources.allocation.devices import expressions

Manifest = Mapping[str, Any]

ALL = "All"
EXACT_COUNT = "ExactCount"
# Upstream: resourceapi.FirstAvailableDeviceRequestMaxSize.
MAX_ALTERNATIVES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """A request for devices, or one of several alternatives of a request."""

    name: str
    parent: str
    """The request whose alternative this is, or ""."""
    class_name: str
    selectors: tuple[str, ...]
    mode: str
    count: int
    admin_access: bool
    tolerations: tuple[Toleration, ...]
    capacity: Mapping[str, Quantity]
    """How much of which capacities it needs."""
    written_tolerations: tuple[Manifest, ...] = ()
    """As they are written: the allocation repeats them."""

    @property
    def full_name(self) -> str:
        """As an allocation names it: "request", or "request/alternative"."""
        return f"{self.parent}/{self.name}" if self.parent else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestConstraint:
    """All devices of some requests must share an attribute, or each must have another one."""

    requests: frozenset[str]
    """The names of the requests that it is about; none stand for all."""
    attribute: str
    is_distinct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequests:
    """What one claim asks for: for each request its alternatives, in order of preference."""

    key: str
    requests: tuple[tuple[DeviceRequest, ...], ...]
    prioritized: tuple[bool, ...]
    """Whether the request is a list of alternatives, even of one."""
    constraints: tuple[RequestConstraint, ...]
    config: tuple[Manifest, ...] = ()
    """Opaque parameters for drivers, and which requests they are for."""

    @classmethod
    def parse(cls, claim: ApiObject) -> ClaimRequests:
        """Of a ResourceClaim of any version since resource.k8s.io/v1beta1."""
        devices = section(claim.spec, "devices")
        requests = items(devices, "requests")
        return cls(
            key=claim.key,
            requests=tuple(_alternatives(each) for each in requests),
            prioritized=tuple(bool(each.get("firstAvailable")) for each in requests),
            constraints=tuple(
                RequestConstraint(
                    requests=frozenset(each.get("requests") or ()),
                    attribute=each.get("matchAttribute") or each.get("distinctAttribute") or "",
                    is_distinct=not each.get("matchAttribute"),
                )
                for each in items(devices, "constraints")
            ),
            config=tuple(items(devices, "config")),
        )

    def without_capacity(self) -> ClaimRequests:
        """The same for whole devices, whatever their capacity."""
        requests = (tuple(replace(each, capacity={}) for each in one) for one in self.requests)
        return replace(self, requests=tuple(requests))


def _alternatives(request: Manifest) -> tuple[DeviceRequest, ...]:
    name = request["name"]
    several = items(request, "firstAvailable")
    if several:
        return tuple(_request(each["name"], name, each) for each in several)
    # v1beta1 has the fields of `exactly` in the request itself.
    return (_request(name, "", request.get("exactly") or request),)


def _request(name: str, parent: str, fields: Manifest) -> DeviceRequest:
    return DeviceRequest(
        name=name,
        parent=parent,
        class_name=fields.get("deviceClassName") or "",
        selectors=expressions(items(fields, "selectors")),
        mode=fields.get("allocationMode") or EXACT_COUNT,
        count=int(fields.get("count") or 1),
        admin_access=bool(fields.get("adminAccess")) and not parent,
        tolerations=parse_tolerations(fields, compares=False),
        capacity={
            each: parse(amount)
            for each, amount in section(section(fields, "capacity"), "requests").items()
        },
        written_tolerations=tuple(items(fields, "tolerations")),
    )
