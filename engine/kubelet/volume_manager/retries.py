"""When a volume manager runs its loops although no pod, claim or operation changed."""

from engine.kernel.loop import EventLoop
from engine.kubelet.volume_manager.operations.mount import VerifyControllerAttachedVolume
from engine.kubelet.volume_manager.state import NodeState, VolumeManagerOptions
from engine.kubelet.volume_manager.ticks import LOOP_SLEEP_PERIOD, Ticks
from engine.kubelet.volume_manager.view import VolumesView
from engine.storage.operations.backoff import Backoff
from engine.storage.operations.pending import retry_at


class Retries:
    """Schedules ticks for operations that back off.

    Upstream repeats the verification of an attachment until the node's status names the volume. Here
    it is repeated only once that status was written, at the instant of upstream's next attempt, or at
    once without the option `verify_backs_off`.
    """

    __slots__ = ("_loop", "_options", "_state", "_ticks", "_updated", "_view")

    def __init__(
        self,
        loop: EventLoop,
        state: NodeState,
        ticks: Ticks,
        view: VolumesView,
        options: VolumeManagerOptions,
    ) -> None:
        self._loop = loop
        self._state = state
        self._ticks = ticks
        self._view = view
        self._options = options
        # Volumes whose attachment may have changed since the last operation on them.
        self._updated: dict[str, None] = {}

    def clear(self) -> None:
        """The kubelet ends."""
        self._updated.clear()

    def operation_started(self, volume: str) -> None:
        """An operation on the volume starts."""
        self._updated.pop(volume, None)

    def node_changed(self) -> None:
        """The node's status was written: verify the attachments of the volumes that pods need."""
        # Upstream reads the node in every attempt; here the node's watch shows when that is useful.
        for name in self._state.pending.volumes():
            if self._state.desired.volume_exists(name):
                self.verify_again(name)

    def verify_again(self, volume: str) -> None:
        """The attachment may have changed: verify it when upstream would verify it next."""
        pending = self._state.pending
        if not self._is_verifying(volume):
            return
        if self._options.verify_backs_off:
            pending.catch_up(volume, LOOP_SLEEP_PERIOD)
        else:
            for entry in pending.entries(volume):
                entry.backoff = Backoff()
        self._view.mark([volume])
        self._view.show_soon()
        self._updated[volume] = None
        self._wake_for_retry(volume)

    def schedule(self) -> None:
        """Run the loops again when a backoff has passed."""
        desired, actual = self._state.desired, self._state.actual
        for name in self._state.pending.volumes():
            if (desired.volume_exists(name) or actual.volume_exists(name)) and (
                name in self._updated or not self._is_verifying(name)
            ):
                self._wake_for_retry(name)

    def _is_verifying(self, volume: str) -> bool:
        """Whether only the node's status can change the outcome of the next attempt."""
        entries = self._state.pending.entries(volume)
        return VerifyControllerAttachedVolume.name in [entry.name for entry in entries]

    def _wake_for_retry(self, volume: str) -> None:
        for entry in self._state.pending.entries(volume):
            if not entry.pending:
                self._ticks.wake_at(max(retry_at(entry.backoff, LOOP_SLEEP_PERIOD), self._loop.now))
