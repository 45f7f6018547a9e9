"""How many pods of a budget there are, should be and have to be healthy.

Upstream: pkg/controller/disruption/disruption.go, getExpectedPodCount(), countHealthyPods().
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from engine.controllers.shared.controller import replicas_of
from engine.controllers.shared.owners import controller_of, refers_to
from engine.controllers.shared.pods import count_of
from engine.controllers.shared.rules import WorkloadRules
from engine.controllers.shared.selection import selector_of
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready, ready_condition
from engine.objects.selectors import LabelSelector

KIND: Final = "PodDisruptionBudget"
_SCALED: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")

# The object of a kind and key, or None.
Find = Callable[[str, str], ApiObject | None]


class CountFailed(Exception):
    """The number of pods that there should be is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetCount:
    """The pods of a budget: `expected` by their controllers, `desired` healthy, `healthy` now."""

    expected: int
    desired: int
    healthy: int

    @property
    def allowed(self) -> int:
        """How many of them may be evicted now."""
        return max(0, self.healthy - self.desired) if self.expected > 0 else 0

    def to_status(self) -> Manifest:
        """The fields of the budget's status."""
        return {
            "disruptionsAllowed": self.allowed,
            "currentHealthy": self.healthy,
            "desiredHealthy": self.desired,
            "expectedPods": self.expected,
        }


def healthy_count(pods: Iterable[Pod], disrupted: Container[str] = ()) -> int:
    """How many of *pods* are healthy; those named in *disrupted* are about to be evicted."""
    return sum(
        is_ready(pod) and not pod.deletion_timestamp and pod.name not in disrupted for pod in pods
    )


class BudgetCounter:
    """Counts the pods of budgets; *find* looks up their controllers."""

    def __init__(self, find: Find, rules: WorkloadRules) -> None:
        self._find = find
        self._rules = rules

    def expected(self, budget: ApiObject, pods: Sequence[Pod]) -> tuple[int, int]:
        """How many pods there should be, and how many have to be healthy. Raises CountFailed."""
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

    def _scale_of(self, pods: Sequence[Pod]) -> int:
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
        found = self._referred(ref, pod.namespace)
        if found is None:
            raise CountFailed(f'found no controllers for pod "{pod.name}"')
        above = controller_of(found)
        if found.kind == "ReplicaSet" and above is not None:
            return self._referred(above, pod.namespace) or found
        return found

    def _referred(self, ref: Manifest, namespace: str) -> ApiObject | None:
        if ref.get("kind") not in _SCALED:
            return None
        found = self._find(ref["kind"], f"{namespace}/{ref.get('name')}")
        return found if found is not None and refers_to(ref, found) else None


def selector_of_budget(budget: ApiObject) -> LabelSelector:
    """policy/v1beta1's empty selector selects nothing, policy/v1's everything."""
    selector = selector_of(budget)
    if selector.empty and budget.raw.get("apiVersion") == "policy/v1beta1":
        return LabelSelector(nothing=True)
    return selector


def with_counted_budgets(objects: Iterable[ApiObject], rules: WorkloadRules) -> list[ApiObject]:
    """*objects*, in which each budget without a status has the one that its pods give it.

    In a real cluster the disruption controller has counted them long before.
    """
    everything = list(objects)
    if not any(obj.kind == KIND and not obj.status for obj in everything):
        return everything
    by_key = {(obj.kind, obj.key): obj for obj in everything}
    counter = BudgetCounter(lambda kind, key: by_key.get((kind, key)), rules)
    pods = [obj for obj in everything if isinstance(obj, Pod)]
    return [
        _counted(obj, pods, counter) if obj.kind == KIND and not obj.status else obj
        for obj in everything
    ]


def _placed_count(pods: Iterable[Pod]) -> int:
    """How many are healthy, where files may leave out what a pod with a node says of itself."""
    return sum(
        not pod.deletion_timestamp
        and (bool(pod.node_name) if ready_condition(pod) is None else is_ready(pod))
        for pod in pods
    )


def _counted(budget: ApiObject, pods: Sequence[Pod], counter: BudgetCounter) -> ApiObject:
    selector = selector_of_budget(budget)
    covered = [
        pod for pod in pods if pod.namespace == budget.namespace and selector.matches(pod.labels)
    ]
    try:
        expected, desired = counter.expected(budget, covered)
    except CountFailed:
        return budget
    count = BudgetCount(expected=expected, desired=desired, healthy=_placed_count(covered))
    return budget.patched({"status": count.to_status()})
