"""The events that may help a pod for which there was no room."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from typing import TYPE_CHECKING, Protocol

from engine.framework.cluster_events import DEVICE_CLASS, NODE, POD, Action
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration, on
from engine.objects.pods.pod_resources import Resources, is_scalar_resource_name
from engine.objects.values.quantity import parse
from engine.plugins.dynamic_resources.allocation.extended import CLASS_PREFIX

if TYPE_CHECKING:
    from engine.objects.objects import ApiObject, Node, Pod


def resources_were_freed(pod: PodInfo, old: Pod | None, new: Pod | None) -> bool:
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


def node_fits_now(
    classes: ProvidesClasses, pod: PodInfo, old: Node | None, new: Node | None
) -> bool:
    """Upstream: Fit isSchedulableAfterNodeChange()."""
    if new is None:
        return False
    wanted = pod.resources.fit
    capacity = _allocatable(new)
    of_classes = classes.resources_of_classes or ()
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
    classes: ProvidesClasses, pod: PodInfo, old: ApiObject | None, new: ApiObject | None
) -> bool:
    """A DeviceClass now stands for a resource of the pod.

    Upstream: Fit isSchedulableAfterDeviceClassEvent(), registered with DRAExtendedResource only.
    """
    if new is None or classes.resources_of_classes is None:
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


class ProvidesClasses(Protocol):
    """The plugin, as far as its hints ask it."""

    @property
    def resources_of_classes(self) -> Container[str] | None:
        """The extended resources that a DeviceClass stands for; None where none can."""
        ...


def events_of(plugin: ProvidesClasses) -> tuple[Registration, ...]:
    """The events, with hints that ask *plugin*."""
    return (
        on(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, resources_were_freed),
        on(
            NODE,
            Action.ADD | Action.UPDATE_NODE_ALLOCATABLE,
            partial(node_fits_now, plugin),
        ),
        on(
            DEVICE_CLASS,
            Action.ADD | Action.UPDATE,
            partial(device_class_stands_for_more, plugin),
        ),
    )
