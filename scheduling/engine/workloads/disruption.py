"""The disruption controller: how many pods of a budget may be evicted now.

Upstream: pkg/controller/disruption/disruption.go.
"""

from typing import ClassVar, Final

from kscope.sim.objects import ApiObject, Manifest, Pod
from kscope.sim.selectors import LabelSelector
from kscope.sim.store import WatchEvent
from kscope.sim.units import MINUTE, timestamp
from scheduling.engine.workloads.controller import (
    Controller,
    Surroundings,
    generation_of,
    replicas_of,
    selector_of,
)
from scheduling.engine.workloads.manifests import part
from scheduling.engine.workloads.owners import controller_of, refers_to
from scheduling.engine.workloads.pods import count_of, is_ready, time_of
from scheduling.engine.workloads.ticker import Ticker
from volumes.engine.ports import NORMAL, WARNING, EventSink

# An eviction that has not led to a deletion by then is not believed in any more.
DELETION_TIMEOUT: Final = 2 * MINUTE

_SCALED: Final = ("Deployment", "ReplicaSet", "StatefulSet")


class CountFailed(Exception):
    """The number of pods that there should be cannot be told."""


class DisruptionController(Controller):
    """Keeps the status of PodDisruptionBudgets."""

    AUTHOR: ClassVar[str] = "disruption-controller"
    KIND: ClassVar[str] = "PodDisruptionBudget"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_resync")

    def __init__(self, around: Surroundings, events: EventSink) -> None:
        super().__init__(around, events)
        self._listers.of("PodDisruptionBudget").on_event(self._on_budget)
        only_with = self._listers.of("PodDisruptionBudget")
        self._listers.pods.on_event(self._on_pod, only_with=only_with)
        # The budgets about which a sync has something to say even when nothing has changed.
        self._loud: dict[str, None] = {}
        self._resync: Ticker | None = None
        if around.rules.budget_resync:
            self._resync = Ticker(around.loop, around.rules.budget_resync, self._sync_loud)

    def start_periods_from(self, origin: int) -> None:
        """Let the resync count from *origin*, when the controller started."""
        if self._resync is not None:
            self._resync.start_from(origin)

    def _sync_loud(self) -> None:
        """The informer's resync; a sync of any other budget would do nothing.

        Upstream, until 1.20: AddEventHandlerWithResyncPeriod(…, 30*time.Second).
        """
        self._loop.cause = 0
        for key in self._loud:
            self._queue.add(key)

    def _on_budget(self, event: WatchEvent) -> None:
        if event.type != "DELETED":
            self._queue.add(event.new.key)

    def _on_pod(self, event: WatchEvent) -> None:
        for budget in self._listers.in_namespace("PodDisruptionBudget", event.new.namespace):
            selector = _selector(budget)
            old = event.old
            if selector.matches(event.new.labels) or (old and selector.matches(old.labels)):
                self._queue.add(budget.key)

    def sync(self, key: str) -> None:
        """See Controller. Upstream: trySync()."""
        budget = self._listers.of("PodDisruptionBudget").get(key)
        if budget is None:
            self._loud.pop(key, None)
            return
        selector = _selector(budget)
        pods = [p for p in self._listers.pods_in(budget.namespace) if selector.matches(p.labels)]
        if not pods:
            self._events.event(budget, NORMAL, "NoPods", "No matching pods found")
        self._note(key, loud=not pods)
        try:
            expected, desired = self._expected(budget, pods)
        except CountFailed as failure:
            message = f"Failed to calculate the number of expected pods: {failure}"
            self._events.event(budget, WARNING, "CalculateExpectedPodCountFailed", message)
            self._note(key, loud=True)
            if budget.status.get("disruptionsAllowed"):
                self._write_status(budget, {**budget.status, "disruptionsAllowed": 0})
            return
        disrupted = self._disrupted(budget, pods)
        healthy = sum(
            is_ready(pod) and not pod.deletion_timestamp and pod.name not in disrupted
            for pod in pods
        )
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status: Manifest = {
            **budget.status,
            "observedGeneration": generation_of(budget),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptedPods": disrupted,
        }
        if self._rules.disruption_conditions:
            status["conditions"] = self._conditions(budget, allowed)
        for name in ("disruptedPods", "observedGeneration"):
            if not status[name]:
                del status[name]
        if status != budget.status:
            self._write_status(budget, status)

    def _note(self, key: str, *, loud: bool) -> None:
        if not loud:
            self._loud.pop(key, None)
        elif self._resync is not None:
            self._loud[key] = None
            self._resync.arm()

    def _expected(self, budget: ApiObject, pods: list[Pod]) -> tuple[int, int]:
        """How many pods there should be, and how many have to be healthy.

        Upstream: getExpectedPodCount().
        """
        most = budget.spec.get("maxUnavailable")
        if most is not None:
            expected = self._scale_of(pods)
            return expected, max(0, expected - count_of(most, expected, round_up=True))
        least = budget.spec.get("minAvailable")
        if least is None:
            return 0, 0
        if isinstance(least, int):
            return len(pods), least
        expected = self._scale_of(pods)
        return expected, count_of(least, expected, round_up=True)

    def _scale_of(self, pods: list[Pod]) -> int:
        """The replicas that all controllers of these pods together ask for."""
        scales: dict[str, int] = {}
        for pod in pods:
            controller = self._scaled_controller(pod)
            if controller is not None:
                scales[controller.id] = replicas_of(controller)
        return sum(scales.values())

    def _scaled_controller(self, pod: Pod) -> ApiObject | None:
        ref = controller_of(pod)
        if ref is None:
            if self._rules.disruption_conditions:
                return None
            raise CountFailed(f'found no controller ref for pod "{pod.name}"')
        found = self._find(ref, pod.namespace)
        if found is None:
            raise CountFailed(f'found no controllers for pod "{pod.name}"')
        above = controller_of(found)
        if found.kind == "ReplicaSet" and above is not None:
            return self._find(above, pod.namespace) or found
        return found

    def _find(self, ref: Manifest, namespace: str) -> ApiObject | None:
        if ref.get("kind") not in _SCALED:
            return None
        found = self._listers.of(ref["kind"]).get(f"{namespace}/{ref.get('name')}")
        return found if found is not None and refers_to(ref, found) else None

    def _disrupted(self, budget: ApiObject, pods: list[Pod]) -> Manifest:
        """Evictions that the API server let through and whose deletion was not seen yet."""
        before: Manifest = part(budget.status, "disruptedPods")
        kept: Manifest = {}
        for pod in pods:
            since = before.get(pod.name)
            if since is None or pod.deletion_timestamp:
                continue
            left = time_of(since) + DELETION_TIMEOUT - self._loop.now
            if left > 0:
                kept[pod.name] = since
                self._queue.add_after(budget.key, left)
        return kept

    def _conditions(self, budget: ApiObject, allowed: int) -> list[Manifest]:
        before: list[Manifest] = budget.status.get("conditions") or []
        old = next((each for each in before if each.get("type") == "DisruptionAllowed"), None)
        state = "True" if allowed else "False"
        since = timestamp(self._loop.now)
        if old is not None and old.get("status") == state:
            since = old.get("lastTransitionTime", since)
        made: Manifest = {
            "type": "DisruptionAllowed",
            "status": state,
            "observedGeneration": generation_of(budget),
            "lastTransitionTime": since,
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
        }
        others = [each for each in before if each.get("type") != "DisruptionAllowed"]
        return [*others, made]


def _selector(budget: ApiObject) -> LabelSelector:
    """policy/v1beta1's empty selector selects nothing, policy/v1's everything."""
    selector = selector_of(budget)
    if selector.empty and budget.raw.get("apiVersion") == "policy/v1beta1":
        return LabelSelector(nothing=True)
    return selector
