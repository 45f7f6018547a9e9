"""Paths of fields, and sets of them, in the form of FieldsV1.

An element of a path is a text: `f:NAME` a field, `k:{"name":"a"}` the item of a list that has these
keys, `v:"a"` an item of a list that is a set. Upstream: structured-merge-diff/fieldpath.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import orjson

Path = tuple[str, ...]
FieldSet = frozenset[Path]

NO_FIELDS: FieldSet = frozenset()
_SELF = "."
# Trees of so many paths, with elements of so many characters, are kept for the next time.
_FEW, _SHORT = 200, 300
_SORTED = orjson.OPT_SORT_KEYS


def field(name: str) -> str:
    """The element for the field of that name."""
    return f"f:{name}"


def item_with(keys: Mapping[str, Any]) -> str:
    """The element for the item of a list with these values of its keys."""
    return f"k:{orjson.dumps(keys, option=_SORTED).decode()}"


def item_equal_to(value: Any) -> str:
    """The element for the item of a set that is this value."""
    return f"v:{orjson.dumps(value).decode()}"


def fields_named(*dotted: str) -> FieldSet:
    """The set of fields with these names, as in `metadata.name`."""
    return frozenset(tuple(field(name) for name in one.split(".")) for one in dotted)


def shown(path: Path) -> str:
    """The path as upstream prints it, as in `.spec.containers[name="c"].image`."""
    return "".join(_shown(one) for one in path)


def in_order(fields: Iterable[Path]) -> list[Path]:
    """The paths as upstream lists them: at each level the members of the set, then what is below."""
    return sorted(fields, key=_place)


def below(fields: Iterable[Path], element: str) -> FieldSet:
    """What of a set lies below *element*, as paths from there."""
    return frozenset(path[1:] for path in fields if path[0] == element and len(path) > 1)


def encoded(fields: FieldSet) -> dict[str, Any]:
    """The set as a tree, the value of `fieldsV1`; it is shared, and not to be changed."""
    return _tree(fields) if _is_small(fields) else _tree.__wrapped__(fields)


def tree_in_order(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree with its names in the order in which a server writes them; a database has its own."""
    return {name: tree_in_order(tree[name]) for name in sorted(tree, key=_order)}


def _order(name: str) -> tuple[Any, ...]:
    return (-1,) if name == _SELF else _rank(name)


def _is_small(fields: FieldSet) -> bool:
    """Whether the tree may be kept: what clients send must not fill the memory."""
    return len(fields) <= _FEW and all(len(one) <= _SHORT for path in fields for one in path)


@lru_cache(maxsize=512)
def _tree(fields: FieldSet) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    # A path comes before those below it.
    for path in sorted(fields, key=lambda path: [_rank(one) for one in path]):
        node = tree
        for place, element in enumerate(path, 1):
            node = node.setdefault(element, {})
            if place < len(path) and path[:place] in fields:
                node.setdefault(_SELF, {})
    return tree


def decoded(tree: Any) -> FieldSet:
    """The set of a tree. Raises ValueError for anything else.

    Elements of unknown forms are left out, as upstream leaves them out.
    """
    return frozenset(_paths(tree, ()))


def _paths(tree: Any, path: Path) -> Iterable[Path]:
    if not isinstance(tree, dict):
        raise ValueError(f"fieldsV1: expected an object at {shown(path) or 'the top'}")
    if path and (not tree or _SELF in tree):
        yield path
    for element, inner in tree.items():
        if element != _SELF and (known := _canonical(element)):
            yield from _paths(inner, (*path, known))


def _canonical(element: str) -> str:
    """The element with its keys in order; "" for an unknown form."""
    match element[:2]:
        case "f:":
            return element
        case "k:":
            keys = orjson.loads(element[2:])
            if not isinstance(keys, dict):
                raise ValueError(f"fieldsV1: {element} names no keys")
            return item_with(keys)
        case "v:":
            return item_equal_to(orjson.loads(element[2:]))
        case _:
            return ""


def _shown(element: str) -> str:
    text = element[2:]
    match element[:2]:
        case "k:":
            keys: dict[str, Any] = orjson.loads(text)
            return f"[{','.join(f'{name}={_printed(value)}' for name, value in keys.items())}]"
        case "v:":
            return f"[={_printed(orjson.loads(text))}]"
        case _:
            return f".{text}"


def _printed(value: Any) -> str:
    return orjson.dumps(value).decode()


def _place(path: Path) -> list[tuple[Any, ...]]:
    *above, last = path
    return [*((1, *_rank(one)) for one in above), (0, *_rank(last))]


def _rank(element: str) -> tuple[Any, ...]:
    return _rank_of(element) if len(element) <= _SHORT else _rank_of.__wrapped__(element)


@lru_cache(maxsize=16_384)
def _rank_of(element: str) -> tuple[Any, ...]:
    text = element[2:]
    match element[:2]:
        case "k:":
            keys: dict[str, Any] = orjson.loads(text)
            return (1, tuple((name, *_value_rank(value)) for name, value in keys.items()))
        case "v:":
            return (2, *_value_rank(orjson.loads(text)))
        case _:
            return (0, text)


def _value_rank(value: Any) -> tuple[int, Any]:
    """Numbers come before texts, texts before truth values, those before the rest."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, orjson.dumps(value))
