"""The operation executor: carries attach and detach operations out, and marks their outcome.

An in-tree plugin is called. For a CSI volume a VolumeAttachment is written, on which its external
attacher acts. Upstream: pkg/volume/util/operationexecutor, pkg/volume/csi/csi_attacher.go.
"""

from engine.api_server.store.watches import WatchEvent
from engine.controllers.attach_detach.actual_state import NodeAttachment
from engine.controllers.attach_detach.context import Context, State, VolumeEvent
from engine.controllers.attach_detach.desired_state import VolumeToAttach
from engine.controllers.attach_detach.names import COMPONENT, attachment_name
from engine.controllers.attach_detach.operations import AttachOperation, DetachOperation
from engine.controllers.attach_detach.reconciler_loop import ReconcilerLoop
from engine.controllers.attach_detach.trace_steps.decisions import AttachEnded
from engine.controllers.attach_detach.view import AttachmentsView
from engine.kernel.errors import AlreadyExists, ApiError, NotFound
from engine.objects.objects import from_manifest
from engine.storage.operations.messages import ATTACHED, FAILED_ATTACH, error_suffix
from engine.storage.operations.pending import Entry
from engine.storage.plugins.simulated import CSI
from engine.storage.plugins.spec import Answer, text_at
from engine.storage.ports import NORMAL, WARNING


