"""Regular expressions of schemas: Go's syntax, in a time that is linear in the text."""

from time import process_time

import pytest

from engine.objects.values.patterns import PatternError, is_match, pattern_fault


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("(?i)ABC", "xabc", True),
        (r"^\pL+$", "éa", True),
        (r"\p{Greek}", "α", True),
        (r"\Qa.b\E", "a.b", True),
        (r"\Qa.b\E", "axb", False),
        ("(?P<n>a)(?<m>b)", "ab", True),
        (r"a\z", "a", True),
        ("a$", "a\n", False),
        ("[[]", "[", True),
        ("[a&&b]", "a", True),
        ("[+--]", ",", True),
        (r"\d", "٣", False),
        (r"[^\w]", "é", True),
        (r"\bé", "é", False),
        ("a{", "a{", True),
        ("^a{,3}$", "a{,3}", True),
        (r"\<\_\101", "<_A", True),
        ("^(?s).$", "\n", True),
        ("a", "\udc80a", True),
    ],
)
def test_pattern_matches_as_in_go(pattern: str, text: str, wanted: bool) -> None:
    assert is_match(pattern, text) is wanted


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(a", "missing closing ): `(a`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("(a{100}){100}", "invalid repeat count: `{100}`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\é", r"invalid escape sequence: `\é`"),
        ("\\", "trailing backslash at end of expression: ``"),
        (r"\pL{1000}", r"expression too large: `\pL{1000}`"),
    ],
)
def test_wrong_pattern_is_said_in_gos_words(pattern: str, why: str) -> None:
    assert pattern_fault(pattern) == f"error parsing regexp: {why}"
    with pytest.raises(PatternError):
        is_match(pattern, "a" * 300)


def test_nested_repetitions_take_linear_time() -> None:
    assert pattern_fault("^(a+)+$") is None
    begin = process_time()
    assert is_match("^(a+)+$", "a" * 40) is True
    assert is_match("^(a+)+$", "a" * 40 + "!") is False
    assert is_match("^(a+)+$", "a" * 100_000 + "!") is False
    assert process_time() - begin < 1
