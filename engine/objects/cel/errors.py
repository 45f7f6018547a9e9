"""What the CEL library says of an expression that fails, in the words of upstream's library."""

from __future__ import annotations

import re
from typing import Final

# What the library says of a function that fails, ours or its own.
_IN_FUNCTION: Final = re.compile(
    r"Function '\w+' error: (?:Python function call failed: (\w+): )?(.*?)"
    r"\. Check function arguments and their types\.$",
    re.DOTALL,
)


def worded(error: BaseException) -> str:
    """The error in the words of upstream's library. Upstream: cel-go common/types/err.go."""
    text = str(error)
    if isinstance(error, ZeroDivisionError):
        return "modulus by zero" if text.startswith("modulo") else "division by zero"
    if isinstance(error, OverflowError):
        return _overflow(text)
    in_function = _IN_FUNCTION.match(text)
    if in_function is not None:
        of_type, text = in_function[1] or "", in_function[2]
        if of_type in ("TypeError", "AttributeError"):
            return "no such overload"
    return "no such overload" if text.startswith("No such overload") else text


def _overflow(text: str) -> str:
    if "Timestamp" in text:
        return "timestamp overflow"
    if "Duration" in text:
        return "duration overflow"
    return "unsigned integer overflow" if "unsigned" in text else "integer overflow"
