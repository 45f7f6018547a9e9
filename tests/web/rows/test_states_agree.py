"""The server sorts and filters by the states that pages show."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kscope.runs.rows.sheet import Sheet
from kscope.runs.rows.table import Wanted
from tests.node import answers_of
from tests.properties.examples import examples
from tests.web.rows.histories import history, state_after

IN_PAGES = Path(__file__).with_name("in_pages.js")
# Each process of Node.js is asked about so many states.
STATES = 150
LISTS = ("pods", "nodes", "volumes")


def in_pages(states: list[dict[str, Any]]) -> list[dict[str, str]]:
    """What pages say of these states."""
    return answers_of(IN_PAGES, states)


def in_lists(at: int, state: dict[str, Any]) -> dict[str, str]:
    """What the lists of the server say of a state."""
    sheet = Sheet(1, at, state)
    windows = [sheet.window(kind, Wanted(count=500)) for kind in LISTS]
    return {row.id: row.state for window in windows for row in window.rows}


@given(st.integers(0, 10**9))
@examples(12)
def test_lists_and_pages_agree_on_states(seed: int) -> None:
    events = history(seed, STATES)
    states = [
        {"at": at, "state": state_after(events[:seq])} for seq, at, _ in events if seq % 3 == 0
    ]
    for asked, said in zip(states, in_pages(states), strict=True):
        assert in_lists(**asked) == said


def test_every_state_of_lists_is_tried() -> None:
    met = {
        state
        for seed in range(6)
        for length in range(20, STATES, 10)
        for state in in_lists(0, state_after(history(seed, length))).values()
    }
    pods = {"stuck", "failing", "starting", "terminating", "bound", "finished", "assumed", "other"}
    queues = {"unschedulable", "backoff", "active", "in_flight", "gated", "unqueued"}
    assert met >= pods | queues | {"clock", "held", "settled", "broken", "unbound"}


@pytest.mark.parametrize(
    ("pod", "state"),
    [
        ({"queue": "backoff"}, "backoff"),
        ({"nominated": "n1"}, "other"),
        ({"node": "n1", "phase": "Running"}, "bound"),
        ({"node": "gone", "phase": "Running"}, "stuck"),
        ({"node": "n1", "phase": "Pending"}, "starting"),
        ({"node": "n1", "phase": "Running", "deleting": 0}, "terminating"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_pod_is_in_one_state(pod: dict[str, Any], state: str) -> None:
    found = in_lists(0, {"node/n1": {"ready": True}, "pod/shop/web": pod})
    assert found["pod/shop/web"] == state
