"""The change after which a gated pod may be scheduled."""

from __future__ import annotations

from collections.abc import Iterator

from engine.framework.explaining.proposes import Proposal
from engine.kernel.sentences import enumerated, say, say_count
from engine.objects.objects import Pod


def gate_changes(pod: Pod) -> Iterator[Proposal]:
    """Take the gates off."""
    if pod.scheduling_gates:
        yield Proposal(
            kind="gate",
            text=say_count(
                "Remove the scheduling gate {gates}",
                "Remove the scheduling gates {gates}",
                len(pod.scheduling_gates),
                gates=enumerated(pod.scheduling_gates),
            ),
            object=pod,
            patch={"spec": {"schedulingGates": []}},
            note=say("What the gate waits for may not be ready: its controller should remove it."),
        )
