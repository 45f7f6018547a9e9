"""The reconciler: detaches what no pod needs any more, then attaches what pods need.

Upstream: pkg/controller/volume/attachdetach/reconciler/reconciler.go.
"""

from collections.abc import Iterable
from typing import Final

from engine.controllers.attach_detach.actual_state import NodeAttachment
from engine.controllers.attach_detach.context import Context, State, VolumeEvent
from engine.controllers.attach_detach.desired_state import VolumeToAttach
from engine.controllers.attach_detach.executor import AttachDetachExecutor
from engine.controllers.attach_detach.names import COMPONENT
from engine.controllers.attach_detach.node_status import NodeStatusUpdater
from engine.controllers.attach_detach.operations import (
    AttachOperation,
    DetachOperation,
    is_multi_attach_forbidden,
    operation_key,
)
from engine.controllers.attach_detach.reconciler_loop import ReconcilerLoop
from engine.controllers.attach_detach.trace_steps.decisions import AttachDecided, Decision
from engine.controllers.attach_detach.view import AttachmentsView
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import OUT_OF_SERVICE_TAINT, Node, Pod
from engine.storage.operations.messages import FAILED_ATTACH
from engine.storage.operations.pending import OperationKey
from engine.storage.ports import WARNING

# Upstream: DefaultTimerConfig.
MAX_WAIT_FOR_UNMOUNT: Final = 6 * MINUTE


