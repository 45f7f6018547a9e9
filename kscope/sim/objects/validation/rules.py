"""Rules for values, and for mappings and lists of them.

A rule is a function of (value, path, report). An absent or null value is no value, as in the API.
Types are checked before, by the OpenAPI definitions: a rule says what else a value must be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from kscope.sim.objects.documents import Path
from kscope.sim.objects.quantity import QuantityError
from kscope.sim.objects.quantity import parse as parse_quantity
from kscope.sim.objects.selectors import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    SelectorError,
    label_key_fault,
    label_value_fault,
)
from kscope.sim.objects.validation.report import LONGEST_OBJECT_NAME, Report, shown, text_fault

Rule = Callable[[Any, Path, "Report"], None]
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_PART = re.compile(r"([A-Za-z0-9_./-]*?)((?:\[[0-9]+\])*)(?:\.|$)")


def typed(value: Any, path: Path, report: Report) -> None:
    """Of this value only the type counts. Rules that are made of such rules are such rules."""


text = boolean = timestamp = typed


def object_name(value: Any, path: Path, report: Report) -> None:
    """A text no longer than the name of an object may be."""
    fault = text_fault(value, LONGEST_OBJECT_NAME) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


def dns_label(value: Any, path: Path, report: Report) -> None:
    """Upstream: IsDNS1123Label()."""
    if isinstance(value, str) and (len(value) > 63 or not DNS_LABEL.fullmatch(value)):
        report.add(
            path,
            value,
            f'{shown(value)} is not a name here: at most 63 lower case letters, digits or "-", '
            "with a letter or digit at both ends",
        )


def integer(low: int = -(2**63), high: int = 2**63 - 1) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if value < low:
            report.add(path, value, f"{value} is less than {low}")
        elif value > high:
            report.add(path, value, f"{value} is more than {high}")

    return check


def one_of(*allowed: str) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if value not in allowed:
            report.add(path, value, f"{shown(value)} is not one of {', '.join(allowed)}")

    return check


def quantity(value: Any, path: Path, report: Report) -> None:
    try:
        amount = parse_quantity(value)
    except QuantityError as error:
        report.add(path, value, str(error))
        return
    if amount.nanos < 0:
        report.add(path, value, f"{shown(value)} is less than 0")


def list_of(rule: Rule, *, at_least: int = 0) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, list):
            report.add(path, value, f"expected a list, found {shown(value)}")
            return
        items = cast("list[Any]", value)
        if len(items) < at_least:
            report.add(path, value, f"needs at least {at_least}")
        if None in items:
            index = items.index(None)
            report.add((*path, index), None, "expected a value, found nothing")
        elif rule is not typed:
            for index, item in enumerate(items):
                rule(item, (*path, index), report)

    return check


def map_of(rule: Rule) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, dict):
            report.add(path, value, f"expected a mapping, found {shown(value)}")
            return
        for key, item in cast("dict[str, Any]", value).items():
            if item is None:
                report.add((*path, key), None, "expected a value, found nothing")
            else:
                rule(item, (*path, key), report)

    return check


def fields(required: Iterable[str] = (), /, **rules: Rule) -> Rule:
    """A mapping whose named fields follow their rules; other fields are left alone."""
    needed = tuple(required)
    rules = {name: rule for name, rule in rules.items() if rule is not typed}
    if not needed and not rules:
        return typed

    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, dict):
            report.add(path, value, f"expected a mapping, found {shown(value)}")
            return
        parts = cast("dict[str, Any]", value)
        for name in needed:
            if parts.get(name) is None:
                report.add((*path, name), None, "is missing")
        for name, part in parts.items():
            rule = rules.get(name)
            if rule is not None and part is not None:
                rule(part, (*path, name), report)

    return check


def labels(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, dict):
        report.add(path, value, f"expected a mapping, found {shown(value)}")
        return
    for key, item in cast("dict[str, Any]", value).items():
        fault = label_key_fault(key)
        if not isinstance(item, str):
            report.add((*path, key), item, f"expected a text, found {shown(item)}")
        else:
            fault = fault or label_value_fault(item)
        if fault is not None:
            report.add((*path, key), item, fault)


def _selector(parse: Callable[[Any], object]) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        try:
            parse(value)
        except SelectorError as error:
            report.add(path + _parts(error.path), error.value, error.why)

    return check


def _parts(path: str) -> Path:
    """ "matchExpressions[1].operator" as a tuple. A dotted label key stays at its parent."""
    if path.startswith("matchLabels."):
        return ("matchLabels", path.removeprefix("matchLabels."))
    found: list[str | int] = []
    for name, indices in _PART.findall(path):
        if name:
            found.append(name)
        found.extend(int(index) for index in re.findall(r"[0-9]+", indices))
    return tuple(found)


def _selector_of_labels(value: Any) -> None:
    """Refuse a selector with a key or a value that no label can have.

    Upstream: ValidateLabelSelector(). Older versions let the values of matchExpressions pass; then
    the scheduler could not read the selector, and the pod failed in every attempt.
    """
    selector = LabelSelector.parse(value)
    fields: dict[str, Any] = value or {}
    pairs: dict[str, str] = fields.get("matchLabels") or {}
    for key, item in pairs.items():
        _refuse(f"matchLabels.{key}", item, label_key_fault(key) or label_value_fault(item))
    for index, requirement in enumerate(selector.requirements[len(pairs) :]):
        for place, item in enumerate(requirement.values):
            path = f"matchExpressions[{index}].values[{place}]"
            _refuse(path, item, label_value_fault(item))


def _refuse(path: str, value: str, fault: str | None) -> None:
    if fault is not None:
        raise SelectorError(path, value, fault)


label_selector = _selector(_selector_of_labels)
node_terms = _selector(NodeSelector.parse)

node_selector_term = _selector(NodeSelectorTerm.parse)


def node_selector(value: Any, path: Path, report: Report) -> None:
    if isinstance(value, dict) and not cast("dict[str, Any]", value).get("nodeSelectorTerms"):
        report.add((*path, "nodeSelectorTerms"), None, "needs at least one term")
        return
    node_terms(value, path, report)
