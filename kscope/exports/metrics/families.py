"""The metrics that are written: what upstream calls them, their labels and their buckets.

Upstream: pkg/scheduler/metrics/metrics.go, pkg/controller/volume/persistentvolume/metrics/metrics.go.
Left out is what a model has no measure of: durations of single plugins, goroutines, API calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[str, ...]


def exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Upstream: prometheus.ExponentialBuckets()."""
    return tuple(start * factor**power for power in range(count))


@dataclass(frozen=True, slots=True)
class Family:
    """One metric; a counter is named without its `_total`."""

    name: str
    kind: Kind
    help: str
    labels: Labels = ()
    buckets: tuple[float, ...] = ()


_MILLISECONDS: Final = exponential(0.001, 2, 15)
ATTEMPTS = Family(
    "scheduler_schedule_attempts",
    "counter",
    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
    "scheduled, while 'error' means an internal scheduler problem.",
    ("result", "profile"),
)
ATTEMPT_SECONDS = Family(
    "scheduler_scheduling_attempt_duration_seconds",
    "histogram",
    "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    ("result", "profile"),
    _MILLISECONDS,
)
ALGORITHM_SECONDS = Family(
    "scheduler_scheduling_algorithm_duration_seconds",
    "histogram",
    "Scheduling algorithm latency in seconds",
    (),
    _MILLISECONDS,
)
VICTIMS = Family(
    "scheduler_preemption_victims",
    "histogram",
    "Number of selected preemption victims",
    (),
    exponential(1, 2, 7),
)
PENDING = Family(
    "scheduler_pending_pods",
    "gauge",
    "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' "
    "means number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that "
    "the scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that "
    "the scheduler never attempted to schedule because they are gated.",
    ("queue",),
)
POD_SECONDS = Family(
    "scheduler_pod_scheduling_sli_duration_seconds",
    "histogram",
    "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and "
    "might involve multiple scheduling attempts.",
    ("attempts",),
    exponential(0.01, 2, 20),
)
POD_ATTEMPTS = Family(
    "scheduler_pod_scheduling_attempts",
    "histogram",
    "Number of attempts to successfully schedule a pod.",
    (),
    exponential(1, 2, 5),
)
INCOMING = Family(
    "scheduler_queue_incoming_pods",
    "counter",
    "Number of pods added to scheduling queues by event and queue type.",
    ("queue", "event"),
)
CACHE_SIZE = Family(
    "scheduler_scheduler_cache_size",
    "gauge",
    "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    ("type",),
)
UNSCHEDULABLE = Family(
    "scheduler_unschedulable_pods",
    "gauge",
    "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for "
    "all plugins that caused it to not schedule and so this metric have meaning only when broken down "
    "by plugin.",
    ("plugin", "profile"),
)
BOUND_PV = Family(
    "pv_collector_bound_pv_count",
    "gauge",
    "Gauge measuring number of persistent volume currently bound",
    ("storage_class",),
)
UNBOUND_PV = Family(
    "pv_collector_unbound_pv_count",
    "gauge",
    "Gauge measuring number of persistent volume currently unbound",
    ("storage_class",),
)
BOUND_PVC = Family(
    "pv_collector_bound_pvc_count",
    "gauge",
    "Gauge measuring number of persistent volume claim currently bound",
    ("namespace", "storage_class"),
)
UNBOUND_PVC = Family(
    "pv_collector_unbound_pvc_count",
    "gauge",
    "Gauge measuring number of persistent volume claim currently unbound",
    ("namespace", "storage_class"),
)
FAMILIES: Final = (
    *(ATTEMPTS, ATTEMPT_SECONDS, ALGORITHM_SECONDS, VICTIMS, PENDING, POD_SECONDS, POD_ATTEMPTS),
    *(INCOMING, CACHE_SIZE, UNSCHEDULABLE, BOUND_PV, UNBOUND_PV, BOUND_PVC, UNBOUND_PVC),
)

# The value of a metric with some labels at an instant: of a histogram its buckets and its sum.
Value = int | tuple[tuple[int, ...], float]
Sample = Mapping[tuple[str, Labels], Value]


def lines_of(family: Family, labels: Labels, points: Sequence[tuple[str, Value]]) -> Iterator[str]:
    """The lines of one series; each of *points* is a timestamp and the value then."""
    for at, value in points:
        if isinstance(value, int):
            name = f"{family.name}_total" if family.kind == "counter" else family.name
            yield f"{name}{_braces(family.labels, labels)} {value} {at}"
        else:
            yield from _histogram(family, labels, at, *value)


def _histogram(
    family: Family, labels: Labels, at: str, counts: Sequence[int], total: float
) -> Iterator[str]:
    edges = [*(f"{float(edge)!r}" for edge in family.buckets), "+Inf"]
    sums = 0
    for edge, count in zip(edges, counts, strict=True):
        sums += count
        yield f"{family.name}_bucket{_braces((*family.labels, 'le'), (*labels, edge))} {sums} {at}"
    yield f"{family.name}_count{_braces(family.labels, labels)} {sums} {at}"
    yield f"{family.name}_sum{_braces(family.labels, labels)} {total!r} {at}"


def _braces(names: Labels, values: Labels) -> str:
    pairs = (f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True))
    return f"{{{','.join(pairs)}}}" if names else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