class AttachDetachExecutor:
    """Runs operations to their end; then the next pass checks the volume again."""

    __slots__ = (
        "_actual",
        "_attaching",
        "_context",
        "_detaching",
        "_loop",
        "_passes",
        "_pending",
        "_plugins",
        "_stopped",
        "_store",
        "_view",
    )

    def __init__(
        self, context: Context, state: State, passes: ReconcilerLoop, view: AttachmentsView
    ) -> None:
        self._context = context
        self._loop = context.loop
        self._store = context.store
        self._plugins = context.plugins
        self._actual = state.actual
        self._pending = state.pending
        self._passes = passes
        self._view = view
        # Operations that wait for their VolumeAttachment, by its name.
        self._attaching: dict[str, AttachOperation] = {}
        self._detaching: dict[str, DetachOperation] = {}
        self._stopped = False

    def stop(self) -> None:
        """The process ends: operations that were about to begin do nothing."""
        self._stopped = True

    def observe_attachment(self, event: WatchEvent) -> None:
        """A VolumeAttachment was written: an operation may have ended."""
        name, status = event.new.name, event.new.status
        attach = self._attaching.get(name)
        if attach is not None:
            # Upstream: csi_attacher.go, verifyAttachmentStatus().
            if event.type == "DELETED":
                self._attach_failed(name, attach, "volume attachment has been deleted")
            elif event.new.deletion_timestamp:
                self._attach_failed(name, attach, "volume attachment is being deleted")
            elif status.get("attached"):
                self._attached(name, attach, Answer())
            elif status.get("attachError"):
                self._attach_failed(name, attach, status["attachError"].get("message", ""))
        detach = self._detaching.get(name)
        if detach is not None and event.type == "DELETED":
            self._detached(name, detach, Answer())

    def _answered(self, operation: AttachOperation | DetachOperation, answer: Answer) -> None:
        """The driver of an in-tree volume has answered."""
        key = f"{operation.key.volume_name} {operation.node}"
        self._loop.tried(self._end, operation, answer, key=key)

    def _end(self, operation: AttachOperation | DetachOperation, answer: Answer) -> None:
        if isinstance(operation, AttachOperation):
            self._attached("", operation, answer)
        else:
            self._detached("", operation, answer)

    # Attaching

    def attach(self, operation: AttachOperation) -> None:
        """See operations.Executor."""
        if self._stopped:
            return
        volume = operation.volume
        plugin = self._plugins.find_by_spec(volume.spec)
        assert plugin is not None
        if plugin.name != CSI:
            pod = next(iter(volume.pods.values()), None)
            answer = plugin.call("Attach", volume.spec, pod, volume.node)
            self._loop.call_after(answer.latency, self._answered, operation, answer)
            return
        csi = volume.spec.source["csi"]
        name = attachment_name(csi["volumeHandle"], csi["driver"], volume.node)
        self._attaching[name] = operation
        existing = self._store.find("VolumeAttachment", name)
        if existing is None:
            try:
                self._create_attachment(name, volume, csi["driver"])
            except ApiError as refusal:
                self._attach_failed(name, operation, str(refusal))
        else:
            self.observe_attachment(WatchEvent("MODIFIED", None, existing))

    def _create_attachment(self, name: str, volume: VolumeToAttach, driver: str) -> None:
        made = from_manifest(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "VolumeAttachment",
                "metadata": {"name": name},
                "spec": {
                    "attacher": driver,
                    "nodeName": volume.node,
                    "source": {"persistentVolumeName": volume.spec.name},
                },
                "status": {"attached": False},
            }
        )
        try:
            self._store.create(
                made,
                by=COMPONENT,
                event="VolumeAttachmentCreated",
                message=f"{volume.spec.name} to {volume.node}",
                data={"volume": volume.spec.name, "node": volume.node},
            )
        except AlreadyExists:
            return

    def _attached(self, attachment: str, operation: AttachOperation, answer: Answer) -> None:
        volume = operation.volume
        if answer.error is not None:
            self._attach_failed(attachment, operation, answer.error.text)
            return
        self._attaching.pop(attachment, None)
        self._actual.mark_volume_as_attached(volume.name, volume.node, volume.spec, answer.value)
        event = VolumeEvent(NORMAL, ATTACHED, "AttachVolume.Attach succeeded", volume.spec.name)
        for pod in volume.pods.values():
            self._context.emit(pod, event)
        self._pending.complete(operation, None)
        self._tell_end(operation, volume.spec.name)
        self._view.show_outcome("VolumeAttached", operation, f"{volume.spec.name} to {volume.node}")
        self._passes.wake(volume.name)

    def _attach_failed(self, attachment: str, operation: AttachOperation, error: str) -> None:
        self._attaching.pop(attachment, None)
        volume, prefix, suffix = operation.volume, "AttachVolume.Attach failed", error_suffix(error)
        event = VolumeEvent(WARNING, FAILED_ATTACH, prefix, volume.spec.name, suffix)
        for pod in volume.pods.values():
            self._context.emit(pod, event)
        # The attach may have been done in part: once no pod needs the volume it must be detached.
        found = self._actual.mark_volume_as_uncertain(volume.name, volume.node, volume.spec)
        found.mounted_by_node = self._is_in_use(found)
        self._failed(operation, volume.name, volume.spec.name, error)

    # Detaching

    def detach(self, operation: DetachOperation) -> None:
        """See operations.Executor."""
        if self._stopped:
            return
        attachment = operation.attachment
        if operation.verify and self._is_in_use(attachment):
            self._detach_failed("", operation, "still in use")
            return
        plugin = self._plugins.find_by_spec(attachment.spec)
        if plugin is not None and plugin.name != CSI:
            answer = plugin.call("Detach", attachment.spec, None, attachment.node)
            self._loop.call_after(answer.latency, self._answered, operation, answer)
            return
        name = _attachment_name_of(attachment)
        self._detaching[name] = operation
        try:
            self._store.delete(
                "VolumeAttachment",
                name,
                by=COMPONENT,
                event="VolumeAttachmentTerminating",
                message=f"{attachment.spec.name} from {attachment.node}",
            )
        except NotFound:
            self._detached(name, operation, Answer())
        except ApiError as refusal:
            self._detach_failed(name, operation, str(refusal))

    def _is_in_use(self, attachment: NodeAttachment) -> bool:
        # Upstream: verifyVolumeIsSafeToDetach(); a node that does not exist uses nothing.
        node = self._store.find("Node", attachment.node)
        return node is not None and attachment.name in (node.status.get("volumesInUse") or ())

    def _detached(self, attachment: str, operation: DetachOperation, answer: Answer) -> None:
        if answer.error is not None:
            self._detach_failed(attachment, operation, answer.error.text)
            return
        self._detaching.pop(attachment, None)
        found = operation.attachment
        self._actual.mark_volume_as_detached(found.name, found.node)
        self._pending.complete(operation, None)
        self._tell_end(operation, found.spec.name)
        self._view.show_outcome("VolumeDetached", operation, f"{found.spec.name} from {found.node}")
        self._passes.wake(found.name)

    def _detach_failed(self, attachment: str, operation: DetachOperation, error: str) -> None:
        self._detaching.pop(attachment, None)
        found = operation.attachment
        # The volume is still attached, and may be mounted again.
        self._actual.add_volume_to_report_as_attached(found.name, found.node)
        self._passes.arm()
        self._failed(operation, found.name, found.spec.name, error)

    def _failed(
        self, operation: AttachOperation | DetachOperation, volume: str, spec_name: str, error: str
    ) -> None:
        entry: Entry | None = self._pending.complete(operation, error)
        assert entry is not None
        self._tell_end(operation, spec_name, error, entry)
        self._view.show_outcome("VolumeOperationFailed", operation, error)
        self._passes.wake_at(entry.backoff.at + entry.backoff.delay + 1, volume)

    def _tell_end(
        self,
        operation: AttachOperation | DetachOperation,
        volume: str,
        error: str = "",
        entry: Entry | None = None,
    ) -> None:
        trace = self._context.trace_of(operation.node)
        if trace is not None:
            failures, delay = (entry.failures, entry.backoff.delay) if entry else (0, 0)
            step = AttachEnded(operation.name, volume, error, failures, delay)
            trace.add(f"node/{operation.node}", step)


def _attachment_name_of(attachment: NodeAttachment) -> str:
    source = attachment.spec.source
    handle = text_at(source, "csi", "volumeHandle") or ""
    return attachment_name(handle, text_at(source, "csi", "driver") or "", attachment.node)
