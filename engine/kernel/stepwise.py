"""Long work in steps: a generator that yields between them, and returns what came of it.

Whoever carries it out may do other things between two steps, or go no further.
"""

from collections.abc import Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")


def finished(steps: Generator[Any, None, T]) -> T:
    """What *steps* return, after all of them. Raises what they raise."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("T", end.value)
