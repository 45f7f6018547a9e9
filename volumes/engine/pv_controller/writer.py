"""Every write that the PV controller and its operations make, and the caches they show in at once.

`VolumeWriter` is what the controller's syncs and its operations stand on: the API server, the
controller's own caches of volumes and claims, its events, its rules. Each write is one fact in the
record, with its author. Upstream: pv_controller.go and pv_controller_base.go.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kscope.sim.errors import ApiError, Conflict, SimError
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.objects.objects import (
    EMPTY,
    ApiObject,
    Manifest,
    PersistentVolume,
    PersistentVolumeClaim,
    quantity,
)
from volumes.engine.matching.matching import VolumeIndex
from volumes.engine.migration import Migration
from volumes.engine.phases import (
    BETA_STORAGE_PROVISIONER,
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIM_BOUND,
    CLAIM_LOST,
    MIGRATED_TO,
    PROVISIONED_BY,
    RECLAIM_DELETE,
    RECLAIM_RECYCLE,
    RECLAIM_RETAIN,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    VOLUME_AVAILABLE,
    VOLUME_BOUND,
    WAIT_FOR_FIRST_CONSUMER,
    YES,
    claim_class,
    claim_ref_of,
    is_volume_bound_to_claim,
)
from volumes.engine.ports import EventSink, Listers, Told, VolumeApi
from volumes.engine.pv_controller.provisioner import (
    Delays,
    PluginError,
    PluginRegistry,
    VolumePlugin,
    is_in_tree,
)

IN_TREE_FINALIZER: Final = "kubernetes.io/pv-controller"
EXTERNAL_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRules:
    """What the PV controller of one version does."""

    provisioner_annotations: tuple[str, ...]
    """The annotations of a claim that start an external provisioner."""
    external_provisioning: str
    """The Event of a claim that waits for an external provisioner."""
    names_waiting_pods: bool
    """The Event of a claim that waits for its first consumer names the pods that wait with it."""
    says_volume_taken: bool
    """A claim that names a volume of another claim gets an Event."""
    retroactive_default_class: bool
    """A claim without a class gets the default class once there is one."""
    honors_reclaim_policy: bool
    """Provisioned in-tree volumes keep a finalizer until their deletion has succeeded."""
    reschedules_lost_node: bool
    """A claim whose selected node is gone goes back to the scheduler."""
    rechecks_claim_uid: bool
    """A claim with another uid is looked up again before its volume is released."""


class ControllerError(SimError):
    """A sync cannot go on; the text is upstream's."""


@dataclass(frozen=True, slots=True)
class OperationStart:
    """When a provisioning or deletion was first asked for. Upstream: metrics.OperationStartTimeCache."""

    plugin: str
    operation: str
    at: int


