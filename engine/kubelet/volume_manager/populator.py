"""The desired-state populator: from the pods of a node to the volumes that it should have.

Upstream: pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from engine.kernel.errors import ApiError
from engine.kernel.units import SECOND
from engine.kubelet.volume_manager.actual_state import (
    ActualStateOfWorld,
    MountedVolume,
    VolumeMountState,
)
from engine.kubelet.volume_manager.desired_state import DesiredStateOfWorld
from engine.kubelet.volume_manager.trace_steps.rounds import RoundNotes
from engine.objects.objects import Manifest, PersistentVolume, PersistentVolumeClaim, Pod, quantity
from engine.objects.phases import CLAIM_PROTECTION
from engine.storage.plugins.spec import VolumePlugins, VolumeSpec, pod_volume_names, text_at

# How often the container runtime is asked what still runs. Upstream: volume_manager.go.
GET_POD_STATUS_RETRY_DURATION: Final = 2 * SECOND

_ADD: Final = "findAndAddNewPods"
_REMOVE: Final = "findAndRemoveDeletedPods"

GID_ANNOTATION: Final = "pv.beta.kubernetes.io/gid"


class PodManager(Protocol):
    """The pods of the node, as the kubelet has them from the API server."""

    def get_pods(self) -> Iterable[Pod]:
        """Every pod of the node."""
        ...

    def get_pod_by_uid(self, uid: str) -> Pod | None:
        """The pod, or None when it is deleted."""
        ...


class Runtime(Protocol):
    """The container runtime, and what the kubelet last saw of it."""

    def has_running_containers(self, uid: str) -> bool:
        """Whether a container or the sandbox of the pod still runs."""
        ...


class ClaimApi(Protocol):
    """Claims and volumes, read from the API server itself. Both methods may raise ApiError."""

    def get_volume(self, name: str) -> PersistentVolume:
        """The volume."""
        ...

    def get_claim(self, key: str) -> PersistentVolumeClaim:
        """The claim."""
        ...


class Clock(Protocol):
    """Virtual time."""

    now: int


@dataclass(frozen=True, slots=True)
class PopulatorSources:
    """Where the populator reads pods, their containers and their claims."""

    clock: Clock
    api: ClaimApi
    pods: PodManager
    runtime: Runtime


class CreatedSpec(NamedTuple):
    """The spec of a pod's volume, with its claim if it has one; or the error."""

    claim: PersistentVolumeClaim | None = None
    spec: VolumeSpec | None = None
    gid: str = ""
    error: str | None = None


