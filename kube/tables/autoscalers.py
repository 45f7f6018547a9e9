"""The columns of a HorizontalPodAutoscaler. Upstream: printHorizontalPodAutoscaler()."""

from collections.abc import Mapping
from typing import Any, Final

from engine.objects.autoscalers import newest_manifest
from kube.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Columns,
    Object,
    in_spec,
    in_status,
    number,
    spec_of,
    status_of,
    text,
)

_UNKNOWN: Final = "<unknown>"
# So many metrics are shown.
_SHOWN: Final = 2
# By the type of a metric, the field that holds it.
_FIELDS: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def _reference(one: Object) -> str:
    target: Mapping[str, Any] = spec_of(one).get("scaleTargetRef") or {}
    return f"{target.get('kind')}/{target.get('name')}"


def _targets(one: Object) -> str:
    """Upstream: formatHPAMetrics()."""
    metrics = spec_of(one).get("metrics") or ()
    known = status_of(one).get("currentMetrics") or ()
    padded = [*known, *[{}] * len(metrics)]
    shown = [_metric(metric, current) for metric, current in zip(metrics, padded, strict=False)]
    more = f" + {len(shown) - _SHOWN} more..." if len(shown) > _SHOWN else ""
    return f"{', '.join(shown[:_SHOWN])}{more}" if shown else NONE


def _metric(metric: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    field = _FIELDS.get(metric.get("type", ""), "")
    source, found = metric.get(field) or {}, known.get(field) or {}
    target, current = source.get("target") or {}, found.get("current") or {}
    if "esource" in field:
        value = "averageValue"
        if target.get(value) is None:
            return f"{source.get('name')}: {_percent(current)}/{_percent(target, '<auto>')}"
        return f"{source.get('name')}: {current.get(value, _UNKNOWN)}/{target[value]}"
    if target.get("averageValue") is None or field == "pods":
        value = "averageValue" if field == "pods" else "value"
        return f"{current.get(value, _UNKNOWN)}/{target.get(value)}"
    return f"{current.get('averageValue', _UNKNOWN)}/{target['averageValue']} (avg)"


def _percent(values: Mapping[str, Any], otherwise: str = _UNKNOWN) -> str:
    percent = values.get("averageUtilization")
    return otherwise if percent is None else f"{percent}%"


AUTOSCALERS: dict[str, Columns] = {
    "HorizontalPodAutoscaler": (
        NAME,
        text("Reference", _reference),
        text("Targets", lambda one: _targets(newest_manifest({**one}))),
        text("MinPods", in_spec("minReplicas", UNSET)),
        number("MaxPods", in_spec("maxReplicas"), type="string"),
        number("Replicas", in_status("currentReplicas"), type="string"),
        AGE,
    )
}
