"""`/metrics`: what all processes have counted, and what tables and queues say at the moment."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from django.db import connection
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from kscope.operations import presence
from kscope.runs import leases
from kscope.runs.measures import REGISTRY
from kscope.runs.models import Command, Run

__all__ = ["CONTENT_TYPE_LATEST", "metrics_text"]

_ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}


def metrics_text() -> bytes:
    """Everything in the format of OpenMetrics. Raises redis.RedisError, django.db.Error."""
    registry = CollectorRegistry()
    registry.register(_Everything())
    return generate_latest(registry)


class _Everything:
    """A collector in the sense of prometheus_client."""

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is, is known only when it is asked for."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Counts first, then the moment."""
        yield from _counted()
        yield from _runs()
        yield from _queues()
        yield from _processes()


def _counted() -> Iterator[Metric]:
    by_name = defaultdict(list)
    for (name, labels), value in presence.counts().items():
        by_name[name].append((dict(labels), value))
    for known in REGISTRY.collect():
        metric = Metric(known.name, known.documentation, known.type)
        samples = [
            (labels, ending, value)
            for ending in _ENDINGS[known.type]
            for labels, value in by_name[known.name + ending]
        ]
        for labels, ending, value in sorted(samples, key=_place):
            metric.add_sample(known.name + ending, labels, value)
        yield metric


def _place(sample: tuple[dict[str, str], str, float]) -> tuple[list[tuple[str, str]], str, float]:
    """Samples of the same labels together, the buckets of a histogram in order of their bounds."""
    labels, ending, _ = sample
    bound = float(labels.get("le", "0"))
    return sorted((name, text) for name, text in labels.items() if name != "le"), ending, bound


def _gauge(name: str, help_: str, **labels: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    """A gauge with one label, named by the keyword, or without any when that is `value`."""
    ((label, rows),) = labels.items()
    names = () if label == "value" else (label,)
    metric = GaugeMetricFamily(name, help_, labels=names)
    for key, value in rows:
        metric.add_metric(key, value)
    return metric


_COUNT_RUNS = f"""
SELECT status, count(*), count(*) FILTER (WHERE {leases.held()}) FROM runs_run
GROUP BY status
"""


def _runs() -> Iterator[Metric]:
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_RUNS)
        counted = {status: (runs, held) for status, runs, held in cursor.fetchall()}
        pending = Command.objects.filter(status=Command.Status.PENDING).count()
        cursor.execute("SELECT pg_database_size(current_database())")
        (size,) = cursor.fetchone()
    statuses = [((str(status),), float(counted.get(status, (0, 0))[0])) for status in Run.Status]
    yield _gauge("kscope_runs", "Runs", status=statuses)
    held = float(sum(leases for _, leases in counted.values()))
    yield _gauge("kscope_leases", "Runs that a worker holds", value=[((), held)])
    yield _gauge(
        "kscope_commands_pending",
        "Commands that no worker has taken yet",
        value=[((), float(pending))],
    )
    yield _gauge("kscope_database_bytes", "Size of the database", value=[((), float(size))])


def _queues() -> Iterator[Metric]:
    rows = [((name,), float(length)) for name, length in presence.queue_lengths().items()]
    yield _gauge("kscope_queue_length", "Tasks that wait in a queue of Celery", queue=rows)


def _processes() -> Iterator[Metric]:
    found = presence.processes()
    roles = sorted({process.role for process in found})
    for name, help_, field in (
        ("kscope_processes", "Processes that spoke lately", None),
        (
            "kscope_process_memory_bytes",
            "Resident memory of all processes of a role",
            "memory_bytes",
        ),
        ("kscope_hubs", "Runs that a process streams to pages", "hubs"),
        ("kscope_sockets", "WebSockets that are open", "sockets"),
    ):
        rows = [
            (
                (role,),
                float(
                    sum(getattr(one, field) if field else 1 for one in found if one.role == role)
                ),
            )
            for role in roles
        ]
        yield _gauge(name, help_, role=rows)
