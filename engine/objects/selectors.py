"""Label selectors and node selectors.

Upstream: apimachinery pkg/labels/selector.go (Requirement.Matches) and
component-helpers scheduling/corev1/nodeaffinity. A selector that the API server would refuse is refused here
with the path of the offending field, so that the file can be corrected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self, cast

from engine.kernel.groups import Group

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GT = "Gt"
LT = "Lt"

LABEL_OPERATORS = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)
NODE_OPERATORS = (*LABEL_OPERATORS, GT, LT)
NODE_NAME_FIELD = "metadata.name"

_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64_LIMIT = 2**63
_LONGEST_VALUE = 63
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", re.ASCII)
# Characters: the flaws of longer values are not kept, so that they cannot fill the memory.
_LONGEST_KEPT = 4096
_NO_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
# Upstream: validation.MaxLenError(), labelValueErrMsg with RegexError().
_TOO_LONG = f"must be no more than {_LONGEST_VALUE} characters"
_NO_LABEL = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
    "'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


class SelectorError(ValueError):
    """A selector that the API server would refuse.

    `path` leads from the parsed manifest to the field: "matchExpressions[1].operator".
    """

    def __init__(self, path: str, value: object, why: str) -> None:
        super().__init__(f"{path}: {why}" if path else why)
        self.path = path
        self.value = value
        self.why = why

    def __reduce__(self) -> tuple[type[SelectorError], tuple[str, object, str]]:
        return SelectorError, (self.path, self.value, self.why)


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something wrong with the value at *place*, which may be *no_label* or no number."""

    place: int
    value: str
    problem: str
    no_label: bool


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label: key, operator, values."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Upstream: labels.Requirement.Matches(); NotIn and DoesNotExist hold on a missing key."""
        found = labels.get(self.key)
        operator = self.operator
        if operator == IN:
            return found is not None and found in self.values
        if operator == NOT_IN:
            return found is None or found not in self.values
        if operator == EXISTS:
            return found is not None
        if operator == DOES_NOT_EXIST:
            return found is None
        number = None if found is None else int64(found)
        bound = int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if operator == GT else number < bound

    @property
    def is_unreadable(self) -> bool:
        """Whether there is some flaw: nothing matches then, whatever the operator."""
        return bool(self.flaws)

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """What is wrong with the values. Upstream: labels.NewRequirement()."""
        is_short = sum(map(len, self.values)) <= _LONGEST_KEPT
        return (_flaws if is_short else _flaws.__wrapped__)(self.operator, self.values)

    def __str__(self) -> str:
        if self.operator in (EXISTS, DOES_NOT_EXIST):
            return self.key if self.operator == EXISTS else f"!{self.key}"
        if self.operator in (GT, LT):
            return f"{self.key} {'>' if self.operator == GT else '<'} {self.values[0]}"
        word = "in" if self.operator == IN else "notin"
        return f"{self.key} {word} ({','.join(sorted(self.values))})"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """A metav1.LabelSelector: all requirements must hold.

    An empty selector matches everything, an absent one (`parse(None)`) nothing.
    """

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    @classmethod
    def parse(cls, manifest: Mapping[str, Any] | None) -> Self:
        """Read matchLabels and matchExpressions.

        Raises:
            SelectorError: naming the field that the API server would refuse.
        """
        if manifest is None:
            return cls(nothing=True)
        fields = _mapping(manifest, "")
        pairs = _labels(fields.get("matchLabels"), "matchLabels")
        expressions = _expressions(fields, "matchExpressions", "", LABEL_OPERATORS)
        return cls(pairs + expressions)

    @classmethod
    def from_labels(cls, labels: Mapping[str, Any] | None) -> Self:
        """The selector of plain key: value pairs, as in a pod's nodeSelector; none match all."""
        return cls(_labels(labels, ""))

    @property
    def empty(self) -> bool:
        """Whether every set of labels matches."""
        return not self.requirements and not self.nothing

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether these labels meet every requirement."""
        if self.nothing:
            return False
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        if self.nothing:
            return "<none>"
        return ",".join(str(requirement) for requirement in self.requirements) or "<all>"


def with_labels(scope: str, labels: Mapping[str, str]) -> list[Group]:
    """The groups of what has these labels; *scope* is its namespace, or whatever keeps it apart.

    What has them is in the groups that `selecting` names of each selector that matches it. So is a
    selector that was put into such groups in those of all labels that it matches.
    """
    return [(scope,), *((scope, key, value) for key, value in labels.items())]


def selecting(scope: str, selector: LabelSelector) -> list[tuple[Group, ...]]:
    """The choices of groups among which all is that the selector may match, and maybe more."""
    if selector.nothing:
        return [()]
    choices = [
        tuple((scope, one.key, value) for value in one.values)
        for one in selector.requirements
        if one.operator == IN
    ]
    return choices or [((scope,),)]


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    """Requirements on a node's labels and fields, all of which must hold.

    A term without any requirement matches no node, nor does one with a value that no label can
    have: "-1" is a number, but no label.
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    @classmethod
    def parse(cls, manifest: Mapping[str, Any] | None, path: str = "") -> Self:
        """Read matchExpressions and matchFields; `path` is put before paths in errors.

        Raises:
            SelectorError: naming the field that the API server would refuse.
        """
        term = _mapping({} if manifest is None else manifest, path)
        expressions = _expressions(term, "matchExpressions", path, NODE_OPERATORS)
        fields = _expressions(term, "matchFields", path, (IN, NOT_IN))
        for index, requirement in enumerate(fields):
            _check_field(requirement, f"{_join(path, 'matchFields')}[{index}]")
        return cls(expressions, fields)

    @property
    def empty(self) -> bool:
        """Whether the term has no requirement, and therefore matches no node."""
        return not self.expressions and not self.fields

    def matches(self, node_labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name meets the term.

        Without a name the fields are not asked. Upstream: nodeaffinity.go nodeSelectorTerm.match().
        """
        if self.empty:
            return False
        if not all(requirement.matches(node_labels) for requirement in self.expressions):
            return False
        if any(requirement.is_unreadable for requirement in self.expressions):
            return False
        if not node_name:
            return True
        name = {NODE_NAME_FIELD: node_name}
        return all(requirement.matches(name) for requirement in self.fields)

    def __str__(self) -> str:
        return ",".join(map(str, (*self.expressions, *self.fields))) or "<none>"


@dataclass(frozen=True, slots=True)
class NodeSelector:
    """A v1.NodeSelector: at least one term must match."""

    terms: tuple[NodeSelectorTerm, ...] = ()

    @classmethod
    def parse(cls, manifest: Mapping[str, Any] | None) -> Self:
        """Read nodeSelectorTerms; an absent selector has no terms and matches no node.

        Raises:
            SelectorError: naming the field that the API server would refuse.
        """
        selector = _mapping({} if manifest is None else manifest, "")
        raw_terms = _list(selector.get("nodeSelectorTerms"), "nodeSelectorTerms")
        paths = [f"nodeSelectorTerms[{index}]" for index in range(len(raw_terms))]
        return cls(
            tuple(
                NodeSelectorTerm.parse(_mapping(raw, path), path)
                for raw, path in zip(raw_terms, paths, strict=True)
            )
        )

    def matches(self, node_labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name meets any term."""
        return any(term.matches(node_labels, node_name) for term in self.terms)

    def __str__(self) -> str:
        return " || ".join(str(term) for term in self.terms) or "<none>"


def label_key_fault(key: str) -> str | None:
    """Why this is not a label key, or None. Upstream: validation.IsQualifiedName()."""
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name):
        return (
            f'"{key}" is not a label key: its name must be 1 to 63 letters, digits, "-", "_" or '
            '".", with a letter or digit at both ends'
        )
    if slash and (len(prefix) > 253 or not _PREFIX.fullmatch(prefix)):
        return f'"{key}" is not a label key: its prefix must be a DNS name in lower case'
    return None


