"""The PV controller: binds claims to volumes, starts provisioning, reclaims what is released.

Written, as upstream is, in "space shuttle style": every branch is there, with its else and with
what holds when it is taken. Each sync looks at the whole situation anew, so a sync may be abandoned
at any write that fails; a later one goes on from wherever things then stand.

A bind is four writes, in this order, each left out when it would change nothing:

    volume.spec.claimRef → volume.status Bound → claim.spec.volumeName → claim.status Bound

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go and pv_controller_base.go.
"""

from typing import Any, ClassVar, Final

from kscope.sim.api_server.answers import Answers
from kscope.sim.api_server.store import WatchEvent
from kscope.sim.api_server.workqueue import WorkQueue
from kscope.sim.errors import NotFound, SimError
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import (
    ApiObject,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from volumes.engine.matching.matching import (
    CandidateVerdict,
    check_volume_satisfies_claim,
    explain_candidates,
)
from volumes.engine.migration import NO_MIGRATION, Migration
from volumes.engine.operations.runner import Operation, OperationRunner
from volumes.engine.phases import (
    BOUND_BY_CONTROLLER,
    CLAIM_BOUND,
    CLAIM_LOST,
    CLAIM_PENDING,
    MIGRATED_TO,
    PROVISIONED_BY,
    RECLAIM_DELETE,
    RECLAIM_RECYCLE,
    RECLAIM_RETAIN,
    SELECTED_NODE,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    VOLUME_FAILED,
    VOLUME_RELEASED,
    claim_class,
    is_volume_bound_to_claim,
    volume_mode,
)
from volumes.engine.ports import NORMAL, WARNING, EventSink, KeyQueue, Listers, Told, VolumeApi
from volumes.engine.pv_controller.provisioner import (
    PluginError,
    PluginRegistry,
    VolumePlugin,
    is_in_tree,
)
from volumes.engine.pv_controller.provisioning import ExternalProvisioning, Provisioning
from volumes.engine.pv_controller.reclaim import Deletion, Recycling
from volumes.engine.pv_controller.unsettled import UnsettledObjects
from volumes.engine.pv_controller.writer import (
    ControllerError,
    ControllerRules,
    VolumeWriter,
    is_delay_binding,
)

COMPONENT: Final = "pv-controller"
RESYNC_PERIOD: Final = 15 * SECOND
# Above this many volumes a bind's evidence does not list the candidates; they can be asked for.
EXPLAINED_VOLUMES: Final = 200
_SHOWN_CANDIDATES: Final = 12


class PersistentVolumeController(VolumeWriter):
    """The controller's state and every branch of its syncs.

    `claim_queue` and `volume_queue` hold what is to be synced. Drive it with `work_claim` and
    `work_volume` (one key each), or with `sync_claim` and `sync_volume` directly.
    """

    PARTS: ClassVar[tuple[str, ...]] = ("claim_queue", "volume_queue", "operations")

    def __init__(
        self,
        loop: EventLoop,
        api: VolumeApi,
        listers: Listers,
        events: EventSink,
        *,
        plugins: PluginRegistry | None = None,
        migration: Migration = NO_MIGRATION,
        rules: ControllerRules,
        dynamic_provisioning: bool = True,
        claim_queue: KeyQueue | None = None,
        volume_queue: KeyQueue | None = None,
        answer_delay: int = 0,
        answers: Answers | None = None,
    ) -> None:
        super().__init__(loop, api, listers, events, plugins or PluginRegistry(), migration, rules)
        self.dynamic_provisioning = dynamic_provisioning
        self.answer_delay = answer_delay
        self.operations = OperationRunner(loop, answers)
        self.claim_queue: KeyQueue = claim_queue or WorkQueue(
            loop, self.work_claim, answers=answers
        )
        self.volume_queue: KeyQueue = volume_queue or WorkQueue(
            loop, self.work_volume, answers=answers
        )
        # Object id → why its latest sync was abandoned.
        self.last_error: dict[str, str] = {}
        self._resync_at = -1
        self._resync_armed = False
        self._unsettled = UnsettledObjects()

    # Running: caches, queues, resync

    def start(self, first_resync: int = 0) -> None:
        """Fill the caches from the listers and resync every 15 s, *first_resync* ns from now on."""
        for volume in self.listers.volumes():
            self._unsettled.volumes.observe(volume.key, volume.claim_key)
            self.store_volume_update(volume)
        for claim in self.listers.claims():
            self._unsettled.claims.observe(claim.key, claim.volume_name)
            self.store_claim_update(claim)
        self.resync_from(self._loop.now + first_resync)

    def resync_from(self, at: int) -> None:
        """Let the resync come at *at* and every 15 s from there; only before it has come at all."""
        self._resync_at = at
        if not self._resync_armed:
            self._arm_resync()

    def on_claim_event(self, event: WatchEvent) -> None:
        """Queue the claim that a watch event is about."""
        claim: Any = event.new
        self._unsettled.claims.observe(claim.key, claim.volume_name, event.type == "DELETED")
        delay = self.delays.draw("claim_sync") if self.delays else 0
        if delay:
            self._loop.call_after(delay, self.claim_queue.add, claim.key)
        else:
            self.claim_queue.add(claim.key)
        if not self._resync_armed:
            self._arm_resync()

    def on_volume_event(self, event: WatchEvent) -> None:
        """Queue the volume that a watch event is about."""
        volume: Any = event.new
        self._unsettled.volumes.observe(volume.key, volume.claim_key, event.type == "DELETED")
        self.volume_queue.add(volume.key)
        if not self._resync_armed:
            self._arm_resync()

    def _arm_resync(self) -> None:
        """Let the next tick of the resync ring; without changes it has nothing to say."""
        if self._resync_at < 0:
            return
        self._resync_armed = True
        late = self._loop.now - self._resync_at
        if late > 0:
            self._resync_at += -(-late // RESYNC_PERIOD) * RESYNC_PERIOD
        self._loop.call_at(self._resync_at, self._resync)

    def _resync(self) -> None:
        # A beginning of its own: nothing that happened before is the cause of it.
        self._loop.cause = 0
        self._resync_armed = False
        self._resync_at += RESYNC_PERIOD
        if self.resync() and not self._resync_armed:
            self._arm_resync()

    def resync(self) -> int:
        """Queue everything that a sync would not leave as it is; returns how much that was.

        It alone wakes a claim for which a volume has come since. Upstream queues all there is; a
        sync of what is settled does nothing.
        """
        claims, volumes = self.unsettled()
        for key in claims:
            self.claim_queue.add(key)
        for key in volumes:
            self.volume_queue.add(key)
        return len(claims) + len(volumes)

    def unsettled(self) -> tuple[list[str], list[str]]:
        """Keys of the claims and the volumes that a sync would not leave as they are.

        Only what has changed since it was last found to be settled is looked at.
        """
        unsettled = self._unsettled
        unsettled.changed(self.changed_volumes, self.changed_claims)
        self.changed_volumes.clear()
        self.changed_claims.clear()
        claims = [key for key in unsettled.claims.in_order() if self._is_claim_unsettled(key)]
        volumes = [key for key in unsettled.volumes.in_order() if self._is_volume_unsettled(key)]
        unsettled.claims.keep(claims)
        unsettled.volumes.keep(volumes)
        return claims, volumes

    def _is_claim_unsettled(self, key: str) -> bool:
        claim = self.listers.claim(key)
        return claim is not None and not self.is_claim_settled(claim)

    def _is_volume_unsettled(self, key: str) -> bool:
        volume = self.listers.volume(key)
        return volume is not None and not self.is_volume_settled(volume)

    def is_claim_settled(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a sync would leave *claim* as it is."""
        if not claim.is_bind_completed or self.claim_migration_patch(claim) is not None:
            return False
        volume = self.volumes.get(claim.volume_name)
        if volume is None:
            return claim.phase == CLAIM_LOST
        if volume.claim_ref is None:
            return False
        if volume.claim_ref.get("uid") != claim.uid:
            return claim.phase == CLAIM_LOST
        return (
            claim.phase == CLAIM_BOUND
            and volume.phase == VOLUME_BOUND
            and tuple(claim.status.get("accessModes") or ()) == volume.access_modes
        )

    def is_volume_settled(self, volume: PersistentVolume) -> bool:
        """Whether a sync would leave *volume* as it is."""
        if self.volume_migration_patch(volume):
            return False
        ref = volume.claim_ref
        if ref is None or not ref.get("uid"):
            return volume.phase == VOLUME_AVAILABLE
        claim = self.claims.get(volume.claim_key)
        if claim is not None and claim.uid == ref["uid"]:
            return claim.volume_name == volume.name and volume.phase == VOLUME_BOUND
        return volume.phase == VOLUME_RELEASED and self._is_reclaim_idle(volume)

    def _is_reclaim_idle(self, volume: PersistentVolume) -> bool:
        """Whether nothing, or someone else, reclaims a released volume."""
        if volume.reclaim_policy == RECLAIM_RETAIN or MIGRATED_TO in volume.annotations:
            return True
        if volume.reclaim_policy != RECLAIM_DELETE:
            return False
        try:
            return bool(volume.deletion_timestamp) or self.find_deletable_plugin(volume) is None
        except PluginError:
            return False

    def work_volume(self, key: str) -> None:
        """Sync the volume of that name, or forget it when it is gone. Upstream: volumeWorker()."""
        volume = self.listers.volume(key)
        if volume is not None:
            self.update_volume(volume)
            return
        cached = self.volumes.get(key)
        if cached is not None:
            self.delete_volume(cached)
        # Else its deletion was already processed.

    def work_claim(self, key: str) -> None:
        """Sync the claim of that key, or forget it when it is gone. Upstream: claimWorker()."""
        claim = self.listers.claim(key)
        if claim is not None:
            self.update_claim(claim)
            return
        cached = self.claims.get(key)
        if cached is not None:
            self.delete_claim(cached)
        # Else its deletion was already processed.

    def update_volume(self, volume: PersistentVolume) -> None:
        """Take a volume from the informer and sync it, unless a newer one is known."""
        if not self.store_volume_update(volume):
            return
        try:
            self.sync_volume(volume)
        except SimError as error:
            # A conflict is an everyday thing; whatever it was, a later sync goes on from here.
            self.last_error[volume.id] = str(error)
        else:
            self.last_error.pop(volume.id, None)

    def update_claim(self, claim: PersistentVolumeClaim) -> None:
        """Take a claim from the informer and sync it, unless a newer one is known."""
        if not self.store_claim_update(claim):
            return
        try:
            self.sync_claim(claim)
        except SimError as error:
            self.last_error[claim.id] = str(error)
        else:
            self.last_error.pop(claim.id, None)

    def delete_volume(self, volume: PersistentVolume) -> None:
        """Forget a deleted volume, and have the claim that it was bound to looked at."""
        self.volumes.remove(volume.name)
        self.changed_volumes[volume.name] = None
        self.operation_starts.pop(volume.name, None)
        self.last_error.pop(volume.id, None)
        if volume.claim_ref is None:
            return
        # Else the claim would wait for the next resync before it is Lost.
        self.claim_queue.add(volume.claim_key)

    def delete_claim(self, claim: PersistentVolumeClaim) -> None:
        """Forget a deleted claim, and have the volume that it was bound to looked at."""
        self.claims.pop(claim.key, None)
        self.changed_claims[claim.key] = None
        self.operation_starts.pop(claim.key, None)
        self.last_error.pop(claim.id, None)
        if claim.volume_name:
            # Else the volume would wait for the next resync before it is Released.
            self.volume_queue.add(claim.volume_name)

    # Claims

    def sync_claim(self, claim: PersistentVolumeClaim) -> None:
        """Decide what to do with a claim. Raises SimError when a write fails."""
        # Newly migrated, or rolled back, claims get their annotation first.
        claim = self.update_claim_migration(claim)
        if not claim.is_bind_completed:
            self._sync_unbound_claim(claim)
        else:
            self._sync_bound_claim(claim)

    def _sync_unbound_claim(self, claim: PersistentVolumeClaim) -> None:
        # This is a new claim that has not completed binding.
        # OBSERVATION: claim is "Pending".
        if not claim.volume_name:
            # The user did not care which volume they get.
            delay_binding = self.is_delay_binding(claim)
            volume = self.volumes.find_best_match_for_claim(claim, delay_binding)
            if volume is None:
                # No volume could be found.
                # OBSERVATION: claim is "Pending", will retry.
                if self.rules.retroactive_default_class and self._assign_default_class(claim):
                    # The write brings the claim back here, with a class.
                    return
                if delay_binding and SELECTED_NODE not in claim.annotations:
                    self._emit_waiting(claim)
                elif claim_class(claim):
                    self.provision_claim(claim)
                    return
                else:
                    self.events.event(
                        claim,
                        NORMAL,
                        "FailedBinding",
                        "no persistent volumes available for this claim and no storage class is set",
                    )
                # Mark the claim as Pending and try to find a match in the next periodic sync.
                self.update_claim_status(claim, CLAIM_PENDING, None)
            else:
                # Found a volume for this claim.
                # OBSERVATION: claim is "Pending", volume is "Available".
                self.bind(volume, claim, self._candidates(claim, volume.name, delay_binding))
                # OBSERVATION: claim is "Bound", volume is "Bound".
                self.operation_starts.pop(claim.key, None)
        else:
            # The user asked for a specific volume.
            self._sync_claim_that_names_a_volume(claim)

    def _sync_claim_that_names_a_volume(self, claim: PersistentVolumeClaim) -> None:
        volume = self.volumes.get(claim.volume_name)
        if volume is None:
            # The user asked for a volume that does not exist.
            # OBSERVATION: claim is "Pending". Retry later.
            self.update_claim_status(claim, CLAIM_PENDING, None)
        elif volume.claim_ref is None:
            # The user asked for a volume that is not claimed.
            # OBSERVATION: claim is "Pending", volume is "Available".
            fault = check_volume_satisfies_claim(volume, claim)
            if fault is not None:
                message = f'Cannot bind to requested volume "{volume.name}": {fault}'
                self.events.event(claim, WARNING, "VolumeMismatch", message)
                self.update_claim_status(claim, CLAIM_PENDING, None)
            else:
                self.bind(volume, claim)
                # OBSERVATION: claim is "Bound", volume is "Bound".
        elif is_volume_bound_to_claim(volume, claim):
            # The user asked for a volume that is claimed by this claim; finish the binding by
            # adding the claim's uid.
            # OBSERVATION: claim is "Pending", volume is "Bound".
            self.bind(volume, claim)
            # OBSERVATION: claim is "Bound", volume is "Bound".
        else:
            # The user asked for a volume that is claimed by someone else.
            # OBSERVATION: claim is "Pending", volume is "Bound".
            if self.rules.says_volume_taken:
                message = f'volume "{volume.name}" already bound to a different claim.'
                self.events.event(claim, WARNING, "FailedBinding", message)
            if BOUND_BY_CONTROLLER in claim.annotations:
                # This should never happen: someone had to remove the bind-completed annotation.
                raise ControllerError(
                    f'Invalid binding of claim "{claim.key}" to volume "{claim.volume_name}": '
                    f'volume already claimed by "{volume.claim_key}"'
                )
            # Retry later.
            self.update_claim_status(claim, CLAIM_PENDING, None)

    def _sync_bound_claim(self, claim: PersistentVolumeClaim) -> None:
        # This claim has been bound before.
        # OBSERVATION: claim is not "Pending".
        if not claim.volume_name:
            # It was bound before but is not any more.
            self._lose_claim(
                claim,
                "ClaimLost",
                "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
            )
            return
        volume = self.volumes.get(claim.volume_name)
        if volume is None:
            # It is bound to a volume that does not exist.
            self._lose_claim(
                claim,
                "ClaimLost",
                "Bound claim has lost its PersistentVolume. Data on the volume is lost!",
            )
        elif volume.claim_ref is None:
            # The claim is bound but the volume has come unbound; or the updated volume has not
            # been heard of yet. The two cannot be told apart. Bind again.
            self.bind(volume, claim)
        elif (volume.claim_ref.get("uid") or "") == claim.uid:
            # All is well. In most cases there is nothing to write.
            self.bind(volume, claim)
        else:
            # The claim is bound but the volume has a different claimant. Lost is terminal.
            self._lose_claim(
                claim,
                "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly",
            )

    def _lose_claim(self, claim: PersistentVolumeClaim, reason: str, message: str) -> None:
        if claim.phase == CLAIM_LOST:
            return
        lost = self.update_claim_status(claim, CLAIM_LOST, None)
        self.events.event(lost, WARNING, reason, message)

    def _emit_waiting(self, claim: PersistentVolumeClaim) -> None:
        reason = "WaitForFirstConsumer"
        message = "waiting for first consumer to be created before binding"
        if self.rules.names_waiting_pods:
            names = [
                pod.name
                for pod in self.listers.pods_of_claim(claim.key)
                if not pod.is_terminated and not pod.node_name
            ]
            if names:
                # Several pods may use the claim; which one is being scheduled is not known here.
                reason = "WaitForPodScheduled"
                which = "pod" if len(names) == 1 else "pods"
                message = f"waiting for {which} {','.join(names)} to be scheduled"
        self.events.event(claim, NORMAL, reason, message)

    def is_delay_binding(self, claim: PersistentVolumeClaim) -> bool:
        """Whether binding the claim is left to the scheduler. Upstream: IsDelayBindingMode()."""
        return is_delay_binding(claim, self.listers)

    def explain_claim(self, key: str) -> list[CandidateVerdict]:
        """What the rules say of every volume for the claim of that key, as things stand now."""
        claim = self.claims.get(key)
        if claim is None:
            return []
        delay = not claim.is_bind_completed and self.is_delay_binding(claim)
        best = claim.volume_name
        if not best:
            found = self.volumes.find_best_match_for_claim(claim, delay)
            best = found.name if found else ""
        return explain_candidates(claim, self.volumes, None, (), delay, best)

    def _candidates(
        self, claim: PersistentVolumeClaim, chosen: str, delay_binding: bool
    ) -> dict[str, Any]:
        data: dict[str, Any] = {"claim": claim.key, "volumes": len(self.volumes)}
        if len(self.volumes) <= EXPLAINED_VOLUMES:
            verdicts = explain_candidates(claim, self.volumes, None, (), delay_binding, chosen)
            data["candidates"] = [verdict.to_dict() for verdict in verdicts[:_SHOWN_CANDIDATES]]
        return data

    def _assign_default_class(self, claim: PersistentVolumeClaim) -> bool:
        """Give a claim without any class the default one. Upstream: assignDefaultStorageClass()."""
        if claim.storage_class_name is not None:
            return False
        defaults = [each for each in self.listers.storage_classes() if each.is_default]
        if not defaults:
            return False
        # The newest wins; of equally old ones the first by name.
        defaults.sort(key=_name_of)
        default = max(defaults, key=_created_at)
        patched = claim.patched({"spec": {"storageClassName": default.name}})
        told = Told("ClaimClassAssigned", f"class {default.name} is the default")
        self.store_claim_update(self.api.update_claim(patched, told))
        return True

    # Volumes

    def sync_volume(self, volume: PersistentVolume) -> None:
        """Decide what to do with a volume. Raises SimError when a write fails."""
        volume = self.update_volume_migration(volume)
        ref = volume.claim_ref
        if ref is None:
            # The volume is unused.
            self.update_volume_phase(volume, VOLUME_AVAILABLE)
        elif not ref.get("uid"):
            # It is reserved for a claim that has not been bound to it yet; the claim's sync will
            # handle it.
            self.update_volume_phase(volume, VOLUME_AVAILABLE)
        else:
            self._sync_claimed_volume(volume, self._claim_of(volume))

    def _claim_of(self, volume: PersistentVolume) -> PersistentVolumeClaim | None:
        """The claim that *volume* is bound to, or None when it is gone for sure."""
        assert volume.claim_ref is not None
        claim = self.claims.get(volume.claim_key)
        if claim is None and volume.phase not in (VOLUME_RELEASED, VOLUME_FAILED):
            # A volume made or bound by someone else may be heard of before its claim. Look twice
            # before reclaiming it wrongly.
            claim = self.listers.claim(volume.claim_key) or self._live_claim(volume.claim_key)
        if claim is not None and claim.uid != volume.claim_ref["uid"]:
            if self.rules.rechecks_claim_uid:
                # The claim known here may be the older of the two.
                claim = self._live_claim(volume.claim_key)
                if claim is not None and claim.uid == volume.claim_ref["uid"]:
                    return claim
            # The claim was deleted, and another one of the same name created.
            return None
        return claim

    def _live_claim(self, key: str) -> PersistentVolumeClaim | None:
        try:
            return self.api.get_claim(key)
        except NotFound:
            return None

    def _sync_claimed_volume(
        self, volume: PersistentVolume, claim: PersistentVolumeClaim | None
    ) -> None:
        if claim is None:
            # The claim must have been deleted. A Failed phase stays for the user to see, while the
            # reclaim is tried again.
            self._reclaim(self._released(volume))
        elif not claim.volume_name:
            if volume_mode(claim) != volume_mode(volume):
                # The claim's sync will never match the two.
                self._emit_mode_mismatch(volume, claim)
                return
            # Either the binding is not completed, or the volume was bound and the claim got
            # unbound by the user.
            # OBSERVATION: volume is "Bound", claim is "Pending".
            # The next claim sync will fix it; this speeds it up, above all for volumes that a
            # provisioner has saved.
            self.claim_queue.add(claim.key)
        elif claim.volume_name == volume.name:
            # The volume is bound to its claim properly.
            self.update_volume_phase(volume, VOLUME_BOUND)
        # The volume is bound to a claim, but the claim is bound elsewhere.
        elif PROVISIONED_BY in volume.annotations and volume.reclaim_policy == RECLAIM_DELETE:
            # It was provisioned for this claim, which does not need it any more.
            self._reclaim(self._released(volume))
        else:
            # Either the controller tried this volume for the claim, which was then fulfilled by
            # another one; or the user reserved it, and it stays reserved.
            self.unbind_volume(volume)

    def _released(self, volume: PersistentVolume) -> PersistentVolume:
        if volume.phase in (VOLUME_RELEASED, VOLUME_FAILED):
            return volume
        return self.update_volume_phase(volume, VOLUME_RELEASED)

    def _emit_mode_mismatch(self, volume: PersistentVolume, claim: PersistentVolumeClaim) -> None:
        self.events.event(
            volume,
            WARNING,
            "VolumeMismatch",
            "Cannot bind PersistentVolume to requested PersistentVolumeClaim "
            f'"{claim.name}" due to incompatible volumeMode.',
        )
        self.events.event(
            claim,
            WARNING,
            "VolumeMismatch",
            f'Cannot bind PersistentVolume "{volume.name}" to requested PersistentVolumeClaim due '
            "to incompatible volumeMode.",
        )

    # Provisioning

    def provision_claim(self, claim: PersistentVolumeClaim) -> None:
        """Start to provision a volume for the claim, if dynamic provisioning is on."""
        if not self.dynamic_provisioning:
            return
        try:
            plugin, storage_class = self._find_provisionable_plugin(claim)
        except SimError as error:
            # Tried again in every sync.
            self.events.event(claim, WARNING, "ProvisioningFailed", str(error))
            return
        operation: Operation
        if plugin is None:
            operation = ExternalProvisioning(self, claim, storage_class)
        else:
            operation = Provisioning(self, claim, plugin, storage_class)
        self.schedule_operation(f"provision-{claim.key}[{claim.uid}]", operation)

    def _find_provisionable_plugin(
        self, claim: PersistentVolumeClaim
    ) -> tuple[VolumePlugin | None, StorageClass]:
        """The plugin of the claim's class, None for an external provisioner."""
        name = claim_class(claim)
        storage_class = self.listers.storage_class(name)
        if storage_class is None:
            raise NotFound(f'storageclass.storage.k8s.io "{name}" not found')
        provisioner = storage_class.provisioner
        if self.migration.is_enabled(provisioner):
            # The CSI driver's provisioner does it.
            return None, storage_class
        try:
            return self.plugins.provisionable_by_name(provisioner), storage_class
        except PluginError:
            if not is_in_tree(provisioner):
                return None, storage_class
            raise

    def schedule_operation(self, name: str, operation: Operation) -> None:
        """Run *operation*, unless one of that name is running or backing off."""
        self.operations.run(name, operation)

    # Reclaim

    def _reclaim(self, volume: PersistentVolume) -> None:
        if volume.annotations.get(MIGRATED_TO):
            # The external provisioner takes care of it.
            return
        policy = volume.reclaim_policy
        if policy == RECLAIM_RETAIN:
            # Nothing to do.
            return
        if policy == RECLAIM_RECYCLE:
            self.schedule_operation(f"recycle-{volume.name}[{volume.uid}]", Recycling(self, volume))
        elif policy == RECLAIM_DELETE:
            plugin = volume.annotations.get(PROVISIONED_BY, "")
            self.operation_started(volume.name, plugin, "delete")
            self.schedule_operation(f"delete-{volume.name}[{volume.uid}]", Deletion(self, volume))
        else:
            self.update_volume_phase_with_event(
                volume,
                VOLUME_FAILED,
                WARNING,
                "VolumeUnknownReclaimPolicy",
                "Volume has unrecognized PersistentVolumeReclaimPolicy",
            )


def _name_of(obj: ApiObject) -> str:
    return obj.name


def _created_at(obj: ApiObject) -> str:
    return obj.creation_timestamp
