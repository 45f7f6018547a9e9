"""What is kept of lists from event to event is what the state after each event says."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kscope.runs.rows.sheet import SORTS, Sheet
from kscope.runs.rows.table import Row, Table, Wanted, natural
from tests.properties.examples import examples
from tests.web.rows.histories import History, history, state_after

LENGTH = 60
KINDS = [(kind, sort) for kind, sorts in SORTS.items() for sort in sorts]


def sheet_after(events: History) -> Sheet:
    """A sheet that is made of the state alone, as from a checkpoint."""
    seq, at = events[-1][:2] if events else (0, 0)
    return Sheet(seq, at, state_after(events))


def lists_of(sheet: Sheet) -> list[object]:
    """Every list in every order, whole."""
    return [
        sheet.window(kind, Wanted(sort=sort, is_descending=down, count=500))
        for kind, sort in KINDS
        for down in (False, True)
    ]


@given(st.integers(0, 10**9))
@examples(200)
def test_a_sheet_goes_on_as_its_state(seed: int) -> None:
    events = history(seed, LENGTH)
    dice = random.Random(seed)
    sheet = Sheet(0, 0, {})
    for seq, at, changes in events:
        sheet.take(seq, at, changes)
        if dice.random() < 0.3:
            assert lists_of(sheet) == lists_of(sheet_after(events[:seq]))


@given(st.integers(0, 10**9))
@examples(200)
def test_a_sheet_goes_back_as_it_came(seed: int) -> None:
    events = history(seed, LENGTH)
    dice = random.Random(seed)
    sheet = sheet_after(events[:20])
    for _ in range(6):
        there = dice.randrange(20, LENGTH)
        if there < sheet.seq:
            sheet.go_back(there)
        for event in events[sheet.seq : there]:
            sheet.take(*event)
        assert (sheet.seq, sheet.oldest) == (there, 20)
        assert lists_of(sheet) == lists_of(sheet_after(events[:there]))


@given(st.integers(0, 10**9), st.integers(1, 4), st.sampled_from(["", "web", "SHOP/", "1", "zz"]))
@examples(200)
def test_windows_are_the_whole_list_cut(seed: int, count: int, search: str) -> None:
    sheet = sheet_after(history(seed, LENGTH))
    for kind, sort in KINDS:
        whole = sheet.window(kind, Wanted(sort=sort, search=search, count=500))
        found = [row for row in whole.rows if search.lower() in row.text]
        assert whole.rows == found
        cut: list[Row] = []
        while len(cut) < whole.found:
            window = sheet.window(
                kind, Wanted(sort=sort, search=search, first=len(cut), count=count)
            )
            assert (window.first, window.found, window.counts) == (
                len(cut),
                whole.found,
                whole.counts,
            )
            cut += window.rows
        assert cut == whole.rows


@given(st.integers(0, 10**9))
@examples(100)
def test_a_state_is_a_part_of_the_list(seed: int) -> None:
    sheet = sheet_after(history(seed, LENGTH))
    for kind in ("pods", "nodes", "volumes"):
        whole = sheet.window(kind, Wanted(count=500))
        assert sum(whole.counts.values()) == whole.found == whole.total
        for state, number in whole.counts.items():
            part = sheet.window(kind, Wanted(states=frozenset([state]), count=500))
            assert part.rows == [row for row in whole.rows if row.state == state]
            assert (part.found, part.counts) == (number, whole.counts)


def names_table(*names: str) -> Table:
    table = Table({"name": lambda row: row.name})
    for name in names:
        table.put(Row(name, name, natural(name), ""))
    return table


def ids(table: Table, **wanted: object) -> list[str]:
    window = table.window(Wanted(**wanted))  # type: ignore[arg-type]
    return [row.id for row in window.rows]


def test_names_with_numbers_count_naturally() -> None:
    assert ids(names_table("web-10", "web-2", "web-1")) == ["web-1", "web-2", "web-10"]


def test_a_window_after_the_last_is_last() -> None:
    table = names_table(*(f"web-{i}" for i in range(5)))
    window = table.window(Wanted(first=40, count=2))
    assert (window.first, [row.id for row in window.rows]) == (4, ["web-4"])
    assert table.window(Wanted(search="none", first=40)).first == 0


@pytest.mark.parametrize(
    ("around", "first"), [("web-3", 2), ("web-4", 4), ("gone", 0), ("web-1", 0)]
)
def test_the_window_around_an_object_has_it(around: str, first: int) -> None:
    table = names_table(*(f"web-{i}" for i in range(5)))
    assert table.window(Wanted(around=around, count=2)).first == first


def test_equal_rows_keep_the_order_of_names() -> None:
    table = Table({"value": lambda row: row.values[0]})
    for name, value in (("c", 1), ("a", 1), ("b", 2), ("d", 2)):
        table.put(Row(name, name, name, "", (value,)))
    assert ids(table) == ["a", "c", "b", "d"]
    assert ids(table, is_descending=True) == ["b", "d", "a", "c"]
