"""What the pages show of attachments: the attributes of nodes that follow both states.

Every change of the two states, and of the operations, marks a (volume, node) pair. The marked pairs
are compared with what is shown, and only the difference is recorded.
"""

from typing import Any

from engine.controllers.attach_detach.actual_state import NodeAttachment
from engine.controllers.attach_detach.context import Context, State
from engine.controllers.attach_detach.desired_state import VolumeToAttach
from engine.controllers.attach_detach.names import COMPONENT
from engine.controllers.attach_detach.operations import AttachOperation, DetachOperation
from engine.controllers.attach_detach.reconciler_loop import RECONCILER_LOOP_PERIOD
from engine.controllers.attach_detach.table import discard
from engine.kernel.loop import Timer
from engine.kernel.view import Attributes, Changes, diff
from engine.storage.operations import messages
from engine.storage.operations.pending import Entry, OperationKey, entry_attributes


class AttachmentsView:
    """Records changes of the attachments as patches of the nodes' attributes."""

    __slots__ = (
        "_actual",
        "_desired",
        "_loop",
        "_pending",
        "_recorder",
        "_shown",
        "_store",
        "_timer",
        "_unshown",
    )

    def __init__(self, context: Context, state: State) -> None:
        self._loop = context.loop
        self._store = context.store
        self._recorder = context.recorder
        self._desired = state.desired
        self._actual = state.actual
        self._pending = state.pending
        self._timer: Timer | None = None
        # By node and volume.
        self._shown: dict[str, dict[str, Attributes]] = {}
        # (volume, node) pairs whose shown attributes may be out of date.
        self._unshown: dict[tuple[str, str], None] = {}

    def continue_from(self, before: "AttachmentsView") -> None:
        """Start from what *before*, the view of the controller that ended, has shown."""
        self._shown = before._shown
        for node, volumes in self._shown.items():
            self._unshown |= {(name, node): None for name in volumes}
        self.show_soon()

    def attributes_of(self, node: str) -> Attributes:
        """The attributes of the attachments of *node*, by volume, computed from the state."""
        return {name: self._describe(name, node) for name in self._volumes_of(node)}

    def show_node(self, node: str) -> None:
        """Show all of a node that was added, or that is seen for the first time."""
        self._unshown |= {(name, node): None for name in self._volumes_of(node)}
        self.show_soon()

    def forget_node(self, node: str) -> None:
        """The node was deleted, and what was shown of it."""
        self._shown.pop(node, None)

    def show_soon(self) -> None:
        """Show changes that are not the outcome of an operation, later at this instant."""
        if self._timer is None and self._has_changes():
            self._timer = self._loop.call_after(0, self._show_changes)

    def show_outcome(
        self, fact: str, operation: AttachOperation | DetachOperation, message: str
    ) -> None:
        """Record how an operation ended, with all that has changed."""
        data: dict[str, Any] = {"operation": operation.name, "volume": operation.key.volume_name}
        entry = self._entry_of(operation.key.volume_name, operation.node)
        if entry is not None:
            data["error"] = entry.backoff.error
            data["retry_at"] = entry_attributes(entry, RECONCILER_LOOP_PERIOD)["retry_at"]
        about = f"node/{operation.node}"
        changes = self._take_changes() or None
        self._recorder.record(fact, about, COMPONENT, message, data, changes)

    def _volumes_of(self, node: str) -> list[str]:
        names = {volume.name: None for volume in self._desired.volumes_of_node(node)}
        names |= {found.name: None for found in self._actual.attached_to_node(node)}
        return [*names]

    def _has_changes(self) -> bool:
        changed = self._desired.changed, self._actual.changed, self._pending.changed
        return bool(self._unshown) or any(changed)

    def _show_changes(self) -> None:
        self._timer = None
        for entity, patch in self._take_changes().items():
            assert patch is not None
            shown = self._shown.get(entity.removeprefix("node/"), {})
            message = messages.changed(
                {name: shown.get(name) for name in patch["attachments"] or ()}
            )
            message = message or "nothing is attached, or is to be, any more"
            part: Changes = {entity: patch}
            self._recorder.record("VolumesReconciled", entity, COMPONENT, message, None, part)

    def _take_changes(self) -> Changes:
        """The patches of nodes for all pairs that are out of date, which then count as shown."""
        changes: Changes = {}
        for name, node in self._take_unshown():
            self._loop.tried(self._take_change, name, node, changes, key=f"{name} {node}")
        for entity, patch in changes.items():
            if patch is not None and entity.removeprefix("node/") not in self._shown:
                patch["attachments"] = None
        return changes

    def _take_change(self, name: str, node: str, changes: Changes) -> None:
        """Add to *changes* what is not shown yet of one pair."""
        # A deleted node must not come back into the view.
        if self._store.find("Node", node) is None:
            self._shown.pop(node, None)
            return
        shown, now = self._shown.get(node, {}).get(name), self._describe(name, node)
        if shown == now:
            return
        patch = changes.setdefault(f"node/{node}", {"attachments": {}})
        assert patch is not None
        if now is not None:
            patch["attachments"][name] = now if shown is None else diff(shown, now)
            self._shown.setdefault(node, {})[name] = now
            return
        patch["attachments"][name] = None
        discard(self._shown, node, name)

    def _take_unshown(self) -> list[tuple[str, str]]:
        for changed in (self._desired.changed, self._actual.changed):
            self._unshown |= changed
            changed.clear()
        for key in self._pending.changed:
            self._unshown |= {(key.volume_name, node): None for node in self._nodes_of(key)}
        self._pending.changed.clear()
        taken, self._unshown = self._unshown, {}
        return [*taken]

    def _nodes_of(self, key: OperationKey) -> list[str]:
        """The nodes on which an operation with this key may be shown."""
        if key.node_name:
            return [key.node_name]
        name = key.volume_name
        return [
            *(volume.node for volume in self._desired.volumes_to_attach(name)),
            *self._actual.nodes_for_attached_volume(name),
        ]

    def _describe(self, name: str, node: str) -> Attributes | None:
        """Desired and actual state of an attachment side by side; what is false is left out."""
        wanted, found = self._desired.find(name, node), self._actual.find(name, node)
        either = wanted or found
        if either is None:
            return None
        shown: Attributes = {"name": either.spec.name}
        if wanted is not None:
            shown |= _desired_attributes(wanted)
        if found is not None:
            shown |= _actual_attributes(found)
        entry = self._entry_of(name, node)
        if entry is not None:
            shown["operation"] = entry_attributes(entry, RECONCILER_LOOP_PERIOD)
        return shown

    def _entry_of(self, name: str, node: str) -> Entry | None:
        """The operation that runs or backs off for the volume on that node."""
        for entry in self._pending.entries(name):
            operation = entry.operation
            if isinstance(operation, AttachOperation | DetachOperation) and operation.node == node:
                return entry
        return None


def _desired_attributes(wanted: VolumeToAttach) -> Attributes:
    pods = wanted.pods.items()
    shown: Attributes = {"desired": {pod.key: wanted.since[uid] for uid, pod in pods}}
    if wanted.multi_attach_error_reported:
        shown["multi_attach_error_reported"] = True
    return shown


def _actual_attributes(found: NodeAttachment) -> Attributes:
    shown: Attributes = {"attached" if found.is_attached else "uncertain": True}
    if found.mounted_by_node:
        shown["mounted_by_node"] = True
    if found.detach_requested_at is not None:
        shown["detach_requested"] = found.detach_requested_at
        if found.deadline is not None:
            shown["deadline"] = found.deadline.at
    return shown
