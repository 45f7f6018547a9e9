"""Checks of a run at its head: its cluster against itself, and its record against its cluster."""

from collections.abc import Iterator
from typing import Any

import orjson
from django.db.models import Count, Max

from engine.cluster.checks.cluster_checks import CHECKS, cluster_findings
from engine.cluster.cluster import Cluster
from engine.kernel.view import State, fold
from kscope.runs.app_registry import registry
from kscope.runs.models import Run, RunEvent

EVENTS = "events without gaps"
VIEW = "view against events"
ROWS = "view against rows"
NAMES = (*CHECKS, EVENTS, VIEW, ROWS)
_SHOWN = 200  # characters of a value


def run_findings(run: Run, cluster: Cluster) -> list[str]:
    """What does not agree, where *cluster* stands at the head of *run*; [] when all is well."""
    return [
        *cluster_findings(cluster),
        *(f"{EVENTS}: {finding}" for finding in _gaps(run)),
        *(f"{VIEW}: {finding}" for finding in _view_differences(run, cluster)),
        *(f"{ROWS}: {finding}" for finding in _row_differences(run, cluster)),
    ]


def _gaps(run: Run) -> Iterator[str]:
    found = RunEvent.objects.filter(run_id=run.pk).aggregate(number=Count("seq"), last=Max("seq"))
    number, last = found["number"], found["last"] or 0
    if (number, last) != (run.head_seq, run.head_seq):
        yield f"the head is event {run.head_seq}, there are {number} events up to {last}"


def _view_differences(run: Run, cluster: Cluster) -> Iterator[str]:
    """Pages fold the recorded changes; the engine folded them as it made them."""
    folded: State = {}
    changes = RunEvent.objects.filter(run_id=run.pk, changes__isnull=False).order_by("seq")
    for change in changes.values_list("changes", flat=True).iterator():
        fold(folded, change)
    yield from _differences(folded, _as_json(cluster.view()))


def _row_differences(run: Run, cluster: Cluster) -> Iterator[str]:
    """The admin and the APIs show rows of objects. Those that are to be written again may be older."""
    store, behind = cluster.store, run.rows_seq
    stored = {obj.id: _as_json(obj.raw) for kind in store.kinds() for obj in store.objects(kind)}
    kept = {
        row.entity: row.manifest
        for model in registry.tables
        for row in model.objects.filter(run_id=run.pk)
    }
    if behind is not None:
        events_of = store.record.events_of
        stored = {each: one for each, one in stored.items() if events_of(each).newest <= behind}
        kept = {each: one for each, one in kept.items() if each in stored}
    yield from _differences(kept, stored)


def _differences(recorded: dict[str, Any], held: dict[str, Any]) -> Iterator[str]:
    for entity in sorted(recorded.keys() | held.keys()):
        if recorded.get(entity) != held.get(entity):
            yield f"{entity}: recorded is {_text(recorded, entity)}, is {_text(held, entity)}"


def _text(values: dict[str, Any], entity: str) -> str:
    if entity not in values:
        return "nothing"
    text = orjson.dumps(values[entity], option=orjson.OPT_SORT_KEYS).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _as_json(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))
