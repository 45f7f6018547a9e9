"""Taints, and tolerations, whose operators Lt and Gt compare a taint's value as a number.

Upstream: core/v1/toleration.go; component-helpers/scheduling/corev1 compareNumericValues() (v1.36).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Manifest = Mapping[str, Any]

NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"

_DECIMAL = re.compile(r"[+-]?[0-9]+", re.ASCII)
_INT64 = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str

    @classmethod
    def parse(cls, raw: Manifest) -> Taint:
        """A taint of a node or a device as the API has it."""
        return cls(raw.get("key") or "", raw.get("value") or "", raw.get("effect") or "")


@dataclass(frozen=True, slots=True)
class Toleration:
    """One toleration of a pod or a device request. Upstream: core/v1/toleration.go."""

    key: str
    operator: str
    value: str
    effect: str

    @classmethod
    def parse(cls, raw: Manifest) -> Toleration:
        """A toleration as the API has it."""
        return cls(
            key=raw.get("key") or "",
            operator=raw.get("operator") or "",
            value=raw.get("value") or "",
            effect=raw.get("effect") or "",
        )

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration lets the pod accept *taint*. Upstream: ToleratesTaint()."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        return self.operator == "Exists" or compares(self.operator, taint.value, self.value)


def tolerates(toleration: Manifest, taint: Manifest, *, numbers: bool) -> bool:
    """Whether *toleration* accepts *taint*; Lt and Gt do so only if they compare *numbers*."""
    if not numbers and toleration.get("operator") in ("Lt", "Gt"):
        return False
    return Toleration.parse(toleration).tolerates(Taint.parse(taint))


def untolerated(
    taints: Sequence[Manifest],
    tolerations: Sequence[Manifest],
    effects: tuple[str, ...],
    *,
    numbers: bool,
) -> Manifest | None:
    """The first taint with one of *effects* that *tolerations* do not tolerate, or None.

    Lt and Gt compare *numbers*, or match nothing.
    """
    for taint in taints:
        if taint.get("effect") in effects and not any(
            tolerates(each, taint, numbers=numbers) for each in tolerations
        ):
            return taint
    return None


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
