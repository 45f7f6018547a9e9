"""Rules for HorizontalPodAutoscalers. Upstream: pkg/apis/autoscaling/validation/validation.go."""

from __future__ import annotations

from typing import Any, Final

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    fields,
    integer,
    label_selector,
    list_of,
    one_of,
    quantity,
    text,
    timestamp,
)
from engine.api_server.validation.shared import any_integer, conditions, kind_fields
from engine.objects.autoscalers import REPLICAS_ANNOTATION, parse_script
from engine.objects.documents import Path
from engine.objects.manifest_parts import items, section

# By the type of a metric: the field that it needs.
_SOURCES: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
# With one of these a target may have no replicas, behind upstream's gate HPAScaleToZero.
_TO_ZERO: Final = frozenset(("External", "Object"))
_WINDOW: Final = 3600
_PERIOD: Final = 1800

_reference = fields(("kind", "name"), apiVersion=text, kind=text, name=text)
_metric = fields(("name",), name=text, selector=label_selector)
_target = fields(
    ("type",),
    type=one_of("Utilization", "Value", "AverageValue"),
    value=quantity,
    averageValue=quantity,
    averageUtilization=integer(1),
)
_policy = fields(
    ("type", "value", "periodSeconds"),
    type=one_of("Pods", "Percent"),
    value=integer(1),
    periodSeconds=integer(1, _PERIOD),
)
_rules = fields(
    stabilizationWindowSeconds=integer(0, _WINDOW),
    selectPolicy=one_of("Max", "Min", "Disabled"),
    policies=list_of(_policy, at_least=1),
    tolerance=quantity,
)
_source = fields(
    ("type",),
    type=one_of(*_SOURCES),
    resource=fields(("name", "target"), name=text, target=_target),
    containerResource=fields(
        ("name", "container", "target"), name=text, container=text, target=_target
    ),
    pods=fields(("metric", "target"), metric=_metric, target=_target),
    object=fields(
        ("describedObject", "metric", "target"),
        describedObject=_reference,
        metric=_metric,
        target=_target,
    ),
    external=fields(("metric", "target"), metric=_metric, target=_target),
)


def _metric_spec(value: Any, path: Path, report: Report) -> None:
    before = len(report.problems)
    _source(value, path, report)
    if len(report.problems) > before:
        return
    needed = _SOURCES[value["type"]]
    for name in _SOURCES.values():
        if name == needed and not value.get(name):
            report.add((*path, name), None, "is missing")
        elif name != needed and value.get(name):
            report.add((*path, name), value[name], f"is not of the type {value['type']}")
    if value.get(needed):
        _check_target(value[needed]["target"], needed, (*path, needed, "target"), report)


def _check_target(target: dict[str, Any], source: str, path: Path, report: Report) -> None:
    """Upstream: validateMetricSpec() and what it calls."""
    is_resource = source in ("resource", "containerResource")
    allowed = ("averageUtilization", "averageValue") if is_resource else ("value", "averageValue")
    allowed = ("averageValue",) if source == "pods" else allowed
    given = [name for name in ("averageUtilization", "averageValue", "value") if target.get(name)]
    for name in given:
        if name not in allowed:
            report.add((*path, name), target[name], f"may not be set for {source}")
    if not given:
        report.add((*path, allowed[0]), None, f"must set one of {', '.join(allowed)}")
    elif is_resource and len(given) > 1:
        why = "may not set both averageUtilization and averageValue"
        report.add((*path, given[0]), target[given[0]], why)


_fields = kind_fields(
    ("spec",),
    spec=fields(
        ("scaleTargetRef", "maxReplicas"),
        scaleTargetRef=_reference,
        minReplicas=integer(0),
        maxReplicas=integer(1),
        targetCPUUtilizationPercentage=integer(1),
        metrics=list_of(_metric_spec),
        behavior=fields(scaleUp=_rules, scaleDown=_rules),
    ),
    status=fields(
        currentReplicas=any_integer,
        desiredReplicas=any_integer,
        lastScaleTime=timestamp,
        conditions=conditions,
    ),
)


def autoscaler(value: Any, path: Path, report: Report) -> None:
    """A HorizontalPodAutoscaler, and what its metrics are told to say."""
    before = len(report.problems)
    _fields(value, path, report)
    if len(report.problems) > before:
        return
    _check_bounds(value["spec"], (*path, "spec"), report)
    told = section(value, "metadata", "annotations").get(REPLICAS_ANNOTATION)
    if told is not None:
        _script(told, (*path, "metadata", "annotations", REPLICAS_ANNOTATION), report)


def _check_bounds(spec: dict[str, Any], path: Path, report: Report) -> None:
    low, high = spec.get("minReplicas"), spec["maxReplicas"]
    if low is None:
        return
    to_zero = any(metric["type"] in _TO_ZERO for metric in items(spec, "metrics"))
    if low == 0 and not to_zero:
        why = "0 is less than 1; only with a metric of an object or an external one it may be 0"
        report.add((*path, "minReplicas"), low, why)
    if high < low:
        report.add((*path, "maxReplicas"), high, f"{high} is less than minReplicas, {low}")


def _script(value: Any, path: Path, report: Report) -> None:
    try:
        parse_script(value)
    except ValueError as error:
        report.add(path, value, str(error))
