"""The operators Lt and Gt of tolerations, which compare a taint's value as a number.

Upstream: component-helpers/scheduling/corev1 compareNumericValues() (v1.36).
"""

import re

_DECIMAL = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64 = range(-(1 << 63), 1 << 63)


def compares(operator: str, taint_value: str, value: str) -> bool:
    """Whether *taint_value* is less (Lt) or greater (Gt) than *value*; never if either is no int64."""
    taint_number, number = _number(taint_value), _number(value)
    if taint_number is None or number is None:
        return False
    if operator == "Lt":
        return taint_number < number
    return operator == "Gt" and taint_number > number


def _number(text: str) -> int | None:
    if not _DECIMAL.fullmatch(text) or len(text) > 20:
        return None
    number = int(text)
    return number if number in _INT64 else None
