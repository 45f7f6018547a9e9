"""What the parts of the controller share: the outside world, and the controller's own state."""

from dataclasses import dataclass, field

from engine.api_server.store.store import ObjectStore
from engine.controllers.attach_detach.actual_state import ActualStateOfWorld
from engine.controllers.attach_detach.desired_state import DesiredStateOfWorld
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.trace import Trace
from engine.objects.objects import Pod
from engine.storage.operations import messages
from engine.storage.operations.pending import NestedPendingOperations
from engine.storage.plugins.spec import VolumePlugins
from engine.storage.ports import EventSink


@dataclass(frozen=True, slots=True)
class Context:
    """The outside world. Without *events* the controller emits no Kubernetes Events."""

    loop: EventLoop
    store: ObjectStore
    recorder: Recorder
    plugins: VolumePlugins
    events: EventSink | None = None

    def trace_of(self, node: str) -> Trace | None:
        """The trace, if it follows the node; None in a run."""
        trace = self.loop.trace
        return trace if trace is not None and trace.follows(f"node/{node}") else None

    def emit(self, pod: Pod, event: "VolumeEvent") -> None:
        """Emit a Kubernetes Event on *pod*."""
        if self.events is not None:
            self.events.event(pod, event.type, event.reason, event.message)


@dataclass(frozen=True, slots=True)
class VolumeEvent:
    """A Kubernetes Event about a volume: what happened (*prefix*) and why (*suffix*)."""

    type: str
    reason: str
    prefix: str
    volume: str
    suffix: str = ""

    @property
    def message(self) -> str:
        """Upstream's text."""
        return messages.simple(self.prefix, self.volume, self.suffix)


@dataclass(frozen=True, slots=True)
class State:
    """What the controller keeps in memory; a restart begins with an empty one."""

    pending: NestedPendingOperations
    desired: DesiredStateOfWorld = field(default_factory=DesiredStateOfWorld)
    actual: ActualStateOfWorld = field(default_factory=ActualStateOfWorld)
