"""Provisioning: an in-tree plugin or an external provisioner makes a volume for a claim.

One operation per claim. Upstream: pv_writer.go, provisionClaimOperation() and
provisionClaimOperationExternal().
"""

from typing import Final

from engine.controllers.persistent_volumes.caches import OperationStart
from engine.controllers.persistent_volumes.in_tree.plugin import (
    PluginError,
    ProvisionOptions,
    VolumePlugin,
)
from engine.controllers.persistent_volumes.reclaim import delete_volume_storage
from engine.controllers.persistent_volumes.trace_steps.syncs import Provisioned
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.units import SECOND
from engine.objects.objects import (
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from engine.objects.phases import (
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    VOLUME_BOUND,
    YES,
    claim_class,
    claim_ref_of,
)
from engine.storage.ports import NORMAL, WARNING, WriteEvent
from engine.storage.pv_helpers import ControllerError, with_claim_ref


class Provisioning:
    """Lets an in-tree plugin make a volume. Upstream: provisionClaimOperation()."""

    RETRIES: Final = 5
    RETRY_INTERVAL: Final = 10 * SECOND

    def __init__(
        self,
        writer: VolumeWriter,
        claim: PersistentVolumeClaim,
        plugin: VolumePlugin,
        storage_class: StorageClass,
    ) -> None:
        self._context = writer.context
        self._writer = writer
        self._claim = claim
        self._plugin = plugin
        self._class = storage_class
        self._stage = "prepare"
        self._options: ProvisionOptions | None = None
        self._node: Node | None = None
        self._volume: PersistentVolume | None = None
        self._tries = 0

    def step(self) -> int | None:
        """See Operation."""
        if self._stage == "prepare":
            return self._prepare()
        if self._stage == "provision":
            return self._provision()
        if self._stage == "save":
            return self._save()
        return self._clean_up()

    def _fail(self, message: str) -> None:
        self._context.events.event(self._claim, WARNING, "ProvisioningFailed", message)

    def _prepare(self) -> int | None:
        writer, plugin = self._writer, self._plugin
        start = OperationStart(plugin.name, "provision", self._context.loop.now)
        writer.caches.note_operation_start(self._claim.key, start)
        if self._claim.spec.get("dataSource") and plugin.name != "kubernetes.io/csi":
            message = (
                f'plugin "{plugin.name}" is not a CSI plugin. Only CSI plugin can provision a claim '
                "with a datasource"
            )
            self._fail(message)
            raise ControllerError(message)
        # Set the annotation as for an external provisioner.
        self._claim = writer.set_claim_provisioner(self._claim, self._class.provisioner)
        name = f"pvc-{self._claim.uid}"
        try:
            self._context.api.get_volume(name)
        except NotFound:
            pass
        else:
            # A previous operation has provisioned it already.
            return None
        self._options = provision_options(name, self._claim, self._class)
        if not plugin.supports_mount_options and self._options.mount_options:
            self._fail(
                "Mount options are not supported by the provisioner but StorageClass "
                f'"{self._class.name}" has mount options [{" ".join(self._options.mount_options)}]'
            )
            raise ControllerError(f'provisioner "{plugin.name}" doesn\'t support mount options')
        try:
            plugin.check_provision(self._options)
        except PluginError as error:
            self._fail(f"Failed to create provisioner: {error}")
            raise
        if self._claim.selected_node:
            self._node = self._context.listers.node(self._claim.selected_node)
            if self._node is None:
                if self._context.rules.reschedules_lost_node:
                    # The scheduler has to choose another.
                    writer.reschedule_provisioning(self._claim)
                message = f'node "{self._claim.selected_node}" not found'
                self._fail(f"Failed to get target node: {message}")
                raise NotFound(message)
        self._stage = "provision"
        delay = plugin.provision_delay(self._options)
        return delay if delay else self._provision()

    def _provision(self) -> int | None:
        writer, plugin = self._writer, self._plugin
        topologies: list[Manifest] = self._class.raw.get("allowedTopologies") or []
        try:
            assert self._options is not None
            manifest = plugin.provision(self._options, self._node, topologies)
        except PluginError as error:
            # Only this failure may depend on the node; after others the same node is tried again.
            writer.reschedule_provisioning(self._claim)
            self._fail(
                f'Failed to provision volume with StorageClass "{self._class.name}": {error}'
            )
            raise
        volume = PersistentVolume({"kind": "PersistentVolume", "apiVersion": "v1", **manifest})
        bound = volume.patched(
            {
                "metadata": {
                    "annotations": {BOUND_BY_CONTROLLER: YES, PROVISIONED_BY: plugin.name},
                },
                "spec": {"storageClassName": claim_class(self._claim)},
                "status": {"phase": VOLUME_BOUND},
            }
        )
        self._volume = with_claim_ref(bound, claim_ref_of(self._claim))
        self._stage = "save"
        return self._save()

    def _save(self) -> int | None:
        volume = self._volume
        assert volume is not None
        record_as = WriteEvent("VolumeProvisioned", f"for {self._claim.key} by {self._plugin.name}")
        self._tries += 1
        try:
            self._writer.create_volume(volume, record_as)
            self._write_step(volume)
        except ApiError as error:
            self._write_step(volume, str(error))
            if error.reason != "AlreadyExists":
                if self._tries < self.RETRIES:
                    return self.RETRY_INTERVAL
                # Now there is storage without a volume object.
                self._fail(
                    f"Error creating provisioned PV object for claim {self._claim.key}: {error}. "
                    "Deleting the volume."
                )
                self._stage, self._tries = "clean up", 0
                return self._clean_up()
            # It was saved before; only the answer was lost.
        self._context.events.event(
            self._claim,
            NORMAL,
            "ProvisioningSucceeded",
            f"Successfully provisioned volume {volume.name} using {self._plugin.name}",
        )
        return None

    def _write_step(self, volume: PersistentVolume, error: str = "") -> None:
        trace = self._context.trace_of(self._claim)
        if trace is not None:
            stored = self._writer.caches.volumes.get(volume.name) or volume
            step = Provisioned(self._plugin.name, volume.name, stored.resource_version, error)
            trace.add(self._claim.id, step)

    def _clean_up(self) -> int | None:
        assert self._volume is not None
        try:
            delete_volume_storage(self._volume, self._context)
        except PluginError as error:
            # Upstream gives up at the first failure, though it means to try five times: a failed
            # deletion also counts as "not deleted", which ends its loop.
            self._context.events.event(
                self._claim,
                WARNING,
                "ProvisioningCleanupFailed",
                f"Error cleaning provisioned volume for claim {self._claim.key}: {error}. "
                "Please delete manually.",
            )
        return None


class ExternalProvisioning:
    """Asks an external provisioner for a volume. Upstream: provisionClaimOperationExternal()."""

    def __init__(
        self,
        writer: VolumeWriter,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
    ) -> None:
        self._context = writer.context
        self._writer = writer
        self._claim = claim
        self._class = storage_class
        self._message: str | None = None

    def step(self) -> int | None:
        """See Operation."""
        if self._message is None:
            self._message = self._begin()
            # The watch delivers the claim's change before the API server answers the write; the
            # sync that the change causes therefore finds this operation still running.
            if self._context.answer_delay:
                return self._context.answer_delay
        self._context.events.event(self._claim, NORMAL, "ExternalProvisioning", self._message)
        return None

    def _begin(self) -> str:
        """Write the annotation; returns the message of the Event that follows."""
        writer, claim = self._writer, self._claim
        provisioner = self._class.provisioner
        start = OperationStart(provisioner, "provision", self._context.loop.now)
        writer.caches.note_operation_start(claim.key, start)
        if self._context.migration.is_enabled(provisioner):
            driver = self._context.migration.driver_of(provisioner)
            if driver is None:
                message = (
                    f"error getting CSI name for In tree plugin {provisioner}: could not find CSI "
                    f"driver name for plugin: {provisioner}"
                )
                self._context.events.event(claim, WARNING, "ProvisioningFailed", message)
                raise ControllerError(message)
            provisioner = driver
        self._claim = writer.set_claim_provisioner(claim, provisioner)
        return self._context.rules.external_provisioning.format(provisioner)


def provision_options(
    name: str, claim: PersistentVolumeClaim, storage_class: StorageClass
) -> ProvisionOptions:
    """The options with which a plugin makes a volume for *claim*."""
    return ProvisionOptions(
        volume_name=name,
        claim=claim,
        reclaim_policy=storage_class.reclaim_policy,
        parameters=storage_class.raw.get("parameters") or {},
        mount_options=tuple(storage_class.raw.get("mountOptions") or ()),
    )