class DesiredStateOfWorldPopulator:
    """Adds the volumes of new pods to the desired state, and removes those of ended pods."""

    __slots__ = (
        "_actual",
        "_api",
        "_clock",
        "_desired",
        "_expand_in_use",
        "_mounts_protected",
        "_plugins",
        "_pods",
        "_removes_uncertain",
        "_runtime",
        "_time_of_last_get_pod_status",
        "has_added_pods",
        "processed_pods",
    )

    def __init__(
        self,
        sources: PopulatorSources,
        desired: DesiredStateOfWorld,
        actual: ActualStateOfWorld,
        plugins: VolumePlugins,
        *,
        expand_in_use: bool = True,
        removes_uncertain: bool = False,
        mounts_protected: bool = True,
    ) -> None:
        """With *removes_uncertain* a volume may be removed before its mount is certain (1.25).

        With *mounts_protected* a claim that is being deleted is mounted while it is protected.
        """
        self._clock = sources.clock
        self._api = sources.api
        self._pods = sources.pods
        self._runtime = sources.runtime
        self._desired = desired
        self._actual = actual
        self._plugins = plugins
        self._expand_in_use = expand_in_use
        self._removes_uncertain = removes_uncertain
        self._mounts_protected = mounts_protected
        self._time_of_last_get_pod_status: int | None = None
        # Pod → False if it was processed before and is to be processed again.
        self.processed_pods: dict[str, bool] = {}
        self.has_added_pods = False

    def populator_loop(self, notes: RoundNotes | None = None) -> None:
        """One round, written into *notes*. After the first, every pod known at the start was added."""
        self.find_and_add_new_pods(notes)
        self.has_added_pods = True
        # Calls of the runtime are expensive: removal runs less often than adding.
        if self.next_removal_at <= self._clock.now:
            self.find_and_remove_deleted_pods(notes)

    @property
    def next_removal_at(self) -> int:
        """When the runtime may be called again, in ns; 0 for at any time."""
        last = self._time_of_last_get_pod_status
        return 0 if last is None else last + GET_POD_STATUS_RETRY_DURATION

    def reprocess_pod(self, pod_name: str) -> None:
        """Process a pod again in the next round."""
        if pod_name in self.processed_pods:
            self.processed_pods[pod_name] = False

    def pod_has_been_seen_once(self, pod_name: str) -> bool:
        """Whether the pod was processed at least once, even if it is to be processed again."""
        return pod_name in self.processed_pods

    # Adding

    def find_and_add_new_pods(self, notes: RoundNotes | None = None) -> None:
        """Add the volumes of every pod that has not ended and was not processed yet."""
        todo: list[Pod] = []
        for pod in self._pods.get_pods():
            is_processed = self.processed_pods.get(pod.uid)
            if not is_processed and not self._is_terminated(pod):
                todo.append(pod)
            elif notes is not None:
                found = "in processedPods" if is_processed else "terminated"
                notes.saw(_ADD, pod.key, found, "skipped")
        resized: dict[str, None] = {}
        for pod in todo:
            found = "to be processed again" if pod.uid in self.processed_pods else "new"
            self._process_pod_volumes(pod, resized)
            if notes is not None:
                errors = "; ".join(self._desired.pod_errors(pod.uid))
                notes.saw(_ADD, pod.key, found, errors or "added", done=not errors)

    def _process_pod_volumes(self, pod: Pod, resized: dict[str, None]) -> None:
        pod_name = pod.uid
        mounted: dict[str, MountedVolume] = {}
        if self._expand_in_use:
            for volume in self._actual.get_mounted_volumes_for_pod(pod_name):
                mounted[volume.outer_name] = volume
        all_added = True
        mounts, devices = pod_volume_names(pod)
        for pod_volume in pod.volumes:
            name = pod_volume["name"]
            if name not in mounts and name not in devices:
                # No container uses it.
                continue
            created = self.create_volume_spec(pod_volume, pod, mounts, devices)
            error = created.error
            if created.spec is not None:
                added = self._desired.add_pod_to_volume(
                    pod_name, pod, created.spec, name, created.gid, now=self._clock.now
                )
                error = added.error
            if error is not None:
                self._desired.add_error_to_pod(pod_name, error)
                all_added = False
            if created.spec is not None and created.claim is not None and self._expand_in_use:
                volume = mounted.get(name)
                if volume is not None:
                    self._check_volume_fs_resize(pod_name, volume, created, resized)
        if all_added:
            self.processed_pods[pod_name] = True
            # Volumes whose contents depend on the pod are set up again when the pod is synced.
            self._actual.mark_remount_required(pod_name)
            self._desired.pop_pod_errors(pod_name)
        elif self.pod_has_been_seen_once(pod_name):
            # Its volumes were added once. It is not processed again before reprocess_pod is called, so
            # that this does not happen in every round.
            self.processed_pods[pod_name] = True

    def _check_volume_fs_resize(
        self,
        pod_name: str,
        mounted: MountedVolume,
        created: CreatedSpec,
        resized: dict[str, None],
    ) -> None:
        assert created.spec is not None
        assert created.claim is not None
        # A volume that is not mounted yet is resized when it is mounted; a read-only one never.
        if mounted.volume_name in resized or created.spec.read_only:
            return
        if requires_fs_resize(created.claim.raw, created.spec):
            self._actual.mark_fs_resize_required(mounted.volume_name, pod_name)
        resized[mounted.volume_name] = None

    def create_volume_spec(
        self, pod_volume: Manifest, pod: Pod, mounts: Container[str], devices: Container[str]
    ) -> CreatedSpec:
        """The spec of one of the pod's volumes; of the PersistentVolume when it is a claim."""
        source: Manifest | None = pod_volume.get("persistentVolumeClaim")
        ephemeral = source is None and pod_volume.get("ephemeral") is not None
        if ephemeral:
            # Handled as a claim that must be owned by the pod.
            read_only = pod_volume["ephemeral"].get("readOnly", False)
            source = {"claimName": f"{pod.name}-{pod_volume['name']}", "readOnly": read_only}
        if source is None:
            return CreatedSpec(spec=VolumeSpec(volume=pod_volume))
        key = f"{pod.namespace}/{source['claimName']}"
        claim, error = self._bound_claim(key)
        if claim is None:
            return CreatedSpec(error=f"error processing PVC {key}: {error}")
        if ephemeral and not _is_controlled_by(claim, pod):
            return CreatedSpec(
                error=f"error processing PVC {key}: not the ephemeral PVC for the pod"
            )
        volume, error = self._claimed_volume(claim)
        if volume is None:
            return CreatedSpec(error=f"error processing PVC {key}: {error}")
        spec = VolumeSpec(
            persistent_volume=volume.raw, read_only=bool(source.get("readOnly", False))
        )
        error = _mode_error(pod_volume["name"], spec, mounts, devices)
        if error is not None:
            return CreatedSpec(error=error)
        return CreatedSpec(claim, spec, volume.annotations.get(GID_ANNOTATION, ""))

    def _bound_claim(self, key: str) -> tuple[PersistentVolumeClaim | None, str]:
        # Upstream: getPVCExtractPV.
        try:
            claim = self._api.get_claim(key)
        except ApiError as error:
            return None, f"failed to fetch PVC from API server: {error}"
        if claim.deletion_timestamp and not (
            self._mounts_protected and CLAIM_PROTECTION in claim.finalizers
        ):
            # A pod must not start to use a claim that is being deleted. One that is protected stays
            # until its pods are deleted, and a restarted kubelet must not take it from them.
            return None, "PVC is being deleted"
        if claim.status.get("phase") != "Bound":
            return None, "PVC is not bound"
        if not claim.volume_name:
            return None, "PVC has empty pvc.Spec.VolumeName"
        return claim, ""

    def _claimed_volume(self, claim: PersistentVolumeClaim) -> tuple[PersistentVolume | None, str]:
        # Upstream: getPVSpec.
        name = claim.volume_name
        try:
            volume = self._api.get_volume(name)
        except ApiError as error:
            return None, f"failed to fetch PV {name} from API server: {error}"
        ref = volume.claim_ref
        if ref is None:
            return None, (
                f"found PV object {name} but it has a nil pv.Spec.ClaimRef indicating it is not yet "
                "bound to the claim"
            )
        bound_to = ref.get("uid") or ""
        if bound_to != claim.uid:
            return None, (
                f"found PV object {name} but its pv.Spec.ClaimRef.UID {bound_to} does not point to "
                f"claim.UID {claim.uid}"
            )
        return volume, ""

    # Removing

    def find_and_remove_deleted_pods(self, notes: RoundNotes | None = None) -> None:
        """Remove the volumes of deleted and ended pods from the desired state.

        The volumes of an ended pod that still exists stay until they have been mounted.
        """
        asked = False
        # Most pods keep all volumes; each pod is checked once.
        stay: dict[str, bool] = {}
        wanted = [
            (one, one.is_attachable, pod)
            for one in self._desired.volumes()
            for pod in one.pods.values()
        ]
        for volume, is_attachable, (pod_name, wanting, spec, *_) in wanted:
            uid = wanting.uid
            pod = self._pods.get_pod_by_uid(uid)
            if uid not in stay:
                stay[uid] = self._stays(pod)
            if pod is not None and is_attachable and self._stopped_being_attachable(spec):
                # Its unique name stays, since it is still device-mountable.
                self._desired.mark_volume_attachability(volume.name, False)
                continue
            if stay[uid]:
                if notes is not None:
                    notes.saw(_REMOVE, wanting.key, "in the pod manager, not terminated", "kept")
                continue
            if not asked:
                asked = True
                self._time_of_last_get_pod_status = self._clock.now
            kept = self._why_kept(pod, uid, volume.name)
            if not kept:
                self._desired.delete_pod_from_volume(pod_name, volume.name)
                self.processed_pods.pop(pod_name, None)
            if notes is not None:
                found = "not in the pod manager" if pod is None else "terminated"
                notes.saw(_REMOVE, wanting.key, found, kept or "removed", done=not kept)
        for pod_name in self._desired.get_pods_with_errors():
            if self._pods.get_pod_by_uid(pod_name) is None:
                self._desired.pop_pod_errors(pod_name)

    def _why_kept(self, pod: Pod | None, uid: str, volume: str) -> str:
        """Why the volume of a pod that has ended stays desired; "" if it does not."""
        if self._runtime.has_running_containers(uid):
            return "a container still runs"
        if pod is not None and not self._is_removable(uid, volume):
            return "not mounted yet"
        return ""

    def _stays(self, pod: Pod | None) -> bool:
        if pod is None:
            return False
        return not self._is_terminated(pod)

    def _is_removable(self, pod_name: str, volume_name: str) -> bool:
        if self._removes_uncertain:
            # Upstream: PodRemovedFromVolume().
            state = self._actual.get_volume_mount_state(volume_name, pod_name)
            return state is not VolumeMountState.NOT_MOUNTED
        return self._actual.pod_exists_in_volume(pod_name, volume_name).mounted

    def _stopped_being_attachable(self, spec: VolumeSpec) -> bool:
        plugin = self._plugins.find_by_spec(spec)
        return plugin is not None and not plugin.is_attachable(spec)

    def _is_terminated(self, pod: Pod) -> bool:
        # Upstream: util.IsPodTerminated.
        if pod.is_terminated:
            return True
        return bool(pod.deletion_timestamp) and not self._runtime.has_running_containers(pod.uid)


def requires_fs_resize(claim: Manifest, spec: VolumeSpec) -> bool:
    """Whether the PV is larger than the capacity in the claim's status."""
    granted = text_at(claim, "status", "capacity", "storage")
    return quantity.value(spec.capacity or 0) > quantity.value(granted or 0)


def _mode_error(
    name: str, spec: VolumeSpec, mounts: Container[str], devices: Container[str]
) -> str | None:
    mode = spec.volume_mode
    if name in mounts and mode != "Filesystem":
        return f"volume {name} has volumeMode {mode}, but is specified in volumeMounts"
    if name in devices and mode != "Block":
        return f"volume {name} has volumeMode {mode}, but is specified in volumeDevices"
    return None


def _is_controlled_by(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    return any(
        ref.get("controller") and ref.get("uid") == pod.uid for ref in claim.owner_references
    )
