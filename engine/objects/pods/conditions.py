"""Conditions in the status of an object."""

from typing import Final

from engine.kernel.units import timestamp
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Manifest, Pod

_OF_KUBELETS: Final = ("Initialized", "Ready", "ContainersReady", "PodScheduled")


def with_condition(obj: ApiObject, condition: Manifest) -> list[Manifest]:
    """The conditions of *obj* with *condition* in the place of the one of its type."""
    conditions: list[Manifest] = obj.status.get("conditions") or []
    if not conditions:
        return [condition]
    return [*(each for each in conditions if each.get("type") != condition["type"]), condition]


def conditions_of_others(pod: Pod) -> list[Manifest]:
    """The conditions that no kubelet makes, which it keeps. Upstream: mergePodStatus()."""
    found = items(pod.status, "conditions")
    return [each for each in found if each.get("type") not in _OF_KUBELETS]


def condition_of(obj: ApiObject, kind: str) -> Manifest | None:
    """The condition of type *kind*, or None."""
    for each in obj.status.get("conditions") or ():
        if each.get("type") == kind:
            return each
    return None


def ready_condition(pod: Pod) -> Manifest | None:
    """Condition Ready, or None."""
    return condition_of(pod, "Ready")


def is_ready(pod: Pod) -> bool:
    """Condition Ready; a pod written by hand that runs and reports no such condition is ready."""
    condition = ready_condition(pod)
    if condition is None:
        return pod.phase == "Running"
    return condition.get("status") == "True"


def disruption_target(reason: str, message: str, clock: int) -> Manifest:
    """The condition of a pod that a disruption is about to delete when clocks show *clock*, in ns.

    Since 1.26.
    """
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": timestamp(clock),
    }


def scheduling_gated() -> Manifest:
    """The condition of a pod that is created with scheduling gates.

    Upstream: pkg/registry/core/pod/strategy.go applySchedulingGatedCondition().
    """
    return {
        "type": "PodScheduled",
        "status": "False",
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def disruption_allowed(budget: ApiObject, allowed: bool, clock: int) -> Manifest:
    """The condition of a disruption budget that does or does not allow evictions (since 1.22).

    Upstream: pkg/apis/policy/helper, UpdateDisruptionAllowedCondition().
    """
    before: list[Manifest] = budget.status.get("conditions") or []
    old = next((each for each in before if each.get("type") == "DisruptionAllowed"), None)
    state = "True" if allowed else "False"
    since = timestamp(clock)
    if old is not None and old.get("status") == state:
        since = old.get("lastTransitionTime", since)
    return {
        "type": "DisruptionAllowed",
        "status": state,
        "observedGeneration": budget.metadata.get("generation") or 0,
        "lastTransitionTime": since,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
