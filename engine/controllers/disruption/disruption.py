"""The disruption controller: how many pods of a budget may be evicted now.

Upstream: pkg/controller/disruption/disruption.go.
"""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.disruption.budget_count import (
    BudgetCount,
    BudgetCounter,
    CountFailed,
    healthy_count,
    selector_of_budget,
)
from engine.controllers.shared.controller import Controller, ControllerContext, generation_of
from engine.controllers.shared.manifests import part
from engine.controllers.shared.pods import time_of
from engine.controllers.shared.ticker import Ticker
from engine.kernel.units import MINUTE
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import disruption_allowed, with_condition
from engine.storage.ports import NORMAL, WARNING, EventSink

# After this time an eviction that has not led to a deletion does not count any more.
DELETION_TIMEOUT: Final = 2 * MINUTE


class DisruptionController(Controller):
    """Keeps the status of PodDisruptionBudgets up to date."""

    AUTHOR: ClassVar[str] = "disruption-controller"
    KIND: ClassVar[str] = "PodDisruptionBudget"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_resync")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._listers.of("PodDisruptionBudget").on_event(self._on_budget)
        only_with = self._listers.of("PodDisruptionBudget")
        self._listers.pods.on_event(self._on_pod, only_with=only_with)
        self._counter = BudgetCounter(self._find, context.rules)
        # The budgets for which a sync emits an Event even if nothing has changed.
        self._noisy: dict[str, None] = {}
        self._resync: Ticker | None = None
        if context.rules.budget_resync:
            self._resync = Ticker(context.loop, context.rules.budget_resync, self._sync_noisy)

    def start_periods_from(self, origin: int) -> None:
        """Let the resync count from *origin*, when the controller started."""
        if self._resync is not None:
            self._resync.start_from(origin)

    def _sync_noisy(self) -> None:
        """The informer's resync; a sync of any other budget would do nothing.

        Upstream, until 1.20: AddEventHandlerWithResyncPeriod(…, 30*time.Second).
        """
        self._loop.cause = 0
        for key in self._noisy:
            self._queue.add(key)

    def _on_budget(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            self._queue.add(event.new.key)

    def _on_pod(self, event: WatchEvent) -> None:
        labels = [pod.labels for pod in (event.new, event.old) if pod is not None]
        budgets = self._listers.of(self.KIND).selecting(event.new.namespace, *labels)
        self._loop.tried_each(self._queue_if_covering, budgets, event)

    def _queue_if_covering(self, budget: ApiObject, event: WatchEvent) -> None:
        selector = selector_of_budget(budget)
        old = event.old
        if selector.matches(event.new.labels) or (old and selector.matches(old.labels)):
            self._queue.add(budget.key)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: trySync()."""
        budget = self._listers.of("PodDisruptionBudget").get(key)
        if budget is None:
            self._noisy.pop(key, None)
            return
        selector = selector_of_budget(budget)
        pods = self._listers.pods_matching(budget.namespace, selector)
        if not pods:
            self._events.event(budget, NORMAL, "NoPods", "No matching pods found")
        self._note(key, noisy=not pods)
        try:
            expected, desired = self._counter.expected(budget, pods)
        except CountFailed as failure:
            message = f"Failed to calculate the number of expected pods: {failure}"
            self._events.event(budget, WARNING, "CalculateExpectedPodCountFailed", message)
            self._note(key, noisy=True)
            if budget.status.get("disruptionsAllowed"):
                self._write_status(budget, {**budget.status, "disruptionsAllowed": 0})
            return
        disrupted = self._disrupted(budget, pods)
        healthy = healthy_count(pods, disrupted)
        count = BudgetCount(expected=expected, desired=desired, healthy=healthy)
        status: Manifest = {
            **budget.status,
            "observedGeneration": generation_of(budget),
            **count.to_status(),
            "disruptedPods": disrupted,
        }
        if self._rules.disruption_conditions:
            condition = disruption_allowed(budget, bool(count.allowed), self._loop.clock)
            status["conditions"] = with_condition(budget, condition)
        for name in ("disruptedPods", "observedGeneration"):
            if not status[name]:
                del status[name]
        if status != budget.status:
            self._write_status(budget, status)

    def _find(self, kind: str, key: str) -> ApiObject | None:
        return self._listers.of(kind).get(key)

    def _note(self, key: str, *, noisy: bool) -> None:
        if not noisy:
            self._noisy.pop(key, None)
        elif self._resync is not None:
            self._noisy[key] = None
            self._resync.arm()

    def _disrupted(self, budget: ApiObject, pods: list[Pod]) -> Manifest:
        """Evictions that the API server let through and whose deletion was not seen yet."""
        before: Manifest = part(budget.status, "disruptedPods")
        kept: Manifest = {}
        for pod in pods:
            since = before.get(pod.name)
            if since is None or pod.deletion_timestamp:
                continue
            left = time_of(since) + DELETION_TIMEOUT - self._loop.clock
            if left > 0:
                kept[pod.name] = since
                self._queue.add_after(budget.key, left)
        return kept
