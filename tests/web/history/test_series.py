"""What the small charts draw is counted once, and is the same as counting every event."""

import pytest

from engine.kernel.view import State
from kscope.runs.history import series
from kscope.runs.history.series import Samples, Tally, grid_end
from kscope.runs.models import Keyframe, Run, RunEvent
from kscope.runs.stream.counters import run_counters
from tests.record import events_change


def counted(run: Run, seq: int) -> dict[str, object]:
    """The counters before event *seq*, by folding every event of the run."""
    events = list(RunEvent.objects.filter(run=run, seq__lte=seq).order_by("seq"))
    end = grid_end(events[-1].at) if events else 0
    since, state = max(0, end - series.WINDOW), State()
    before = [each for each in events if since and each.at <= since]
    tally = Tally(state)
    for event in before:
        tally.fold(event.changes or {})
    samples = Samples(tally, since)
    for event in events[len(before) :]:
        samples.fold(event.at, event.changes or {})
    return {"seq": seq, "since": since, "samples": samples.taken}


def test_kept_series_equal_counting_every_event(churned: Run) -> None:
    for _ in range(2):
        for seq in range(churned.head_seq + 1):
            assert run_counters(churned, seq=seq) == counted(churned, seq)
    kept = Keyframe.objects.filter(run=churned).exclude(samples=None)
    assert kept.count() == Keyframe.objects.filter(run=churned, seq__gt=1).count() > 3


@pytest.mark.parametrize("window", [series.GRID, 10 * series.GRID, series.WINDOW])
def test_a_window_may_begin_anywhere_between_keyframes(
    churned: Run, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(series, "WINDOW", window)
    monkeypatch.setattr("kscope.runs.stream.counters.WINDOW", window)
    for seq in range(1, churned.head_seq + 1):
        assert run_counters(churned, seq=seq) == counted(churned, seq), seq


def test_what_was_counted_is_not_read_again(churned: Run) -> None:
    last = Keyframe.objects.filter(run=churned).order_by("seq").last()
    assert last is not None
    before = run_counters(churned, seq=last.seq)
    events_change(churned.pk, range(1, last.seq + 1), changes=None)
    assert run_counters(churned, seq=last.seq) == before