class VolumeWriter:
    """The controller's caches and writes.

    `volumes` and `claims` are its own caches, in which its own writes show at once; *listers* are
    the informers.
    """

    def __init__(
        self,
        loop: EventLoop,
        api: VolumeApi,
        listers: Listers,
        events: EventSink,
        plugins: PluginRegistry,
        migration: Migration,
        rules: ControllerRules,
    ) -> None:
        self._loop = loop
        self.api = api
        self.listers = listers
        self.events = events
        self.plugins = plugins
        self.migration = migration
        self.rules = rules
        # How long the API server takes to answer a write, in ns.
        self.answer_delay = 0
        self.delays: Delays | None = None
        self.volumes = VolumeIndex()
        self.claims: dict[str, PersistentVolumeClaim] = {}
        # What has changed in these caches; whoever minds empties it.
        self.changed_volumes: dict[str, None] = {}
        self.changed_claims: dict[str, None] = {}
        self.operation_starts: dict[str, OperationStart] = {}

    def store_volume_update(self, volume: PersistentVolume) -> bool:
        """Put *volume* in the cache; False when a newer one is there already."""
        if not _is_news(volume, self.volumes.get(volume.name), "volume"):
            return False
        self.volumes.put(volume)
        self.changed_volumes[volume.name] = None
        return True

    def store_claim_update(self, claim: PersistentVolumeClaim) -> bool:
        """Put *claim* in the cache; False when a newer one is there already."""
        if not _is_news(claim, self.claims.get(claim.key), "claim"):
            return False
        self.claims[claim.key] = claim
        self.changed_claims[claim.key] = None
        return True

    # Writes

    def bind(
        self,
        volume: PersistentVolume,
        claim: PersistentVolumeClaim,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Write a binding: the volume, its status, the claim, its status.

        Raises SimError at the first write that fails; what was written stays, half-bound.
        """
        claimed = self._bind_volume_to_claim(volume, claim, data)
        if claimed is not volume and claim.volume_name and self._is_overtaken():
            raise Conflict(
                f'Operation cannot be fulfilled on persistentvolumes "{volume.name}": the object '
                "has been modified; please apply your changes to the latest version and try again"
            )
        volume = self.update_volume_phase(claimed, VOLUME_BOUND, f"bound to {claim.key}")
        claim = self._bind_claim_to_volume(claim, volume)
        self.update_claim_status(claim, CLAIM_BOUND, volume, f"bound to {volume.name}")

    def _is_overtaken(self) -> bool:
        """Whether the volume's worker writes the phase of a volume that was just claimed first.

        Upstream the two workers race wherever the claim names its volume. The loser's write is in
        conflict; nothing brings the claim back before the next resync.
        """
        return self.delays is not None and self.delays.draw("bind_race") > 0

    def _bind_volume_to_claim(
        self,
        volume: PersistentVolume,
        claim: PersistentVolumeClaim,
        data: dict[str, Any] | None,
    ) -> PersistentVolume:
        bound = bind_volume_to_claim(volume, claim)
        if bound is volume:
            return volume
        told = Told("VolumePreBound", f"claimRef names {claim.key}", data)
        stored = self.api.update_volume(bound, told)
        self.store_volume_update(stored)
        return stored

    def _bind_claim_to_volume(
        self, claim: PersistentVolumeClaim, volume: PersistentVolume
    ) -> PersistentVolumeClaim:
        parts: Manifest = {}
        annotations = {**claim.annotations}
        if claim.volume_name != volume.name:
            parts["spec"] = {**claim.spec, "volumeName": volume.name}
            # Not set when the user had named the volume.
            annotations.setdefault(BOUND_BY_CONTROLLER, YES)
        annotations.setdefault(BIND_COMPLETED, YES)
        if len(annotations) != len(claim.annotations):
            bound = claim.annotated(annotations, **parts)
        elif parts:
            bound = claim.replaced(**parts)
        else:
            return claim
        told = Told("ClaimBindCompleted", f"volumeName names {volume.name}")
        stored = self.api.update_claim(bound, told)
        self.store_claim_update(stored)
        return stored

    def unbind_volume(self, volume: PersistentVolume) -> None:
        """Undo a binding of the volume. What the user reserved stays reserved, by name."""
        spec, metadata = dict(volume.spec), dict(volume.metadata)
        if BOUND_BY_CONTROLLER in volume.annotations:
            # The controller bound it: it is anybody's again.
            spec.pop("claimRef", None)
            left = {k: v for k, v in volume.annotations.items() if k != BOUND_BY_CONTROLLER}
            metadata["annotations"] = left
            if not left:
                del metadata["annotations"]
        elif volume.claim_ref is not None:
            # The user reserved it: only the uid goes.
            spec["claimRef"] = {k: v for k, v in volume.claim_ref.items() if k != "uid"}
        unbound = PersistentVolume({**volume.raw, "metadata": metadata, "spec": spec})
        told = Told("VolumeUnbound", f"no longer bound to {volume.claim_key}")
        stored = self.api.update_volume(unbound, told)
        self.store_volume_update(stored)
        self.update_volume_phase(stored, VOLUME_AVAILABLE)

    def update_volume_phase(
        self, volume: PersistentVolume, phase: str, why: str = "", status_message: str = ""
    ) -> PersistentVolume:
        """Set a volume's phase, and its status message; nothing when it has that phase."""
        has = volume.status
        if (has.get("phase") or "") == phase:
            return volume
        status: Manifest = {**has, "phase": phase}
        if status_message:
            status["message"] = status_message
        else:
            status.pop("message", None)
        told = Told(f"Volume{phase}", why or status_message or f"phase is {phase}")
        stored = self.api.update_volume_status(volume.with_status(status), told)
        self.store_volume_update(stored)
        return stored

    def update_volume_phase_with_event(
        self, volume: PersistentVolume, phase: str, event_type: str, reason: str, message: str
    ) -> None:
        """Set a phase and say why, both only when the phase is new."""
        if volume.phase == phase:
            return
        stored = self.update_volume_phase(volume, phase, status_message=message)
        self.events.event(stored, event_type, reason, message)

    def update_claim_status(
        self,
        claim: PersistentVolumeClaim,
        phase: str,
        volume: PersistentVolume | None,
        why: str = "",
    ) -> PersistentVolumeClaim:
        """Set a claim's phase, and what it has of *volume*: modes and capacity, or neither."""
        has = claim.status
        is_new = has.get("phase") != phase
        status: Manifest = {**has, "phase": phase}
        if volume is None:
            status.pop("accessModes", None)
            status.pop("capacity", None)
        else:
            modes = volume.access_modes
            has_modes = modes == tuple(has.get("accessModes") or ())
            if has_modes and not is_new:
                # What is bound stays as it is, in all but its modes.
                return claim
            if not has_modes:
                status["accessModes"] = list(modes)
            if is_new:
                # Only as it becomes Bound: later a difference may be meant, as in an expansion.
                capacity = volume.spec.get("capacity") or EMPTY
                if "storage" not in capacity:
                    raise ControllerError(
                        f'PersistentVolume "{volume.name}" is without a storage capacity'
                    )
                known = has.get("capacity") or EMPTY
                if "storage" not in known or _differs(known, capacity):
                    status["capacity"] = dict(capacity)
        if status == has:
            return claim
        # A Kubernetes Event follows that is called ClaimLost, and says why.
        fact = "ClaimPhaseLost" if phase == CLAIM_LOST else f"Claim{phase}"
        told = Told(fact, why or f"phase is {phase}")
        stored = self.api.update_claim_status(claim.with_status(status), told)
        self.store_claim_update(stored)
        return stored

    # Migration

    def update_claim_migration(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        """Write the claim's migrated-to annotation, if it is not as it should be."""
        annotations = self.claim_migration_patch(claim) if claim.annotations else None
        if annotations is None:
            return claim
        patched = claim.patched({"metadata": {"annotations": annotations}})
        try:
            stored = self.api.update_claim(patched, Told("ClaimMigrated"))
        except ApiError as error:
            raise _cannot_anneal(error) from error
        self.store_claim_update(stored)
        return stored

    def update_volume_migration(self, volume: PersistentVolume) -> PersistentVolume:
        """Write the volume's migrated-to annotation and finalizers, if not as they should be."""
        metadata = self.volume_migration_patch(volume) if volume.annotations else None
        if not metadata:
            return volume
        patched = volume.patched({"metadata": metadata})
        try:
            stored = self.api.update_volume(patched, Told("VolumeMigrated"))
        except ApiError as error:
            raise _cannot_anneal(error) from error
        self.store_volume_update(stored)
        return stored

    def claim_migration_patch(self, claim: PersistentVolumeClaim) -> Manifest | None:
        """The change to the claim's annotations that migration asks for, or None."""
        keys = STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER
        return self.migration_patch(claim.annotations, *keys)

    def volume_migration_patch(self, volume: PersistentVolume) -> Manifest:
        """The change to the volume's metadata that migration and reclaim ask for; may be empty."""
        metadata: Manifest = {}
        if PROVISIONED_BY not in volume.annotations:
            return metadata
        annotations = self.migration_patch(volume.annotations, PROVISIONED_BY)
        if annotations is not None:
            metadata["annotations"] = annotations
        finalizers = self._deletion_finalizers(volume)
        if finalizers is not None:
            metadata["finalizers"] = finalizers or None
        return metadata

    def migration_patch(
        self, annotations: Mapping[str, str], *provisioner_keys: str
    ) -> Manifest | None:
        """The change that makes the migrated-to annotation true; None when it is.

        The provisioner is the first of *provisioner_keys* that is set. Upstream:
        updateMigrationAnnotations().
        """
        provisioner: str | None = None
        for key in provisioner_keys:
            provisioner = annotations.get(key)
            if provisioner is not None:
                break
        else:
            return None
        migrated_to = annotations.get(MIGRATED_TO, "")
        if self.migration.is_enabled(provisioner):
            driver = self.migration.driver_of(provisioner)
            if driver is not None and migrated_to != driver:
                return {MIGRATED_TO: driver}
        elif migrated_to:
            # Rolled back.
            return {MIGRATED_TO: None}
        return None

    def _deletion_finalizers(self, volume: PersistentVolume) -> list[str] | None:
        """The finalizers it should have instead, or None. Upstream: modifyDeletionFinalizers()."""
        if not self.rules.honors_reclaim_policy or PROVISIONED_BY not in volume.annotations:
            return None
        provisioner = volume.annotations[PROVISIONED_BY]
        wanted = list(volume.finalizers)
        if self.migration.is_enabled(provisioner):
            wanted = [name for name in wanted if name != IN_TREE_FINALIZER]
        elif not is_in_tree(provisioner):
            return None
        else:
            policy = volume.reclaim_policy
            # The API server takes no new finalizer on what is being deleted.
            missing = IN_TREE_FINALIZER not in wanted and not volume.deletion_timestamp
            if policy == RECLAIM_DELETE and missing:
                wanted.append(IN_TREE_FINALIZER)
            elif policy in (RECLAIM_RETAIN, RECLAIM_RECYCLE):
                wanted = [name for name in wanted if name != IN_TREE_FINALIZER]
            wanted = [name for name in wanted if name != EXTERNAL_FINALIZER]
        return None if tuple(wanted) == volume.finalizers else wanted

    # For operations

    def operation_started(self, key: str, plugin: str, operation: str) -> None:
        """Note when *operation* on *key* was first begun."""
        if key not in self.operation_starts:
            self.operation_starts[key] = OperationStart(plugin, operation, self._loop.now)

    def set_claim_provisioner(
        self, claim: PersistentVolumeClaim, provisioner: str
    ) -> PersistentVolumeClaim:
        """Write the annotation that tells an external provisioner to start."""
        keys = self.rules.provisioner_annotations
        if claim.annotations.get(keys[-1]) == provisioner:
            return claim
        annotations: dict[str, str | None] = dict.fromkeys(keys, provisioner)
        after = {**claim.annotations, **dict.fromkeys(keys, provisioner)}
        migrated = self.migration_patch(after, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER)
        annotations.update(migrated or {})
        patched = claim.patched({"metadata": {"annotations": annotations}})
        told = Told("ClaimProvisionerSet", f"to be provisioned by {provisioner}")
        stored = self.api.update_claim(patched, told)
        self.store_claim_update(stored)
        return stored

    def reschedule_provisioning(self, claim: PersistentVolumeClaim) -> None:
        """Take the selected node off the claim, so that the scheduler decides anew."""
        if SELECTED_NODE not in claim.annotations:
            return
        patched = claim.patched({"metadata": {"annotations": {SELECTED_NODE: None}}})
        told = Told("ClaimRescheduled", f"node {claim.selected_node} did not work out")
        try:
            stored = self.api.update_claim(patched, told)
        except ApiError:
            return
        self.store_claim_update(stored)

    def is_volume_released(self, volume: PersistentVolume) -> bool:
        """Whether the claim of *volume* is gone, or bound to another volume."""
        ref = volume.claim_ref
        if ref is None or not ref.get("uid"):
            # Nobody's, or reserved by the user.
            return False
        claim = self.claims.get(volume.claim_key)
        if claim is not None and claim.uid == ref["uid"]:
            # The claim still exists; released only if it is bound to another volume.
            return bool(claim.volume_name) and claim.volume_name != volume.name
        return True

    def pods_using(self, volume: PersistentVolume) -> list[str]:
        """Keys of pods that have not ended and mention the volume's claim, sorted."""
        if volume.claim_ref is None:
            return []
        pods = self.listers.pods_of_claim(volume.claim_key)
        return sorted(pod.key for pod in pods if not pod.is_terminated)

    def find_deletable_plugin(self, volume: PersistentVolume) -> VolumePlugin | None:
        """The plugin that deletes *volume*, None when that is an external one. Raises PluginError."""
        # First the plugin that provisioned it.
        provisioner = volume.annotations.get(PROVISIONED_BY)
        if provisioner:
            if volume.annotations.get(MIGRATED_TO) or self.migration.is_enabled(provisioner):
                return None
            try:
                return self.plugins.deletable_by_name(provisioner)
            except PluginError:
                if not is_in_tree(provisioner):
                    return None
                raise
        try:
            return self.plugins.deletable_by_spec(volume)
        except PluginError as error:
            raise PluginError(
                f'Error getting deleter volume plugin for volume "{volume.name}": {error}'
            ) from error


def is_delay_binding(claim: PersistentVolumeClaim, listers: Listers) -> bool:
    """Whether a claim's class leaves its binding to the scheduler.

    Raises ControllerError for a class without a mode (the API server sets one). Upstream:
    pv_helpers.go, IsDelayBindingMode().
    """
    name = claim_class(claim)
    storage_class = listers.storage_class(name) if name else None
    if storage_class is None:
        return False
    mode = storage_class.raw.get("volumeBindingMode")
    if mode is None:
        raise ControllerError(f'VolumeBindingMode not set for StorageClass "{name}"')
    return mode == WAIT_FOR_FIRST_CONSUMER


def with_claim_ref(volume: PersistentVolume, ref: Mapping[str, Any]) -> PersistentVolume:
    """*volume* with the whole of its claimRef replaced."""
    return volume.replaced(spec={**volume.spec, "claimRef": dict(ref)})


def bind_volume_to_claim(
    volume: PersistentVolume, claim: PersistentVolumeClaim
) -> PersistentVolume:
    """*volume* as bound to *claim*; the same object when it is so already.

    The bound-by-controller annotation is set unless the volume was reserved for the claim. Upstream:
    pv_helpers.go, GetBindVolumeToClaim().
    """
    reserved = is_volume_bound_to_claim(volume, claim)
    ref = volume.claim_ref
    parts: Manifest = {}
    if not reserved or ref is None or (ref.get("uid") or "") != claim.uid:
        parts["spec"] = {**volume.spec, "claimRef": claim_ref_of(claim)}
    if not reserved and BOUND_BY_CONTROLLER not in volume.annotations:
        return volume.annotated({**volume.annotations, BOUND_BY_CONTROLLER: YES}, **parts)
    return volume.replaced(**parts) if parts else volume


def _is_news(new: ApiObject, old: ApiObject | None, what: str) -> bool:
    """Whether *new* is not older than *old*. Upstream: storeObjectUpdate()."""
    if old is None or old is new:
        return True
    try:
        return int(old.resource_version) <= int(new.resource_version)
    except ValueError:
        # One of the two says which it is.
        return _version(old, what, "old ") <= _version(new, what, "")


def _version(obj: ApiObject, what: str, which: str) -> int:
    text = obj.resource_version
    try:
        return int(text)
    except ValueError:
        raise ControllerError(
            f'Error parsing {which}ResourceVersion "{text}" of {what} "{obj.key}": '
            f'strconv.ParseInt: parsing "{text}": invalid syntax'
        ) from None


def _differs(has: Mapping[str, Any], capacity: Mapping[str, Any]) -> bool:
    return quantity.parse(has["storage"]) != quantity.parse(capacity["storage"])


def _cannot_anneal(error: ApiError) -> ApiError:
    kind = type(error)
    return kind(f"persistent Volume Controller can't anneal migration annotations: {error}")
