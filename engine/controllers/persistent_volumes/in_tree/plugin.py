"""What an in-tree volume plugin does for the PV controller: make, delete and scrub storage.

The controller calls a plugin directly; between the call of a `*_delay` and that of its action the
operation waits. Provisioners that are not in-tree watch claims and answer by writing volumes.
Upstream: pkg/volume/plugins.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from engine.kernel.errors import SimError
from engine.objects.objects import EMPTY, Manifest, Node, PersistentVolume, PersistentVolumeClaim

IN_TREE_PREFIX: Final = "kubernetes.io/"


class PluginError(SimError):
    """A volume plugin, or the search for one, failed; the text is upstream's."""


class VolumeInUse(PluginError):
    """The storage cannot be deleted yet; not a failure. Upstream: NewDeletedVolumeInUseError."""


@dataclass(frozen=True, slots=True)
class ProvisionOptions:
    """What a plugin has to know about the volume to make. Upstream: volume.VolumeOptions."""

    volume_name: str
    claim: PersistentVolumeClaim
    reclaim_policy: str
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    mount_options: tuple[str, ...] = ()


class VolumePlugin(Protocol):
    """A volume plugin. The `check_*` methods are upstream's constructors, which may fail early."""

    @property
    def name(self) -> str:
        """As in a class's provisioner: "kubernetes.io/host-path"."""
        ...

    @property
    def supports_mount_options(self) -> bool:
        """Whether a class with mountOptions is acceptable."""
        ...

    @property
    def can(self) -> frozenset[str]:
        """Of "provision", "delete", "recycle"."""
        ...

    def supports(self, volume: PersistentVolume) -> bool:
        """Whether the volume's source is of this plugin's kind. Upstream: CanSupport()."""
        ...

    def check_provision(self, options: ProvisionOptions) -> None:
        """Upstream: NewProvisioner(). Raises PluginError."""
        ...

    def provision_delay(self, options: ProvisionOptions) -> int:
        """How long `provision` takes, in ns; asked once before it is called."""
        ...

    def provision(
        self, options: ProvisionOptions, node: Node | None, topologies: list[Manifest]
    ) -> Manifest:
        """Make the storage; returns the manifest of its volume. Raises PluginError."""
        ...

    def check_delete(self, volume: PersistentVolume) -> None:
        """Upstream: NewDeleter(). Raises PluginError."""
        ...

    def delete_delay(self, volume: PersistentVolume) -> int:
        """How long `delete` takes, in ns."""
        ...

    def delete(self, volume: PersistentVolume) -> None:
        """Destroy the storage. Raises PluginError."""
        ...

    def recycler(self, volume: PersistentVolume) -> "Recycler":
        """Begin to scrub the storage. Raises PluginError."""
        ...


class Recycler(Protocol):
    """Scrubs one volume, in steps."""

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """The delay until the next step (None: done), and Events of the recycler pod.

        An Event is (type, message). Raises PluginError.
        """
        ...


class Delays(Protocol):
    """How long storage takes. `engine.kernel.latency.Latencies` is one."""

    def draw(self, name: str) -> int:
        """Nanoseconds; *name* is "provision", "delete_volume" or "recycle"."""
        ...


class Failures(Protocol):
    """Decides which provisioning and which deletion fails."""

    def of(self, claim: PersistentVolumeClaim, node: str) -> str | None:
        """Why provisioning for *claim* on *node* ("" for none in particular) fails, or None."""
        ...

    def of_deletion(self, volume: PersistentVolume) -> str | None:
        """Why deleting *volume* fails, or None."""
        ...


def raise_failure(failures: Failures | None, options: ProvisionOptions, node: Node | None) -> None:
    """Raises PluginError when provisioning is to fail this time."""
    fault = failures.of(options.claim, node.name if node else "") if failures else None
    if fault is not None:
        raise PluginError(fault)


def raise_failure_of_deletion(failures: Failures | None, volume: PersistentVolume) -> None:
    """Raises PluginError when deleting *volume* is to fail this time."""
    fault = failures.of_deletion(volume) if failures else None
    if fault is not None:
        raise PluginError(fault)


def provisioned_manifest(
    options: ProvisionOptions,
    source: Manifest,
    *,
    annotations: Mapping[str, str] | None = None,
    node_affinity: Manifest | None = None,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """The manifest of a volume for a claim: size, access modes and volume mode are the claim's."""
    claim = options.claim
    metadata: Manifest = {"name": options.volume_name}
    if annotations:
        metadata["annotations"] = dict(annotations)
    if labels:
        metadata["labels"] = dict(labels)
    requests = (claim.spec.get("resources") or EMPTY).get("requests") or EMPTY
    spec: dict[str, Any] = {
        "capacity": {"storage": requests.get("storage", "0")},
        "accessModes": list(claim.access_modes),
        "persistentVolumeReclaimPolicy": options.reclaim_policy,
        "volumeMode": claim.spec.get("volumeMode") or "Filesystem",
        **source,
    }
    if options.mount_options:
        spec["mountOptions"] = list(options.mount_options)
    if node_affinity:
        spec["nodeAffinity"] = node_affinity
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": spec,
    }


def is_in_tree(name: str) -> bool:
    """Whether a provisioner's name is reserved for in-tree plugins."""
    return name.startswith(IN_TREE_PREFIX)
