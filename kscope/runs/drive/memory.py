"""What a run has used of its budget; memory is that of this process without its other runs."""

from engine.cluster.cluster import Cluster
from engine.input.budget import Budget, Stop
from engine.kernel.sentences import say
from kscope.runs.drive.engines import engines_forget
from kscope.runs.drive.garbage import Memory


class BudgetGuard:
    """Holds one engine to the budget of its run."""

    def __init__(self, engine: Cluster, memory: Memory) -> None:
        self._engine = engine
        self.memory = memory
        # A kept engine may still be limited to an older budget.
        engine.limit(None)
        self._held_to: Budget | None = None

    def hold(self, budget: Budget | None) -> None:
        """Let the engine stop where *budget* is used up; with None nowhere."""
        if budget != self._held_to:
            self._engine.limit(budget)
            self._held_to = budget

    def stop(self, budget: Budget, *, goes_on: bool = False) -> Stop | None:
        """The part of *budget* that is used up, if something is due or time *goes_on* without it."""
        if self._engine.next_at is None and not goes_on:
            return None
        if self.memory.is_over(budget.memory) and self._freed() > budget.memory:
            return Stop.at(
                "memory", budget.memory, say("It takes {memory}.", memory=self.memory.text)
            )
        if self._engine.now >= budget.time and self._engine.next_at is None:
            return Stop.at("time", budget.time)  # time alone has used it up
        stop = self._engine.budget_stop
        if stop is not None and stop.part == "time":
            # At every speed it stops at the very moment.
            self._engine.advance(budget.time)
        return stop

    def _freed(self) -> int:
        """Forget the engines of other runs; returns how much memory is still taken."""
        engines_forget()
        return self.memory.measure_again()
