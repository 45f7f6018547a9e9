"""Where a run has to stop because its budget is used up."""

from engine.api_server.store.object_limit import UNLIMITED
from engine.api_server.store.store import ObjectStore
from engine.input.budget import Budget
from engine.input.budget import Stop as BudgetStop
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.sentences import grouped, say


class BudgetLimit:
    """Limits the events, objects and virtual time of a run; without a budget, does nothing."""

    def __init__(self, loop: EventLoop, recorder: Recorder, store: ObjectStore) -> None:
        self._loop = loop
        self._recorder = recorder
        self._store = store
        self._budget: Budget | None = None

    def set(self, budget: Budget | None) -> None:
        """Take *budget* instead of the one before; None removes every limit."""
        self._budget = budget
        self._recorder.most = UNLIMITED if budget is None else budget.events
        self._store.limit.most = UNLIMITED if budget is None else budget.objects
        # Before the next callback runs, `Cluster.advance` checks whether it is used up already.
        self._loop.halted = True

    @property
    def time(self) -> int | None:
        """The virtual time at which the run has to stop; None without a budget."""
        return None if self._budget is None else self._budget.time

    def stop(self, due: int | None) -> BudgetStop | None:
        """The used-up part of the budget, if it stops the callback that is due at time *due*.

        None when it may run, or when *due* is None: the run is over.
        """
        budget, store = self._budget, self._store
        if budget is None or due is None:
            return None
        if self._recorder.seq >= budget.events:
            return BudgetStop.at("events", budget.events)
        excess = store.limit.excess
        if excess is not None:
            return BudgetStop(
                "objects",
                say(
                    "Stopped because {kind} {name} asks for {missing} more objects: there are {count}, "
                    "and the budget of this run is {budget}.",
                    kind=excess.kind,
                    name=excess.key,
                    missing=grouped(excess.missing),
                    count=grouped(store.limit.count),
                    budget=grouped(budget.objects),
                ),
            )
        if store.limit.count > budget.objects:
            author, made = store.limit.busiest
            return BudgetStop.at(
                "objects",
                budget.objects,
                say("{author} has made {count} of them.", author=author, count=grouped(made)),
            )
        if due > budget.time:
            return BudgetStop.at("time", budget.time)
        return None
