"""Which volumes may be attached to one node only, and how their operations are keyed."""

from volumes.engine.operations.pending import OperationKey
from volumes.engine.plugins.spec import VolumeSpec


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
