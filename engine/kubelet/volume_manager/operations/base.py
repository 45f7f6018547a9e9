"""What every operation of a kubelet is made of: steps on the loop, each after an answer.

An operation makes its calls into the driver in upstream's order, waits for each answer, and marks the
actual state as soon as something is known.
Upstream: pkg/volume/util/operationexecutor/operation_generator.go.
"""

from collections.abc import Callable
from typing import Protocol

from engine.kernel.loop import EventLoop
from engine.kubelet.volume_manager.actual_state import ActualStateOfWorld
from engine.objects.objects import ApiObject, Manifest
from engine.storage.operations.pending import OperationKey
from engine.storage.plugins.spec import Answer, VolumePlugins


class NodeApi(Protocol):
    """What operations read from, and write to, the API server."""

    def volumes_attached(self) -> list[Manifest] | None:
        """status.volumesAttached of the node as the API server has it; None without the node."""
        ...

    def claim_of(self, volume: Manifest) -> Manifest | None:
        """The claim that the PersistentVolume is bound to."""
        ...

    def mark_fs_resize_finished(self, claim: Manifest, capacity: str) -> str | None:
        """Write the new capacity to the claim's status; the error's text if that fails."""
        ...


class Observer(Protocol):
    """Follows operations."""

    def operation_started(self, operation: "VolumeOperation") -> None:
        """An operation took its first step."""
        ...

    def operation_waits(self, operation: "VolumeOperation") -> None:
        """An operation has done a part of its work, and waits for its driver now."""
        ...

    def operation_finished(self, operation: "VolumeOperation", error: str | None) -> None:
        """An operation ended; after an error it backs off."""
        ...

    def warn(self, pod: ApiObject | None, type: str, reason: str, message: str) -> None:
        """An operation has an Event to emit on a pod."""
        ...


class Executor(Protocol):
    """The executor of the node, as its operations see it."""

    loop: EventLoop
    plugins: VolumePlugins
    api: NodeApi
    actual: ActualStateOfWorld
    observer: Observer
    # Whether the kubelet has ended: operations that it began take no further step.
    abandoned: bool

    def complete(self, operation: "VolumeOperation", error: str | None) -> None:
        """An operation has ended; after an *error* it backs off."""
        ...


class VolumeOperation:
    """One run of an operation. Subclasses begin in `begin` and end in `_end`."""

    name = ""

    def __init__(self, executor: Executor, key: OperationKey) -> None:
        self._executor = executor
        self.key = key

    @property
    def pod_name(self) -> str:
        """The pod it is for, or ""."""
        return self.key.pod_name

    @property
    def node(self) -> str:
        """The name of the kubelet's node."""
        return self._actual.node_name

    def begin(self) -> None:
        """Take the first step."""
        if self._executor.abandoned:
            return
        self._executor.observer.operation_started(self)
        self._run()

    def _run(self) -> None:
        raise NotImplementedError

    def _then(self, answer: Answer, step: Callable[[Answer], None]) -> None:
        """Go on with *step* when the driver has answered."""
        if answer.latency:
            self._executor.observer.operation_waits(self)
            self._executor.loop.call_after(answer.latency, self._resume, step, answer)
        else:
            step(answer)

    def _resume(self, step: Callable[[Answer], None], answer: Answer) -> None:
        if not self._executor.abandoned:
            key = f"{self.node} {self.key.volume_name} {self.key.pod_name} {self.name}"
            self._executor.loop.tried(self._go_on, self, step, answer, key=key)

    def _go_on(self, _: "VolumeOperation", step: Callable[[Answer], None], answer: Answer) -> None:
        step(answer)

    def _end(self, error: str | None = None) -> None:
        self._executor.complete(self, error)

    def _finish(self, prefix: str, problem: str | None) -> None:
        """End well if there is no *problem*."""
        if problem is None:
            self._end()
        else:
            self._fail(prefix, problem)

    def _fail(self, prefix: str, problem: str) -> None:
        raise NotImplementedError

    @property
    def _actual(self) -> ActualStateOfWorld:
        return self._executor.actual
