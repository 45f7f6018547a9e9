"""Files that real schedulers decided, with a few things in them changed at random."""

from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

Path = tuple[str | int, ...]

NONSENSE: tuple[Any, ...] = (
    *(None, "", [], {}, True, -1, 0, 1.5, 10**30, 2**31, 2**63 - 1, -(2**63)),
    *(
        "x",
        "a b/!@",
        "-5",
        "5Gi",
        "NaN",
        "1e400",
        "9" * 50,
        "zone",
        "In",
        "Gt",
        "0001-01-01T00:00:00Z",
    ),
    *([None], [{}], ["a"], {"a": None}, {"a": {"b": 1}}),
)


def mutated(
    documents: list[Any], chance: Random, nonsense: tuple[Any, ...] = NONSENSE
) -> list[Any]:
    """A copy of *documents* with one to three things removed, doubled, moved or made nonsense."""
    copy = deepcopy(documents)
    for _ in range(chance.choice((1, 1, 2, 3))):
        places = [path for path in _places(copy) if len(path) > 1]
        if not places:
            break  # nothing is left to change
        path = chance.choice(places)
        holder, last = _at(copy, path[:-1]), path[-1]
        kind = chance.random()
        if kind < 0.15:
            del holder[last]
        elif kind < 0.25 and isinstance(holder, list):
            holder.append(deepcopy(holder[last]))
        elif kind < 0.55:
            holder[last] = deepcopy(_at(copy, _alike(places, path, chance)))
        else:
            holder[last] = deepcopy(chance.choice(nonsense))
    return copy


def _alike(places: list[Path], path: Path, chance: Random) -> Path:
    """Another place of the same name, mostly: what stands there makes sense here, too."""
    same = [other for other in places if other[-1] == path[-1]]
    return chance.choice(same if chance.random() < 0.8 else places)


def _places(value: Any, path: Path = ()) -> Iterator[Path]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from _places(inner, (*path, key))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value
