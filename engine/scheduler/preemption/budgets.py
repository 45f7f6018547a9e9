"""Disruption budgets as preemption sees them: pods that they cover, evictions that break one.

Upstream: plugins/defaultpreemption/default_preemption.go filterPodsWithPDBViolation() (1.34);
core/generic_scheduler.go (1.16).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from engine.framework.nodes.listers import Listers
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import ApiObject
from engine.objects.selectors import LabelSelector

KIND = "PodDisruptionBudget"


class Budgets:
    """The budgets of one scheduler's informers.

    With *count_down* the pods of one node use a budget up together, not each alone. `version`
    changes with whom the budgets cover, not with how much they allow.
    """

    def __init__(self, listers: Listers, *, count_down: bool = True) -> None:
        self._listers = listers
        self._count_down = count_down
        self._generation = 0
        self._budgets: list[ApiObject] = []
        self._covering: dict[bytes, tuple[int, ...]] = {}
        self.version = 0

    def __len__(self) -> int:
        return len(self._budgets)

    def refresh(self) -> None:
        """Take over what changed since the last call."""
        generation = self._listers.generation.get(KIND, 0)
        if generation == self._generation:
            return
        self._generation = generation
        before, self._budgets = self._budgets, list(self._listers.all(KIND))
        if list(map(_coverage, before)) != list(map(_coverage, self._budgets)):
            self._covering.clear()
            self.version += 1

    def covering(self, pod: PodInfo) -> tuple[int, ...]:
        """The budgets that cover *pod*, by their place."""
        labels: Mapping[str, str] = pod.pod.labels
        if not self._budgets or not labels:
            return ()
        key = orjson.dumps((pod.pod.namespace, dict(labels)))
        found = self._covering.get(key)
        if found is None:
            found = self._covering[key] = tuple(
                place for place, budget in enumerate(self._budgets) if _covers(budget, pod)
            )
        return found

    def split(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Pods whose eviction, the first of *pods* first, breaks a budget, and the others."""
        left = [int(each.status.get("disruptionsAllowed") or 0) for each in self._budgets]
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        for pod in pods:
            violated = False
            for place in self.covering(pod):
                if not self._count_down:
                    violated |= left[place] <= 0
                    continue
                if pod.pod.name in (self._budgets[place].status.get("disruptedPods") or ()):
                    continue
                left[place] -= 1
                violated |= left[place] < 0
            (violating if violated else others).append(pod)
        return violating, others


def _coverage(budget: ApiObject) -> tuple[str, Any]:
    return budget.key, budget.spec.get("selector")


def _covers(budget: ApiObject, pod: PodInfo) -> bool:
    if budget.namespace != pod.pod.namespace:
        return False
    selector: dict[str, Any] | None = budget.spec.get("selector")
    # A budget with an absent or empty selector covers nothing.
    if not selector or not (selector.get("matchLabels") or selector.get("matchExpressions")):
        return False
    return LabelSelector.parse(selector).matches(pod.pod.labels)
