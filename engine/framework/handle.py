"""What every plugin receives when it is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.framework.framework import Plugin
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_template import TemplateRegistry
from engine.framework.waiting_pods import WaitingPods
from engine.kernel.loop import EventLoop

Arguments = Mapping[str, Any]


@dataclass(slots=True)
class Handle:
    """The state that the plugins of one scheduler share."""

    table: NodeTable = field(default_factory=NodeTable)
    listers: Listers = field(default_factory=Listers)
    templates: TemplateRegistry = field(default_factory=TemplateRegistry)
    # Pods that wait at Permit.
    waiting_pods: WaitingPods = field(default_factory=WaitingPods)
    # Where the next search begins; all profiles share it. Upstream: nextStartNodeIndex.
    next_start: int = 0
    # How many hosts were chosen among several feasible nodes. Upstream: v1.11 lastNodeIndex.
    hosts_chosen: int = 0
    # What a plugin shares between all profiles, by its name.
    shared: dict[str, Any] = field(default_factory=dict[str, Any])
    # The time of the run; None where pods are decided on without one.
    loop: EventLoop | None = None

    @property
    def now(self) -> int:
        """In nanoseconds; 0 without a loop."""
        return 0 if self.loop is None else self.loop.now

    @property
    def clock(self) -> int:
        """What clocks show now, in nanoseconds since EPOCH; 0 without a loop."""
        return 0 if self.loop is None else self.loop.clock


PluginFactory = Callable[[Arguments, Handle], Plugin]
