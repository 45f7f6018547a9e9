"""Volume expansion: a bound claim that requests more gets more, if its class allows it.

    user raises spec.resources   →  expand controller: leaves it to the CSI driver, emits an Event
    external resizer             →  condition Resizing, the driver grows the volume, volume.capacity
    file system                  →  condition FileSystemResizePending until a pod runs with it, then
                                    the kubelet grows the file system and writes claim.capacity

The external resizer is in `csi/external_resizer.py`, which also does the kubelet's part.
Upstream: pkg/controller/volume/expand/expand_controller.go.
"""

from typing import ClassVar, Final

from kscope.sim.api_server.watches import WatchEvent
from kscope.sim.api_server.workqueue import WorkQueue
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.objects.objects import EMPTY, PersistentVolumeClaim, quantity
from volumes.engine.phases import CLAIM_BOUND
from volumes.engine.ports import EventSink, InformerListers

CONTROLLER: Final = "volume-expand"


class ExpandController:
    """Emits an Event on each claim whose request grew: the CSI driver has to expand the volume.

    *event* is the type and the message of that Event.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("_queue",)

    def __init__(
        self, loop: EventLoop, listers: InformerListers, events: EventSink, event: tuple[str, str]
    ) -> None:
        self._listers = listers
        self._events = events
        self._event = event
        self._queue = WorkQueue(loop, self.sync)
        listers.claim_informer.on_event(self._on_claim)

    def _on_claim(self, event: WatchEvent) -> None:
        claim, old = event.new, event.old
        if event.type == "DELETED" or not isinstance(claim, PersistentVolumeClaim):
            return
        if claim.phase != CLAIM_BOUND or not wants_more(claim):
            return
        if isinstance(old, PersistentVolumeClaim) and not (
            claim.request_bytes > old.request_bytes or capacity_of(claim) > capacity_of(old)
        ):
            return
        self._queue.add(claim.key)

    def sync(self, key: str) -> None:
        """Emit the Event if the claim of that key waits for an expansion."""
        claim = self._listers.claim(key)
        if claim is None or claim.request_bytes <= capacity_of(claim):
            return
        if self._listers.volume(claim.volume_name) is None:
            return
        event_type, message = self._event
        self._events.event(claim, event_type, "ExternalExpanding", message)


def wants_more(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim requests more than it has."""
    # Most claims have what they request; comparing the texts is cheaper than parsing them.
    has = (claim.status.get("capacity") or EMPTY).get("storage", 0)
    return requested_size(claim) != has and claim.request_bytes > quantity.value(has)


def capacity_of(claim: PersistentVolumeClaim) -> int:
    """status.capacity.storage in bytes: what the claim has, not what it requests."""
    return quantity.value((claim.status.get("capacity") or EMPTY).get("storage", 0))


def requested_size(claim: PersistentVolumeClaim) -> str:
    """spec.resources.requests.storage as it is written; "0" if absent."""
    return ((claim.spec.get("resources") or EMPTY).get("requests") or EMPTY).get("storage", "0")
