"""What the sidecar containers of CSI drivers work with."""

from dataclasses import dataclass

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.kernel.loop import EventLoop
from volumes.engine.ports import InformerListers
from volumes.engine.pv_controller.in_tree.plugin import Delays


@dataclass(frozen=True, slots=True)
class SidecarContext:
    """The cluster as a sidecar sees it, and how long its driver takes (*delays*)."""

    loop: EventLoop
    store: ObjectStore
    listers: InformerListers
    delays: Delays
