"""What all kubelets share."""

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.kubelet.container_rules import ContainerRules
from engine.objects.objects import ApiObject
from engine.objects.outside import Outside
from engine.objects.scripts.script import Script
from engine.storage.plugins.latencies import Latencies
from engine.storage.ports import EventSink

COMPONENT: Final = "kubelet"


@dataclass(frozen=True, slots=True)
class KubeletContext:
    """The cluster as kubelets use it. Watches deliver after *watch_latency* ns."""

    loop: EventLoop
    store: ObjectStore
    recorder: Recorder
    latencies: Latencies
    events: EventSink | None = None
    watch_latency: int = 0
    outside: Outside = field(default_factory=Outside)
    # What containers do, by the scenario; and where what is drawn for them comes from.
    scripts: tuple[Script, ...] = ()
    streams: Streams = field(default_factory=partial(Streams, 0))
    container_rules: ContainerRules = ContainerRules()

    def emit(self, obj: ApiObject, type: str, reason: str, message: str) -> None:
        """Emit a Kubernetes Event on *obj*."""
        if self.events is not None:
            self.events.event(obj, type, reason, message)
