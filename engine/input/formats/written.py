"""A scenario as the documents that it can be read from again: docs/scenario-format.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.input.scenario import Manifest, Scenario, Step
from engine.kernel.latency import Latency
from engine.kernel.units import MILLISECOND, SECOND

_API_VERSION: Final = "kscope.dev/v1"
# Steps of these verbs hold manifests, those of others name an object.
_OF_MANIFESTS: Final = ("create", "apply", "replace")
_PARTS: Final = ("object", "patch", "labels", "grace_seconds", "propagation")


def documents_of(scenario: Scenario, aside: Iterable[Manifest] = ()) -> Iterator[Manifest]:
    """The documents that load to *scenario*: its header, its configuration, its objects.

    *aside* are objects of its files that no run holds, and that its answers heed.
    """
    yield _header(scenario)
    if scenario.configuration is not None:
        yield scenario.configuration
    yield from scenario.objects
    yield from aside


def list_of(scenario: Scenario, aside: Iterable[Manifest] = ()) -> Manifest:
    """The same as one document, a List."""
    return {"apiVersion": "v1", "kind": "List", "items": [*documents_of(scenario, aside)]}


def _header(scenario: Scenario) -> Manifest:
    spec = {
        "title": scenario.title,
        "question": scenario.question,
        "profile": scenario.profile,
        "served": scenario.served,
        "featureGates": dict(scenario.feature_gates),
        "seed": scenario.seed,
        "instant": scenario.instant,
        "duration": _duration(scenario.until),
        "latencies": {name: _latency(each) for name, each in sorted(scenario.latencies.items())},
        "budget": _budget(scenario.budget),
        "schedulers": list(scenario.schedulers),
        **scenario.told,
        "externalControllers": list(scenario.external_controllers),
        "containers": list(scenario.containers),
        "steps": [_step(each) for each in scenario.steps],
    }
    kept = {name: value for name, value in spec.items() if value not in ("", None, {}, [], 0)}
    metadata = {"name": scenario.name}
    return {"apiVersion": _API_VERSION, "kind": "Scenario", "metadata": metadata, "spec": kept}


def _step(step: Step) -> Manifest:
    at = _duration(step.at)
    if step.verb in _OF_MANIFESTS:
        return {"at": at, step.verb: step.manifest}
    if step.verb == "fault":
        return {"at": at, "fault": step.patch}
    parts = {name: getattr(step, name) for name in _PARTS}
    return {
        "at": at,
        step.verb: {name: part for name, part in parts.items() if part not in (None, "")},
    }


def _latency(latency: Latency) -> Any:
    low, high = _duration(latency.low), _duration(latency.high)
    return low if latency.shape == "fixed" else {latency.shape: [low, high]}


def _budget(budget: Mapping[str, int]) -> Manifest:
    return {part: _duration(each) if part == "time" else each for part, each in budget.items()}


def _duration(nanoseconds: int) -> str:
    """ "90s", "500ms", "7ns": in the largest unit of which it is a whole number."""
    if nanoseconds % SECOND == 0:
        return f"{nanoseconds // SECOND}s"
    if nanoseconds % MILLISECOND == 0:
        return f"{nanoseconds // MILLISECOND}ms"
    return f"{nanoseconds}ns"
