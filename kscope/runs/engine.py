"""The interface between the runner and an engine, and how `scheduling` registers its engine.

`kscope.runs` drives a run without knowing what is simulated: `scheduling.apps` registers the
engine, the task that starts the runner and the tables that a slice is written to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection, Cursor

from engine.cluster.cluster import Cluster
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

    # Called with the number of objects of the first state that exist, and that there will be; may raise.
    create: Callable[[Any, Callable[[int, int], None]], Cluster] | None = None
    # Gives a restored engine of that run what its checkpoint leaves out.
    prepare: Callable[[Cluster, int], None] | None = None
    enqueue: Callable[[int], None] | None = None
    # Called by a child process of web or worker, with its role, so that its counts are not lost.
    process_began: Callable[[str], None] = field(default=lambda role: None)
    # Has the engine's next slice include every object, as if all had just been touched.
    touch_objects: Callable[[Cluster], None] | None = None
    # Puts a log in the place of the engine's record of touched objects: see past.py.
    log_objects: Callable[[Cluster], Any] | None = None
    # The evidence of the newest attempt of a pod up to an event, if it was kept: see docs/evidence.md.
    attempt_kept: Callable[[int, str, int], dict[str, Any] | None] | None = None
    writers: list[SliceWriter] = field(default_factory=list)
    copiers: list[HistoryCopier] = field(default_factory=list)
    projections: dict[str, type[Any]] = field(default_factory=dict)

    def project(self, prefix: str, model: type[Any]) -> None:
        """Rows of *model* follow the objects whose entity id begins with *prefix*."""
        self.projections[prefix] = model


wiring = Wiring()
