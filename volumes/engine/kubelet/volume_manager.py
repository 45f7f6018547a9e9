"""The volume manager of each node: populator and reconciler, and what the kubelet asks of them.

Upstream runs two loops every 100 ms. Here a tick of both is scheduled only when something can have
changed: a pod, a claim or the node's status was written, an operation ended or its backoff has passed.
Ticks fall on whole multiples of 100 ms, so that what happens is what the two loops would have done.
Upstream: pkg/kubelet/volumemanager/volume_manager.go.
"""

from collections.abc import Iterable
from typing import Any, Final, Protocol, cast

from kscope.sim.api_server.store import ObjectStore, WatchEvent
from kscope.sim.errors import ApiError
from kscope.sim.kernel.loop import EventLoop, Timer
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.units import MILLISECOND, SECOND
from kscope.sim.kernel.view import Changes, diff
from kscope.sim.objects.objects import ApiObject, Manifest, Node, PersistentVolume, Pod, entity_id
from volumes.engine.kubelet.actual_state import (
    ActualStateOfWorld,
    AttachedVolume,
    DeviceMountState,
    MarkVolumeOpts,
    VolumeMountState,
)
from volumes.engine.kubelet.desired_state import DesiredStateOfWorld
from volumes.engine.kubelet.operations.base import VolumeOperation
from volumes.engine.kubelet.operations.executor import OperationExecutor
from volumes.engine.kubelet.operations.mount import VerifyControllerAttachedVolume
from volumes.engine.kubelet.operations.pod_volume import FAILED_MOUNT
from volumes.engine.kubelet.populator import DesiredStateOfWorldPopulator
from volumes.engine.kubelet.reconciler import Reconciler
from volumes.engine.operations import messages
from volumes.engine.operations.pending import entry_attributes, next_tick, retry_at
from volumes.engine.operations.runner import Backoff
from volumes.engine.plugins.attachable import is_controller_managed
from volumes.engine.plugins.latencies import Latencies
from volumes.engine.plugins.simulated import SimulatedPlugins
from volumes.engine.plugins.spec import VolumePlugins, pod_volume_names
from volumes.engine.ports import WARNING, EventSink, StoreVolumeApi

COMPONENT: Final = "kubelet"

# Upstream: reconcilerLoopSleepPeriod and desiredStateOfWorldPopulatorLoopSleepPeriod.
LOOP_SLEEP_PERIOD: Final = 100 * MILLISECOND
# How often a node's status is posted, and how often in a row when that fails.
NODE_STATUS_PERIOD: Final = 10 * SECOND
NODE_STATUS_UPDATE_RETRY: Final = 5
# How long a pod's sync waits for its volumes. Upstream: podAttachAndMountTimeout.
POD_ATTACH_AND_MOUNT_TIMEOUT: Final = 2 * 60 * SECOND + 3 * SECOND

_VERIFY: Final = VerifyControllerAttachedVolume.name
_FACTS: Final = {
    "volume_attach": "VolumeAttached",
    "verify_controller_attached_volume": "VolumeAttachmentVerified",
    "volume_mount": "VolumeMounted",
    "map_volume": "VolumeMapped",
    "volume_fs_resize": "VolumeFileSystemResized",
    "volume_unmount": "VolumeUnmounted",
    "unmount_device": "DeviceUnmounted",
    "volume_detach": "VolumeDetached",
}


class PodWorkers(Protocol):
    """The kubelets, as their volume managers see them."""

    def volumes_mounted(self, uid: str) -> None:
        """Every volume of the pod is mounted."""
        ...

    def volumes_unmounted(self, uid: str) -> None:
        """No volume of the pod is mounted any more."""
        ...

    def has_running_containers(self, uid: str) -> bool:
        """Whether containers of the pod still run."""
        ...


