"""HorizontalPodAutoscalers: their metrics, and what the metrics are told to say.

No pod of a run uses CPU, so the files say what the metrics would: the annotation
kscope.dev/desired-replicas, "5" from now on, or "0s=3, 5m=12, 20m=none" by the time of the run.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Manifest, from_manifest
from engine.objects.values.durations import parse_duration

AUTOSCALER: Final = "HorizontalPodAutoscaler"
REPLICAS_ANNOTATION: Final = "kscope.dev/desired-replicas"
# At that time there are no metrics.
NONE: Final = "none"
_V1: Final = "autoscaling/v1"
_V2: Final = "autoscaling/v2"
_MOST: Final = 2**31 - 1

# Upstream: pkg/apis/autoscaling/v2/defaults.go. How long the highest recommendation holds is set by
# the controller.
_PERCENT: Final = {"type": "Percent", "value": 100, "periodSeconds": 15}
_PODS: Final = {"type": "Pods", "value": 4, "periodSeconds": 15}
SCALE_UP: Final[Manifest] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [_PODS, _PERCENT],
}
SCALE_DOWN: Final[Manifest] = {"selectPolicy": "Max", "policies": [_PERCENT]}


def _utilization(percent: int) -> Manifest:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


DEFAULT_METRICS: Final = [_utilization(80)]


class Told(NamedTuple):
    """From when on, in ns since the run began, the metrics ask for how many replicas."""

    at: int
    # None: there are no metrics.
    replicas: int | None


def parse_script(text: str) -> tuple[Told, ...]:
    """What the annotation says, in order. Raises ValueError."""
    told = tuple(_entry(entry.strip()) for entry in text.split(","))
    if any(later.at <= earlier.at for earlier, later in zip(told, told[1:], strict=False)):
        raise ValueError("the times must increase")
    return told


def _entry(text: str) -> Told:
    at, equals, replicas = text.rpartition("=")
    since = parse_duration(at.strip()) if equals else 0
    if replicas.strip() == NONE:
        return Told(since, None)
    if not (replicas.strip().isdecimal() and replicas.isascii()):
        why = f'"{text}" is neither a number of replicas nor "none", with or without a time'
        raise ValueError(f"{why}: 5, 10m=5 or 10m=none")
    return Told(since, min(int(replicas), _MOST))


def asked_for(autoscaler: ApiObject, now: int) -> int | None:
    """How many replicas the metrics ask for, by the annotation; None if there are no metrics."""
    text = autoscaler.annotations.get(REPLICAS_ANNOTATION)
    if text is None:
        return None
    past = [told for told in parse_script(text) if told.at <= now]
    return past[-1].replicas if past else None


def metrics_of(autoscaler: ApiObject) -> list[Manifest]:
    """Its metrics, or the one that it has without any."""
    return items(autoscaler.spec, "metrics") or [*DEFAULT_METRICS]


def bounds(autoscaler: ApiObject) -> tuple[int, int]:
    """The least and the most replicas."""
    low = autoscaler.spec.get("minReplicas")
    return 1 if low is None else low, autoscaler.spec["maxReplicas"]


def target_of(autoscaler: ApiObject) -> str:
    """What it scales, for readers: "Deployment web"."""
    target = section(autoscaler.spec, "scaleTargetRef")
    return f"{target.get('kind')} {target.get('name')}"


def newest_form(autoscaler: ApiObject) -> ApiObject:
    """The same object as an API server stores it. Upstream: pkg/apis/autoscaling/v1/conversion.go."""
    given = autoscaler.raw.get("apiVersion")
    if given == _V2:
        return autoscaler
    spec = {**autoscaler.spec}
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    if given == _V1 and utilization is not None:
        spec["metrics"] = [_utilization(utilization)]
    new = {**autoscaler.raw, "apiVersion": _V2, "spec": spec}
    if given == _V1 and autoscaler.status:
        new["status"] = _without(autoscaler.status, "currentCPUUtilizationPercentage")
    return from_manifest(new)


def _without(status: Mapping[str, Any], name: str) -> Manifest:
    return {key: value for key, value in status.items() if key != name}
