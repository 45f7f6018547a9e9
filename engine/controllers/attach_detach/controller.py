"""The attach/detach controller, put together.

Volumes that pods need on nodes (desired) are attached; what nodes have and no pod needs (actual) is detached,
once the node's status no longer says that it is in use, or after six minutes of waiting for that.

    (absent) ──attach──▶ uncertain ──done──▶ attached ──no pod──▶ waiting for unmount
        ▲                    │ error                                │ not in use, or 6 min
        └────────────────────┴──────────detached◀──detach───────────┘

Upstream: pkg/controller/volume/attachdetach/attach_detach_controller.go.
"""

from typing import ClassVar, cast

from engine.api_server.store.watches import WatchEvent
from engine.controllers.attach_detach.context import Context, State
from engine.controllers.attach_detach.executor import AttachDetachExecutor
from engine.controllers.attach_detach.populator import DesiredStateOfWorldPopulator
from engine.controllers.attach_detach.reconciler import Reconciler
from engine.controllers.attach_detach.reconciler_loop import RECONCILER_LOOP_PERIOD, ReconcilerLoop
from engine.controllers.attach_detach.recovery import populate_actual_state
from engine.controllers.attach_detach.view import AttachmentsView
from engine.kernel.view import Attributes
from engine.objects.objects import Node
from engine.storage.operations.pending import NestedPendingOperations


class AttachDetachController:
    """Attaches and detaches volumes for the nodes whose kubelets leave that to the controller."""

    # What acts by itself; see process.Component.
    PARTS: ClassVar[tuple[str, ...]] = ("_executor", "_passes", "_populator", "_view")

    def __init__(
        self,
        context: Context,
        *,
        watch_latency: int = 0,
        recovers_attachments: bool = True,
        spares_healthy_nodes: bool = False,
        heeds_out_of_service: bool = False,
        keeps_terminated: bool = False,
    ) -> None:
        """*recovers_attachments*: at its start it reads every VolumeAttachment (since 1.21).

        With *spares_healthy_nodes* no volume is detached by force from a node that is ready; with
        *heeds_out_of_service* it is detached at once from a node that has the taint out-of-service.
        With *keeps_terminated* a node can ask to keep the volumes of pods that have ended.
        """
        state = State(NestedPendingOperations(context.loop))
        self.desired, self.actual = state.desired, state.actual
        self._passes = ReconcilerLoop(context.loop)
        self._view = AttachmentsView(context, state)
        self._populator = DesiredStateOfWorldPopulator(
            context, state, self._passes, self._view, keeps_terminated=keeps_terminated
        )
        self._executor = AttachDetachExecutor(context, state, self._passes, self._view)
        reconciler = Reconciler(context, state, self._passes, self._executor, self._view)
        reconciler.spares_healthy_nodes = spares_healthy_nodes
        reconciler.heeds_out_of_service = heeds_out_of_service
        self._passes.connect(reconciler.reconcile)
        populate_actual_state(context, self.actual, recovers_attachments=recovers_attachments)
        for attachment in self.actual.attached_volumes():
            # By the first pass the watches have delivered the pods.
            self._passes.wake_at(context.loop.now + RECONCILER_LOOP_PERIOD, attachment.name)
        watch = context.store.watch
        watch("Node", self.observe_node, watch_latency)
        watch("PersistentVolume", self._populator.observe_volume, watch_latency)
        watch("PersistentVolumeClaim", self._populator.observe_claim, watch_latency)
        watch("Pod", self._populator.observe_pod, watch_latency)
        watch("VolumeAttachment", self._executor.observe_attachment, watch_latency)
        self._view.show_soon()

    def observe_node(self, event: WatchEvent) -> None:
        """Take a watch event of a node, whose status says which volumes it has mounted."""
        node = cast("Node", event.new)
        if event.type == "DELETED":
            self._view.forget_node(node.name)
        elif event.type == "ADDED":
            self._view.show_node(node.name)
        attached = self.actual.attached_to_node(node.name)
        if not attached:
            return
        in_use: dict[str, None] = dict.fromkeys(node.status.get("volumesInUse") or ())
        is_lost = event.type == "DELETED" or not node.is_ready or node.is_out_of_service
        for attachment in attached:
            mounted = attachment.name in in_use
            if is_lost and attachment.detach_requested_at is not None:
                self._passes.wake(attachment.name)
            if attachment.mounted_by_node and not mounted:
                self._passes.wake(attachment.name)
            if attachment.mounted_by_node is not mounted:
                self.actual.changed[attachment.name, node.name] = None
            attachment.mounted_by_node = mounted
        self._view.show_soon()

    def stop(self) -> None:
        """The process ends: operations that were about to begin do nothing."""
        self._executor.stop()

    def continue_view(self, before: "AttachDetachController") -> None:
        """Take over the view of *before*, the controller that this one replaces."""
        self._view.continue_from(before._view)

    def held_view(self, node: str) -> Attributes:
        """What the view must show of the attachments of *node*, by volume."""
        return self._view.attributes_of(node)
