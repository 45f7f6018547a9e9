"""Reads `spec.expect`: a list of facts that have to hold when the run ends.

- {pod: shop/web-0, bound: true, node: n1, zone: a, phase: Running}
- {pod: shop/big, bound: false, reason: Insufficient cpu}
- {claim: shop/data, phase: Bound, volume: pv-1}
- {pods: {bound: 10, waiting: 0}}
"""

from __future__ import annotations

from typing import Any, Final, cast

from engine.api_server.validation.report import Report
from engine.objects.documents import Path
from engine.objects.values.shown import shown

Manifest = dict[str, Any]

_POD: Final = {"bound": bool, "node": str, "zone": str, "phase": str, "reason": str, "exists": bool}
_CLAIM: Final = {"bound": bool, "phase": str, "volume": str, "exists": bool}
_PODS: Final = {"bound": int, "waiting": int}
_SUBJECTS: Final = ("pod", "claim", "pods")
_WORDS: Final = {bool: "true or false", str: "a text", int: "a whole number"}


def parse_expect(raw: Any, path: Path, report: Report) -> list[Manifest]:
    """The expectations, each with the key of its object; what is wrong goes into the *report*."""
    if raw is None:
        return []
    if not isinstance(raw, list):
        report.add(path, raw, f"expected a list, found {shown(raw)}")
        return []
    items = enumerate(cast("list[Any]", raw))
    found = [_expectation(each, (*path, place), report) for place, each in items]
    return [each for each in found if each]


def _expectation(raw: Any, path: Path, report: Report) -> Manifest:
    if not isinstance(raw, dict):
        report.add(path, raw, f"expected a mapping, found {shown(raw)}")
        return {}
    given = cast("Manifest", raw)
    subjects = [name for name in _SUBJECTS if name in given]
    if len(subjects) != 1:
        report.add(path, raw, f"an expectation needs exactly one of {', '.join(_SUBJECTS)}")
        return {}
    subject = subjects[0]
    if subject == "pods":
        counts = given["pods"]
        if not isinstance(counts, dict):
            report.add((*path, "pods"), counts, f"expected a mapping, found {shown(counts)}")
            return {}
        _check(cast("Manifest", counts), _PODS, (*path, "pods"), report)
        _check({name: part for name, part in given.items() if name != "pods"}, {}, path, report)
        return given
    rest = {name: part for name, part in given.items() if name != subject}
    _check(rest, _POD if subject == "pod" else _CLAIM, path, report)
    key = given[subject]
    if not isinstance(key, str) or not key:
        report.add((*path, subject), key, f"expected a name, found {shown(key)}")
        return {}
    return {**rest, subject: key if "/" in key else f"default/{key}"}


def _check(given: Manifest, known: dict[str, type], path: Path, report: Report) -> None:
    for name, value in given.items():
        wanted = known.get(name)
        if wanted is None:
            names = ", ".join(known) or "none"
            report.add((*path, name), value, f"unknown field; known are {names}")
        elif value.__class__ is not wanted:
            report.add((*path, name), value, f"expected {_WORDS[wanted]}, found {shown(value)}")
