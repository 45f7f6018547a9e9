"""JSONPath as columns of custom kinds have it: ".status.conditions[?(@.type=="Ready")].status".

Fields, places in lists, all items, and items of which something is said. Upstream:
client-go/util/jsonpath, as far as the tables of a server need it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

# From what was found so far, what is found next.
Step = Callable[[Iterable[Any]], Iterator[Any]]

_STEP = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\\])+)"""
    r"""|\[(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")\]"""
    r"""|\[(?P<place>-?[0-9]+)\]"""
    r"""|(?P<all>\[\*\]|\.\*)"""
    r"""|\[\?\(\s*@(?P<path>[^=!<>]*?)\s*(?P<sign>==|!=)\s*(?P<wanted>.+?)\s*\)\]"""
)


class PathError(ValueError):
    """A path that is none."""


def first_at(path: str, one: Any) -> Any:
    """The first value that *path* names in an object; None for none, or where it is no path."""
    try:
        found: Iterable[Any] = [one]
        for step in _steps(path):
            found = step(found)
        return next(iter(found), None)
    except PathError:
        return None


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...]:
    found: list[Step] = []
    rest = path if path.startswith((".", "[")) else f".{path}"
    place = 0
    while place < len(rest):
        match = _STEP.match(rest, place)
        if match is None:
            raise PathError(path)
        found.append(_step(match))
        place = match.end()
    return tuple(found)


def _step(match: "re.Match[str]") -> Step:
    if (name := match["field"]) is not None:
        return _Field(re.sub(r"\\(.)", r"\1", name)) if name != "*" else _all
    if (name := match["quoted"]) is not None:
        return _Field(re.sub(r"\\(.)", r"\1", name[1:-1]))
    if match["place"] is not None:
        return _Item(int(match["place"]))
    if match["all"] is not None:
        return _all
    return _Where(match["path"], match["sign"] == "==", match["wanted"])


class _Field:
    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, found: Iterable[Any]) -> Iterator[Any]:
        return (one[self._name] for one in found if isinstance(one, dict) and self._name in one)


class _Item:
    def __init__(self, place: int) -> None:
        self._place = place

    def __call__(self, found: Iterable[Any]) -> Iterator[Any]:
        lists = (one for one in found if isinstance(one, list))
        return (one[self._place] for one in lists if -len(one) <= self._place < len(one))


class _Where:
    def __init__(self, path: str, is_equal: bool, wanted: str) -> None:
        self._path, self._is_equal = path, is_equal
        self._wanted = wanted[1:-1] if wanted[:1] in ("'", '"') else wanted

    def __call__(self, found: Iterable[Any]) -> Iterator[Any]:
        for item in _all(found):
            value = first_at(self._path, item) if self._path else item
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if value is not None and (text == self._wanted) is self._is_equal:
                yield item


def _all(found: Iterable[Any]) -> Iterator[Any]:
    for one in found:
        if isinstance(one, list):
            yield from one
        elif isinstance(one, dict):
            yield from one.values()
