"""Writes status.volumesAttached of the nodes.

Upstream: pkg/controller/volume/attachdetach/statusupdater/node_status_updater.go.
"""

from engine.api_server.store.store import ObjectStore
from engine.controllers.attach_detach.actual_state import ActualStateOfWorld
from engine.controllers.attach_detach.names import COMPONENT
from engine.controllers.attach_detach.reconciler_loop import ReconcilerLoop
from engine.kernel.errors import ApiError


class NodeStatusUpdater:
    """Writes what the actual state reports as attached to the nodes it has changed for."""

    __slots__ = ("_actual", "_passes", "_store")

    def __init__(
        self, store: ObjectStore, actual: ActualStateOfWorld, passes: ReconcilerLoop
    ) -> None:
        self._store = store
        self._actual = actual
        self._passes = passes

    def update_node_statuses(self) -> bool:
        """Write every report that is due. False when a write failed; the next pass repeats it.

        A node that does not exist any more is left out. Upstream: UpdateNodeStatuses().
        """
        due, tried = sorted(self._actual.needs_update), self._store.loop.tried
        failed = [name for name in due if tried(self._update, name) is False]
        self._actual.needs_update = dict.fromkeys(failed)
        if failed:
            self._passes.arm()
        return not failed

    def _update(self, name: str) -> bool:
        node = self._store.find("Node", name)
        report = self._actual.report(name)
        if node is None or report == (node.status.get("volumesAttached") or []):
            return True
        try:
            self._store.patch(
                "Node",
                name,
                {"status": {"volumesAttached": report or None}},
                by=COMPONENT,
                event="NodeVolumesAttachedReported",
                message=f"{len(report)} volumes are attached",
            )
        except ApiError:
            return False
        return True
