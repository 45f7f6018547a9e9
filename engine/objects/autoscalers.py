"""HorizontalPodAutoscalers: their metrics, and what the metrics are told to say.

No pod of a run uses CPU, so the files say what the metrics would: the annotation
kscope.dev/desired-replicas, "5" from now on, or "0s=3, 5m=12, 20m=none" by the time of the run.
"""

import json
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
_CPU: Final = "targetCPUUtilizationPercentage"
# Where autoscaling/v1 has what only later versions have. Upstream: apis/autoscaling/annotations.go.
_METRICS, _BEHAVIOR, _CONDITIONS = _NOTES = (
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
    "autoscaling.alpha.kubernetes.io/conditions",
)
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
    """The same object as an API server stores it."""
    raw = newest_manifest(autoscaler.raw)
    return autoscaler if raw is autoscaler.raw else from_manifest(raw)


def newest_manifest(manifest: Manifest) -> Manifest:
    """An object in the version in which it is stored. Upstream: apis/autoscaling/v1/conversion.go."""
    given = manifest.get("apiVersion")
    if given == _V2:
        return manifest
    spec = {**section(manifest, "spec")}
    utilization = spec.pop("targetCPUUtilizationPercentage", None)
    new: Manifest = {**manifest, "apiVersion": _V2, "spec": spec}
    if given != _V1:
        return new
    metadata = section(manifest, "metadata")
    notes: Mapping[str, str] = metadata.get("annotations") or {}
    metrics = [_of_v1(one) for one in _noted(notes, _METRICS)]
    if utilization is not None:
        metrics.insert(0, _utilization(utilization))
    if metrics:
        spec["metrics"] = metrics
    if behavior := _noted(notes, _BEHAVIOR):
        spec["behavior"] = behavior
    kept = {name: one for name, one in notes.items() if name not in _NOTES}
    if len(kept) < len(notes):
        rest = {name: one for name, one in metadata.items() if name != "annotations"}
        new["metadata"] = {**rest, "annotations": kept} if kept else rest
    if manifest.get("status"):
        status = _without(section(manifest, "status"), "currentCPUUtilizationPercentage")
        conditions = _noted(notes, _CONDITIONS)
        new["status"] = {**status, "conditions": conditions} if conditions else status
    return new


def v1_manifest(manifest: Manifest) -> Manifest:
    """An object that is stored as autoscaling/v1 shows it: what that lacks is in annotations."""
    spec, status = {**section(manifest, "spec")}, {**section(manifest, "status")}
    metadata = {**section(manifest, "metadata")}
    notes: dict[str, str] = {**(metadata.get("annotations") or {})}
    others: list[Manifest] = []
    for metric in spec.pop("metrics", None) or ():
        target = section(metric, "resource", "target")
        is_cpu = section(metric, "resource").get("name") == "cpu"
        if is_cpu and target.get("type") == "Utilization" and _CPU not in spec:
            spec[_CPU] = target.get("averageUtilization")
        else:
            others.append(_as_v1(metric))
    for metric in status.pop("currentMetrics", None) or ():
        current = section(metric, "resource", "current")
        if section(metric, "resource").get("name") == "cpu" and "averageUtilization" in current:
            status["currentCPUUtilizationPercentage"] = current["averageUtilization"]
    for name, value in (
        (_METRICS, others),
        (_BEHAVIOR, spec.pop("behavior", None)),
        (_CONDITIONS, status.pop("conditions", None)),
    ):
        if value:
            notes[name] = json.dumps(value, separators=(",", ":"))
    if notes:
        metadata["annotations"] = notes
    found = {**manifest, "apiVersion": _V1, "metadata": metadata, "spec": spec}
    counts = {"currentReplicas": 0, "desiredReplicas": 0}
    return {**found, "status": {**counts, **status}} if "status" in manifest else found


def _noted(notes: Mapping[str, str], name: str) -> Any:
    """What an annotation holds; nothing where it cannot be read."""
    try:
        return json.loads(notes.get(name) or "[]")
    except ValueError:
        return []


def _as_v1(metric: Manifest) -> Manifest:
    kind = str(metric.get("type"))
    name = f"{kind[:1].lower()}{kind[1:]}"
    source = section(metric, name)
    target, named = section(source, "target"), section(source, "metric")
    value, average = target.get("value"), target.get("averageValue")
    made: Manifest
    match kind:
        case "Object":
            made = {"target": source.get("describedObject"), "metricName": named.get("name")}
            made |= {"targetValue": value or "0", "averageValue": average}
            made["selector"] = named.get("selector")
        case "Pods":
            made = {"metricName": named.get("name"), "targetAverageValue": average}
            made["selector"] = named.get("selector")
        case "External":
            made = {"metricName": named.get("name"), "metricSelector": named.get("selector")}
            made |= {"targetValue": value, "targetAverageValue": average}
        case _:
            made = {"name": source.get("name"), "container": source.get("container")}
            made |= {"targetAverageUtilization": target.get("averageUtilization")}
            made["targetAverageValue"] = average
    return {"type": kind, name: _given(made)}


def _of_v1(metric: Manifest) -> Manifest:
    kind = str(metric.get("type"))
    name = f"{kind[:1].lower()}{kind[1:]}"
    source = section(metric, name)
    value = source.get("targetValue")
    if kind in ("Object", "Pods", "External"):
        selector = source.get("metricSelector" if kind == "External" else "selector")
        average = source.get("averageValue" if kind == "Object" else "targetAverageValue")
        if kind == "Object" and average is not None and value == "0":
            value = None
        of_value = value is not None and not (kind == "Object" and average is not None)
        made: Manifest = {
            "metric": _given({"name": source.get("metricName"), "selector": selector})
        }
        type_ = "Value" if of_value else "AverageValue"
        made["target"] = _given({"type": type_, "value": value, "averageValue": average})
        if kind == "Object":
            made["describedObject"] = source.get("target")
    else:
        utilization = source.get("targetAverageUtilization")
        type_ = "AverageValue" if utilization is None else "Utilization"
        target = {"type": type_, "averageUtilization": utilization}
        target["averageValue"] = source.get("targetAverageValue")
        made = {"name": source.get("name"), "container": source.get("container")}
        made = {**_given(made), "target": _given(target)}
    return {"type": kind, name: made}


def _given(fields: Mapping[str, Any]) -> Manifest:
    return {name: value for name, value in fields.items() if value is not None}


def _without(status: Mapping[str, Any], name: str) -> Manifest:
    return {key: value for key, value in status.items() if key != name}
