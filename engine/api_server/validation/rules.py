"""Rules for values, and for mappings and lists of them.

A rule is a function of (value, path, report). An absent or null value is no value, as in the API.
Types are checked before, by the OpenAPI definitions: a rule says what else a value must be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

from engine.api_server.validation.report import (
    LONGEST_OBJECT_NAME,
    Report,
    invalid_value,
    text_fault,
    unsupported,
)
from engine.kernel.sentences import enumerated, say
from engine.objects.documents import Path
from engine.objects.selectors import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    SelectorError,
    label_key_fault,
    label_value_fault,
)
from engine.objects.values.quantity import QuantityError
from engine.objects.values.quantity import parse as parse_quantity
from engine.objects.values.shown import shown

Rule = Callable[[Any, Path, "Report"], None]
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(rf"{DNS_LABEL.pattern}(\.{DNS_LABEL.pattern})*", re.ASCII)
_LONGEST_LABEL = 63
_NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{DNS_LABEL.pattern}')"
)
_NO_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN.pattern}')"
)
_PART = re.compile(r"([A-Za-z0-9_./-]*?)((?:\[[0-9]+\])*)(?:\.|$)")


def typed(value: Any, path: Path, report: Report) -> None:
    """Only the type of the value counts. Rules that are made of such rules are such rules, too."""


text = boolean = timestamp = typed


def object_name(value: Any, path: Path, report: Report) -> None:
    """A text no longer than the name of an object may be."""
    fault = text_fault(value, LONGEST_OBJECT_NAME) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


def dns_label(value: Any, path: Path, report: Report) -> None:
    """Upstream: IsDNS1123Label()."""
    _named(value, path, report, label_problems)


def subdomain(value: Any, path: Path, report: Report) -> None:
    """The name of an object of most kinds. Upstream: NameIsDNSSubdomain()."""
    _named(value, path, report, subdomain_problems)


def reference(value: Any, path: Path, report: Report) -> None:
    """A name that may be left empty, as one that is absent."""
    if value != "":
        subdomain(value, path, report)


def driver_name(value: Any, path: Path, report: Report) -> None:
    """Upstream: ValidateCSIDriverName(), which takes upper case letters, too."""
    _named(value, path, report, _driver_problems)


def qualified_name(value: Any, path: Path, report: Report) -> None:
    """Upstream: IsQualifiedName()."""
    fault = label_key_fault(value) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


def label_value(value: Any, path: Path, report: Report) -> None:
    """Upstream: IsValidLabelValue()."""
    fault = label_value_fault(value) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


def provisioner(value: Any, path: Path, report: Report) -> None:
    """Upstream: apis/storage/validation validateProvisioner()."""
    fault = label_key_fault(value.lower()) if isinstance(value, str) else None
    if fault is not None:
        report.add(path, value, fault)


def _named(
    value: Any, path: Path, report: Report, problems: Callable[[str], Iterable[str]]
) -> None:
    for problem in problems(value) if isinstance(value, str) else ():
        report.add(path, value, problem)


def label_problems(name: str) -> list[str]:
    """What is wrong with a name without dots. Upstream: IsDNS1123Label()."""
    found = [too_long(_LONGEST_LABEL)] if len(name.encode()) > _LONGEST_LABEL else []
    return found if DNS_LABEL.fullmatch(name) else [*found, _NO_LABEL]


def subdomain_problems(name: str) -> list[str]:
    """What is wrong with a name that may have dots. Upstream: IsDNS1123Subdomain()."""
    found = [too_long(LONGEST_OBJECT_NAME)] if len(name.encode()) > LONGEST_OBJECT_NAME else []
    return found if _SUBDOMAIN.fullmatch(name) else [*found, _NO_SUBDOMAIN]


def _driver_problems(name: str) -> list[str]:
    size = len(name.encode())
    found = [f"may not be more than {_LONGEST_LABEL} bytes"] if size > _LONGEST_LABEL else []
    return found + subdomain_problems(name.lower())


def too_long(length: int) -> str:
    """Upstream: validation.MaxLenError()."""
    return say("must be no more than {length} characters", length=length)


def integer(low: int = -(2**63), high: int = 2**63 - 1) -> Rule:
    bound = f"must be greater than or equal to {low}"
    if high < 2**63 - 1:
        bound = f"must be between {low} and {high}, inclusive"

    def check(value: Any, path: Path, report: Report) -> None:
        answer = invalid_value(value, bound)
        if value < low:
            report.add(path, value, say("{value} is less than {low}", value=value, low=low), answer)
        elif value > high:
            message = say("{value} is more than {high}", value=value, high=high)
            report.add(path, value, message, answer)

    return check


def one_of(*allowed: str) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if value not in allowed:
            report.add(
                path,
                value,
                say(
                    "{found} is not one of {list}", found=shown(value), list=enumerated([*allowed])
                ),
                unsupported(value, sorted(filter(None, allowed))),
            )

    return check


def quantity(value: Any, path: Path, report: Report) -> None:
    try:
        amount = parse_quantity(value)
    except QuantityError as error:
        report.add(path, value, str(error))
        return
    if amount.nanos < 0:
        answer = invalid_value(str(value), "must be greater than or equal to 0")
        report.add(path, value, say("{found} is less than 0", found=shown(value)), answer)


def list_of(rule: Rule, *, at_least: int = 0) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, list):
            report.add(path, value, say("expected a list, found {found}", found=shown(value)))
            return
        items = cast("list[Any]", value)
        if len(items) < at_least:
            report.add(path, value, say("needs at least {at_least}", at_least=at_least))
        if None in items:
            index = items.index(None)
            report.add((*path, index), None, say("expected a value, found nothing"))
        elif rule is not typed:
            for index, item in enumerate(items):
                rule(item, (*path, index), report)

    return check


def map_of(rule: Rule) -> Rule:
    def check(value: Any, path: Path, report: Report) -> None:
        if not isinstance(value, dict):
            report.add(path, value, say("expected a mapping, found {found}", found=shown(value)))
            return
        for key, item in cast("dict[str, Any]", value).items():
            if item is None:
                report.add((*path, key), None, say("expected a value, found nothing"))
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
            report.add(path, value, say("expected a mapping, found {found}", found=shown(value)))
            return
        parts = cast("dict[str, Any]", value)
        for name in needed:
            if parts.get(name) is None:
                report.add((*path, name), None, say("is missing"))
        for name, part in parts.items():
            rule = rules.get(name)
            if rule is not None and part is not None:
                rule(part, (*path, name), report)

    return check


def labels(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, dict):
        report.add(path, value, say("expected a mapping, found {found}", found=shown(value)))
        return
    for key, item in cast("dict[str, Any]", value).items():
        fault = label_key_fault(key)
        if not isinstance(item, str):
            report.add((*path, key), item, say("expected a text, found {found}", found=shown(item)))
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
        report.add((*path, "nodeSelectorTerms"), None, say("needs at least one term"))
        return
    node_terms(value, path, report)
