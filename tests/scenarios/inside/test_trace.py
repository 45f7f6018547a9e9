"""Lanes and areas of a trace say what the events of the run say."""

from functools import cache
from typing import Any

import pytest

from engine.diagnosis.trace.answer import Row, Timeline
from engine.diagnosis.trace.layout import Asked
from engine.diagnosis.trace.states import (
    STATES,
    WAITS,
    awaited_state,
    claim_state,
    node_state,
    pod_state,
)
from engine.diagnosis.trace.timeline import Head, View, timeline_of
from engine.diagnosis.trace.trace import Trace
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from engine.kernel.view import State, fold
from tests.scenarios.inside.csi_surge import csi_surge
from tests.scenarios.inside.held_record import HeldRecord
from tests.scenarios.played import demo

DEMOS = ("dangling-attach", "half-bound", "wrong-fs-type", "zone-mismatch")
LEDGER = "pod/shop/ledger-3"


@cache
def events_of(name: str) -> tuple[Event, ...]:
    return tuple(csi_surge().events if name == "csi-surge" else demo(name).events)


@cache
def trace_of(name: str) -> Trace:
    trace = Trace()
    for event in events_of(name):
        is_event = bool((event.data or {}).get("event"))
        trace.take(event.at, event.kind, event.object, event.component, is_event, event.changes)
    return trace


def timeline(
    name: str, seq: int = 0, *, pod: str = "", window: tuple[int, int] | None = None, **asked: Any
) -> Timeline:
    events = events_of(name)
    seq = seq or len(events)
    start, end = window or (0, max(events[-1].at, 1))
    return timeline_of(
        trace_of(name),
        HeldRecord(events[:seq]),
        Asked(**asked),
        View(start, end, width=800, first=0, rows=1_000, pod=pod),
        Head(len(events), events[-1].at, seq, events[seq - 1].at),
    )


def row(answer: Timeline, key: str) -> Row:
    return next(each for each in answer.rows if each.key == key)


def told_by_events(name: str, seq: int) -> dict[str, dict[str, int]]:
    """How long each pod, claim and node was in which state, from the whole state after each event."""
    state: State = {}
    sums: dict[str, dict[str, int]] = {}
    events = events_of(name)[:seq]
    for event, later in zip(events, [*events[1:], events[-1]], strict=True):
        fold(state, event.changes or {})
        for entity, attributes in state.items():
            kind, _, key = entity.partition("/")
            if kind == "pod":
                node = state.get(f"node/{attributes.get('node')}", {})
                found = pod_state(attributes, awaited_state(key, node))
            elif kind == "node":
                found = node_state(attributes)
            elif kind == "claim":
                named = [each.get("claim") for each in state.values()]
                found = claim_state(attributes, is_named=key in named)
            else:
                continue
            if found and later.at > event.at:
                spent = sums.setdefault(entity, {})
                spent[found] = spent.get(found, 0) + later.at - event.at
    return sums


