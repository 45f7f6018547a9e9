"""Extended resources that devices provide: a claim is made for what a node does not have itself.

Upstream: plugins/dynamicresources/extendeddynamicresources.go, extended/cache.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from engine.framework.nodes.listers import Listers
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.pod_resources import is_extended_resource_name
from engine.objects.values.quantity import parse
from engine.plugins.dynamic_resources.allocation.claims import EXTENDED_CLAIM
from engine.plugins.dynamic_resources.allocation.devices import DEVICE_CLASS, DeviceClass
from engine.plugins.dynamic_resources.allocation.requests import (
    EXACT_COUNT,
    ClaimRequests,
    DeviceRequest,
)

Manifest = Mapping[str, Any]

# The resource of a class that names none. Upstream: resourceapi.ResourceDeviceClassPrefix.
CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


class Mapped(NamedTuple):
    """Which request of the claim serves a container's resource."""

    container: str
    resource: str
    request: str


def may_be_devices(resource: str) -> bool:
    """Upstream: IsDRAExtendedResourceName()."""
    return is_extended_resource_name(resource) or resource.startswith(CLASS_PREFIX)


def classes_by_resource(classes: Iterable[ApiObject]) -> dict[str, DeviceClass]:
    """The class behind each extended resource; of several that name one, the newest."""
    found: dict[str, DeviceClass] = {}
    for obj in sorted(classes, key=_newest_last):
        device_class = DeviceClass.parse(obj)
        found[f"{CLASS_PREFIX}{obj.name}"] = device_class
        if device_class.extended_resource_name:
            found[device_class.extended_resource_name] = device_class
    return found


class ListedClasses:
    """The device classes of a scheduler's listers, read again only when one has changed."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._generation = 0
        self._by_name: dict[str, DeviceClass] = {}
        self._by_resource: dict[str, DeviceClass] = {}

    @property
    def by_name(self) -> Mapping[str, DeviceClass]:
        """Every class."""
        self._read()
        return self._by_name

    @property
    def by_resource(self) -> Mapping[str, DeviceClass]:
        """As `classes_by_resource`."""
        self._read()
        return self._by_resource

    def _read(self) -> None:
        generation = self._listers.generation.get(DEVICE_CLASS, 0)
        if generation != self._generation:
            self._generation = generation
            classes = list(self._listers.all(DEVICE_CLASS))
            self._by_name = {obj.name: DeviceClass.parse(obj) for obj in classes}
            self._by_resource = classes_by_resource(classes)


def _newest_last(obj: ApiObject) -> tuple[str, tuple[int, ...]]:
    # Of two of the same age the one whose name comes first.
    return obj.creation_timestamp, tuple(-ord(char) for char in obj.name)


@dataclass(slots=True)
class _Container:
    """A container with its place among all of them, init containers first."""

    place: int
    manifest: Manifest

    @property
    def requests(self) -> Manifest:
        return section(section(self.manifest, "resources"), "requests")

    def wants(self, resource: str) -> int:
        amount = self.requests.get(resource)
        return 0 if amount is None else parse(amount).value

    def request(self, resource: str, class_name: str, count: int) -> DeviceRequest:
        number = sorted(self.requests).index(resource)
        return DeviceRequest(
            name=f"container-{self.place}-request-{number}",
            parent="",
            class_name=class_name,
            selectors=(),
            mode=EXACT_COUNT,
            count=count,
            admin_access=False,
            tolerations=(),
            capacity={},
        )


def left_over_claim(pod: Pod, claims: Iterable[ApiObject]) -> ApiObject | None:
    """The claim that an earlier attempt made for the pod's extended resources, or None.

    Upstream: findExtendedResourceClaim().
    """
    for claim in claims:
        if claim.annotations.get(EXTENDED_CLAIM) != "true":
            continue
        owner = claim.controller or {}
        # One without requests is filled in like a new one.
        has_requests = items(section(claim.spec, "devices"), "requests")
        if has_requests and (owner.get("name"), owner.get("uid")) == (pod.name, pod.uid):
            return claim
    return None


def claim_for(
    pod: Pod, resources: Mapping[str, DeviceClass]
) -> tuple[ClaimRequests, tuple[Mapped, ...]]:
    """The claim for *resources* of the pod, and which of its requests serves what.

    Upstream: createRequestsAndMappings().
    """
    requests: list[DeviceRequest] = []
    mapped: list[Mapped] = []
    for resource in sorted(resources):
        found, serves = _for_resource(pod, resource, resources[resource].name)
        requests += found
        mapped += serves
    requests.sort(key=_name)
    claim = ClaimRequests(
        key=f"{pod.key}/<extended-resources>",
        requests=tuple((each,) for each in requests),
        prioritized=(False,) * len(requests),
        constraints=(),
    )
    return claim, tuple(mapped)


def _for_resource(
    pod: Pod, resource: str, class_name: str
) -> tuple[list[DeviceRequest], list[Mapped]]:
    """Init containers that end use again what later containers have, and share the rest."""
    lasting, passing = _containers(pod)
    later: dict[int, DeviceRequest] = {}
    mapped: list[Mapped] = []
    for container in lasting:
        count = container.wants(resource)
        if count:
            made = later[container.place] = container.request(resource, class_name, count)
            mapped.append(Mapped(container.manifest["name"], resource, made.name))
    largest: DeviceRequest | None = None
    own: set[str] = set()
    of_passing: list[Mapped] = []
    for container in passing:
        left = container.wants(resource)
        if not left:
            continue
        for place in sorted(later):
            if place >= container.place and left > 0:
                left -= later[place].count
                name = later[place].name
                of_passing.append(Mapped(container.manifest["name"], resource, name))
        if left > 0:
            made = container.request(resource, class_name, left)
            own.add(made.name)
            of_passing.append(Mapped(container.manifest["name"], resource, made.name))
            if largest is None or largest.count < made.count:
                largest = made
    if largest is not None:
        of_passing = [
            each._replace(request=largest.name) if each.request in own else each
            for each in of_passing
        ]
    found = [*([] if largest is None else [largest]), *(later[place] for place in sorted(later))]
    return found, [*mapped, *of_passing]


def _containers(pod: Pod) -> tuple[list[_Container], list[_Container]]:
    """Those that run on, and the init containers that end."""
    init = items(pod.spec, "initContainers")
    everything = [
        _Container(place, each)
        for place, each in enumerate((*init, *items(pod.spec, "containers")))
    ]
    passing = [
        each for each in everything[: len(init)] if each.manifest.get("restartPolicy") != "Always"
    ]
    places = {each.place for each in passing}
    return [each for each in everything if each.place not in places], passing


def _name(request: DeviceRequest) -> str:
    return request.name