class NodeVolumeManager:
    """The volumes of one node."""

    def __init__(self, managers: "VolumeManagers", node: str) -> None:
        self._managers = managers
        self._loop = managers.loop
        self.node = node
        self._id = entity_id("Node", node)
        self._pods: dict[str, Pod] = {}
        self._waiting: dict[str, Timer] = {}
        self._stopping: dict[str, None] = {}
        self._told: dict[str, str] = {}
        # Volumes of whose attachment there has been news since they were last looked at.
        self._news: dict[str, None] = {}
        self._timer: Timer | None = None
        self._status_timer: Timer | None = None
        self._show_timer: Timer | None = None
        self._shown: dict[str, dict[str, Any]] = {}
        # Volumes whose part of the view may not be what is shown.
        self._unshown: dict[str, None] = {}
        # The node as of which there was nothing to report; None when something has changed since.
        self._reported: ApiObject | None = None
        # What the kubelet before this one had mounted, until it is read from disk.
        self._disk: ActualStateOfWorld | None = None
        # Mounts on disk, by pod and volume, of which the actual state knows nothing.
        self._overlooked: dict[tuple[str, str], AttachedVolume] = {}
        self._down = False
        self._start()

    def _start(self) -> None:
        managers = self._managers
        self._pods.clear()
        self._unshown.update(dict.fromkeys(self._shown))
        self._reported = None
        self.desired = DesiredStateOfWorld(managers.plugins)
        self.actual = ActualStateOfWorld(self.node, managers.plugins)
        self.executor = OperationExecutor(self._loop, managers.plugins, self, self.actual, self)
        self.populator = DesiredStateOfWorldPopulator(
            clock=self._loop,
            api=managers.api,
            pods=self,
            runtime=managers,
            desired=self.desired,
            actual=self.actual,
            plugins=managers.plugins,
            keep_terminated_pod_volumes=managers.keep_terminated_pod_volumes,
            removes_uncertain=managers.reconstructs_all,
        )
        self._reconciler = Reconciler(
            self.desired,
            self.actual,
            self.executor,
            controller_attach_detach=self._is_controller_managed(),
        )

    def _is_controller_managed(self) -> bool:
        node = self._managers.store.find("Node", self.node)
        return node is None or is_controller_managed(node)

    # What the kubelet tells

    def add_pod(self, pod: Pod) -> None:
        """A pod whose containers wait for its volumes."""
        self._know(pod)
        self._wait_for(pod)
        self.wake()

    def _wait_for(self, pod: Pod) -> None:
        """Upstream: WaitForAttachAndMount(), in every sync of a pod that is not to end."""
        timeout = self._loop.call_after(POD_ATTACH_AND_MOUNT_TIMEOUT, self._timed_out, pod.uid)
        self._waiting[pod.uid] = timeout

    def adopt_pod(self, pod: Pod, *, mounted: bool) -> None:
        """A pod that runs already; with *mounted* its volumes are taken to be mounted."""
        self._know(pod)
        if mounted:
            self._take_over_mounts(pod)
            self._show_soon()
        elif not pod.deletion_timestamp:
            self._wait_for(pod)
        self.wake()

    def reprocess_pod(self, pod: Pod) -> None:
        """A pod was changed, or something that its volumes are made from."""
        if pod.uid in self._pods:
            self._pods[pod.uid] = pod
            self.populator.reprocess_pod(pod.uid)
            self.wake()

    def update_pod(self, pod: Pod) -> None:
        """A pod has ended, or is about to."""
        if pod.uid in self._pods:
            self._pods[pod.uid] = pod
            self.wake()

    def stop_pod(self, pod: Pod) -> bool:
        """The containers of a deleted pod have ended. True when none of its volumes is mounted.

        Otherwise `volumes_unmounted` is called when that is so.
        """
        if pod.uid not in self._pods and not self._is_on_disk(pod.uid):
            return True
        self._know(pod)
        self._stop_waiting(pod.uid)
        self.wake()
        if not self._volumes_exist(pod.uid):
            return True
        self._stopping[pod.uid] = None
        return False

    def forget_pod(self, pod: Pod) -> None:
        """The pod object is gone."""
        self._stop_waiting(pod.uid)
        self._stopping.pop(pod.uid, None)
        self._told.pop(pod.uid, None)
        if self._pods.pop(pod.uid, None) is not None:
            self._show_by_name(pod.uid)
            self.wake()

    def _know(self, pod: Pod) -> None:
        if pod.uid not in self._pods:
            self._show_by_name(pod.uid)
        self._pods[pod.uid] = pod

    def _show_by_name(self, uid: str) -> None:
        """What is there for the pod is shown by its name while it is known, else by its uid."""
        self._unshown.update(dict.fromkeys(self.actual.volumes_of_pod(uid)))
        for name in self.executor.pending.volumes():
            if any(entry.key.pod_name == uid for entry in self.executor.pending.entries(name)):
                self._unshown[name] = None
        if self._unshown:
            self._show_soon()

    def node_changed(self, node: Node) -> None:
        """The node's status was written: what waits for its attachment can look again."""
        # Upstream reads the node each time it looks; its watch says here when that is worth while.
        for name in self.executor.pending.volumes():
            if self.desired.volume_exists(name):
                self._look_again(name)

    def stop(self) -> None:
        """The kubelet dies; what it has mounted stays."""
        self._down = True
        self.executor.abandoned = True
        for volume in self._overlooked.values():
            self.actual.mark_reconstructed(volume)
        self._overlooked.clear()
        if self._disk is None:
            self._disk = self.actual
        for timer in (self._timer, self._status_timer, *self._waiting.values()):
            if timer is not None:
                timer.cancel()
        self._timer = self._status_timer = None
        self._waiting.clear()
        self._stopping.clear()
        self._news.clear()
        self._unshown.update(dict.fromkeys(self.executor.pending.volumes()))
        self._show("VolumeOperationsAbandoned", message="the kubelet ended before they did")

    def lose_mounts(self) -> None:
        """The machine ends, and with it all that was mounted."""
        self.stop()
        self._start()
        self._show("MountsLost", message="the machine is off")

    def restart(self) -> None:
        """The kubelet starts anew, knowing nothing but what it finds on disk."""
        if not self._down:
            self.stop()
        self._down = False
        self._start()
        self._show_soon()
        self.wake()

    # PodManager

    def get_pods(self) -> Iterable[Pod]:
        """See populator.PodManager."""
        return self._pods.values()

    def get_pod_by_uid(self, uid: str) -> Pod | None:
        """See populator.PodManager."""
        return self._pods.get(uid)

    # The loops

    def wake(self) -> None:
        """Have the loops run at their next tick."""
        self._wake_at(next_tick(self._loop.now, LOOP_SLEEP_PERIOD))

    def _wake_at(self, at: int) -> None:
        if self._down:
            return
        timer = self._timer
        if timer is not None:
            if timer.at <= at:
                return
            timer.cancel()
        self._timer = self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        self._timer = None
        disk, self._disk = self._disk, None
        if disk is not None and self._managers.reconstructs_all:
            self._reconstruct(disk)
        self.populator.populator_loop()
        if disk is not None:
            self._sync_states(disk)
        self._reconciler.reconcile()
        self._tell_errors()
        self._show("VolumesReconciled")
        self._report()
        self._finish_stops()
        self._sleep()
        if self._is_idle():
            self._managers.forget(self)

    def _sleep(self) -> None:
        """Wake up again when a backoff has passed, or the runtime may be asked again."""
        for name in self.executor.pending.volumes():
            if (self.desired.volume_exists(name) or self.actual.volume_exists(name)) and (
                name in self._news or not self._is_waiting_for_attach(name)
            ):
                self._wake_for_retry(name)
        asked_again = self.populator.next_removal_at
        if asked_again > self._loop.now and self._has_removals():
            self._wake_at(next_tick(asked_again, LOOP_SLEEP_PERIOD))

    def _wake_for_retry(self, volume: str) -> None:
        for entry in self.executor.pending.entries(volume):
            if not entry.pending:
                self._wake_at(max(retry_at(entry.backoff, LOOP_SLEEP_PERIOD), self._loop.now))

    def _look_again(self, volume: str) -> None:
        """There may be news of the volume's attachment: look when upstream would next do so."""
        if not self._is_waiting_for_attach(volume):
            return
        if self._managers.verify_backs_off:
            self.executor.pending.catch_up(volume, LOOP_SLEEP_PERIOD)
        else:
            for entry in self.executor.pending.entries(volume):
                entry.backoff = Backoff()
        self._unshown[volume] = None
        self._show_soon()
        self._news[volume] = None
        self._wake_for_retry(volume)

    def _is_waiting_for_attach(self, volume: str) -> bool:
        """Whether only the node's status can bring news: to look before would be in vain."""
        return _VERIFY in [entry.name for entry in self.executor.pending.entries(volume)]

    def _has_removals(self) -> bool:
        return any(self._ended(uid) for volume in self.desired.volumes() for uid in volume.pods)

    def _ended(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        if pod is None:
            return True
        if self._managers.keep_terminated_pod_volumes:
            return False
        if pod.is_terminated or pod.deletion_timestamp:
            # Before it is mounted it is not taken away; the end of its mount wakes the loops.
            if self._managers.reconstructs_all:
                return bool(self.actual.get_possibly_mounted_volumes_for_pod(uid))
            return bool(self.actual.get_mounted_volumes_for_pod(uid))
        return False

    def _is_idle(self) -> bool:
        if self._pods or self._timer or self._status_timer or self._overlooked or self._shown:
            return False
        return not (self.desired.volumes() or self.actual.get_attached_volumes())

    # Taking over what is there

    def _take_over_mounts(self, pod: Pod) -> None:
        self.populator.find_and_add_new_pods()
        in_use: list[str] = []
        for volume in self.desired.get_volumes_to_mount():
            in_use += [volume.volume_name] * volume.is_attachable
            if volume.pod_name == pod.uid:
                self.actual.mark_volume_as_attached(volume.volume_name, volume.spec)
                if volume.is_device_mountable:
                    self.actual.mark_device_as_mounted(volume.volume_name, "", "")
                self.actual.mark_volume_as_mounted(
                    MarkVolumeOpts(
                        pod_name=pod.uid,
                        pod_uid=pod.uid,
                        volume_name=volume.volume_name,
                        spec=volume.spec,
                        outer_name=volume.outer_name,
                        gid=volume.gid,
                    )
                )
        self.desired.mark_volumes_reported_in_use(in_use)

    def _reconstruct(self, disk: ActualStateOfWorld) -> None:
        """All that was mounted may be mounted. Upstream: reconstructVolumes() (1.34).

        What is wanted is mounted again, which does no harm; what is not is unmounted.
        """
        for volume in _mounted_on(disk):
            self.actual.mark_reconstructed(volume)

    def _sync_states(self, disk: ActualStateOfWorld) -> None:
        """What is not wanted is to be unmounted. Upstream: reconciler.syncStates() (before 1.25).

        What is wanted enters the actual state when it is mounted again, and only if it can be.
        """
        in_use: list[str] = []
        for volume in _mounted_on(disk):
            if not self.desired.volume_exists(volume.name):
                self.actual.mark_reconstructed(volume)
                continue
            in_use += [volume.name] * volume.is_attachable
            if not self._managers.reconstructs_all:
                for pod in volume.pods:
                    self._overlooked[pod, volume.name] = volume
        # The kubelet before this one has reported so.
        self.desired.mark_volumes_reported_in_use(in_use)

    def _volumes_exist(self, uid: str) -> bool:
        """Whether the pod still has something mounted, known or not. Upstream: podVolumesExist()."""
        mounted = self.actual.get_possibly_mounted_volumes_for_pod(uid)
        return bool(mounted) or self._is_on_disk(uid)

    def _is_on_disk(self, uid: str) -> bool:
        """Whether a mount was found on disk, or is going to be, that is not in the actual state."""
        if self._disk is not None and self._disk.get_possibly_mounted_volumes_for_pod(uid):
            return True
        return any(pod == uid for pod, _ in self._overlooked)

    # volumesInUse

    def volumes_in_use(self) -> list[str]:
        """Attachable volumes that are wanted, or still here, sorted. Upstream: GetVolumesInUse."""
        names = {v.name: None for v in self.desired.volumes() if v.is_attachable}
        names |= {v.name: None for v in self.actual.get_attached_volumes() if v.is_attachable}
        return sorted(names)

    def _report(self) -> None:
        """Have the next node status say which volumes are in use, if that is news."""
        if self._status_timer is None and self._is_report_due():
            delay = self._managers.latencies.draw("node_status")
            self._status_timer = self._loop.call_after(delay, self._write_status)

    def _is_report_due(self) -> bool:
        self._note_changes()
        node = self._managers.store.find("Node", self.node)
        if node is None or node is self._reported:
            return False
        if self.volumes_in_use() != (node.status.get("volumesInUse") or []):
            return True
        if any(v.is_attachable and not v.reported_in_use for v in self.desired.volumes()):
            return True
        self._reported = node
        return False

    def _note_changes(self) -> None:
        """Take over which volumes have changed in either state."""
        for changed in (self.desired.changed, self.actual.changed):
            if changed:
                self._unshown.update(changed)
                self._reported = None
                changed.clear()
        operations = self.executor.pending.changed
        for key in operations:
            self._unshown[key.volume_name] = None
        operations.clear()

    def _write_status(self) -> None:
        self._status_timer = None
        node = self._managers.store.find("Node", self.node)
        if node is None:
            return
        in_use = self.volumes_in_use()
        if in_use != (node.status.get("volumesInUse") or []) and not self._report_in_use(in_use):
            self._status_timer = self._loop.call_after(NODE_STATUS_PERIOD, self._write_status)
            return
        self.desired.mark_volumes_reported_in_use(in_use)
        self._show_soon()
        reported = dict.fromkeys(in_use)
        for name in self.executor.pending.volumes():
            if name in reported:
                self._look_again(name)

    def _report_in_use(self, in_use: list[str]) -> bool:
        """Upstream: kubelet_node_status.go, updateNodeStatus() tries five times in a row."""
        for _ in range(NODE_STATUS_UPDATE_RETRY):
            try:
                self._managers.store.patch(
                    "Node",
                    self.node,
                    {"status": {"volumesInUse": in_use or None}},
                    by=COMPONENT,
                    event="NodeVolumesInUseReported",
                    message=f"{len(in_use)} volumes are in use",
                )
            except ApiError:
                continue
            return True
        return False

    # NodeApi

    def volumes_attached(self) -> list[Manifest] | None:
        """See executor.NodeApi."""
        node = self._managers.store.find("Node", self.node)
        return None if node is None else node.status.get("volumesAttached") or []

    def claim_of(self, volume: Manifest) -> Manifest | None:
        """See executor.NodeApi."""
        key = PersistentVolume(volume).claim_key
        claim = self._managers.store.find("PersistentVolumeClaim", key)
        return None if claim is None else claim.raw

    def mark_fs_resize_finished(self, claim: Manifest, capacity: str) -> str | None:
        """Upstream: util.MarkFSResizeFinished; its conditions go, they are all about resizing."""
        metadata = claim["metadata"]
        status = {"capacity": {"storage": capacity}, "conditions": None}
        try:
            self._managers.store.patch(
                "PersistentVolumeClaim",
                f"{metadata['namespace']}/{metadata['name']}",
                {"status": status},
                by=COMPONENT,
                event="ClaimResized",
                message=f"its file system has {capacity}",
            )
        except ApiError as error:
            return str(error)
        return None

    # Observer

    def operation_started(self, operation: VolumeOperation) -> None:
        """See executor.Observer."""
        self._news.pop(operation.key.volume_name, None)

    def operation_waits(self, operation: VolumeOperation) -> None:
        """See executor.Observer."""
        volume = operation.key.volume_name
        if volume not in self.actual.changed:
            return
        mounted = self.actual.get_device_mount_state(volume) is DeviceMountState.GLOBALLY_MOUNTED
        self._show("DeviceMounted" if mounted else "VolumesReconciled")

    def operation_finished(self, operation: VolumeOperation, error: str | None) -> None:
        """See executor.Observer."""
        self.wake()
        uid = operation.pod_name
        pod = self._pods.get(uid)
        about = self._id if pod is None else pod.id
        volume = operation.key.volume_name
        data: dict[str, Any] = {"operation": operation.name, "volume": volume, "node": self.node}
        if error is None:
            if self.actual.get_volume_mount_state(volume, uid) is VolumeMountState.MOUNTED:
                self._overlooked.pop((uid, volume), None)
            self._show(_FACTS[operation.name], about, volume, data)
            if uid in self._waiting:
                self._check_mounted(uid)
            if self._stopping:
                self._finish_stops()
        elif operation.name != VerifyControllerAttachedVolume.name:
            data["error"] = error
            data["retry_at"] = self._retry_of(operation)
            self._show("VolumeOperationFailed", about, error, data)

    def warn(self, pod: ApiObject | None, type: str, reason: str, message: str) -> None:
        """See executor.Observer."""
        events = self._managers.events
        if events is not None and pod is not None:
            events.event(pod, type, reason, message)

    def _retry_of(self, operation: VolumeOperation) -> int | None:
        for entry in self.executor.pending.entries(operation.key.volume_name):
            if entry.key == operation.key:
                return retry_at(entry.backoff, LOOP_SLEEP_PERIOD)
        return None

    # Telling the kubelet

    def _check_mounted(self, uid: str) -> None:
        pod = self._pods[uid]
        if not self.actual.is_mounted_for_pod(uid, expected_volumes(pod)):
            return
        self._stop_waiting(uid)
        names = [mounted.outer_name for mounted in self.actual.get_mounted_volumes_for_pod(uid)]
        self._managers.recorder.record(
            "VolumesMounted", pod.id, COMPONENT, f"on {self.node}", {"volumes": names}
        )
        self._managers.workers.volumes_mounted(uid)

    def _finish_stops(self) -> None:
        for uid in [*self._stopping]:
            if not self._volumes_exist(uid):
                del self._stopping[uid]
                self._managers.workers.volumes_unmounted(uid)

    def _stop_waiting(self, uid: str) -> None:
        timer = self._waiting.pop(uid, None)
        if timer is not None:
            timer.cancel()

    def _unmounted_volumes(self, pod: Pod) -> list[str]:
        mounted = {m.outer_name: None for m in self.actual.get_mounted_volumes_for_pod(pod.uid)}
        return [name for name in expected_volumes(pod) if name not in mounted]

    def _tell_errors(self) -> None:
        """Upstream: WaitForAttachAndMount fails at once when the populator has an error."""
        for uid in self.desired.get_pods_with_errors():
            errors = "; ".join(self.desired.pod_errors(uid))
            if uid in self._waiting and self._told.get(uid) != errors:
                self._told[uid] = errors
                self._tell(self._pods[uid], errors)
            self.desired.pop_pod_errors(uid)

    def _timed_out(self, uid: str) -> None:
        # Upstream repeats this with every sync of the pod; it is told once.
        self._waiting[uid].cancel()
        self._tell(self._pods[uid], "timed out waiting for the condition")

    def _tell(self, pod: Pod, error: str) -> None:
        unmounted = " ".join(self._unmounted_volumes(pod))
        expected = " ".join(expected_volumes(pod))
        self.warn(
            pod,
            WARNING,
            FAILED_MOUNT,
            f"Unable to attach or mount volumes: unmounted volumes=[{unmounted}], "
            f"unattached volumes=[{expected}]: {error}",
        )

    # The view

    def _show_soon(self) -> None:
        """Show at this instant what is not the work of an operation or of the loops."""
        if self._show_timer is None:
            self._show_timer = self._loop.call_after(0, self._show_changes)

    def _show_changes(self) -> None:
        self._show_timer = None
        self._show("VolumesReconciled")

    def _show(
        self,
        fact: str,
        about: str = "",
        message: str = "",
        data: dict[str, Any] | None = None,
    ) -> None:
        """Record *fact* with what has changed in the two states; nothing without a change.

        An operation's own fact is always recorded.
        """
        self._note_changes()
        patch: dict[str, Any] = {}
        for name in self._unshown:
            shown, now = self._shown.get(name), self._describe(name)
            if now is None:
                if shown is not None:
                    patch[name] = None
                    del self._shown[name]
            elif now != shown:
                patch[name] = now if shown is None else diff(shown, now)
                self._shown[name] = now
        self._unshown.clear()
        if not patch and data is None:
            return
        # A node that was deleted a moment ago is not to come back into the view.
        is_there = self._managers.store.find("Node", self.node) is not None
        if data is None and not is_there:
            return
        message = message or messages.changed({name: self._shown.get(name) for name in patch})
        shown = {"volumes": patch if self._shown else None}
        changes: Changes | None = {self._id: shown} if patch and is_there else None
        self._managers.recorder.record(fact, about or self._id, COMPONENT, message, data, changes)

    def held_view(self) -> dict[str, Any]:
        """What is to be shown of each volume, worked out anew."""
        names = {volume.name: None for volume in self.desired.volumes()}
        names |= {volume.name: None for volume in self.actual.get_attached_volumes()}
        return {name: self._describe(name) for name in names}

    def _describe(self, name: str) -> dict[str, Any] | None:
        """Desired and actual state of a volume side by side; absent says no."""
        wanted, volume = self.desired.volume(name), self.actual.volume(name)
        if wanted is not None:
            shown: dict[str, Any] = {
                "name": next(iter(wanted.pods.values())).spec.name,
                "desired": {p.pod.key: p.mount_request_time for p in wanted.pods.values()},
            }
            if wanted.is_attachable:
                shown["attachable"] = True
            if wanted.is_device_mountable:
                shown["device_mountable"] = True
            if wanted.reported_in_use:
                shown["in_use"] = True
        elif volume is not None:
            shown = {"name": volume.spec.name}
        else:
            return None
        if volume is not None:
            shown["attached"] = True
            if volume.is_attachable:
                shown["attachable"] = True
            if volume.device_may_be_mounted:
                shown["device"] = volume.device_mount_state.value
            if volume.pods:
                shown["mounts"] = {
                    self._pod_key(pod.pod_name): pod.state.value for pod in volume.pods.values()
                }
        operations = self._operations(name)
        if operations:
            shown["operations"] = operations
        return shown

    def _operations(self, name: str) -> dict[str, Any]:
        """What runs or backs off on the volume, by pod; "*" is for all of them."""
        if self._down:
            return {}
        found: dict[str, Any] = {}
        for entry in self.executor.pending.entries(name):
            pod = entry.key.pod_name
            found[self._pod_key(pod) if pod else "*"] = (
                # It looks until the node's status brings news, and is not followed look by look.
                {"name": _VERIFY}
                if entry.name == _VERIFY
                else entry_attributes(entry, LOOP_SLEEP_PERIOD)
            )
        return found

    def _pod_key(self, uid: str) -> str:
        pod = self._pods.get(uid)
        return uid if pod is None else pod.key


class VolumeManagers:
    """The volume managers of all nodes; one is made when a node gets its first volume."""

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        latencies: Latencies,
        *,
        events: EventSink | None = None,
        watch_latency: int = 0,
        plugins: VolumePlugins | None = None,
        keep_terminated_pod_volumes: bool = False,
    ) -> None:
        self.loop = loop
        self.store = store
        self.recorder = recorder
        self.latencies = latencies
        self.events = events
        self.plugins: VolumePlugins = plugins or SimulatedPlugins(latencies, store)
        self.keep_terminated_pod_volumes = keep_terminated_pod_volumes
        # A node that waits for an attachment looks less and less often, up to every 2 m 2 s. False
        # is for kubelets that do better, such as the emulated one of the reference recordings.
        self.verify_backs_off = True
        # After a restart, all that is found on disk is known, wanted or not (1.25).
        self.reconstructs_all = True
        self.api = StoreVolumeApi(store, COMPONENT)
        self.nodes: dict[str, NodeVolumeManager] = {}
        self._users: dict[str, dict[str, Pod]] = {}
        store.watch("PersistentVolumeClaim", self.observe_claim, watch_latency)
        store.watch("PersistentVolume", self.observe_volume, watch_latency)

    def connect(self, workers: PodWorkers) -> None:
        """Tell *workers* from now on how the volumes of their pods stand."""
        self.workers = workers

    def has_running_containers(self, uid: str) -> bool:
        """See populator.Runtime."""
        return self.workers.has_running_containers(uid)

    # What is heard of the API server

    def observe_claim(self, event: WatchEvent) -> None:
        """A claim was written: the pods that use it may go on."""
        if event.new.key in self._users:
            self._reprocess_users(event.new.key)

    def observe_volume(self, event: WatchEvent) -> None:
        """A volume was written: the pods that use its claim may go on, or see it grown."""
        claim = cast("PersistentVolume", event.new).claim_key
        if claim in self._users:
            self._reprocess_users(claim)

    def _reprocess_users(self, claim: str) -> None:
        for pod in [*self._users[claim].values()]:
            manager = self.nodes.get(pod.node_name)
            known = manager.get_pod_by_uid(pod.uid) if manager is not None else None
            if manager is not None and known is not None:
                manager.reprocess_pod(known)

    # What the kubelets tell

    def add_pod(self, pod: Pod) -> None:
        """A pod whose containers wait for its volumes."""
        if not expected_volumes(pod):
            self.workers.volumes_mounted(pod.uid)
            return
        self._index(pod)
        self._manager(pod.node_name).add_pod(pod)

    def adopt_pod(self, pod: Pod, *, mounted: bool) -> None:
        """A pod that runs already; with *mounted* its volumes are taken to be mounted."""
        if expected_volumes(pod):
            self._index(pod)
            self._manager(pod.node_name).adopt_pod(pod, mounted=mounted)

    def reprocess_pod(self, pod: Pod) -> None:
        """A pod was changed."""
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].reprocess_pod(pod)

    def pod_terminated(self, pod: Pod) -> None:
        """A pod has Succeeded or Failed."""
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].update_pod(pod)

    def stop_pod(self, pod: Pod) -> bool:
        """The containers of a deleted pod have ended; True when no volume of it is mounted."""
        manager = self.nodes.get(pod.node_name)
        return manager is None or manager.stop_pod(pod)

    def forget_pod(self, pod: Pod) -> None:
        """The pod object is gone."""
        for name in pod.claim_names:
            users = self._users.get(f"{pod.namespace}/{name}")
            if users is not None:
                users.pop(pod.uid, None)
                if not users:
                    del self._users[f"{pod.namespace}/{name}"]
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].forget_pod(pod)

    def node_changed(self, node: Node) -> None:
        """The node was written."""
        if node.name in self.nodes:
            self.nodes[node.name].node_changed(node)

    def in_use(self, node: str) -> list[str]:
        """What the node's status should say to be in use."""
        return self.nodes[node].volumes_in_use() if node in self.nodes else []

    def node_gone(self, node: str) -> None:
        """The machine is no more, and with it all that was mounted there."""
        manager = self.nodes.pop(node, None)
        if manager is not None:
            manager.lose_mounts()

    def kubelet_stopped(self, node: str) -> None:
        """The kubelet of *node* dies."""
        if node in self.nodes:
            self.nodes[node].stop()

    def kubelet_started(self, node: str) -> None:
        """The kubelet of *node* starts anew."""
        if node in self.nodes:
            self.nodes[node].restart()

    def held_view(self, node: str) -> dict[str, Any]:
        """What the view must show of the volumes of *node*, by volume."""
        return self.nodes[node].held_view() if node in self.nodes else {}

    # Inside

    def forget(self, manager: NodeVolumeManager) -> None:
        """A node has no volume, and wants none, any more."""
        if self.nodes.get(manager.node) is manager:
            del self.nodes[manager.node]

    def _index(self, pod: Pod) -> None:
        for name in pod.claim_names:
            self._users.setdefault(f"{pod.namespace}/{name}", {})[pod.uid] = pod

    def _manager(self, node: str) -> NodeVolumeManager:
        manager = self.nodes.get(node)
        if manager is None:
            manager = self.nodes[node] = NodeVolumeManager(self, node)
        return manager


def _mounted_on(disk: ActualStateOfWorld) -> list[AttachedVolume]:
    return [one for one in disk.get_attached_volumes() if one.pods or one.device_may_be_mounted]


def expected_volumes(pod: Pod) -> list[str]:
    """Names of the pod's volumes that its containers use. Upstream: getExpectedVolumes."""
    if not pod.volumes:
        return []
    names: list[str] | None = pod.template.get("expected_volumes")
    if names is None:
        mounts, devices = pod_volume_names(pod)
        every = [volume["name"] for volume in pod.volumes]
        names = [name for name in every if name in mounts or name in devices]
        pod.template["expected_volumes"] = names
    return names
