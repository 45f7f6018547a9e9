"""The change after which a gated pod may be scheduled."""

from __future__ import annotations

from collections.abc import Iterator

from engine.framework.explaining.proposes import Proposal
from engine.objects.objects import Pod


def gate_changes(pod: Pod) -> Iterator[Proposal]:
    """Take the gates off."""
    if pod.scheduling_gates:
        several = "s" if len(pod.scheduling_gates) > 1 else ""
        yield Proposal(
            kind="gate",
            text=f"Remove the scheduling gate{several} {', '.join(pod.scheduling_gates)}",
            object=pod,
            patch={"spec": {"schedulingGates": []}},
            note="What the gate waits for may not be ready: its controller should remove it.",
        )
