"""Hints about resources and host ports: what a pod frees, and what a node has to give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kscope.sim.objects.pod_resources import Resources, is_scalar_resource_name
from kscope.sim.objects.quantity import parse
from scheduling.engine.dynamic_resources.extended import CLASS_PREFIX
from scheduling.engine.framework.registrations import HintWorld
from scheduling.engine.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from kscope.sim.objects.objects import ApiObject, Node, Pod


def port_was_freed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    if old is None or not (old.node_name or old.nominated_node_name):
        return False
    freed = PodInfo(old, pod.rules).ports
    return any(
        wanted.protocol == port.protocol
        and wanted.port == port.port
        and (wanted.ip == port.ip or "0.0.0.0" in (wanted.ip, port.ip))
        for wanted in pod.ports
        for port in freed
    )


def resources_were_freed(world: HintWorld, pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
    if new is None:
        # Upstream, isSchedulableAfterPodEvent(): deletion of a pod that holds, or is promised,
        # a node.
        return old is not None and bool(old.node_name or old.nominated_node_name)
    if new.uid == pod.uid:
        return True
    if not new.node_name or old is None:
        return False
    before, after = PodInfo(old, pod.rules).resources, PodInfo(new, pod.rules).resources
    return any(
        before.requested.get(name) > after.requested.get(name)
        for name in _wanted_names(pod.resources.requested)
    )


def node_fits_now(world: HintWorld, pod: PodInfo, old: Node | None, new: Node | None) -> bool:
    """Upstream: Fit isSchedulableAfterNodeChange()."""
    if new is None:
        return False
    wanted = pod.resources.fit
    capacity = _allocatable(new)
    of_classes = world.resources_of_classes() or ()
    names: list[str] = []
    delegates = False
    for name in _wanted_names(wanted):
        # Upstream: shouldDelegateResourceToDRA().
        if not capacity.get(name) and name in of_classes:
            delegates = True
        else:
            names.append(name)
    if capacity.get("pods", 0) < 1 or any(
        capacity.get(name, 0) < wanted.get(name) for name in names
    ):
        return False
    # Whether the node has more devices than before is left to DynamicResources.
    if old is None or delegates:
        return True
    before = _allocatable(old)
    return any(capacity.get(name, 0) > before.get(name, 0) for name in ("pods", *names))


def device_class_stands_for_more(
    world: HintWorld, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """A DeviceClass now stands for a resource of the pod.

    Upstream: Fit isSchedulableAfterDeviceClassEvent(), registered with DRAExtendedResource only.
    """
    if new is None or world.resources_of_classes() is None:
        return False
    resource = new.spec.get("extendedResourceName") or ""
    if old is None:
        names = (f"{CLASS_PREFIX}{new.name}", resource)
    elif resource != (old.spec.get("extendedResourceName") or ""):
        names = (resource,)
    else:
        return False
    return any(name in names for name, _ in pod.resources.requested.scalars)


def _wanted_names(wanted: Resources) -> list[str]:
    names = ("cpu", "memory", "ephemeral-storage", *(name for name, _ in wanted.scalars))
    return [name for name in names if wanted.get(name)]


def _allocatable(node: Node) -> dict[str, int]:
    return {
        name: parse(amount).milli_value if name == "cpu" else parse(amount).value
        for name, amount in node.allocatable.items()
        if name in ("cpu", "memory", "ephemeral-storage", "pods") or is_scalar_resource_name(name)
    }
