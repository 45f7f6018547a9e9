"""What the sidecar containers of CSI drivers work with."""

from dataclasses import dataclass

from engine.api_server.store.store import ObjectStore
from engine.controllers.persistent_volumes.in_tree.plugin import Delays
from engine.kernel.loop import EventLoop
from engine.storage.ports import InformerListers


@dataclass(frozen=True, slots=True)
class SidecarContext:
    """The cluster as a sidecar sees it, and how long its driver takes (*delays*)."""

    loop: EventLoop
    store: ObjectStore
    listers: InformerListers
    delays: Delays
