"""Forks: what a run takes over from its parent, and the replay up to the instant it begins at.

With the profile and the seed of its parent a fork has the parent's history up to that instant, and
reads it there: nothing is copied (ADR 0048). Its engine is that of the parent's newest checkpoint
before; from there the runner goes on as it always does, in committed slices, and carries out the
parent's commands where the parent did. The events that come again are compared with those on
record, and not written. Otherwise the fork begins at the beginning, and the commands come at
the same virtual times. In both cases a worker that is killed costs one slice.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from django.db import connection

from engine.cluster.cluster import Cluster, Slice
from engine.cluster.source import fingerprint
from engine.kernel.loop import NEVER
from engine.kernel.recorder import EventRow
from kscope.runs.drive.beginning.imported import ImportCheck, import_check, settle_left
from kscope.runs.drive.replay import Diverged, RecordedOtherwise, first_parting
from kscope.runs.models import Checkpoint, Command, Run
from kscope.runs.record.parts import in_history, parts_borrow

CHUNK = 200  # callbacks between two looks at the wall clock


@dataclass(frozen=True, slots=True)
class Goal:
    """The instant at which a fork begins; with its parent's history also the event or step."""

    at: int
    seq: int | None = None
    steps: int | None = None


class GoalReplay:
    """The replay of an engine up to a goal, with the recorded *commands* that are still to be done.

    With the history of the parent they are carried out at the recorded step, otherwise after
    everything that is due up to their time. Commands of one request are carried out together again.
    """

    def __init__(
        self, goal: Goal, commands: Iterable[Command], check: ImportCheck | None = None
    ) -> None:
        self._goal, self._check = goal, check
        self._stops = [
            list(stop) for _, stop in groupby(commands, lambda one: (one.position, one.at))
        ]

    @property
    def is_along_parent(self) -> bool:
        """Whether it repeats the history of the parent, which stayed within its budget.

        What came as a file may be from anybody.
        """
        return self._goal.seq is not None and self._check is None

    @property
    def has_parted(self) -> bool:
        """Whether a run that came as a file comes out otherwise than the file says."""
        return self._check is not None and self._check.parting is not None

    def hear(self, rows: Sequence[EventRow], *, at_goal: bool) -> bool:
        """Hold what was recorded against the file of the run; whether the replay is over with it."""
        if self._check is None:
            return at_goal
        is_over = self._check.take(rows) or at_goal
        if is_over:
            self._check.note()
        return is_over

    def settle(self) -> None:
        """Its last slice is written."""
        if self._check is not None:
            self._check.settle()

    def is_over(self, engine: Cluster) -> bool:
        """Whether the engine stands at the goal, or parts from the file that it is to repeat."""
        if self.has_parted:
            return True
        if self._stops:
            return False
        goal = self._goal
        if goal.seq is None or goal.steps is not None:
            return self._stands_at(engine, goal.steps, goal.at)
        return engine.seq >= goal.seq

    def take_commands(self, engine: Cluster) -> list[Command]:
        """Take the commands that are due where the engine stands."""
        if not self._stops:
            return []
        first = self._stops[0][0]
        return self._stops.pop(0) if self._stands_at(engine, first.position, first.at or 0) else []

    def advance(self, engine: Cluster) -> None:
        """Run a few callbacks towards the next command, or the goal. Raises Diverged."""
        try:
            self._advance(engine)
        except Diverged:
            if self._check is None:
                raise
            self._check.part(engine.seq)

    def _advance(self, engine: Cluster) -> None:
        goal = self._goal
        if self._stops:
            stop = self._stops[0][0]
            self._go_towards(engine, stop.position, stop.at or 0)
        elif goal.seq is None or goal.steps is not None:
            self._go_towards(engine, goal.steps, goal.at)
        else:
            self._go_to_event(engine, goal.seq)

    def _stands_at(self, engine: Cluster, steps: int | None, at: int) -> bool:
        if self._goal.seq is not None:
            return (engine.steps, engine.now) == (steps, at)
        return engine.now >= at and (engine.next_at is None or engine.next_at > at)

    def _go_towards(self, engine: Cluster, steps: int | None, at: int) -> None:
        if self._goal.seq is None or steps is None:
            engine.advance(at, max_steps=CHUNK)
            return
        before = engine.steps, engine.now
        if before == (steps, at):
            return
        if engine.steps < steps:
            engine.advance(at, max_steps=min(CHUNK, steps - engine.steps))
        elif engine.steps == steps:
            engine.advance(at)
        here = engine.steps, engine.now
        if here == before or engine.steps > steps:
            raise Diverged(f"the engine stands at (step, time) {here}, recorded was {(steps, at)}")

    def _go_to_event(self, engine: Cluster, seq: int) -> None:
        # What is on record has happened, whoever held the run open for it.
        engine.open_until = NEVER
        for _ in range(CHUNK):
            if engine.seq >= seq:
                return
            if engine.next_at is None:
                raise Diverged(f"the run ends at event {engine.seq}, before {seq}")
            engine.advance(engine.next_at, max_steps=1)


def replay_to_goal(run: Run) -> GoalReplay | None:
    """The replay that *run* still needs before it begins as a fork, or is as its file says; None if it needs none."""
    if run.goal_at is None:
        settle_left(run.pk)
        return None
    recorded = Command.objects.filter(run=run, status=Command.Status.PENDING, at__isnull=False)
    goal = Goal(run.goal_at, run.goal_seq, run.goal_steps)
    return GoalReplay(goal, recorded.order_by("id"), import_check(run))


