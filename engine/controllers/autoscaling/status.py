"""The status of an autoscaler, as one look at it changes it."""

from typing import Final

from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Manifest

ABLE: Final = "AbleToScale"
ACTIVE: Final = "ScalingActive"
LIMITED: Final = "ScalingLimited"


class AutoscalerStatus:
    """Its numbers and conditions; `changed` says whether it is to be written."""

    __slots__ = ("_clock", "_old", "new")

    def __init__(self, autoscaler: ApiObject, clock: int) -> None:
        self._clock = clock
        self._old: Manifest = {**autoscaler.status}
        conditions = [{**one} for one in self._old.get("conditions") or ()]
        self.new: Manifest = {**self._old, "conditions": conditions}

    @property
    def changed(self) -> bool:
        """Whether it differs from that of the object."""
        return self.new != self._old

    def condition(self, kind: str, holds: bool, reason: str, message: str) -> None:
        """Set a condition; its time changes only with its status. Upstream: setCondition()."""
        conditions: list[Manifest] = self.new["conditions"]
        found = next((one for one in conditions if one.get("type") == kind), None)
        if found is None:
            found = {"type": kind, "status": ""}
            conditions.append(found)
        status = str(holds)
        if found.get("status") != status:
            found["lastTransitionTime"] = timestamp(self._clock)
        found.update(status=status, reason=reason, message=message)

    def counted(self, current: int) -> None:
        """So many replicas there are; no more is known. Upstream: setCurrentReplicasInStatus()."""
        self._put(current, self._old.get("desiredReplicas") or 0)

    def decided(self, current: int, desired: int, *, scaled: bool) -> None:
        """So many replicas there are, and so many there shall be. Upstream: setStatus()."""
        self.new.pop("currentMetrics", None)
        if scaled:
            self.new["lastScaleTime"] = timestamp(self._clock)
        self._put(current, desired)

    def _put(self, current: int, desired: int) -> None:
        self.new.pop("currentReplicas", None)
        if current:
            self.new["currentReplicas"] = current
        self.new["desiredReplicas"] = desired