def label_value_fault(value: str) -> str | None:
    """Why this is not a label value, or None. Upstream: validation.IsValidLabelValue()."""
    if not value or _NAME.fullmatch(value):
        return None
    return (
        f'"{value}" is not a label value: at most 63 letters, digits, "-", "_" or ".", with a '
        "letter or digit at both ends"
    )


@lru_cache(maxsize=4096)
def _flaws(operator: str, values: tuple[str, ...]) -> tuple[Flaw, ...]:
    flaws: list[Flaw] = []
    if operator in (GT, LT):
        flaws += (
            Flaw(place, value, _NO_INTEGER, no_label=False)
            for place, value in enumerate(values)
            if int64(value) is None
        )
    for place, value in enumerate(values):
        if label_value_fault(value) is not None:
            too_long = len(value.encode()) > _LONGEST_VALUE
            problems = [_TOO_LONG] if too_long else []
            if not _VALUE.fullmatch(value):
                problems.append(_NO_LABEL)
            flaws.append(Flaw(place, value, "; ".join(problems), no_label=True))
    return tuple(flaws)


def _expressions(
    parent: Mapping[str, Any], name: str, path: str, operators: tuple[str, ...]
) -> tuple[Requirement, ...]:
    path = _join(path, name)
    return tuple(
        _requirement(raw, f"{path}[{index}]", operators)
        for index, raw in enumerate(_list(parent.get(name), path))
    )


