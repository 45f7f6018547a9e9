"""What a scheduling queue holds, for assertions."""

from engine.scheduler.queue.backoff import PodBackoffMap
from engine.scheduler.queue.queued_pod import Place, QueuedPodInfo
from engine.scheduler.queue.scheduling_queue import SchedulingQueue

Sorted = list[tuple[QueuedPodInfo, tuple[int, ...]]]


def place_of(queue: SchedulingQueue, key: str) -> Place:
    """Where the pod is, "" when it is nowhere in the queue."""
    info = queue.get(key) or queue.in_flight(key)
    return "" if info is None else info.place


def counts(queue: SchedulingQueue) -> dict[Place, int]:
    """How many pods are in each place."""
    places = queue.places
    gated = places.unschedulable.gated_count
    return {
        "gated": gated,
        "active": len(places.active),
        "backoff": len(places.backoff),
        "unschedulable": len(places.unschedulable) - gated,
        "in_flight": len(places.in_flight),
    }


def active_pods(queue: SchedulingQueue) -> Sorted:
    """activeQ in the order it would be popped, with the sort keys."""
    return [(info, sort_key) for sort_key, _, _, info in queue.places.active.ordered()]


def backoff_pods(queue: SchedulingQueue) -> Sorted:
    """backoffQ, first to expire first, with the sort keys."""
    return [(info, sort_key) for sort_key, _, _, info in queue.places.backoff.ordered()]


def unschedulable_pods(queue: SchedulingQueue) -> Sorted:
    """The unschedulable pods, longest wait first; the key is their timestamp."""
    return _by_timestamp(queue, "unschedulable")


def gated_pods(queue: SchedulingQueue) -> Sorted:
    """The pods held back by a PreEnqueue plugin, longest wait first."""
    return _by_timestamp(queue, "gated")


def in_flight_pods(queue: SchedulingQueue) -> list[QueuedPodInfo]:
    """The pods being tried, in the order they were popped."""
    return [info for _, info in queue.places.in_flight.pods.values()]


def backoff_records(queue: SchedulingQueue) -> dict[str, tuple[int, int]]:
    """v1.16's table: pod key → (failures, last failure). Empty in other versions."""
    policy = queue._backoff_policy
    return dict(policy._records) if isinstance(policy, PodBackoffMap) else {}


def _by_timestamp(queue: SchedulingQueue, place: Place) -> Sorted:
    infos = [info for info in queue.places.unschedulable.infos() if info.place == place]
    infos.sort(key=lambda info: info.timestamp)
    return [(info, (info.timestamp,)) for info in infos]
