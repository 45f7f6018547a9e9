"""Pods that wait for their gates. Upstream: plugins/schedulinggates/scheduling_gates.go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from engine.framework import names
from engine.framework.explaining.fact import Fact
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import SUCCESS, Code, Plugin, Status
from engine.framework.pods.pod_info import PodInfo
from engine.framework.registrations import Registration
from engine.objects.objects import Pod
from engine.plugins.scheduling_gates.changes import gate_changes
from engine.plugins.scheduling_gates.events import EVENTS
from engine.plugins.scheduling_gates.facts import gate_facts


class SchedulingGates(Plugin):
    """Keeps a pod out of the queue while it has scheduling gates."""

    name: ClassVar[str] = names.SCHEDULING_GATES

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Refuses a pod with gates, and names them."""
        gates = pod.pod.scheduling_gates
        if not gates:
            return SUCCESS
        reason = f"waiting for scheduling gates: [{' '.join(gates)}]"
        return Status(Code.UNRESOLVABLE, (reason,), self.name)

    def explain_outright(self, pod: Pod) -> Sequence[Fact]:
        """See `ExplainsOutright`."""
        return tuple(gate_facts(pod))

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return gate_changes(refusals.pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS
