"""The volume manager of one node. Upstream: pkg/kubelet/volumemanager/volume_manager.go."""

from collections.abc import Iterable
from typing import Any, Final, Protocol

from engine.kernel.trace import Trace
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.volume_manager.actual_state import (
    ActualStateOfWorld,
    DeviceMountState,
    MarkVolumeOpts,
    VolumeMountState,
)
from engine.kubelet.volume_manager.desired_state import DesiredStateOfWorld
from engine.kubelet.volume_manager.disk import MountsOnDisk
from engine.kubelet.volume_manager.node_api import StoreNodeApi
from engine.kubelet.volume_manager.operations.base import VolumeOperation
from engine.kubelet.volume_manager.operations.executor import OperationExecutor
from engine.kubelet.volume_manager.operations.mount import VerifyControllerAttachedVolume
from engine.kubelet.volume_manager.populator import DesiredStateOfWorldPopulator, PopulatorSources
from engine.kubelet.volume_manager.reconciler import Reconciler
from engine.kubelet.volume_manager.removals import Removals
from engine.kubelet.volume_manager.retries import Retries
from engine.kubelet.volume_manager.state import NodeState, PodWorkers, VolumeManagerOptions
from engine.kubelet.volume_manager.ticks import LOOP_SLEEP_PERIOD, Ticks
from engine.kubelet.volume_manager.trace_steps.rounds import (
    KubeletState,
    OperationEnded,
    Round,
    RoundNotes,
)
from engine.kubelet.volume_manager.view import VolumesView
from engine.kubelet.volume_manager.volumes_in_use import VolumesInUseReporter
from engine.kubelet.volume_manager.waiting import WaitingPods
from engine.objects.objects import ApiObject, Pod
from engine.storage.operations.pending import Entry, next_tick, retry_at
from engine.storage.plugins.attachable import is_controller_managed
from engine.storage.plugins.spec import VolumePlugins
from engine.storage.ports import StoreVolumeApi

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


class Owner(PodWorkers, Protocol):
    """The volume managers of all nodes, as each of them sees them."""

    def drop_if_idle(self, manager: "NodeVolumeManager") -> None:
        """The manager has ended a pass."""
        ...


class NodeVolumeManager:
    """Mounts and unmounts the volumes of one node's pods, and reports to the kubelet."""

    def __init__(
        self,
        context: KubeletContext,
        node: str,
        plugins: VolumePlugins,
        owner: Owner,
        options: VolumeManagerOptions,
    ) -> None:
        self._context = context
        self._plugins = plugins
        self._owner = owner
        self._options = options
        self._state = state = NodeState(node, plugins)
        self._ticks = Ticks(context.loop, state, self._tick)
        self._view = VolumesView(context, state)
        self._disk = MountsOnDisk(state, options)
        self._removals = Removals(state, self._disk, owner, options)
        self._waiting = WaitingPods(context, state, owner, options)
        self._retries = Retries(context.loop, state, self._ticks, self._view, options)
        self._in_use = VolumesInUseReporter(context, state, self._view, self._reported_in_use)
        self._begin()

    @property
    def node(self) -> str:
        """The name of the node."""
        return self._state.node

    @property
    def desired(self) -> DesiredStateOfWorld:
        """The volumes that the node's pods need."""
        return self._state.desired

    @property
    def actual(self) -> ActualStateOfWorld:
        """The volumes that are attached to the node, and mounted there."""
        return self._state.actual

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do and no state, so that it can be dropped."""
        state = self._state
        if state.pods or self._ticks.is_armed or self._in_use.is_writing:
            return False
        if self._disk.has_overlooked or not self._view.is_empty:
            return False
        return not (state.desired.volumes() or state.actual.get_attached_volumes())

    def volumes_in_use(self) -> list[str]:
        """Names of the volumes that the node's status should report as in use."""
        return self._in_use.volumes_in_use()

    def held_view(self) -> dict[str, Any]:
        """The attributes that the view shows of each volume, computed from the state."""
        return self._view.attributes()

    # Pods, from the kubelet

    def add_pod(self, pod: Pod) -> None:
        """A pod whose containers wait for its volumes."""
        self._put(pod)
        self._waiting.add(pod)
        self._ticks.wake()

    def adopt_pod(self, pod: Pod, *, mounted: bool) -> None:
        """A pod that runs already; with *mounted* its volumes count as mounted."""
        self._put(pod)
        if mounted:
            self._mark_as_mounted(pod)
            self._view.show_soon()
        elif not pod.deletion_timestamp:
            self._waiting.add(pod)
        self._ticks.wake()

    def reprocess_pod(self, pod: Pod) -> None:
        """A pod was changed, or an object that its volumes are made from."""
        if pod.uid in self._state.pods:
            self._state.pods[pod.uid] = pod
            self._populator.reprocess_pod(pod.uid)
            self._ticks.wake()

    def update_pod(self, pod: Pod) -> None:
        """A pod has ended, or is being deleted."""
        if pod.uid in self._state.pods:
            self._state.pods[pod.uid] = pod
            self._ticks.wake()

    def stop_pod(self, pod: Pod) -> bool:
        """The containers of a deleted pod have ended. True when none of its volumes is mounted.

        Otherwise `volumes_unmounted` is called when that is so.
        """
        if pod.uid not in self._state.pods and not self._disk.has_pod(pod.uid):
            return True
        self._put(pod)
        self._waiting.stop(pod.uid)
        self._ticks.wake()
        return self._removals.stop_pod(pod.uid)

    def forget_pod(self, pod: Pod) -> None:
        """The pod object is gone."""
        self._waiting.forget(pod.uid)
        self._removals.forget_pod(pod.uid)
        if self._state.pods.pop(pod.uid, None) is not None:
            self._view.show_pod(pod.uid)
            self._ticks.wake()

    def node_changed(self) -> None:
        """The node's status was written."""
        self._retries.node_changed()

    def _put(self, pod: Pod) -> None:
        if pod.uid not in self._state.pods:
            self._view.show_pod(pod.uid)
        self._state.pods[pod.uid] = pod

    def _mark_as_mounted(self, pod: Pod) -> None:
        self._populator.find_and_add_new_pods()
        desired, actual, in_use = self._state.desired, self._state.actual, list[str]()
        for volume in desired.get_volumes_to_mount():
            in_use += [volume.volume_name] * volume.is_attachable
            if volume.pod_name == pod.uid:
                actual.mark_volume_as_attached(volume.volume_name, volume.spec)
                if volume.is_device_mountable:
                    actual.mark_device_as_mounted(volume.volume_name, "", "")
                actual.mark_volume_as_mounted(
                    MarkVolumeOpts(
                        pod_name=pod.uid,
                        pod_uid=pod.uid,
                        volume_name=volume.volume_name,
                        spec=volume.spec,
                        outer_name=volume.outer_name,
                        gid=volume.gid,
                    )
                )
        desired.mark_volumes_reported_in_use(in_use)

    # Stop and start of the kubelet

    def stop(self) -> None:
        """The kubelet stops; its mounts stay."""
        self._state.is_down = True
        self._state.executor.abandoned = True
        self._disk.keep()
        self._ticks.cancel()
        self._in_use.cancel()
        self._waiting.stop_all()
        self._removals.clear()
        self._retries.clear()
        self._view.mark(self._state.pending.volumes())
        self._view.show("VolumeOperationsAbandoned", message="the kubelet ended before they did")

    def lose_mounts(self) -> None:
        """The machine is off; all its mounts are gone."""
        self.stop()
        self._begin()
        self._view.show("MountsLost", message="the machine is off")

    def restart(self) -> None:
        """The kubelet starts again; it knows only the mounts on disk."""
        if not self._state.is_down:
            self.stop()
        self._state.is_down = False
        self._begin()
        self._view.show_soon()
        self._ticks.wake()

    def _begin(self) -> None:
        context, state, plugins = self._context, self._state, self._plugins
        self._view.begin()
        state.begin(plugins)
        state.executor = OperationExecutor(
            context.loop, plugins, StoreNodeApi(context.store, self.node), state.actual, self
        )
        self._populator = DesiredStateOfWorldPopulator(
            PopulatorSources(
                context.loop, StoreVolumeApi(context.store, COMPONENT), self, self._owner
            ),
            state.desired,
            state.actual,
            plugins,
            removes_uncertain=self._options.reconstructs_all,
            mounts_protected=self._options.mounts_protected,
        )
        node = context.store.find("Node", self.node)
        self._reconciler = Reconciler(
            state.desired,
            state.actual,
            state.executor,
            controller_attach_detach=node is None or is_controller_managed(node),
        )

    # PodManager

    def get_pods(self) -> Iterable[Pod]:
        """See populator.PodManager."""
        return self._state.pods.values()

    def get_pod_by_uid(self, uid: str) -> Pod | None:
        """See populator.PodManager."""
        return self._state.pods.get(uid)

    # The loops

    def _tick(self) -> None:
        trace = self._trace()
        notes = None if trace is None else RoundNotes(self._view.pod_key)
        found = self._disk.read()
        if found is not None:
            self._disk.reconstruct(found)
        self._populator.populator_loop(notes)
        if found is not None:
            self._disk.sync_states(found)
        self._reconciler.reconcile(notes)
        if trace is not None and notes is not None:
            step = Round(tuple(notes.pods), tuple(notes.asked), self._state_now())
            trace.add(self._state.id, step)
        self._waiting.report_errors()
        self._view.show("VolumesReconciled")
        self._in_use.report()
        self._removals.report_unmounted()
        self._retries.schedule()
        removal_at = self._populator.next_removal_at
        if removal_at > self._context.loop.now and self._removals.has_removable():
            self._ticks.wake_at(next_tick(removal_at, LOOP_SLEEP_PERIOD))
        self._owner.drop_if_idle(self)

    def _reported_in_use(self, volumes: list[str]) -> None:
        reported = dict.fromkeys(volumes)
        for name in self._state.pending.volumes():
            if name in reported:
                self._retries.verify_again(name)

    # Observer

    def operation_started(self, operation: VolumeOperation) -> None:
        """See operations.base.Observer."""
        self._retries.operation_started(operation.key.volume_name)

    def operation_waits(self, operation: VolumeOperation) -> None:
        """See operations.base.Observer."""
        volume = operation.key.volume_name
        if volume not in self.actual.changed:
            return
        mounted = self.actual.get_device_mount_state(volume) is DeviceMountState.GLOBALLY_MOUNTED
        self._view.show("DeviceMounted" if mounted else "VolumesReconciled")

    def operation_finished(self, operation: VolumeOperation, error: str | None) -> None:
        """See operations.base.Observer."""
        if error is None:
            self._ticks.wake()
        else:
            self._ticks.wake_after_failure(operation.key.volume_name)
        self._tell_end(operation, error)
        uid = operation.pod_name
        pod = self._state.pods.get(uid)
        about = self._state.id if pod is None else pod.id
        volume = operation.key.volume_name
        data: dict[str, Any] = {"operation": operation.name, "volume": volume, "node": self.node}
        if error is None:
            if self.actual.get_volume_mount_state(volume, uid) is VolumeMountState.MOUNTED:
                self._disk.note_mounted(uid, volume)
            self._view.show(_FACTS[operation.name], about, volume, data)
            if uid in self._waiting and self._waiting.take_mounted(uid):
                self._owner.volumes_mounted(uid)
            self._removals.report_unmounted()
        elif operation.name != VerifyControllerAttachedVolume.name:
            data["error"] = error
            data["retry_at"] = self._retry_of(operation)
            self._view.show("VolumeOperationFailed", about, error, data)

    def warn(self, pod: ApiObject | None, type: str, reason: str, message: str) -> None:
        """See operations.base.Observer."""
        if pod is not None:
            self._context.emit(pod, type, reason, message)

    def _retry_of(self, operation: VolumeOperation) -> int | None:
        entry = self._entry_of(operation)
        return None if entry is None else retry_at(entry.backoff, LOOP_SLEEP_PERIOD)

    def _entry_of(self, operation: VolumeOperation) -> Entry | None:
        for entry in self._state.pending.entries(operation.key.volume_name):
            if entry.key == operation.key:
                return entry
        return None

    # Telling

    def _trace(self) -> Trace | None:
        """The trace, if it follows this node; None in a run."""
        trace = self._context.loop.trace
        return trace if trace is not None and trace.follows(self._state.id) else None

    def _tell_end(self, operation: VolumeOperation, error: str | None) -> None:
        trace = self._trace()
        if trace is None:
            return
        entry = None if error is None else self._entry_of(operation)
        key = operation.key
        step = OperationEnded(
            operation.name,
            key.volume_name,
            self._view.pod_key(key.pod_name) if key.pod_name else "",
            error or "",
            0 if entry is None else entry.failures,
            0 if entry is None else entry.backoff.delay,
            None if entry is None else retry_at(entry.backoff, LOOP_SLEEP_PERIOD),
            self._state_now(),
        )
        trace.add(self._state.id, step)

    def _state_now(self) -> KubeletState:
        populator, pod_key = self._populator, self._view.pod_key
        return KubeletState(
            tuple(pod_key(uid) for uid, done in populator.processed_pods.items() if done),
            populator.has_added_pods,
            populator.next_removal_at,
            self._view.attributes(),
            tuple(self._in_use.volumes_in_use()),
        )
