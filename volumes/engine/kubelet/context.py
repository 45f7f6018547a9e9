"""What all kubelets share."""

from dataclasses import dataclass, field
from typing import Final

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.objects.objects import ApiObject
from kscope.sim.objects.outside import Outside
from volumes.engine.plugins.latencies import Latencies
from volumes.engine.ports import EventSink

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

    def emit(self, obj: ApiObject, type: str, reason: str, message: str) -> None:
        """Emit a Kubernetes Event on *obj*."""
        if self.events is not None:
            self.events.event(obj, type, reason, message)
