"""Rules for LimitRanges and for the scopes of ResourceQuotas."""

from __future__ import annotations

from typing import Any, cast

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import fields, one_of
from engine.api_server.validation.shared import quantities, texts
from engine.objects.documents import Path
from engine.objects.values.quantity import parse as parse_quantity

QUOTA_SCOPES = (
    *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
    *("CrossNamespacePodAffinity", "VolumeAttributesClass"),
)
scope_expression = fields(
    ("scopeName", "operator"),
    scopeName=one_of(*QUOTA_SCOPES),
    operator=one_of("In", "NotIn", "Exists", "DoesNotExist"),
    values=texts,
)
_limit_range_fields = fields(
    ("type",),
    type=one_of("Container", "Pod", "PersistentVolumeClaim"),
    min=quantities,
    max=quantities,
    default=quantities,
    defaultRequest=quantities,
    maxLimitRequestRatio=quantities,
)
# Each may not be more than those that follow it. Upstream: ValidateLimitRange().
_RISING = ("min", "defaultRequest", "default", "max")


def limit_range_item(value: Any, path: Path, report: Report) -> None:
    before = len(report.problems)
    _limit_range_fields(value, path, report)
    if len(report.problems) > before:
        return
    bounds = [(name, cast("dict[str, Any]", value.get(name) or {})) for name in _RISING]
    for place, (smaller, least) in enumerate(bounds):
        for larger, most in bounds[place + 1 :]:
            for resource, amount in least.items():
                if resource in most and parse_quantity(amount) > parse_quantity(most[resource]):
                    wrong = f"{smaller} {amount} is more than {larger} {most[resource]}"
                    report.add((*path, smaller, resource), amount, wrong)
    ratios: dict[str, Any] = value.get("maxLimitRequestRatio") or {}
    for resource, ratio in ratios.items():
        if parse_quantity(ratio) < parse_quantity(1):
            report.add(
                (*path, "maxLimitRequestRatio", resource), ratio, f"ratio {ratio} is less than 1"
            )
