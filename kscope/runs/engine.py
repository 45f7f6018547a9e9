"""The interface between the runner and an engine, and how `scheduling` registers its engine.

`kscope.runs` drives a run without knowing what is simulated: `scheduling.apps` registers the
engine, the task that starts the runner and the tables that a slice is written to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection, Cursor

from engine.scheduler.cycle.attempt import SchedulingAttempt

# Writes the attempts of a slice of a run, as part of its transaction.
SliceWriter = Callable[[Connection[Any], int, Sequence[SchedulingAttempt]], None]
# Copies what was written so from one run to another, up to an event.
HistoryCopier = Callable[[Cursor[Any], int, int, int], None]


@dataclass(slots=True)
class Wiring:
    """The parts that the rooms to the left put in when Django is ready.

    Runs and models are Any here: this module stands below the models.
    """

    enqueue: Callable[[int], None] | None = None
    # Called by a child process of web or worker, with its role, so that its counts are not lost.
    process_began: Callable[[str], None] = field(default=lambda role: None)
    # The evidence of the newest attempt of a pod up to an event, if it was kept: see docs/evidence.md.
    attempt_kept: Callable[[int, str, int], dict[str, Any] | None] | None = None
    writers: list[SliceWriter] = field(default_factory=list)
    copiers: list[HistoryCopier] = field(default_factory=list)
    projections: dict[str, type[Any]] = field(default_factory=dict)

    def project(self, prefix: str, model: type[Any]) -> None:
        """Rows of *model* follow the objects whose entity id begins with *prefix*."""
        self.projections[prefix] = model


wiring = Wiring()