class Reconciler:
    """Starts the operations that bring the actual state to the desired one.

    With `spares_healthy_nodes` no volume is detached by force from a node that is ready; with
    `heeds_out_of_service` it is detached at once from a node that has the taint out-of-service.
    """

    __slots__ = (
        "_actual",
        "_context",
        "_desired",
        "_executor",
        "_loop",
        "_node_status",
        "_passes",
        "_pending",
        "_view",
        "heeds_out_of_service",
        "spares_healthy_nodes",
    )

    def __init__(
        self,
        context: Context,
        state: State,
        passes: ReconcilerLoop,
        executor: AttachDetachExecutor,
        view: AttachmentsView,
    ) -> None:
        self._context = context
        self._loop = context.loop
        self._desired = state.desired
        self._actual = state.actual
        self._pending = state.pending
        self._passes = passes
        self._executor = executor
        self._view = view
        self._node_status = NodeStatusUpdater(context.store, state.actual, passes)
        self.spares_healthy_nodes = False
        self.heeds_out_of_service = False

    def reconcile(self, volumes: Iterable[str]) -> None:
        """One pass over *volumes*.

        Detaches come first: a volume that moves to another node must leave the old one before.
        """
        tried = self._loop.tried
        for name in volumes:
            for attachment in self._actual.attachments_of(name):
                if not self._desired.volume_exists(name, attachment.node):
                    tried(self._detach_if_unused, attachment, key=f"{name} {attachment.node}")
        for name in volumes:
            for volume in self._desired.volumes_to_attach(name):
                tried(self._attach_if_free, volume, key=f"{name} {volume.node}")
        self._node_status.update_node_statuses()
        self._view.show_soon()

    def _detach_if_unused(self, attachment: NodeAttachment) -> None:
        key = operation_key(attachment.name, attachment.node, attachment.spec)
        if self._pending.is_operation_pending(key):
            self._tell_detach(attachment, "running")
            return
        timeout = self._request_detach(attachment)
        out_of_service = self._is_out_of_service(attachment.node)
        forced = out_of_service or (timeout and self._may_force(attachment.node))
        if attachment.mounted_by_node and not forced:
            self._tell_detach(attachment, "mounted by the node")
            return
        if self._is_backing_off(key, "volume_detach"):
            self._tell_detach(attachment, "backing off")
            return
        # The kubelet must see that it may not mount the volume before the volume is detached.
        self._actual.remove_volume_from_report_as_attached(attachment.name, attachment.node)
        if not self._node_status.update_node_statuses():
            self._tell_detach(attachment, "node status not written")
            self._passes.wake(attachment.name)
            return
        if attachment.mounted_by_node:
            self._record_force(attachment, timeout)
        self._tell_detach(attachment, "detach by force" if attachment.mounted_by_node else "detach")
        verify = not timeout and not out_of_service
        self._pending.run(DetachOperation(self._executor, key, attachment, verify))

    def _request_detach(self, attachment: NodeAttachment) -> bool:
        """Note since when the volume should be detached; whether that is longer than six minutes.

        Until then a detach waits for the node's status to say that the volume is not in use.
        """
        now = self._loop.now
        if attachment.detach_requested_at is None:
            attachment.detach_requested_at = now
            self._actual.changed[attachment.name, attachment.node] = None
            if attachment.mounted_by_node:
                deadline = now + MAX_WAIT_FOR_UNMOUNT + 1
                attachment.deadline = self._passes.wake_at(deadline, attachment.name)
        return now - attachment.detach_requested_at > MAX_WAIT_FOR_UNMOUNT

    def _may_force(self, node_name: str) -> bool:
        """Whether volumes may be taken from the node by force. Upstream: nodeIsHealthy()."""
        if not self.spares_healthy_nodes:
            return True
        node = self._context.store.find("Node", node_name)
        return not (isinstance(node, Node) and node.is_ready)

    def _is_out_of_service(self, node_name: str) -> bool:
        """Whether the node counts as shut down for good. Upstream: hasOutOfServiceTaint()."""
        if not self.heeds_out_of_service:
            return False
        node = self._context.store.find("Node", node_name)
        return isinstance(node, Node) and node.is_out_of_service

    def _record_force(self, attachment: NodeAttachment, timeout: bool) -> None:
        seconds = MAX_WAIT_FOR_UNMOUNT // SECOND
        why = (
            f"was in use for {seconds} s after its last pod"
            if timeout
            else f"was in use, and node {attachment.node} has the taint {OUT_OF_SERVICE_TAINT}"
        )
        self._context.recorder.record(
            "VolumeDetachForced",
            f"node/{attachment.node}",
            COMPONENT,
            f"{attachment.name} {why}",
            {"volume": attachment.name},
        )

    def _attach_if_free(self, volume: VolumeToAttach) -> None:
        forbidden = is_multi_attach_forbidden(volume.spec)
        key = operation_key(volume.name, volume.node, volume.spec)
        if self._pending.is_operation_pending(key):
            self._tell_attach(volume, "running")
            return
        found = self._actual.find(volume.name, volume.node)
        if found is not None and found.is_attached:
            # It is needed again before it was detached.
            if found.detach_requested_at is not None:
                self._actual.changed[found.name, found.node] = None
            found.forget_detach_request()
            self._tell_attach(volume, "attached already")
            return
        attached_to = self._actual.nodes_for_attached_volume(volume.name)
        others = [node for node in attached_to if node != volume.node]
        if forbidden and others:
            self._tell_attach(volume, "attached to another node", tuple(others))
            if not volume.multi_attach_error_reported:
                volume.multi_attach_error_reported = True
                self._desired.changed[volume.name, volume.node] = None
                self._report_multi_attach_error(volume, others)
            return
        if self._is_backing_off(key, "volume_attach"):
            self._tell_attach(volume, "backing off")
            return
        self._tell_attach(volume, "attach")
        self._pending.run(AttachOperation(self._executor, key, volume))

    def _tell_attach(
        self, volume: VolumeToAttach, decision: Decision, others: tuple[str, ...] = ()
    ) -> None:
        trace = self._context.trace_of(volume.node)
        if trace is not None:
            step = AttachDecided("attachDesiredVolumes", volume.spec.name, decision, others)
            trace.add(f"node/{volume.node}", step)

    def _tell_detach(self, attachment: NodeAttachment, decision: Decision) -> None:
        trace = self._context.trace_of(attachment.node)
        if trace is not None:
            step = AttachDecided("reconcile", attachment.spec.name, decision)
            trace.add(f"node/{attachment.node}", step)

    def _is_backing_off(self, key: OperationKey, name: str) -> bool:
        """Whether it is too early to repeat the operation; a later pass is already scheduled."""
        return any(
            entry.name == name and entry.key == key and entry.backoff.holds(self._loop.now)
            for entry in self._pending.entries(key.volume_name)
        )

    def _report_multi_attach_error(self, volume: VolumeToAttach, others: list[str]) -> None:
        users = self._desired.volume_pods_on_nodes(others, volume.name)
        for pod in volume.pods.values():
            why = _multi_attach_error(pod, users)
            event = VolumeEvent(WARNING, FAILED_ATTACH, "Multi-Attach error", volume.spec.name, why)
            self._context.emit(pod, event)


def _multi_attach_error(pod: Pod, users: list[Pod]) -> str:
    """Why *pod* cannot have the volume; names only users of its own namespace."""
    local = [user.name for user in users if user.namespace == pod.namespace]
    elsewhere = len(users) - len(local)
    if not users:
        return "Volume is already exclusively attached to one node and can't be attached to another"
    if not local:
        return f"Volume is already used by {elsewhere} pod(s) in different namespaces"
    why = f"Volume is already used by pod(s) {', '.join(local)}"
    return f"{why} and {elsewhere} pod(s) in different namespaces" if elsewhere else why
