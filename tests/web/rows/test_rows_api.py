"""Windows of rows of a stored run, over HTTP."""

from typing import Any

import pytest
from django.test import Client

from kscope.runs.history.states import Base
from kscope.runs.models import Run
from kscope.runs.rows import kept
from kscope.runs.rows.sheet import SORTS, Sheet
from kscope.runs.rows.table import Wanted
from kscope.runs.selectors import run_state_at
from tests.record import events_change

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def sheets(monkeypatch: pytest.MonkeyPatch) -> kept.Sheets:
    """Sheets of this test alone: the runs of others have had the same numbers."""
    sheets = kept.Sheets()
    monkeypatch.setattr("kscope.runs.web.api.rows.SHEETS", sheets)
    return sheets


def rows(
    client: Client, run: Run, kind: str = "pods", status: int = 200, **query: Any
) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/rows/{kind}/", query)
    assert answer.status_code == status, answer.content
    return answer.json()


def ids(window: dict[str, Any]) -> list[str]:
    return [row["id"] for row in window["rows"]]


def expected(run: Run, seq: int, kind: str) -> list[str]:
    """The whole list as the state after an event has it, without what was read before."""
    instant = run_state_at(run, seq=seq)
    window = Sheet(seq, instant.at, instant.state).window(kind, Wanted(count=500))
    return [row.id for row in window.rows]


@pytest.mark.parametrize("kind", list(SORTS))
def test_lists_are_right_at_every_event(client: Client, driven: Run, kind: str) -> None:
    head = driven.head_seq
    for seq in [*range(head + 1), *range(head, 0, -3), 0, head]:
        found = rows(client, driven, kind, seq=seq, count=500)
        assert (found["seq"], found["read"]) == (seq, seq)
        assert ids(found) == expected(driven, seq, kind)
        assert found["total"] == len(found["rows"])


def test_the_newest_event_is_the_default(client: Client, driven: Run) -> None:
    found = rows(client, driven)
    assert found["seq"] == driven.head_seq
    assert "pod/default/giant" in ids(found)


def test_a_search_and_a_state_are_counted(client: Client, driven: Run) -> None:
    whole = rows(client, driven)
    state = whole["rows"][0]["state"]
    found = rows(client, driven, search="GIANT", state=state)
    assert ids(found) == ["pod/default/giant"]
    assert found["counts"] == {state: 1}
    assert found["total"] == whole["total"] > 1
    assert rows(client, driven, search="default/nobody")["found"] == 0


def test_an_order_can_be_turned_around(client: Client, driven: Run) -> None:
    up = ids(rows(client, driven, sort="name"))
    assert ids(rows(client, driven, sort="name", order="desc")) == up[::-1]
    assert ids(rows(client, driven, sort="name", **{"from": 1}, count=1)) == up[1:2]


@pytest.mark.parametrize(
    "query",
    [{"sort": "zone"}, {"order": "up"}, {"count": 0}, {"count": 501}, {"search": "x" * 301}],
    ids=str,
)
def test_what_cannot_be_wanted_is_refused(
    client: Client, driven: Run, query: dict[str, Any]
) -> None:
    assert rows(client, driven, status=400, **query)["detail"]


def test_unknown_lists_and_events_are_missing(client: Client, driven: Run) -> None:
    rows(client, driven, "secrets", status=404)
    rows(client, driven, status=404, seq=driven.head_seq + 1)


def test_a_long_history_is_read_in_parts(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "AT_ONCE", 10)
    driven.keyframes.all().delete()
    monkeypatch.setattr(kept, "base_before", lambda run_id, _: Base(run_id, 0, whole={}))
    first, second = (rows(client, driven) for _ in range(2))
    assert (first["read"], first["rows"], second["read"]) == (10, [], 20)
    while rows(client, driven)["read"] < driven.head_seq:
        pass
    assert ids(rows(client, driven)) == expected(driven, driven.head_seq, "pods")


def test_a_shortened_history_is_read_anew(client: Client, driven: Run) -> None:
    rows(client, driven)
    driven.keyframes.all().delete()
    changes = '{"pod/default/new": {"queue": "active"}}'
    events_change(driven.pk, [driven.head_seq], message="another one", changes=changes)
    assert "pod/default/new" in ids(rows(client, driven))


def test_each_viewer_has_a_sheet(client: Client, driven: Run, sheets: kept.Sheets) -> None:
    for _ in range(2):
        for seq in (driven.head_seq, 1):
            rows(client, driven, seq=seq)
    assert sheets.objects() > 0
    assert [sheet.seq for sheet in sheets.of_run(driven.pk)] == [driven.head_seq, 1]


def test_sheets_beyond_the_bound_are_dropped(
    client: Client, driven: Run, sheets: kept.Sheets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST", 1)
    for seq in (driven.head_seq, 1, driven.head_seq):
        assert rows(client, driven, seq=seq)["read"] == seq
    assert len(sheets.of_run(driven.pk)) == 1
