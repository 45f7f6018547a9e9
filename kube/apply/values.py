"""The fields of a value, and what differs between two values.

Upstream: structured-merge-diff/typed, tofieldset.go and compare.go.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kube.apply.fields import FieldSet, Path
from kube.apply.schemas import Form, Shape


class Nothing(Enum):
    """What stands where a value is absent; null is a value."""

    ABSENT = "absent"


ABSENT = Nothing.ABSENT


@dataclass(frozen=True, slots=True)
class Comparison:
    """The fields that a newer value lacks, has otherwise, and has in addition."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def changed(self) -> FieldSet:
        """What the newer value has otherwise or in addition."""
        return self.modified | self.added


def fields_of(shape: Shape, value: Any) -> FieldSet:
    """All fields of *value*; the top itself is none."""
    return frozenset(path for path in _fields(shape, value, ()) if path)


def compared(shape: Shape, old: Any, new: Any) -> Comparison:
    """What differs between two values."""
    walk = _Walk()
    walk.compare(shape, (), old, new)
    found = (walk.removed, walk.modified, walk.added)
    return Comparison(*(frozenset(path for path in paths if path) for paths in found))


def with_named_fields(shape: Shape, paths: FieldSet) -> FieldSet:
    """The set with the fields above its members, as far as the schema names them."""
    found = set(paths)
    for path in paths:
        here = shape
        for place, element in enumerate(path[:-1], 1):
            if element.startswith("f:"):
                name = element[2:]
                if here.has_field(name):
                    found.add(path[:place])
                here = here.of_field(name)
            else:
                here = here.of_items
    return frozenset(found)


def by_element(shape: Shape, items: list[Any]) -> dict[str, list[Any]]:
    """The items of a list by their path elements; those without one are left out."""
    found: dict[str, list[Any]] = defaultdict(list)
    for item in items:
        try:
            found[shape.element(item)].append(item)
        except ValueError:
            continue
    return found


def _fields(shape: Shape, value: Any, path: Path) -> Iterator[Path]:
    form = shape.form_of(value)
    if shape.is_whole(form):
        yield path
    elif isinstance(value, list):
        for element, items in by_element(shape, value).items():
            below = (*path, element)
            yield below
            if len(items) == 1:
                yield from _fields(shape.of_items, items[0], below)
    elif isinstance(value, dict):
        for name, part in value.items():
            element, inner = shape.step(name)
            below = (*path, element)
            if part is None or part == {} or not shape.has_field(name):
                yield below
            yield from _fields(inner, part, below)


@dataclass(slots=True)
class _Walk:
    """One comparison, and what it has found so far."""

    removed: set[Path] = field(default_factory=set[Path])
    modified: set[Path] = field(default_factory=set[Path])
    added: set[Path] = field(default_factory=set[Path])

    def compare(self, shape: Shape, path: Path, old: Any, new: Any) -> None:
        """Compare what is at *path*; one of both may be ABSENT."""
        if old is new:
            return
        if old is ABSENT:
            _gather(shape, path, new, self.added)
            return
        if new is ABSENT:
            _gather(shape, path, old, self.removed)
            return
        form = shape.form_of(new)
        if shape.form_of(old) is not form:
            self._replace(shape, path, old, new)
        elif shape.is_whole(form) or not (old or new):
            if old != new or isinstance(old, bool) is not isinstance(new, bool):
                self.modified.add(path)
        elif form is Form.LIST:
            self._compare_lists(shape, path, old or [], new or [])
        else:
            self._compare_maps(shape, path, old or {}, new or {})

    def _replace(self, shape: Shape, path: Path, old: Any, new: Any) -> None:
        """A value has become one of another form."""
        self.removed.update(one for one in _fields(shape, old, path) if one != path)
        self.added.update(one for one in _fields(shape, new, path) if one != path)
        self.modified.add(path)

    def _compare_maps(
        self, shape: Shape, path: Path, old: dict[str, Any], new: dict[str, Any]
    ) -> None:
        for name in {**old, **new}:
            element, inner = shape.step(name)
            self.compare(inner, (*path, element), old.get(name, ABSENT), new.get(name, ABSENT))

    def _compare_lists(self, shape: Shape, path: Path, old: list[Any], new: list[Any]) -> None:
        before, after = by_element(shape, old), by_element(shape, new)
        for element in {**before, **after}:
            self._compare_items(
                shape.of_items, (*path, element), before.get(element, []), after.get(element, [])
            )

    def _compare_items(self, shape: Shape, path: Path, old: list[Any], new: list[Any]) -> None:
        """Compare the items with one element; several are duplicates, which count as a whole."""
        if len(old) > 1 and len(new) > 1:
            if old != new:
                self.modified.add(path)
            return
        was_repeated, is_repeated = len(old) > 1, len(new) > 1
        before = ABSENT if was_repeated or not old else old[0]
        after = ABSENT if is_repeated or not new else new[0]
        if before is not ABSENT or after is not ABSENT:
            self.compare(shape, path, before, after)
        if was_repeated:
            self.removed.add(path)
        if is_repeated:
            self.added.add(path)


def _gather(shape: Shape, path: Path, value: Any, found: set[Path]) -> None:
    """Add to *found* what there is at *path* and below, where the other value has nothing."""
    found.add(path)
    if isinstance(value, dict):
        if not shape.is_whole(Form.MAP):
            for name, part in value.items():
                element, inner = shape.step(name)
                _gather(inner, (*path, element), part, found)
    elif isinstance(value, list) and not shape.is_whole(Form.LIST):
        for element, items in by_element(shape, value).items():
            if len(items) == 1:
                _gather(shape.of_items, (*path, element), items[0], found)
            else:
                found.add((*path, element))
