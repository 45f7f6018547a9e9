"""docs/asvs.md: each requirement of levels 1 and 2 stands there once, and the tests that it names exist."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOM = Path(__file__).resolve().parents[2]
# The numbers of ASVS 5.0.0 of levels 1 and 2, by section.
SECTIONS = {
    "1.1": range(1, 3),
    "1.2": range(1, 10),
    "1.3": range(1, 12),
    "1.4": range(1, 4),
    "1.5": range(1, 3),
    "2.1": range(1, 4),
    "2.2": range(1, 4),
    "2.3": range(1, 5),
    "2.4": range(1, 2),
    "3.2": range(1, 3),
    "3.3": range(1, 5),
    "3.4": range(1, 7),
    "3.5": range(1, 6),
    "3.7": range(1, 3),
    "4.1": range(1, 4),
    "4.2": range(1, 2),
    "4.3": range(1, 3),
    "4.4": range(1, 5),
    "5.1": range(1, 2),
    "5.2": range(1, 4),
    "5.3": range(1, 3),
    "5.4": range(1, 4),
    "6.1": range(1, 4),
    "6.2": range(1, 13),
    "6.3": range(1, 5),
    "6.4": range(1, 5),
    "6.5": range(1, 6),
    "6.6": range(1, 4),
    "6.8": range(1, 5),
    "7.1": range(1, 4),
    "7.2": range(1, 5),
    "7.3": range(1, 3),
    "7.4": range(1, 6),
    "7.5": range(1, 3),
    "7.6": range(1, 3),
    "8.1": range(1, 3),
    "8.2": range(1, 4),
    "8.3": range(1, 2),
    "8.4": range(1, 2),
    "9.1": range(1, 4),
    "9.2": range(1, 5),
    "10.1": range(1, 3),
    "10.2": range(1, 3),
    "10.3": range(1, 5),
    "10.4": range(1, 12),
    "10.5": range(1, 6),
    "10.6": range(1, 3),
    "10.7": range(1, 4),
    "11.1": range(1, 3),
    "11.2": range(1, 4),
    "11.3": range(1, 4),
    "11.4": range(1, 5),
    "11.5": range(1, 2),
    "11.6": range(1, 2),
    "12.1": range(1, 4),
    "12.2": range(1, 3),
    "12.3": range(1, 5),
    "13.1": range(1, 2),
    "13.2": range(1, 6),
    "13.3": range(1, 3),
    "13.4": range(1, 6),
    "14.1": range(1, 3),
    "14.2": range(1, 5),
    "14.3": range(1, 4),
    "15.1": range(1, 4),
    "15.2": range(1, 4),
    "15.3": range(1, 8),
    "16.1": range(1, 2),
    "16.2": range(1, 6),
    "16.3": range(1, 5),
    "16.4": range(1, 4),
    "16.5": range(1, 4),
    "17.1": range(1, 2),
    "17.2": range(1, 5),
    "17.3": range(1, 3),
}
_NUMBER = re.compile(r"(\d+\.\d+)\.(\d+)(?:–(\d+\.\d+)\.(\d+))?")


def rows() -> Iterator[tuple[str, list[str]]]:
    """Each row of a table: the numbers, and the other cells."""
    for line in (ROOM / "docs" / "asvs.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and re.match(r"\d", cells[0]):
            yield cells[0], cells[1:]


def numbers(text: str) -> Iterator[tuple[str, int]]:
    """The requirements in a list such as "1.2.1–1.2.3, 1.3.5"."""
    for part in text.split(", "):
        found = _NUMBER.fullmatch(part)
        assert found, part
        assert found[3] in (None, found[1]), part
        first, last = int(found[2]), int(found[4] or found[2])
        for number in range(first, last + 1):
            # Those between two that are named may be of level 3.
            if number in SECTIONS[found[1]]:
                yield found[1], number


def test_each_requirement_stands_there_once() -> None:
    named = Counter(one for text, _ in rows() for one in numbers(text))
    wanted = {(section, number) for section, all_ in SECTIONS.items() for number in all_}
    assert len(wanted) == 253
    assert wanted - named.keys() == set()
    assert [one for one, times in named.items() if times > 1] == []


def test_each_test_that_is_named_exists() -> None:
    sources = "\n".join(path.read_text() for path in (ROOM / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)\(", sources))
    shown = [cells[1] for _, cells in rows() if len(cells) == 2]
    assert len(shown) > 40
    for cell in shown:
        named = re.findall(r"`([^`]+)`", cell)
        assert named, cell
        for name in named:
            assert name in defined or (ROOM / name).exists(), name


def test_what_is_not_held_has_its_reason() -> None:
    assert all(all(cells) for _, cells in rows())
