"""The rule for the policy of a PodGroup. Upstream: pkg/apis/scheduling/validation (v1alpha2)."""

from __future__ import annotations

from typing import Any, cast

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import fields, integer
from engine.objects.documents import Path

_POLICIES = ("basic", "gang")
_policy_fields = fields(basic=fields(), gang=fields(("minCount",), minCount=integer(1, 2**31 - 1)))


def scheduling_policy(value: Any, path: Path, report: Report) -> None:
    """Exactly one of `basic` and `gang`; a gang says how many pods it needs."""
    before = len(report.problems)
    _policy_fields(value, path, report)
    if len(report.problems) > before:
        return
    given = [name for name in _POLICIES if cast("dict[str, Any]", value).get(name) is not None]
    if len(given) != 1:
        report.add(path, value, f"must have exactly one of {', '.join(_POLICIES)}")
