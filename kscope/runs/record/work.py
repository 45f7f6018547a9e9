"""What components of runs have done, as the events of their slices say.

The worker says it to whoever inspects it or listens to Celery's events.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

Work = Mapping[str, int]
"""What was done → how often."""

# Each attempt of a scheduler is one cycle, and each nomination one preemption.
_OF_KINDS: Final = {"AttemptStarted": "scheduling_cycles", "PodNominated": "preemptions"}
# What others write, by the first part of who wrote it: "kubelet/node-1". Names of drivers, schedulers
# and users would make labels without end.
_OF_COMPONENTS: Final = {
    "pv-controller": "pv_controller_writes",
    "attach-detach": "attach_detach_writes",
    "kubelet": "kubelet_writes",
}
_KIND, _COMPONENT = 2, 4


def work_of(rows: Iterable[Sequence[Any]]) -> Counter[str]:
    """What the events in *rows* of the record say that was done."""
    found: Counter[str] = Counter()
    for row in rows:
        done = _OF_KINDS.get(row[_KIND]) or _OF_COMPONENTS.get(row[_COMPONENT].partition("/")[0])
        if done:
            found[done] += 1
    return found


class Tally:
    """What was done for each run since somebody last took the tally; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done: dict[int, Counter[str]] = {}

    def note(self, run_id: int, done: Work) -> None:
        """A slice of the run is written in which this was done."""
        with self._lock:
            self._done.setdefault(run_id, Counter()).update(done)

    def take(self) -> dict[int, Work]:
        """By run, of those for which anything was done; the tally begins anew."""
        with self._lock:
            taken, self._done = self._done, {}
        return {run_id: done for run_id, done in taken.items() if done}


tally = Tally()
"""Of this process."""
