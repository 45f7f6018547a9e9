"""The timeline of a stored run, over HTTP."""

import re
from typing import Any

import orjson
import pytest
from django.test import Client

from engine.diagnosis.story.story import story_of
from engine.diagnosis.trace.layout import Asked
from engine.diagnosis.trace.timeline import Head, View, timeline_of
from engine.diagnosis.trace.trace import Trace
from engine.kernel.recorder import Event
from kscope.runs.models import Run, RunEvent
from scheduling.timeline import kept
from tests.record import events_change
from tests.scenarios.inside.held_record import HeldRecord

pytestmark = pytest.mark.django_db(transaction=True)

FIELDS = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")


@pytest.fixture(autouse=True)
def traces(monkeypatch: pytest.MonkeyPatch) -> kept.Traces:
    """Traces of this test alone: the runs of others have had the same numbers."""
    traces = kept.Traces()
    monkeypatch.setattr("scheduling.timeline.api.TRACES", traces)
    monkeypatch.setattr("scheduling.timeline.drawing.TRACES", traces)
    return traces


def timeline(client: Client, run: Run, status: int = 200, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/timeline/", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def events_of(run: Run) -> list[Event]:
    stored = RunEvent.objects.filter(run=run).order_by("seq")
    return [Event(*row) for row in stored.values_list(*FIELDS)]


def plain(value: Any) -> Any:
    """The value as JSON has it."""
    return orjson.loads(orjson.dumps(value))


@pytest.mark.parametrize("by", ["objects", "components"])
def test_stored_and_held_events_draw_one_timeline(client: Client, driven: Run, by: str) -> None:
    events = events_of(driven)
    trace = Trace()
    for event in events:
        is_event = bool((event.data or {}).get("event"))
        trace.take(event.at, event.kind, event.object, event.component, is_event, event.changes)
    asked = Asked(by_components=by == "components", open_rows=frozenset(("group:default/giant",)))
    end = driven.head_at
    held = timeline_of(
        trace,
        HeldRecord(events),
        asked,
        View(0, end, width=500, first=0, rows=50),
        Head(driven.head_seq, end, driven.head_seq, end),
    )
    stored = timeline(client, driven, by=by, width=500, rows=50, open="group:default/giant")
    assert stored == plain(held)
    assert len(stored["rows"]) > 3


def test_a_long_history_is_read_in_parts(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "AT_ONCE", 10)
    read = [timeline(client, driven)["read"] for _ in range(2)]
    assert read == [10, 20]
    while timeline(client, driven)["read"] < driven.head_seq:
        pass
    assert timeline(client, driven)["rows"] == timeline(client, driven)["rows"]


def test_a_shortened_history_is_read_anew(client: Client, driven: Run) -> None:
    before = timeline(client, driven)
    told = {"kind": "PodRejected", "message": "another history"}
    events_change(driven.pk, [driven.head_seq], **told)
    began = RunEvent.objects.filter(run=driven, kind="AttemptStarted")
    events_change(driven.pk, [*began.values_list("seq", flat=True)], kind="Other")
    after = timeline(client, driven, by="components", open="component:scheduler")
    assert after["read"] == before["read"]
    names = [row["name"] for row in after["rows"]]
    assert "Other" in names
    assert "AttemptStarted" not in names


def test_the_past_has_no_later_rows(client: Client, driven: Run) -> None:
    created = RunEvent.objects.get(run=driven, kind="PodCreated", object="pod/default/late")
    found = [
        [row["key"] for row in timeline(client, driven, seq=seq, q="default/late")["rows"]]
        for seq in (created.seq - 1, created.seq)
    ]
    assert found == [[], ["section:pods", "group:default/late", "pod/default/late"]]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"from": 5, "to": 5}, "to is 5; it must be later than from, which is 5"),
        ({"width": 0}, "width: 0 is not between 1 and 4000"),
        ({"rows": 201}, "rows: 201 is not between 1 and 200"),
        ({"by": "nodes"}, 'by: "nodes" is none of objects, components'),
        ({"lanes": 1}, "unknown parameter 'lanes'"),
    ],
)
def test_a_wrong_parameter_is_named(
    client: Client, driven: Run, query: dict[str, Any], words: str
) -> None:
    assert words in str(timeline(client, driven, 400, **query))


def test_an_event_beyond_the_head_is_refused(client: Client, driven: Run) -> None:
    timeline(client, driven, 404, seq=driven.head_seq + 1)


def test_the_least_used_traces_are_dropped(
    client: Client, driven: Run, traces: kept.Traces, monkeypatch: pytest.MonkeyPatch
) -> None:
    with traces.of(driven) as first:
        pass
    with traces.of(driven) as again:
        assert again is first
    monkeypatch.setattr(kept, "MOST", driven.head_seq - 1)
    other = Run(pk=driven.pk + 1, head_seq=0)
    with traces.of(other):
        pass
    with traces.of(driven) as anew:
        assert anew is not first


def test_a_run_is_drawn_as_its_story(client: Client, driven: Run) -> None:
    drawn = client.get(f"/api/v1/runs/{driven.pk}/drawing/").json()
    rects = re.findall(
        r'class="(.)" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"',
        story_of(events_of(driven), ()).drawing,
    )
    assert [[look, *map(float, numbers)] for look, *numbers in rects] == drawn["shapes"]
    assert {"w", "r"} <= {shape[0] for shape in drawn["shapes"]}
    assert (drawn["width"], drawn["height"]) == (300, 76)
