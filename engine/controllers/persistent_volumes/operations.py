"""Starts the operations of the PV controller: provisioning, deletion, recycling.

Upstream: pv_controller.go, provisionClaim() and reclaimVolume().
"""

from engine.controllers.persistent_volumes.caches import OperationStart
from engine.controllers.persistent_volumes.in_tree.plugin import (
    PluginError,
    VolumePlugin,
    is_in_tree,
)
from engine.controllers.persistent_volumes.provisioning import ExternalProvisioning, Provisioning
from engine.controllers.persistent_volumes.reclaim import Deletion, Recycling
from engine.controllers.persistent_volumes.trace_steps.reading import (
    provisioning_branch,
    reclaim_branch,
)
from engine.controllers.persistent_volumes.writer import VolumeWriter
from engine.kernel.errors import NotFound, SimError
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from engine.objects.phases import (
    MIGRATED_TO,
    PROVISIONED_BY,
    RECLAIM_DELETE,
    RECLAIM_RECYCLE,
    RECLAIM_RETAIN,
    VOLUME_FAILED,
    claim_class,
)
from engine.storage.operations.backoff import Start
from engine.storage.operations.runner import Operation, OperationRunner
from engine.storage.ports import WARNING


class VolumeOperations:
    """Starts operations on claims and volumes, at most one at a time per object and purpose."""

    def __init__(self, writer: VolumeWriter, runner: OperationRunner) -> None:
        self._context = writer.context
        self._writer = writer
        self._runner = runner

    # Provisioning

    def provision_claim(self, claim: PersistentVolumeClaim) -> None:
        """Start to provision a volume for the claim, if dynamic provisioning is on."""
        if not self._context.dynamic_provisioning:
            self._tell_provisioning("provisioning_off", claim)
            return
        try:
            plugin, storage_class = self._find_provisionable_plugin(claim)
        except SimError as error:
            # Tried again in every sync.
            self._tell_provisioning("plugin_error", claim, str(error))
            self._context.events.event(claim, WARNING, "ProvisioningFailed", str(error))
            return
        operation: Operation
        if plugin is None:
            operation = ExternalProvisioning(self._writer, claim, storage_class)
        else:
            operation = Provisioning(self._writer, claim, plugin, storage_class)
        start = self.schedule_operation(f"provision-{claim.key}[{claim.uid}]", operation)
        leaf = "external" if plugin is None else "in_tree"
        self._tell_provisioning(leaf, claim, storage_class.provisioner, start)

    def _find_provisionable_plugin(
        self, claim: PersistentVolumeClaim
    ) -> tuple[VolumePlugin | None, StorageClass]:
        """The plugin of the claim's class, None for an external provisioner."""
        name = claim_class(claim)
        storage_class = self._context.listers.storage_class(name)
        if storage_class is None:
            raise NotFound(f'storageclass.storage.k8s.io "{name}" not found')
        provisioner = storage_class.provisioner
        if self._context.migration.is_enabled(provisioner):
            # The CSI driver's provisioner does it.
            return None, storage_class
        try:
            return self._context.plugins.provisionable_by_name(provisioner), storage_class
        except PluginError:
            if not is_in_tree(provisioner):
                return None, storage_class
            raise

    def schedule_operation(self, name: str, operation: Operation) -> Start:
        """Run *operation*, unless one of that name is running or backing off."""
        return self._runner.run(name, operation)

    # Reclaim

    def reclaim_volume(self, volume: PersistentVolume) -> None:
        """Start to reclaim a released volume, as its reclaim policy requires."""
        if volume.annotations.get(MIGRATED_TO):
            # The external provisioner reclaims it.
            self._tell_reclaim("migrated", volume)
            return
        policy = volume.reclaim_policy
        if policy == RECLAIM_RETAIN:
            # Nothing to do.
            self._tell_reclaim("retain", volume)
            return
        if policy == RECLAIM_RECYCLE:
            started = self.schedule_operation(
                f"recycle-{volume.name}[{volume.uid}]", Recycling(self._writer, volume)
            )
            self._tell_reclaim("recycle", volume, started)
        elif policy == RECLAIM_DELETE:
            plugin = volume.annotations.get(PROVISIONED_BY, "")
            start = OperationStart(plugin, "delete", self._context.loop.now)
            self._writer.caches.note_operation_start(volume.name, start)
            started = self.schedule_operation(
                f"delete-{volume.name}[{volume.uid}]", Deletion(self._writer, volume)
            )
            self._tell_reclaim("delete", volume, started)
        else:
            self._tell_reclaim("unknown_policy", volume)
            self._writer.update_volume_phase_with_event(
                volume,
                VOLUME_FAILED,
                WARNING,
                "VolumeUnknownReclaimPolicy",
                "Volume has unrecognized PersistentVolumeReclaimPolicy",
            )

    # Telling

    def _tell_provisioning(
        self, leaf: str, claim: PersistentVolumeClaim, found: str = "", start: Start | None = None
    ) -> None:
        trace = self._context.trace_of(claim)
        if trace is not None:
            trace.add(claim.id, provisioning_branch(leaf, claim, found, start))

    def _tell_reclaim(
        self, leaf: str, volume: PersistentVolume, start: Start | None = None
    ) -> None:
        trace = self._context.trace_of(volume)
        if trace is not None:
            trace.add(volume.id, reclaim_branch(leaf, volume, start))
