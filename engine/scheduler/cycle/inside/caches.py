"""What one scheduler process holds in memory at an instant: docs/inside.md."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.framework.trace_steps.nodes import CachedNode
from engine.objects.objects import claim_of
from engine.scheduler.cycle.attempt import Binding
from engine.scheduler.cycle.state import SchedulerState
from engine.scheduler.queue.scheduling_queue import SchedulingQueue
from engine.scheduler.queue.trace_steps import InFlightPod, QueueHeld, waiting
from engine.storage.binding.trace_steps import CachedVersions


@dataclass(frozen=True, slots=True)
class AssumedPod:
    """A pod that the cache counts on `node` before a watch confirms it.

    `deadline`, in ns, is when the assumption ends if nothing confirms it: null until its binding is
    written, and in versions without a limit.
    """

    pod: str
    node: str
    binding_finished: bool
    deadline: int | None


@dataclass(frozen=True, slots=True)
class AssumedObject:
    """A volume or claim of a pod that is being bound: assumed for it, or as the informer has it."""

    pod: str
    versions: CachedVersions


@dataclass(frozen=True, slots=True)
class ProcessHeld:
    """The memory of one process: its queue, its cache, and the assume caches of its binder.

    `snapshot_generation` is that of the newest snapshot; `nodes` are the entries of the cache, the
    one that changed last first.
    """

    names: tuple[str, ...]
    queue: QueueHeld
    pods: tuple[AssumedPod, ...]
    objects: tuple[AssumedObject, ...]
    snapshot_generation: int
    nodes: tuple[CachedNode, ...]


def held_by(state: SchedulerState) -> ProcessHeld | None:
    """What the process holds; None where it is dead."""
    if state.stopped:
        return None
    taken = state.cache.snapshot_step()
    return ProcessHeld(
        tuple(sorted(state.names)),
        _queue_held(state.queue),
        tuple(_assumed_pods(state)),
        tuple(_objects(state)),
        taken.before,
        state.cache.cached_nodes(),
    )


def _queue_held(queue: SchedulingQueue) -> QueueHeld:
    places = queue.places
    return QueueHeld(
        queue.scheduling_cycle,
        queue.move_request_cycle,
        queue.judged_by,
        waiting(entry[3] for entry in places.active.ordered()),
        waiting((entry[3] for entry in places.backoff.ordered()), backing_off=True),
        waiting(places.unschedulable.infos()),
        tuple(
            InFlightPod(
                info.key, tuple(one.event.label for one in places.in_flight.events_for(uid))
            )
            for uid, (_, info) in places.in_flight.pods.items()
        ),
        queue.flush_times.next_backoff_expiry(),
        queue.flush_times.next_leftover_due(),
    )


def _assumed_pods(state: SchedulerState) -> Iterator[AssumedPod]:
    for each in state.cache.pods():
        if each.assumed:
            yield AssumedPod(
                each.info.key, each.info.node_name, each.binding_finished, each.deadline
            )


def _objects(state: SchedulerState) -> Iterator[AssumedObject]:
    """The claims and volumes of pods that are being bound, or whose claims are assumed."""
    binder = state.volume_work.binder
    for key, pod in state.known.items():
        if not any(claim_of(pod.name, volume)[0] for volume in pod.volumes):
            continue
        versions = binder.versions(pod)
        binding: Binding | None = state.bindings.get(key)
        waits = binding is not None and binding.volumes is not None
        for each in versions:
            if waits or each.assumed:
                yield AssumedObject(key, each)
