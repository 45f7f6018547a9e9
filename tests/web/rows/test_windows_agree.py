"""The file that plays offline makes the same windows of rows as the server."""

import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kscope.runs.rows.sheet import SORTS, Sheet
from kscope.runs.rows.table import Wanted
from tests.node import answers_of
from tests.properties.examples import examples
from tests.web.rows.histories import history, state_after

IN_THE_FILE = Path(__file__).with_name("in_the_file.js")
EVENTS, QUESTIONS = 150, 60


def in_the_file(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return answers_of(IN_THE_FILE, asked)


def on_the_server(asked: dict[str, Any]) -> dict[str, Any]:
    query = asked["wanted"]
    wanted = Wanted(
        search=query["search"],
        states=frozenset(filter(None, query["state"].split(","))),
        sort=query["sort"],
        is_descending=query["order"] == "desc",
        first=query["from"],
        count=query["count"],
        around=query["around"],
    )
    window = Sheet(1, asked["at"], asked["state"]).window(asked["kind"], wanted)
    return {
        "first": window.first,
        "found": window.found,
        "total": window.total,
        "counts": dict(window.counts),
        "rows": [{"id": row.id, "state": row.state} for row in window.rows],
    }


def questions(seed: int) -> list[dict[str, Any]]:
    """Random windows of random states."""
    chance, events = random.Random(seed), history(seed, EVENTS)
    found: list[dict[str, Any]] = []
    for _ in range(QUESTIONS):
        seq, at, _ = chance.choice(events)
        state = state_after(events[:seq])
        kind = chance.choice([*SORTS])
        wanted = {
            "search": chance.choice(["", "", "1", "a", "shop", "none has this"]),
            "state": chance.choice(["", "", "stuck", "bound,unbound", "settled"]),
            "sort": chance.choice([*SORTS[kind]]),
            "order": chance.choice(["", "desc"]),
            "from": chance.choice([0, 0, 3, 1_000]),
            "count": chance.choice([1, 4, 200]),
            "around": chance.choice(["", "", *state]) if state else "",
        }
        found.append({"at": at, "state": state, "kind": kind, "wanted": wanted})
    return found


@given(st.integers(0, 10**9))
@examples(8)
def test_file_and_server_make_equal_windows(seed: int) -> None:
    asked = questions(seed)
    for each, made in zip(asked, in_the_file(asked), strict=True):
        assert made == on_the_server(each), each["wanted"]
