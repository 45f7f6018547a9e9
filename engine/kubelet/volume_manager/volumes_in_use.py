"""Reports status.volumesInUse of a node. Upstream: kubelet_node_status.go."""

from collections.abc import Callable
from typing import Final

from engine.kernel.errors import ApiError
from engine.kernel.loop import Timer
from engine.kernel.units import SECOND
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.volume_manager.state import NodeState
from engine.kubelet.volume_manager.view import VolumesView
from engine.objects.objects import ApiObject

# How often a node's status is posted, and how often in a row when that fails.
NODE_STATUS_PERIOD: Final = 10 * SECOND
NODE_STATUS_UPDATE_RETRY: Final = 5


class VolumesInUseReporter:
    """Writes which volumes the node uses with the next node status, when that has changed.

    *reported*, a bound method, is called with the names that the API server then has.
    """

    __slots__ = ("_context", "_reported", "_state", "_timer", "_up_to_date", "_view")

    def __init__(
        self,
        context: KubeletContext,
        state: NodeState,
        view: VolumesView,
        reported: Callable[[list[str]], None],
    ) -> None:
        self._context = context
        self._state = state
        self._view = view
        self._reported = reported
        self._timer: Timer | None = None
        # The node, and the generation of the states, for which there was nothing to report.
        self._up_to_date: tuple[ApiObject | None, int] = (None, 0)

    @property
    def is_writing(self) -> bool:
        """Whether a node status is due."""
        return self._timer is not None

    def volumes_in_use(self) -> list[str]:
        """Attachable volumes that are wanted, or still here, sorted. Upstream: GetVolumesInUse."""
        desired, actual = self._state.desired, self._state.actual
        names = {v.name: None for v in desired.volumes() if v.is_attachable}
        names |= {v.name: None for v in actual.get_attached_volumes() if v.is_attachable}
        return sorted(names)

    def report(self) -> None:
        """Write the next node status, if it has to change."""
        if self._timer is None and self._is_report_due():
            delay = self._context.latencies.draw("node_status")
            self._timer = self._context.loop.call_after(delay, self._write)

    def cancel(self) -> None:
        """The kubelet ends."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _is_report_due(self) -> bool:
        self._view.note_changes()
        node = self._context.store.find("Node", self._state.node)
        known, generation = self._up_to_date
        if node is None or (node is known and generation == self._view.generation):
            return False
        if self.volumes_in_use() != (node.status.get("volumesInUse") or []):
            return True
        if any(v.is_attachable and not v.reported_in_use for v in self._state.desired.volumes()):
            return True
        self._up_to_date = node, self._view.generation
        return False

    def _write(self) -> None:
        self._timer = None
        node = self._context.store.find("Node", self._state.node)
        if node is None:
            return
        in_use = self.volumes_in_use()
        if in_use != (node.status.get("volumesInUse") or []) and not self._update(in_use):
            self._timer = self._context.loop.call_after(NODE_STATUS_PERIOD, self._write)
            return
        self._state.desired.mark_volumes_reported_in_use(in_use)
        self._view.show_soon()
        self._reported(in_use)

    def _update(self, in_use: list[str]) -> bool:
        """Upstream: updateNodeStatus() tries five times in a row."""
        for _ in range(NODE_STATUS_UPDATE_RETRY):
            try:
                self._context.store.patch(
                    "Node",
                    self._state.node,
                    {"status": {"volumesInUse": in_use or None}},
                    by=COMPONENT,
                    event="NodeVolumesInUseReported",
                    message=f"{len(in_use)} volumes are in use",
                )
            except ApiError:
                continue
            return True
        return False
