"""Conditions in the status of an object."""

from kscope.sim.kernel.units import timestamp
from kscope.sim.objects.objects import ApiObject, Manifest


def with_condition(obj: ApiObject, condition: Manifest) -> list[Manifest]:
    """The conditions of *obj* with *condition* in the place of the one of its type."""
    conditions: list[Manifest] = obj.status.get("conditions") or []
    if not conditions:
        return [condition]
    return [*(each for each in conditions if each.get("type") != condition["type"]), condition]


def disruption_target(reason: str, message: str, now: int) -> Manifest:
    """The condition of a pod that is about to be deleted for others' sake (since 1.26)."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": timestamp(now),
    }
