"""The plugins that recycle volumes: kubernetes.io/host-path, which makes some too, and nfs.

Upstream: pkg/volume/hostpath, pkg/volume/nfs.
"""

from typing import Protocol

from engine.controllers.persistent_volumes.in_tree.plugin import (
    Delays,
    Failures,
    PluginError,
    ProvisionOptions,
    Recycler,
    provisioned_manifest,
    raise_failure,
    raise_failure_of_deletion,
)
from engine.objects.objects import EMPTY, Manifest, Node, PersistentVolume


class Recyclers(Protocol):
    """Makes recyclers that run a pod."""

    def recycler(self, volume: PersistentVolume, scrubbing: int) -> Recycler:
        """A recycler for *volume* that takes *scrubbing* ns once its pod runs."""
        ...


class HostPathPlugin:
    """kubernetes.io/host-path with provisioning on, as kube-controller-manager has it for tests.

    Upstream: pkg/volume/hostpath. It deletes only below /tmp.
    """

    name: str = "kubernetes.io/host-path"
    supports_mount_options: bool = False
    can: frozenset[str] = frozenset({"provision", "delete", "recycle"})

    def __init__(
        self,
        delays: Delays,
        recyclers: Recyclers | None = None,
        failures: Failures | None = None,
    ) -> None:
        self._delays = delays
        self._recyclers = recyclers
        self._failures = failures

    def supports(self, volume: PersistentVolume) -> bool:
        """See VolumePlugin."""
        return "hostPath" in volume.spec

    def check_provision(self, options: ProvisionOptions) -> None:
        """See VolumePlugin."""

    def provision_delay(self, options: ProvisionOptions) -> int:
        """See VolumePlugin."""
        return self._delays.draw("provision")

    def provision(
        self, options: ProvisionOptions, node: Node | None, topologies: list[Manifest]
    ) -> Manifest:
        """See VolumePlugin."""
        raise_failure(self._failures, options, node)
        if (options.claim.spec.get("volumeMode") or "Filesystem") != "Filesystem":
            raise PluginError(f"{self.name} does not support block volume provisioning")
        # Upstream draws a random directory; the claim's uid is as unique.
        path = f"/tmp/hostpath_pv/{options.claim.uid}"
        annotations = {"kubernetes.io/createdby": "hostpath-dynamic-provisioner"}
        return provisioned_manifest(
            options, {"hostPath": {"path": path, "type": ""}}, annotations=annotations
        )

    def check_delete(self, volume: PersistentVolume) -> None:
        """See VolumePlugin."""

    def delete_delay(self, volume: PersistentVolume) -> int:
        """See VolumePlugin."""
        return self._delays.draw("delete_volume")

    def delete(self, volume: PersistentVolume) -> None:
        """See VolumePlugin."""
        raise_failure_of_deletion(self._failures, volume)
        path = (volume.spec.get("hostPath") or EMPTY).get("path", "")
        if not path.startswith("/tmp/") or len(path) <= len("/tmp/"):
            raise PluginError(
                f"host_path deleter only supports /tmp/.+ but received provided {path}"
            )

    def recycler(self, volume: PersistentVolume) -> Recycler:
        """See VolumePlugin."""
        scrubbing = self._delays.draw("recycle")
        if self._recyclers is None:
            return PodlessRecycler(scrubbing)
        return self._recyclers.recycler(volume, scrubbing)


class NfsPlugin(HostPathPlugin):
    """kubernetes.io/nfs, which a controller can only recycle. Upstream: pkg/volume/nfs."""

    name: str = "kubernetes.io/nfs"
    can: frozenset[str] = frozenset({"recycle"})

    def supports(self, volume: PersistentVolume) -> bool:
        """See VolumePlugin."""
        return "nfs" in volume.spec


class PodlessRecycler:
    """Scrubs in a given time. Upstream runs a pod for it, whose events it copies to the volume."""

    def __init__(self, duration: int) -> None:
        self._left: int | None = duration

    def step(self) -> tuple[int | None, list[tuple[str, str]]]:
        """See Recycler."""
        left, self._left = self._left, None
        return left, []