@dataclass(frozen=True, slots=True)
class Begun:
    """Where a fork begins: at a checkpoint, up to which it is as its parent; and what it reads.

    Without a checkpoint it begins at the beginning.
    """

    engine_digest: str
    borrowed: int
    checkpoint: Checkpoint | None

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the fork."""
        found: dict[str, Any] = {"borrowed_seq": self.borrowed}
        if (at := self.checkpoint) is not None:
            head = {"seq": at.seq, "at": at.at, "steps": at.steps, "commands": at.commands}
            found |= {f"head_{name}": value for name, value in head.items()}
            found |= {"head_digest": at.digest, "engine_digest": self.engine_digest}
        return found


def fork_begun(parent: Run, seq: int) -> Begun:
    """Where a fork of *parent* at event *seq* begins, if it is to have the parent's history.

    What another engine recorded is read up to the checkpoint alone: beyond that this one may decide
    otherwise.
    """
    found = Checkpoint.objects.filter(in_history(parent.pk)).filter(seq__lte=seq)
    checkpoint = found.defer("engine", "view").order_by("-seq").first()
    begins = -1 if checkpoint is None else checkpoint.seq
    borrowed = seq if parent.engine_digest == fingerprint() else begins
    return Begun(parent.engine_digest, borrowed, checkpoint)


def history_borrow(parent: Run, fork: Run, begun: Begun) -> None:
    """Let *fork* read the history of *parent*, and have the commands up to where it begins."""
    parts_borrow(fork, parent, begun.borrowed)
    if begun.checkpoint is not None and begun.checkpoint.commands:
        commands_copy(parent, fork, through=begun.checkpoint.commands)


def commands_copy(parent: Run, fork: Run, *, through: int) -> None:
    """Give *fork* the first *through* commands of *parent*, as carried out."""
    carried_out = Command.objects.filter(run=parent, ordinal__lte=through).order_by("ordinal")
    Command.objects.bulk_create(
        _copied(
            command,
            fork,
            written_seq=command.written_seq,
            created_seq=command.created_seq,
            manifest=command.manifest,
        )
        for command in carried_out.defer(None)
    )


def commands_plan(parent: Run, fork: Run, *, seq: int, at: int) -> None:
    """Have *fork* carry out those commands of *parent* that had an outcome by *seq* and *at*.

    Commands that the fork has as carried out already are left out.
    """
    commands = Command.objects.filter(
        run=parent,
        ordinal__gt=fork.head_commands,
        ordinal__lte=parent.head_commands,
        outcome_seq__lte=seq,
        at__lte=at,
    )
    Command.objects.bulk_create(
        _copied(
            command, fork, status=Command.Status.PENDING, reason="", ordinal=None, outcome_seq=None
        )
        for command in commands.order_by("ordinal")
    )


def _copied(command: Command, fork: Run, **changed: Any) -> Command:
    names = (
        "body",
        "verb",
        "object",
        "status",
        "reason",
        "ordinal",
        "position",
        "at",
        "outcome_seq",
    )
    same = {name: getattr(command, name) for name in names}
    return Command(run=fork, **{**same, **changed})


def own_slice(fork_id: int, piece: Slice, borrowed: int) -> Slice:
    """*piece* without what the fork reads of its ancestors, which is compared with what came again.

    Raises RecordedOtherwise where the two part.
    """
    again = [row for row in piece.rows if row.seq <= borrowed]
    if not again:
        return piece
    parted = first_parting(fork_id, again)
    if parted is not None:
        raise RecordedOtherwise(Run.objects.get(pk=fork_id), parted)
    return replace(
        piece,
        rows=piece.rows[len(again) :],
        removals=[each for each in piece.removals if each.seq > borrowed],
        attempts=[each for each in piece.attempts if each.seq > borrowed],
    )


def follows_another_engine(fork: Run) -> bool:
    """Whether *fork* is to have the history of its parent, which another engine recorded."""
    parents = Run.objects.filter(pk=fork.parent_id).exclude(engine_digest=fingerprint())
    return fork.goal_at is not None and fork.goal_seq is not None and parents.exists()


def replay_advance(replay: GoalReplay, engine: Cluster, of_another_engine: int | None) -> None:
    """Run a few callbacks of a replay. Raises Diverged.

    Raises RecordedOtherwise for a fork, *of_another_engine*, of what another engine recorded.
    """
    try:
        replay.advance(engine)
    except Diverged as problem:
        if of_another_engine is None:
            raise
        fork = Run.objects.get(pk=of_another_engine)
        raise RecordedOtherwise(fork, engine.seq + 1) from problem


def parent_check(fork_id: int) -> None:
    """Raises RecordedOtherwise if what is on record of a fork differs from its parent's history."""
    fork = Run.objects.get(pk=fork_id)
    parted = parting_seq(fork)
    if parted is not None:
        raise RecordedOtherwise(fork, parted)


def parting_seq(fork: Run) -> int | None:
    """The first event of *fork* that is not its parent's, of those up to where it was made."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTING, [fork.pk, fork.goal_seq, fork.parent_id, fork.goal_seq])
        return cursor.fetchone()[0]


_COLUMNS = ("at", "kind", "object", "component", "cause", "message", "data", "changes")
_PARTING = (
    "SELECT min(mine.seq) FROM events_between(%s, 0, %s) AS mine"
    " JOIN events_between(%s, 0, %s) AS theirs ON theirs.seq = mine.seq"
    f" WHERE ({', '.join(f'mine.{name}' for name in _COLUMNS)}) IS DISTINCT FROM"
    f" ({', '.join(f'theirs.{name}' for name in _COLUMNS)})"
)
