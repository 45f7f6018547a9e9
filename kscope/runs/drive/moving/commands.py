"""What users want done in a run, as its driver carries it out."""

import time
from functools import partial

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command as EngineCommand
from engine.objects.objects import Manifest
from kscope.runs.drive import outage, slices
from kscope.runs.drive.moving.clock import is_halted
from kscope.runs.drive.turns import stint
from kscope.runs.drive.turns.stint import Turns


class Commands:
    """The commands of one run."""

    def __init__(self, run_id: int, count: int) -> None:
        self._run_id = run_id
        self.count = count
        """How many the engine has seen."""
        self.may_wait = True
        """Whether there may be some that it has not seen."""

    def carry_out(self, engine: Cluster, *, even_halted: bool) -> Turns[list[slices.Done]]:
        """Carry out as many as fit into a slice; the lease ends without a commit."""
        done: list[slices.Done] = []
        if not self.may_wait or (is_halted(engine) and not even_halted):
            return done
        ask = partial(slices.commands_pending, self._run_id)
        pending = yield from outage.answered(ask, f"run {self._run_id}")
        deadline = time.monotonic() + stint.SLICE_SECONDS
        for key, entity, body in pending:
            done.append(self.apply(engine, key, entity, body))
            if time.monotonic() > deadline:
                break
        self.may_wait = len(done) < len(pending)
        return done

    def apply(self, engine: Cluster, key: int, entity: str, body: Manifest) -> slices.Done:
        """Carry out or refuse one."""
        position, at = engine.steps, engine.now
        outcome = engine.apply(EngineCommand.from_dict(body))
        self.count += 1
        return slices.Done(
            key,
            engine.left(entity) if outcome.applied else None,
            outcome.applied,
            outcome.reason,
            outcome.seq,
            self.count,
            position,
            at,
        )
