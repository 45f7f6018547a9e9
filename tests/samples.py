"""Tests over many random worlds: the suite tries a sample of them, `make explore` tries all.

`make explore` runs each test file that imports this module.
"""

import os
from collections.abc import Sequence
from typing import Any

EXPLORES = bool(os.environ.get("KSCOPE_EXPLORE"))


def sample(values: Sequence[Any], one_of: int) -> Sequence[Any]:
    """The first, and from there on one of so many; all of them in `make explore`."""
    return values if EXPLORES else values[::one_of]
