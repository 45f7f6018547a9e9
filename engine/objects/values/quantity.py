"""Kubernetes resource quantities, exactly.

Upstream: apimachinery pkg/api/resource/quantity.go. Every quantity is a whole number of
nano-units: what is written finer is rounded away from zero while it is read ("if you want some
resources, you should get some"). Amounts are therefore one Python int, never a float.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

NANO = 10**9
MAX_INT64 = 2**63 - 1
# 64 Pi of anything. No sum over a node's pods and no hundredfold of it leaves int64, in which the
# engines count: what is beyond this they count as this much.
MOST_COUNTED = 2**56

_DECIMAL_EXPONENTS = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_EXPONENTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES = ["", *_BINARY_EXPONENTS]

_SYNTAX = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+|)",
    re.ASCII,
)
# Beyond this a number is a mistake, and 10**exponent would eat the memory of the machine.
_MAX_EXPONENT = 100
MAX_DIGITS = 200

_KINDS: dict[type, str] = {
    bool: "a boolean",
    list: "a list",
    dict: "a mapping",
    type(None): "null",
}


class QuantityError(ValueError):
    """A text that is not a quantity; `text` is what was found."""

    def __init__(self, text: object, why: str) -> None:
        super().__init__(f"{_quoted(text)} is not a quantity: {why}")
        self.text = text
        self.why = why

    def __reduce__(self) -> tuple[type[QuantityError], tuple[object, str]]:
        return QuantityError, (self.text, self.why)


class Format(enum.Enum):
    """How a quantity was written, which is how it is written back."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount: `nanos` nano-units, and the format it was written in.

    Compared by amount. `str(quantity)` is the form that the API server would store: "1536Mi" for
    "1.5Gi".
    """

    nanos: int
    format: Format = field(default=Format.DECIMAL_SI, compare=False)

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero, within int64. Upstream: Quantity.Value()."""
        return _within_int64(_away_from_zero(self.nanos, NANO))

    @property
    def milli_value(self) -> int:
        """Thousandths, rounded away from zero, within int64. Upstream: Quantity.MilliValue()."""
        return _within_int64(_away_from_zero(self.nanos, NANO // 1000))

    def as_fraction(self) -> Fraction:
        """The exact amount in units."""
        return Fraction(self.nanos, NANO)

    def __str__(self) -> str:
        if self.nanos == 0:
            return "0"
        if self.format is Format.BINARY_SI and self._is_written_in_binary():
            return _binary_text(self.nanos // NANO)
        return _decimal_text(self.nanos, self.format)

    def _is_written_in_binary(self) -> bool:
        # Upstream: CanonicalizeBytes(); small or fractional amounts lose precision in Ki.
        return abs(self.nanos) >= 1024 * NANO and self.nanos % NANO == 0


def parse(text: str | int | float | Quantity) -> Quantity:
    """Read a quantity as ParseQuantity does.

    Raises:
        QuantityError: the text is not a quantity, or not a finite number.
    """
    if isinstance(text, str):
        return _parse_text(text)
    if isinstance(text, Quantity):
        return text
    return _parse_text(_number_text(text))


def value(text: str | int | float | Quantity) -> int:
    """The amount in whole units (bytes, count), rounded away from zero."""
    if isinstance(text, str):
        return _value_of_text(text)
    return parse(text).value


def milli_value(text: str | int | float | Quantity) -> int:
    """The amount in thousandths (milli-CPU), rounded away from zero."""
    if isinstance(text, str):
        return _milli_value_of_text(text)
    return parse(text).milli_value


def format_cpu(milli: int) -> str:
    """Milli-CPU as kubectl writes it: 250 → "250m", 4000 → "4"."""
    return str(Quantity(milli * (NANO // 1000)))


def format_bytes(count: int) -> str:
    """Bytes for people: 1610612736 → "1.5Gi", at most two decimals, "~" before an inexact one."""
    sign, size = ("-", -count) if count < 0 else ("", count)
    power = 0
    while power + 1 < len(_BINARY_SUFFIXES) and size >= 1024 ** (power + 1):
        power += 1
    unit = 1024**power
    hundredths = (size * 100 + unit // 2) // unit
    inexact = "~" if hundredths * unit != size * 100 else ""
    whole, part = divmod(hundredths, 100)
    digits = f"{whole}.{part:02d}".rstrip("0").rstrip(".")
    return f"{inexact}{sign}{digits}{_BINARY_SUFFIXES[power]}"


@lru_cache(maxsize=65536)
def _value_of_text(text: str) -> int:
    return _parse_text(text).value


@lru_cache(maxsize=65536)
def _milli_value_of_text(text: str) -> int:
    return _parse_text(text).milli_value


@lru_cache(maxsize=65536)
def _parse_text(text: str) -> Quantity:
    found = _SYNTAX.fullmatch(text) if len(text) <= MAX_DIGITS else None
    if found is None:
        raise QuantityError(text, _why_not(text))
    whole, part, suffix = found["whole"], found["part"] or "", found["suffix"]
    if not whole and not part:
        raise QuantityError(text, "it has no digits")
    digits = int(whole + part)
    if suffix in _BINARY_EXPONENTS:
        nanos = _scaled(digits << _BINARY_EXPONENTS[suffix], -len(part))
        # Upstream caps binary amounts at int64 and decimal ones not at all.
        nanos = min(nanos, MAX_INT64 * NANO)
        written = Format.BINARY_SI if nanos == 0 or nanos >= NANO else Format.DECIMAL_SI
    else:
        exponent = _decimal_exponent(text, suffix)
        nanos = _scaled(digits, exponent - len(part))
        written = Format.DECIMAL_EXPONENT if suffix[:1] in ("e", "E") else Format.DECIMAL_SI
        if suffix == "E":
            written = Format.DECIMAL_SI
    return Quantity(-nanos if found["sign"] == "-" else nanos, written)


def _decimal_exponent(text: str, suffix: str) -> int:
    known = _DECIMAL_EXPONENTS.get(suffix)
    if known is not None:
        return known
    exponent = int(suffix[1:])
    if abs(exponent) > _MAX_EXPONENT:
        raise QuantityError(text, "its exponent is out of range")
    return exponent


def _scaled(digits: int, exponent: int) -> int:
    """digits × 10^exponent in nanos, a remainder rounded up."""
    exponent += 9
    if exponent >= 0:
        return digits * 10**exponent
    return _away_from_zero(digits, 10**-exponent)


def _away_from_zero(amount: int, unit: int) -> int:
    return -(-amount // unit) if amount >= 0 else amount // unit


def _within_int64(amount: int) -> int:
    """The nearest number to *amount* that Go's int64 holds."""
    return max(-MAX_INT64 - 1, min(MAX_INT64, amount))


def counted(amount: int) -> int:
    """*amount* as the engines count it; see MOST_COUNTED."""
    return max(-MOST_COUNTED, min(MOST_COUNTED, amount))


def wrapped(amount: int) -> int:
    """*amount* as sums of Go's int64 come out, which go round when they are too large."""
    return (amount + MAX_INT64 + 1) % (1 << 64) - MAX_INT64 - 1


def _number_text(number: object) -> str:
    # bool is an int in Python, and `cpu: yes` is a mistake.
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        found: type = type(number)
        kind = _KINDS.get(found, found.__name__)
        raise QuantityError(number, f"expected a text or a number, found {kind}")
    if isinstance(number, int):
        if abs(number) > 10**MAX_DIGITS:
            raise QuantityError("a huge number", "it is out of range")
        return str(number)
    return repr(number)


def _binary_text(amount: int) -> str:
    power = 0
    while power + 1 < len(_BINARY_SUFFIXES) and amount % 1024 == 0:
        amount //= 1024
        power += 1
    return f"{amount}{_BINARY_SUFFIXES[power]}"


def _decimal_text(nanos: int, written: Format) -> str:
    amount, exponent = nanos, -9
    while amount % 1000 == 0:
        amount //= 1000
        exponent += 3
    if written is not Format.DECIMAL_EXPONENT and exponent in _DECIMAL_SUFFIXES:
        return f"{amount}{_DECIMAL_SUFFIXES[exponent]}"
    return f"{amount}e{exponent}" if exponent else str(amount)


def _why_not(text: str) -> str:
    if not text:
        return "it is empty"
    if len(text) > MAX_DIGITS:
        return "it is too long"
    if text.strip() != text:
        return "it has white space around it"
    number = re.match(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)", text, re.ASCII)
    if number is None:
        return "it does not begin with a number"
    return f"unknown suffix {_quoted(text[number.end() :])}; use n u m k M G T P E or Ki…Ei"


def _quoted(text: object) -> str:
    if not isinstance(text, str):
        return repr(text)
    return f'"{text}"' if len(text) <= 60 else f'"{text[:57]}…"'
