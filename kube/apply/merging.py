"""A configuration merged into an object, and fields taken out of one.

Upstream: structured-merge-diff/typed, merge.go and remove.go.
"""

from typing import Any

from kube.apply import fields
from kube.apply.fields import FieldSet
from kube.apply.schemas import Form, Shape
from kube.apply.values import ABSENT


def merged(shape: Shape, live: Any, config: Any) -> Any:
    """*live* with all that *config* says.

    Items of lists take the order of *config*; those that only *live* has keep their place among
    them.
    """
    found = _merged(shape, live, config)
    return {} if found is ABSENT else found


def without(shape: Shape, value: Any, paths: FieldSet) -> Any:
    """*value* without the fields *paths*; a map or list of which nothing is left becomes null."""
    form = shape.form_of(value)
    if form is Form.SCALAR:
        return value
    if not value or shape.is_whole(form):
        return None
    kept: Any
    if isinstance(value, list):
        kept = []
        for place, item in enumerate(value):
            element = _element(shape, item, place)
            if (element,) not in paths:
                kept.append(_without_below(shape.of_items, item, paths, element))
    else:
        kept = {}
        for name, part in value.items():
            element = fields.field(name)
            if (element,) not in paths:
                kept[name] = _without_below(shape.of_field(name), part, paths, element)
    return kept or None


def _without_below(shape: Shape, value: Any, paths: FieldSet, element: str) -> Any:
    below = fields.below(paths, element)
    return without(shape, value, below) if below else value


def _merged(shape: Shape, live: Any, config: Any) -> Any:
    if config is ABSENT:
        return live
    if live is ABSENT:
        live = None
    form = shape.form_of(config)
    if shape.is_whole(form) or (live is not None and shape.form_of(live) is not form):
        return config
    if not live and not config:
        return config
    if form is Form.LIST:
        found: Any = _merged_lists(shape, live or [], config or [])
    else:
        found = _merged_maps(shape, live or {}, config or {})
    return found or ABSENT


def _merged_maps(shape: Shape, live: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in {**live, **config}:
        part = _merged(shape.of_field(name), live.get(name, ABSENT), config.get(name, ABSENT))
        if part is not ABSENT:
            found[name] = part
    return found


def _merged_lists(shape: Shape, live: list[Any], config: list[Any]) -> list[Any]:
    before = [(_element(shape, item, place), item) for place, item in enumerate(live)]
    wanted = {shape.element(item): item for item in config}
    held: dict[str, Any] = {}
    for element, item in before:
        # Repeated items of the object are not merged with what the configuration says.
        held[element] = None if element in held else item
    shared = [element for element in wanted if element in held]
    order = list(wanted)
    found: list[Any] = []
    done: set[str] = set()
    mine = theirs = 0
    while mine < len(before) or theirs < len(order):
        if mine < len(before):
            element, item = before[mine]
            if element not in wanted:
                found.append(item)
                mine += 1
                continue
            is_next = bool(shared) and element == shared[0]
            if element in done or (theirs < len(order) and not is_next):
                # It stands where the configuration has it.
                mine += 1
                continue
        if theirs < len(order):
            element = order[theirs]
            found.append(_merged(shape.of_items, held.get(element, ABSENT), wanted[element]))
            done.add(element)
            if shared and shared[0] == element:
                shared.pop(0)
            theirs += 1
    return [one for one in found if one is not ABSENT]


def _element(shape: Shape, item: Any, place: int) -> str:
    """The path element of an item; one of its own for an item that lacks its keys."""
    try:
        return shape.element(item)
    except ValueError:
        return f"i:{place}"
