"""The counts of the window that ends with an event, as REST gives them."""

from typing import Any

from kscope.runs.history.changes import time_of
from kscope.runs.history.series import WINDOW, grid_end, samples_between
from kscope.runs.models import Run
from kscope.runs.selectors import check_seq, run_seq_at

# A window with more events than that counts only the state at its end.
MOST_EVENTS = 200_000


def run_counters(run: Run, *, seq: int) -> dict[str, Any]:
    """The samples of the window that ends with event *seq*: {seq, since, samples}.

    Nothing before `since` is counted. Raises ApplicationError when there is no such event.
    """
    check_seq(run, seq)
    end = grid_end(time_of(run.pk, seq))
    since = max(0, end - WINDOW)
    first = run_seq_at(run, at=since) if since else 0
    if seq - first > MOST_EVENTS:
        first, since = seq, end
    return {"seq": seq, "since": since, "samples": samples_between(run.pk, first, seq, since)}
