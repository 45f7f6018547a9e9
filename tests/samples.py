"""Tests of many alike: the suite tries a sample of them, `make explore` tries all.

`make explore` runs each test file that imports this module.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
EXPLORES = bool(os.environ.get("KSCOPE_EXPLORE"))


def sample(values: Sequence[Any], one_of: int) -> Sequence[Any]:
    """The first, and from there on one of so many; all of them in `make explore`."""
    return values if EXPLORES else values[::one_of]


def one_of_each(values: Iterable[T], kind: Callable[[T], str]) -> list[T]:
    """The first of each *kind*; all of them in `make explore`."""
    values, firsts = list(values), dict[str, T]()
    for each in values:
        firsts.setdefault(kind(each), each)
    return values if EXPLORES else [*firsts.values()]
