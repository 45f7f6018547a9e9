"""Writes the status of pods: the PodScheduled condition and the nominated node."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from engine.kernel.errors import ApiError
from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.conditions import with_condition
from engine.scheduler.cycle.chronicle import COMPONENT
from engine.scheduler.cycle.state import SchedulerState

# How often a patch is sent that fails with an internal error of the API server.
_PATCH_TRIES = 4


class PodStatusWriter:
    """The scheduler's patches of pod status."""

    def __init__(self, state: SchedulerState) -> None:
        self._loop = state.loop
        self._store = state.store
        self._rules = state.profile.rules

    def write_nomination(self, pod: Pod, node: str | None) -> bool:
        """Write the nominated node, None for none; whether the API server has stored it."""
        stored = self._store.find("Pod", pod.key)
        if not isinstance(stored, Pod) or stored.uid != pod.uid:
            return False
        # A patch without a change makes no event.
        if stored.nominated_node_name != (node or ""):
            fact = "PodNominated" if node else "NominationCleared"
            try:
                self.patch_status(pod, {"nominatedNodeName": node}, fact)
            except ApiError:
                return False
        return True

    def patch_condition(
        self, pod: Pod, reason: str, message: str, nominated: str | None = None
    ) -> None:
        """One write for both: the condition and the nominated node.

        "" clears the node, None leaves it.
        """
        stored = self._store.find("Pod", pod.key)
        if stored is None or stored.uid != pod.uid:
            return
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
        }
        old = _condition(stored)
        before = stored.status.get("nominatedNodeName") or ""
        renominates = nominated is not None and nominated != before
        same = old and all(old.get(name) == value for name, value in condition.items())
        if same and not renominates:
            return
        condition["lastTransitionTime"] = (old or {}).get("lastTransitionTime") or timestamp(
            self._loop.clock
        )
        status: dict[str, Any] = {"conditions": with_condition(stored, condition)}
        if renominates:
            status["nominatedNodeName"] = nominated or None
        fact = "PodConditionUpdated"
        if renominates:
            fact = "PodNominated" if nominated else "NominationCleared"
        # Upstream only logs a write that fails.
        with suppress(ApiError):
            self.patch_status(pod, status, fact)

    def patch_status(self, pod: Pod, status: Mapping[str, Any], fact: str) -> None:
        """Patch the pod's status; after an internal error try again, here without a delay.

        Raises ApiError. Upstream: util.PatchPodStatus(), Retriable(), retry.DefaultBackoff.
        """
        tries = _PATCH_TRIES if self._rules.retries_status_writes else 1
        for left in reversed(range(tries)):
            try:
                self._store.patch("Pod", pod.key, {"status": status}, by=COMPONENT, event=fact)
                return
            except ApiError as refusal:
                if not left or refusal.reason != ApiError.reason:
                    raise


def _condition(pod: ApiObject) -> dict[str, Any] | None:
    conditions: list[dict[str, Any]] = pod.status.get("conditions") or []
    return next((each for each in conditions if each.get("type") == "PodScheduled"), None)
