"""One attach or one detach of a volume, from its first step to its end."""

from dataclasses import dataclass
from typing import Protocol

from volumes.engine.attach_detach.actual_state import NodeAttachment
from volumes.engine.attach_detach.desired_state import VolumeToAttach
from volumes.engine.operations.pending import OperationKey


class Executor(Protocol):
    """Carries operations out."""

    def attach(self, operation: "AttachOperation") -> None:
        """Begin to attach."""
        ...

    def detach(self, operation: "DetachOperation") -> None:
        """Begin to detach."""
        ...


@dataclass(slots=True)
class AttachOperation:
    """An attach that runs or backs off."""

    executor: Executor
    key: OperationKey
    volume: VolumeToAttach
    name: str = "volume_attach"

    @property
    def node(self) -> str:
        """The node that it attaches to."""
        return self.volume.node

    def begin(self) -> None:
        """See pending.Operation."""
        self.executor.attach(self)


@dataclass(slots=True)
class DetachOperation:
    """A detach that runs or backs off; with *verify* it fails while the node uses the volume."""

    executor: Executor
    key: OperationKey
    attachment: NodeAttachment
    verify: bool
    name: str = "volume_detach"

    @property
    def node(self) -> str:
        """The node that it detaches from."""
        return self.attachment.node

    def begin(self) -> None:
        """See pending.Operation."""
        self.executor.detach(self)
