"""The parts of a column: its name and type, and how the cell of an object is found.

A cell is text, a number or a boolean; that of a custom kind may be null. Columns of priority 1 are those that `-o wide` adds; a server
sends them always.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kube.tables.durations import since

Object = Mapping[str, Any]
Cell = str | int | float | bool | None
# Of an object and what clocks show now, in nanoseconds since EPOCH.
Get = Callable[[Object, int], Cell]

NONE, UNSET = "<none>", "<unset>"
_OPERATORS = {"In": "in", "NotIn": "notin"}


@dataclass(frozen=True, slots=True)
class Heading:
    """How a column is called, and what its cells are."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""

    def definition(self) -> dict[str, Any]:
        """As the Table declares it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Column(Heading):
    """A column whose cells are found each by itself."""

    get: Get = field(kw_only=True)


Columns = tuple[Column, ...]


def metadata_of(one: Object) -> Object:
    """The metadata of an object."""
    return one["metadata"]


def spec_of(one: Object) -> Object:
    """The spec of an object; empty when absent."""
    return one.get("spec") or {}


def status_of(one: Object) -> Object:
    """The status of an object; empty when absent."""
    return one.get("status") or {}


def is_deleted(one: Object) -> bool:
    """Whether the object only waits for its finalizers or its grace period."""
    return bool(metadata_of(one).get("deletionTimestamp"))


def text(name: str, get: Callable[[Object], Any], *, wide: bool = False) -> Column:
    """A column of text."""
    return Column(name, priority=int(wide), get=lambda one, now: str(get(one)))


def number(name: str, get: Callable[[Object], Any], type: str = "integer") -> Column:
    """A column of numbers; upstream declares some of them as text."""
    return Column(name, type, get=lambda one, now: int(get(one) or 0))


def flag(name: str, get: Callable[[Object], Any]) -> Column:
    """A column of booleans."""
    return Column(name, "boolean", get=lambda one, now: bool(get(one)))


def in_spec(name: str, default: Any = "") -> Callable[[Object], Any]:
    """A field of the spec, or *default* for none."""
    return lambda one: _present(spec_of(one).get(name), default)


def in_status(name: str, default: Any = "") -> Callable[[Object], Any]:
    """A field of the status, or *default* for none."""
    return lambda one: _present(status_of(one).get(name), default)


def at_top(name: str, default: Any = "") -> Callable[[Object], Any]:
    """A field beside the metadata, or *default* for none."""
    return lambda one: _present(one.get(name), default)


def _present(value: Any, default: Any) -> Any:
    return default if value is None else value


def _age(one: Object, now: int) -> str:
    return since(metadata_of(one).get("creationTimestamp"), now)


NAME = Column("Name", format="name", get=lambda one, now: str(metadata_of(one).get("name", "")))
AGE = Column("Age", get=_age)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """Labels as "app=web,tier=front", or <none>. Upstream: labels.FormatLabels()."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector as `-l` takes it. Upstream: metav1.FormatLabelSelector()."""
    if not selector:
        return NONE
    labels = selector.get("matchLabels") or {}
    terms = [(key, f"{key}={value}") for key, value in labels.items()]
    terms += [(one["key"], _expression(one)) for one in selector.get("matchExpressions") or []]
    return ",".join(term for _, term in sorted(terms, key=lambda each: each[0])) or NONE


def _expression(one: Object) -> str:
    key, operator = one["key"], one.get("operator")
    if operator in _OPERATORS:
        return f"{key} {_OPERATORS[operator]} ({','.join(sorted(one.get('values') or []))})"
    return key if operator == "Exists" else f"!{key}"


# Runs read fewer fields than a server, and check those only: others may hold anything. A server
# would have refused the object; here its other cells are shown.
UNREADABLE = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def template_of(one: Object) -> Object:
    """The spec of the pods that a workload makes."""
    return (spec_of(one).get("template") or {}).get("spec") or {}


def _containers(one: Object) -> Iterable[Object]:
    return template_of(one).get("containers") or []


CONTAINERS: Columns = (
    text(
        "Containers",
        lambda one: ",".join(each.get("name", "") for each in _containers(one)),
        wide=True,
    ),
    text(
        "Images",
        lambda one: ",".join(each.get("image", "") for each in _containers(one)),
        wide=True,
    ),
)
SELECTOR = text("Selector", lambda one: selector_text(spec_of(one).get("selector")), wide=True)
LABEL_SELECTOR = text("Selector", lambda one: labels_text(spec_of(one).get("selector")), wide=True)
