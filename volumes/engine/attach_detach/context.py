"""What the parts of the controller share: the outside world, and the controller's own state."""

from dataclasses import dataclass, field

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.objects.objects import Pod
from volumes.engine.attach_detach.actual_state import ActualStateOfWorld
from volumes.engine.attach_detach.desired_state import DesiredStateOfWorld
from volumes.engine.operations import messages
from volumes.engine.operations.pending import NestedPendingOperations
from volumes.engine.plugins.spec import VolumePlugins
from volumes.engine.ports import EventSink


@dataclass(frozen=True, slots=True)
class Context:
    """The outside world. Without *events* the controller emits no Kubernetes Events."""

    loop: EventLoop
    store: ObjectStore
    recorder: Recorder
    plugins: VolumePlugins
    events: EventSink | None = None

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
