"""Quantities are exact, round away from zero and are written back as the API server would."""

import pickle
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.objects.values.quantity import (
    MAX_INT64,
    MOST_COUNTED,
    QuantityError,
    counted,
    format_bytes,
    format_cpu,
    milli_value,
    parse,
    value,
)

SUFFIXES = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
BINARY = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]


@pytest.mark.parametrize(("power", "suffix"), [*enumerate(SUFFIXES, -3)])
def test_decimal_suffixes_are_powers_of_a_thousand(power: int, suffix: str) -> None:
    assert parse(f"3{suffix}").as_fraction() == 3 * Fraction(1000) ** power


@pytest.mark.parametrize(("power", "suffix"), [*enumerate(BINARY, 1)])
def test_every_binary_suffix_is_a_power_of_1024(power: int, suffix: str) -> None:
    assert value(f"3{suffix}") == 3 * 1024**power


@pytest.mark.parametrize(
    ("text", "whole", "canonical"),
    [
        ("1.5Gi", 1610612736, "1536Mi"),
        ("1500m", 2, "1500m"),
        ("-1.5", -2, "-1500m"),
        ("1E3", 1000, "1e3"),
        ("1e-3", 1, "1e-3"),
        ("5E", 5 * 10**18, "5E"),
        ("1n", 1, "1n"),
        ("0.1n", 1, "1n"),
        ("0.5Ki", 512, "512"),
        ("1024Ki", 1048576, "1Mi"),
        ("1000k", 10**6, "1M"),
        ("+7", 7, "7"),
        (".5", 1, "500m"),
        ("5.", 5, "5"),
        ("0", 0, "0"),
        ("-0", 0, "0"),
        ("007", 7, "7"),
    ],
)
def test_a_quantity_rounds_away_from_zero(text: str, whole: int, canonical: str) -> None:
    assert value(text) == whole
    assert str(parse(text)) == canonical


@pytest.mark.parametrize(
    ("written", "milli"),
    [
        ("100m", 100),
        ("0.1", 100),
        (0.25, 250),
        (2, 2000),
        ("1u", 1),
        ("1.0005", 1001),
        (1e3, 10**6),
    ],
)
def test_milli_units_are_rounded_up(written: Any, milli: int) -> None:
    assert milli_value(written) == milli


def test_too_large_quantities_become_the_largest_value() -> None:
    assert value("100E") == milli_value("100E") == MAX_INT64
    assert value("-100E") == -MAX_INT64 - 1


def test_sums_of_engine_quantities_fit_64_bits() -> None:
    assert counted(value("64Pi")) == value("64Pi") == MOST_COUNTED
    assert counted(value("100E")) == MOST_COUNTED
    assert MOST_COUNTED * 100 < MAX_INT64


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has no digits"),
        (" 1", "white space"),
        ("1i", 'unknown suffix "i"'),
        ("1.1.1", "unknown suffix"),
        ("Mi", "it has no digits"),
        ("12kb", 'unknown suffix "kb"'),
        ("1e999", "exponent is out of range"),
        ("1" * 500, "too long"),
        (".", "it has no digits"),
        ("½", "does not begin with a number"),
        ("٣", "does not begin with a number"),
        (True, "expected a text or a number, found a boolean"),
        (None, "found null"),
        ([], "found a list"),
        ({}, "found a mapping"),
        (float("nan"), "not a quantity"),
        (float("inf"), "not a quantity"),
    ],
)
def test_what_is_no_quantity_is_refused_and_why(text: Any, why: str) -> None:
    with pytest.raises(QuantityError, match=why) as raised:
        parse(text)
    assert pickle.loads(pickle.dumps(raised.value)).why == raised.value.why


@given(st.integers(0, 10**30), st.sampled_from(["", "k", "M", "Ki", "Gi", "m", "n"]))
def test_writing_and_reading_again_changes_nothing(amount: int, suffix: str) -> None:
    read = parse(f"{amount}{suffix}")
    assert parse(str(read)) == read


@given(st.integers(-(10**15), 10**15))
def test_cpu_is_written_as_it_is_read(milli: int) -> None:
    assert milli_value(format_cpu(milli)) == milli


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1610612736, "1.5Gi"),
        (0, "0"),
        (1023, "1023"),
        (1024, "1Ki"),
        (10**9, "~953.67Mi"),
        (-1536, "-1.5Ki"),
    ],
)
def test_bytes_are_written_for_people(count: int, text: str) -> None:
    assert format_bytes(count) == text
