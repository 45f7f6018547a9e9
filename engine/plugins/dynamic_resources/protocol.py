"""The protocol of a plugin that allocates devices: what the scheduler asks it beside Filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.framework import CycleState
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import ApiObject
from engine.plugins.dynamic_resources.allocation.allocated_devices import AllocatedDevices
from engine.plugins.dynamic_resources.allocation.devices import DeviceClass
from engine.plugins.dynamic_resources.prepared import NodeAllocation, Prepared


class PostFilterAnswer(NamedTuple):
    """What PostFilter says, and a claim that it deallocates or deletes so that the pod may fit."""

    message: str
    deallocates: ApiObject | None = None
    deletes: ApiObject | None = None


@runtime_checkable
class AllocatesDevices(Protocol, metaclass=AskedOnce):
    """Finds devices for claims; the scheduler holds and writes what it found."""

    name: ClassVar[str]

    @property
    def claims(self) -> Mapping[str, ApiObject]:
        """All resource claims by key."""
        ...

    @property
    def allocated(self) -> AllocatedDevices:
        """The devices of all claims."""
        ...

    @property
    def awaits_conditions(self) -> bool:
        """Whether a pod is bound only when its devices have their binding conditions."""
        ...

    def device_class(self, name: str) -> DeviceClass | None:
        """The class of that name, or None."""
        ...

    def asks_for_devices(self, pod: PodInfo) -> bool:
        """By a claim, or by an extended resource that a class stands for."""
        ...

    def keeps_searches(self, pod: PodInfo) -> bool:
        """Whether the searches for the pod's claims are kept for the next pod."""
        ...

    def ends_with_error(self, state: CycleState) -> bool:
        """Whether the search ends with an error on some node, which fails the attempt."""
        ...

    def choose(self, state: CycleState, row: int) -> None:
        """The pod goes to *row*: find out now what it gets there, before anything else changes."""
        ...

    def prepared(self, state: CycleState) -> Prepared | None:
        """What is known of the pod's claims in this cycle; None for a pod without any."""
        ...

    def answer_post_filter(self, state: CycleState) -> PostFilterAnswer:
        """What is deallocated or deleted so that the pod may fit."""
        ...

    def pre_bind_error(self, state: CycleState, node: str) -> str:
        """Why the pod cannot be bound, although there are devices; "" if it can."""
        ...

    def mapping_error(self, pod: str, found: NodeAllocation) -> str:
        """The same for what the pod would get."""
        ...