def _requirement(raw: Any, path: str, operators: tuple[str, ...]) -> Requirement:
    fields = _mapping(raw, path)
    key = _text(fields.get("key"), f"{path}.key")
    fault = label_key_fault(key)
    if fault is not None:
        raise SelectorError(f"{path}.key", key, fault)
    operator = fields.get("operator")
    if operator not in operators:
        raise SelectorError(
            f"{path}.operator",
            operator,
            f"{_shown(operator)} is not an operator here; use {', '.join(operators)}",
        )
    values = tuple(
        _text(value, f"{path}.values[{index}]")
        for index, value in enumerate(_list(fields.get("values"), f"{path}.values"))
    )
    requirement = Requirement(key, operator, values)
    _check_values(requirement, f"{path}.values")
    return requirement


def _check_values(requirement: Requirement, path: str) -> None:
    # Upstream: core validation, ValidateNodeSelectorRequirement().
    operator, values = requirement.operator, requirement.values
    if operator in (IN, NOT_IN) and not values:
        raise SelectorError(path, [], f"{operator} needs at least one value")
    if operator in (EXISTS, DOES_NOT_EXIST) and values:
        raise SelectorError(path, list(values), f"{operator} takes no values")
    # That it is a number is not asked: the requirement then holds nowhere.
    if operator in (GT, LT) and len(values) != 1:
        raise SelectorError(path, list(values), f"{operator} needs exactly one value")


def _check_field(requirement: Requirement, path: str) -> None:
    # Upstream: core validation, nodeFieldSelectorValidators knows this one field.
    if requirement.key != NODE_NAME_FIELD:
        raise SelectorError(
            f"{path}.key", requirement.key, f"only {NODE_NAME_FIELD} can be selected by field"
        )
    if len(requirement.values) != 1:
        raise SelectorError(
            f"{path}.values",
            list(requirement.values),
            f"{requirement.operator} on a field needs exactly one value",
        )


def _labels(raw: Any, path: str) -> tuple[Requirement, ...]:
    pairs = _mapping({} if raw is None else raw, path)
    # Upstream sorts by key; so equal selectors are equal however they were written.
    return tuple(
        Requirement(key, IN, (_text(pairs[key], _join(path, key)),)) for key in sorted(pairs)
    )


def _mapping(raw: Any, path: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise SelectorError(path, raw, f"expected a mapping, found {_shown(raw)}")
    return cast("Mapping[str, Any]", raw)


def _list(raw: Any, path: str) -> list[Any]:
    if raw is None:
        return []
    if not isinstance(raw, list):
        raise SelectorError(path, raw, f"expected a list, found {_shown(raw)}")
    return cast("list[Any]", raw)


def _text(raw: Any, path: str) -> str:
    if not isinstance(raw, str):
        raise SelectorError(path, raw, f"expected a text, found {_shown(raw)}")
    return raw


def int64(text: str) -> int | None:
    """The number that *text* stands for, or None where it is not an integer of 64 bits."""
    # Upstream: strconv.ParseInt(text, 10, 64); Python's int() would also take "1_0" and " 1".
    if len(text) > 20 or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -_INT64_LIMIT <= number < _INT64_LIMIT else None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _shown(raw: object) -> str:
    if raw is None:
        return "nothing"
    if isinstance(raw, str):
        return f'"{raw}"'
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, (list, Mapping)):
        return "a list" if isinstance(raw, list) else "a mapping"
    return str(raw)
