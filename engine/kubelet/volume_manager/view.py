"""What the pages show of a node's volumes: its attributes follow the two states.

Volumes that changed are compared with what is shown, and only the difference is recorded.
"""

from collections.abc import Iterable
from typing import Any

from engine.kernel.loop import Timer
from engine.kernel.view import Changes, diff
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.volume_manager.actual_state import AttachedVolume
from engine.kubelet.volume_manager.operations.mount import VerifyControllerAttachedVolume
from engine.kubelet.volume_manager.state import NodeState
from engine.kubelet.volume_manager.ticks import LOOP_SLEEP_PERIOD
from engine.storage.operations import messages
from engine.storage.operations.pending import entry_attributes

_VERIFY = VerifyControllerAttachedVolume.name


class VolumesView:
    """Records changes of a node's volumes as patches of the node's attributes.

    `generation` counts the changes of the two states that were noticed here.
    """

    __slots__ = ("_context", "_shown", "_state", "_timer", "_unshown", "generation")

    def __init__(self, context: KubeletContext, state: NodeState) -> None:
        self._context = context
        self._state = state
        self._timer: Timer | None = None
        self._shown: dict[str, dict[str, Any]] = {}
        # Volumes whose shown attributes may be out of date.
        self._unshown: dict[str, None] = {}
        self.generation = 0

    @property
    def is_empty(self) -> bool:
        """Whether no volume is shown."""
        return not self._shown

    def begin(self) -> None:
        """The kubelet has started with new states: everything shown may be out of date."""
        self._unshown.update(dict.fromkeys(self._shown))
        self.generation += 1

    def mark(self, volumes: Iterable[str]) -> None:
        """The view of *volumes* may be out of date."""
        self._unshown.update(dict.fromkeys(volumes))

    def show_pod(self, uid: str) -> None:
        """A pod became known or unknown: it is shown by its name or by its uid."""
        self.mark(self._state.actual.volumes_of_pod(uid))
        for name in self._state.pending.volumes():
            if any(entry.key.pod_name == uid for entry in self._state.pending.entries(name)):
                self._unshown[name] = None
        if self._unshown:
            self.show_soon()

    def show_soon(self) -> None:
        """Show, later at this instant, what is not the work of an operation or of the loops."""
        if self._timer is None:
            self._timer = self._context.loop.call_after(0, self._show_changes)

    def _show_changes(self) -> None:
        self._timer = None
        self.show("VolumesReconciled")

    def show(
        self,
        fact: str,
        about: str = "",
        message: str = "",
        data: dict[str, Any] | None = None,
    ) -> None:
        """Record *fact* with what has changed in the two states; nothing without a change.

        The fact of an operation, which has *data*, is always recorded.
        """
        patch = self._take_patch()
        if not patch and data is None:
            return
        # A deleted node must not come back into the view.
        node = self._state.node
        is_there = self._context.store.find("Node", node) is not None
        if data is None and not is_there:
            return
        message = message or messages.changed({name: self._shown.get(name) for name in patch})
        shown = {"volumes": patch if self._shown else None}
        about, node_id = about or self._state.id, self._state.id
        changes: Changes | None = {node_id: shown} if patch and is_there else None
        self._context.recorder.record(fact, about, COMPONENT, message, data, changes)

    def note_changes(self) -> None:
        """Mark the volumes that changed in either state, and those with operations that did."""
        for changed in (self._state.desired.changed, self._state.actual.changed):
            if changed:
                self._unshown.update(changed)
                self.generation += 1
                changed.clear()
        operations = self._state.pending.changed
        for key in operations:
            self._unshown[key.volume_name] = None
        operations.clear()

    def _take_patch(self) -> dict[str, Any]:
        self.note_changes()
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
        return patch

    def attributes(self) -> dict[str, Any]:
        """The attributes of each volume, computed from the state."""
        names = {volume.name: None for volume in self._state.desired.volumes()}
        names |= {volume.name: None for volume in self._state.actual.get_attached_volumes()}
        return {name: self._describe(name) for name in names}

    def _describe(self, name: str) -> dict[str, Any] | None:
        """Desired and actual state of a volume side by side; what is false is left out."""
        wanted, volume = self._state.desired.volume(name), self._state.actual.volume(name)
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
            shown |= self._actual_attributes(volume)
        operations = self._operations(name)
        if operations:
            shown["operations"] = operations
        return shown

    def _actual_attributes(self, volume: AttachedVolume) -> dict[str, Any]:
        shown: dict[str, Any] = {"attached": True}
        if volume.is_attachable:
            shown["attachable"] = True
        if volume.device_may_be_mounted:
            shown["device"] = volume.device_mount_state.value
        if volume.pods:
            shown["mounts"] = {
                self.pod_key(pod.pod_name): pod.state.value for pod in volume.pods.values()
            }
        return shown

    def _operations(self, name: str) -> dict[str, Any]:
        """What runs or backs off on the volume, by pod; "*" is for all of them."""
        if self._state.is_down:
            return {}
        found: dict[str, Any] = {}
        for entry in self._state.pending.entries(name):
            pod = entry.key.pod_name
            found[self.pod_key(pod) if pod else "*"] = (
                # It repeats until the node's status changes; the single attempts are not shown.
                {"name": _VERIFY}
                if entry.name == _VERIFY
                else entry_attributes(entry, LOOP_SLEEP_PERIOD)
            )
        return found

    def pod_key(self, uid: str) -> str:
        """The pod's "namespace/name", or its uid if it is not known any more."""
        pod = self._state.pods.get(uid)
        return uid if pod is None else pod.key
