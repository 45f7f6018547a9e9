"""One attach or one detach of a volume, and which of them may run at the same time."""

from dataclasses import dataclass
from typing import Protocol

from engine.controllers.attach_detach.actual_state import NodeAttachment
from engine.controllers.attach_detach.desired_state import VolumeToAttach
from engine.storage.operations.pending import OperationKey
from engine.storage.plugins.spec import VolumeSpec


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


def is_multi_attach_forbidden(spec: VolumeSpec) -> bool:
    """Whether the volume may be attached to one node only. Upstream: util.IsMultiAttachAllowed."""
    if spec.volume is not None:
        # Of the inline volumes these are known to be exclusive.
        return "azureDisk" in spec.volume or "cinder" in spec.volume
    modes: list[str] = spec.source.get("accessModes") or []
    # Without a mode the attacher has to decide.
    return bool(modes) and not any(mode in ("ReadWriteMany", "ReadOnlyMany") for mode in modes)


def operation_key(volume: str, node: str, spec: VolumeSpec) -> OperationKey:
    """The key of an attach or a detach: a volume that allows several nodes has one per node."""
    return OperationKey(volume, node_name="" if is_multi_attach_forbidden(spec) else node)
