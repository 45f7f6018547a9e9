"""How large what is measured is: as usual, or just large enough to show that a bench works."""

import os

LEAST = "KSCOPE_BENCH_LEAST"
"""The variable of the environment that asks for the least, so that child processes have it, too."""


def usual(number: int, *, least: int) -> int:
    """*number*, or *least* where that is asked for: what a figure means is lost then."""
    return least if is_least() else number


def is_least() -> bool:
    """Whether the least is asked for."""
    return bool(os.environ.get(LEAST))