@pytest.mark.parametrize("name", DEMOS)
def test_rows_add_up_to_what_events_say(name: str) -> None:
    for seq in (len(events_of(name)) // 2, len(events_of(name))):
        told = told_by_events(name, seq)
        every_group = frozenset(f"group:{group}" for group in trace_of(name).groups)
        answer = timeline(name, seq, open_rows=every_group)
        lanes = {each.key: each for each in answer.rows if each.kind in ("pod", "claim", "node")}
        assert {key: each.sums for key, each in lanes.items() if each.sums} == told
        for each in lanes.values():
            assert each.waited == sum(each.sums.get(state, 0) for state in WAITS)
        for group in (each for each in answer.rows if each.kind == "group"):
            pods = trace_of(name).groups[group.name].pods
            assert group.waited == sum(lanes[pod].waited for pod in pods if pod in lanes)


def test_bars_follow_one_another_without_overlap() -> None:
    answer = timeline("csi-surge", open_rows=frozenset(("group:ml/train", "group:ci/build")))
    drawn = [each for each in answer.rows if each.bars]
    assert len(drawn) > 50
    for each in drawn:
        ends = [bar.end for bar in each.bars[:-1]]
        assert None not in ends
        assert all(end <= bar.start for end, bar in zip(ends, each.bars[1:], strict=True) if end)


def test_bars_below_a_pixel_become_one() -> None:
    lane = trace_of("csi-surge").pods[LEDGER]
    near = row(timeline("csi-surge", pod=LEDGER, window=(40 * SECOND, 60 * SECOND)), LEDGER)
    far = row(timeline("csi-surge", pod=LEDGER, window=(0, 4_000 * SECOND)), LEDGER)
    assert len(near.bars) > 3 * len(far.bars)
    merged = far.bars[0]
    assert merged.states > 1
    assert merged.state == "unschedulable"  # the worst of them
    assert merged.seq == lane.seqs[0]
    assert far.sums == near.sums


def test_a_window_draws_what_began_before_it() -> None:
    bars = row(timeline("csi-surge", pod=LEDGER, window=(75 * SECOND, 76 * SECOND)), LEDGER).bars
    assert [(bar.state, bar.end) for bar in bars] == [("running", None)]


def test_areas_count_the_pods_of_a_workload() -> None:
    answer = timeline("csi-surge", window=(50 * SECOND, 50 * SECOND + 400))
    area = row(answer, "group:ml/train").area
    assert area is not None
    assert area.waiting == (400, 3)  # of three pods, all the time
    assert area.running == ()


def test_events_of_components_add_up_to_all() -> None:
    answer = timeline("csi-surge", by_components=True)
    assert sum(each.count for each in answer.rows) == len(events_of("csi-surge"))
    for each in answer.rows:
        assert each.area is not None
        runs = each.area.events
        assert sum(runs[i] * runs[i + 1] for i in range(0, len(runs), 2)) == each.count


def test_overview_has_every_event_once() -> None:
    overview = timeline("csi-surge").overview
    assert len(overview.events) == len(overview.waiting) == 160
    assert sum(overview.events) == len(events_of("csi-surge"))


def test_a_path_brings_its_rows_together() -> None:
    answer = timeline("csi-surge", pod=LEDGER)
    keys = [each.key for each in answer.rows if each.in_path]
    assert keys == [
        LEDGER,
        "pod/ci/build-52",
        "pod/shop/payments-5",
        "pod/shop/web-21",
        "pod/shop/web-20",
        "pod/ci/build-48",
        "claim/shop/data-ledger-3",
        "attach/node-b2/ssd-2",
        "mount/node-b2/ssd-2",
    ]
    words = [(arrow.word, arrow.from_row, arrow.to_row) for arrow in answer.arrows]
    assert words[:2] == [
        ("evicts", LEDGER, "pod/ci/build-52"),
        ("room", "pod/ci/build-52", "pod/shop/payments-5"),
    ]
    assert words[-6:] == [
        ("room", "pod/ci/build-48", LEDGER),
        ("binds", LEDGER, "claim/shop/data-ledger-3"),
        ("bound", "claim/shop/data-ledger-3", LEDGER),
        ("", LEDGER, "attach/node-b2/ssd-2"),
        ("attached", "attach/node-b2/ssd-2", "mount/node-b2/ssd-2"),
        ("mounted", "mount/node-b2/ssd-2", LEDGER),
    ]


def test_every_event_is_in_one_stage() -> None:
    trace = trace_of("csi-surge")
    closed = timeline("csi-surge", pod=LEDGER, open_rows=frozenset(("stages",)))
    stages = [each.key for each in closed.rows if each.kind == "stage"]
    opened = timeline("csi-surge", pod=LEDGER, open_rows=frozenset(("stages", *stages)))
    told = [each.event for each in opened.rows if each.event]
    own = [event for event in events_of("csi-surge") if event.object == LEDGER]
    assert [event.seq for event in told] == [event.seq for event in own]
    kubernetes = [event.seq for event in told if event.kubernetes]
    assert kubernetes == list(trace.pods[LEDGER].events)
    names = [each.name for each in closed.rows if each.kind == "stage"]
    assert names == ["queue", *["attempt"] * 15, "bind", "start", "after"]


def test_an_attempt_names_whom_it_evicted() -> None:
    answer = timeline("csi-surge", pod=LEDGER, open_rows=frozenset(("stages",)))
    evicting = [each.stage for each in answer.rows if each.stage and each.stage.victims]
    assert [(stage.number, stage.victims) for stage in evicting] == [
        (1, ("pod/ci/build-52",)),
        (7, ("pod/shop/web-21", "pod/shop/web-20", "pod/ci/build-48")),
    ]


def test_search_finds_names_in_closed_workloads() -> None:
    answer = timeline("csi-surge", text="LEDGER-2")
    assert [each.key for each in answer.rows] == [
        "section:pods",
        "group:shop/ledger",
        "pod/shop/ledger-2",
        "section:claims",
        "claim/shop/data-ledger-2",
    ]


def test_only_pods_that_waited_long_remain() -> None:
    answer = timeline("csi-surge", text="shop/", least_wait=10 * SECOND)
    pods = [each for each in answer.rows if each.kind == "pod"]
    assert {each.name for each in pods} == {"shop/ledger-3", "shop/orders-0"}
    assert min(each.waited for each in pods) >= 10 * SECOND


def test_what_comes_later_has_no_row_yet() -> None:
    born = next(event.seq for event in events_of("csi-surge") if event.object == LEDGER)
    before, after = (timeline("csi-surge", seq, text="shop/ledger-3") for seq in (born - 1, born))
    assert before.rows == ()
    assert LEDGER in [each.key for each in after.rows]


def test_lane_shows_when_a_container_crashes() -> None:
    trace = Trace()
    for event in demo("crash-loop").events:
        is_event = bool((event.data or {}).get("event"))
        trace.take(event.at, event.kind, event.object, event.component, is_event, event.changes)
    lane = trace.pods["pod/default/web"]
    shown = [
        (trace.ats[seq - 1] // SECOND, STATES[code])
        for seq, code in zip(lane.seqs, lane.codes, strict=True)
    ]
    assert shown[-4:] == [(121, "unready"), (151, "crashing"), (191, "unready"), (221, "crashing")]
    # It counts as one that runs.
    assert trace.whole.running[-1] == 1
