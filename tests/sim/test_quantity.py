import pytest

from kscope.sim.quantity import QuantityError, format_bytes, format_cpu, milli_value, parse, value


@pytest.mark.parametrize(
    ("text", "whole", "canonical"),
    [("1.5Gi", 1610612736, "1536Mi"), ("1500m", 2, "1500m"), ("-1.5", -2, "-1500m"),
     ("1E3", 1000, "1e3"), ("5E", 5 * 10**18, "5E"), ("1n", 1, "1n"), ("0.5Ki", 512, "512")],
)  # fmt: skip
def test_a_quantity_is_exact_and_rounds_away_from_zero(
    text: str, whole: int, canonical: str
) -> None:
    assert value(text) == whole
    assert str(parse(text)) == canonical


@pytest.mark.parametrize("text", ["", " 1", "1i", "1.1.1", "Mi", "12kb", "1e999"])
def test_what_is_no_quantity_is_named(text: str) -> None:
    with pytest.raises(QuantityError) as raised:
        parse(text)
    assert raised.value.text == text


def test_numbers_and_formats() -> None:
    assert milli_value(0.25) == 250
    assert (format_cpu(250), format_cpu(4000)) == ("250m", "4")
    assert format_bytes(1610612736) == "1.5Gi"
