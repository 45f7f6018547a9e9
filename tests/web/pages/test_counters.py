"""The counts that the board draws are the same however a run is read."""

from random import Random
from typing import Any

import orjson
import pytest
from django.test import Client

from engine.kernel.units import MILLISECOND, SECOND
from engine.kernel.view import State
from kscope.runs.history.series import Samples, Tally, extend, grid_end, window
from kscope.runs.models import Run, RunEvent
from kscope.runs.stream.counters import run_counters
from kscope.runs.stream.frames import frame_folded, frames_joined

pytestmark = pytest.mark.django_db(transaction=True)

ROW = ("seq", "at", "kind", "object", "component", "cause", "message", "data", "changes")


def _rows(run: Run) -> list[tuple[Any, ...]]:
    return [
        (*row[:7], *(None if each is None else orjson.dumps(each).decode() for each in row[7:]))
        for row in RunEvent.objects.filter(run=run).order_by("seq").values_list(*ROW)
    ]


def test_counts_are_those_of_every_cut_into_frames(driven: Run) -> None:
    rows = _rows(driven)
    expected = run_counters(driven, seq=driven.head_seq)["samples"]
    for seed in range(20):
        chance, state = Random(seed), State()
        tally = Tally(state)
        counts = [[0, 0, 0, 0, 0]]
        start = 0
        while start < len(rows):
            frames = []
            for _ in range(chance.randint(1, 3)):
                end = min(start + chance.randint(1, 30), len(rows))
                if start < end:
                    frames.append(frame_folded(rows[start:end], state, tally))
                start = end
            joined = frames[0] if len(frames) == 1 else frames_joined(frames, state)
            extend(counts, joined.counts or ())
        assert window(counts, driven.head_at) == expected


def test_counts_begin_where_the_window_begins(driven: Run) -> None:
    # The pod that comes at two seconds is bound soon after.
    late = RunEvent.objects.get(run=driven, kind="PodBound", object="pod/default/late")
    counts = run_counters(driven, seq=late.seq)
    assert counts["since"] == 0
    assert counts["samples"][-1][:2] == [grid_end(late.at), 1]
    assert sum(sample[1] for sample in counts["samples"]) == 2


def test_a_pod_created_with_node_is_not_counted() -> None:
    samples = Samples(Tally({}), since=0)
    samples.fold(5 * MILLISECOND, {"pod/a/p": {"node": "n1"}, "pod/a/q": {"queue": "active"}})
    samples.fold(6 * MILLISECOND, {"pod/a/q": {"queue": None, "node": "n1"}})
    assert samples.taken == [[0, 0, 0, 0, 0], [100 * MILLISECOND, 1, 0, 0, 0]]


def test_the_window_keeps_the_sample_before_it() -> None:
    samples = [[at * SECOND, 0, at, 0, 0] for at in (0, 10, 20, 30, 40)]
    assert [each[0] // SECOND for each in window(samples, 45 * SECOND)] == [20, 30, 40]


def test_counts_of_a_missing_event_are_refused(driven: Run, client: Client) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/counters/", {"seq": driven.head_seq + 1})
    assert answer.status_code == 404
    known = client.get(f"/api/v1/runs/{driven.pk}/counters/").json()
    assert known == run_counters(driven, seq=driven.head_seq)
