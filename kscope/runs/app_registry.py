"""What the Django apps to the left of runs put in when Django is ready: tables, and a task.

Runs import their engine. They do not know the tables of `scheduling` and `volumes`, nor Celery.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg import Connection
from psycopg.rows import TupleRow

from engine.cluster.cluster import Cluster
from engine.scheduler.cycle.attempt import SchedulingAttempt
from kscope.runs.models import OtherObject, ProjectedObject
from kscope.runs.nudges import Ask

# Writes the attempts of a slice of a run, as part of its transaction.
SliceWriter = Callable[[Connection[TupleRow], int, Sequence[SchedulingAttempt]], None]
# Everything that was kept of the attempts of a run, up to an event.
AttemptsReader = Callable[[int, int], Iterable[dict[str, Any]]]
# Every attempt of a run up to an event, with its evidence where that was kept and is wanted.
ListReader = Callable[[int, int, bool], Iterable[dict[str, Any]]]
# The JSON of the newest attempt of a pod up to an event, if it was kept: see docs/evidence.md.
EvidenceReader = Callable[[int, str, int], dict[str, Any] | None]
# The first look at the files of a run and its triage, as REST has them; None for files with steps.
# Changes are tried in clusters of at most so many nodes.
LooksReader = Callable[[int, int], tuple[dict[str, Any], dict[str, Any]] | None]


def _nothing(*_: object) -> None:
    pass


def _none(*_: object) -> tuple[dict[str, Any], ...]:
    return ()


@dataclass(slots=True)
class AppRegistry:
    """What runs get from apps; before Django is ready nothing is written, read or driven."""

    # Has a worker drive the run.
    enqueue: Callable[[int], None] = _nothing
    # In a fork of a process that drives runs: answers a question about the head of one.
    answer_ask: Callable[[Ask, Cluster], None] = _nothing
    # The questions that are asked so, each as `Question.name` has it.
    asked_of_heads: set[str] = field(default_factory=set[str])
    # Called by a child process of a worker, with its role, so that its counts are not lost.
    process_began: Callable[[str], None] = _nothing
    attempt_kept: EvidenceReader = _nothing
    attempts_kept: AttemptsReader = _none
    attempts_recorded: ListReader = _none
    looks: LooksReader = _nothing
    writers: list[SliceWriter] = field(default_factory=list[SliceWriter])
    # Tables of what they write, by run_id and seq, which forks read along the history of a run.
    histories: list[str] = field(default_factory=list[str])
    # By the prefix of entity ids, the table whose rows follow these objects.
    projections: dict[str, type[ProjectedObject]] = field(
        default_factory=dict[str, type[ProjectedObject]]
    )

    def project(self, *models: type[ProjectedObject]) -> None:
        """Rows of *models* follow the objects of their prefixes."""
        self.projections.update((model.PREFIX, model) for model in models)

    @property
    def tables(self) -> list[type[ProjectedObject]]:
        """All tables that have objects of runs."""
        return [*self.projections.values(), OtherObject]

    def place_of(self, entity: str) -> tuple[type[ProjectedObject], str]:
        """The table that has the object, and its key there.

        Objects without a table of their kind share one, in which the key begins with the kind.
        """
        prefix, _, key = entity.partition("/")
        model = self.projections.get(prefix)
        return (OtherObject, entity) if model is None else (model, key)


registry = AppRegistry()
