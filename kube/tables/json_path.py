"""JSONPath as columns of custom kinds have it: ".status.conditions[?(@.type=="Ready")].status".

Fields, places in lists, all items, and items of which something is said. Upstream:
client-go/util/jsonpath, as far as the tables of a server need it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

# From what was found so far, what is found next.
Step = Callable[[Iterable[Any]], Iterator[Any]]

_STEP = re.compile(
    r"""\.(?P<field>(?:\\.|[^.\[\\])+)"""
    r"""|\[(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")\]"""
    r"""|\[(?P<place>-?[0-9]+)\]"""
    r"""|(?P<all>\[\*\]|\.\*)"""
    # White space is taken off later: beside a part that may have some, it is tried in every way.
    r"""|\[\?\((?P<path>[^=!<>]*)(?P<sign>==|!=)(?P<wanted>.+?)\)\]"""
)
# Characters: each step waits for the one before it, on the stack.
_LONGEST: Final = 1_000


def first_at(path: str, one: Any) -> Any:
    """The first value that *path* names in an object; None for none, or where it is no path."""
    steps = _steps(path) if len(path) <= _LONGEST else None
    if steps is None:
        return None
    found: Iterable[Any] = [one]
    for step in steps:
        found = step(found)
    return next(iter(found), None)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[Step, ...] | None:
    found: list[Step] = []
    rest = path if path.startswith((".", "[")) else f".{path}"
    place = 0
    while place < len(rest):
        match = _STEP.match(rest, place)
        step = _step(match) if match else None
        if match is None or step is None:
            return None
        found.append(step)
        place = match.end()
    return tuple(found)


def _step(match: "re.Match[str]") -> Step | None:
    if (name := match["field"]) is not None:
        return _Field(re.sub(r"\\(.)", r"\1", name)) if name != "*" else _all
    if (name := match["quoted"]) is not None:
        return _Field(re.sub(r"\\(.)", r"\1", name[1:-1]))
    if match["place"] is not None:
        return _Item(int(match["place"]))
    if match["all"] is not None:
        return _all
    path, wanted = match["path"].strip(), match["wanted"].strip()
    if not path.startswith("@") or not wanted:
        return None
    return _Where(path[1:], match["sign"] == "==", wanted)


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
