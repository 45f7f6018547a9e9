"""Forks of a cluster on which changes are tried, beside the run and without a trace in it.

A copy shares what never changes (manifests) with its original and has everything else to itself. Its
record is dropped; nothing outside, such as an extender, is ever called.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from engine.framework.nodes.node_table import NodeTable, SharedRows, TableCopy
from engine.framework.nodes.pod_counts import PodCounts
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.garbage import collector_paused
from engine.kernel.recorder import Recorder
from engine.kernel.units import MINUTE
from engine.objects.objects import ApiObject, Pod

if TYPE_CHECKING:
    from engine.cluster.cluster import Cluster
    from engine.cluster.commands import Command

T = TypeVar("T")

# How long in virtual time a fork is given to place the pod: time enough for a grace period, a
# take-over of the lease and the longest flush of the queue.
PATIENCE = 6 * MINUTE
_STEPS_PER_LOOK = 50


class Original(Generic[T]):
    """Something of the engine, frozen as it stands, of which any number of copies can be made.

    Copies also share the objects of *shared*, which must not change as long as a copy is used. With
    *shares_pods* they share the pods of a table of nodes as well, which must not change either.
    """

    def __init__(
        self, subject: T, shared: Iterable[object] = (), *, shares_pods: bool = False
    ) -> None:
        buffer = io.BytesIO()
        pickler = (_TablePickler if shares_pods else _SharingPickler)(buffer, shared)
        with collector_paused():
            pickler.dump(subject)
        self._shared = pickler.shared
        self.blob = buffer.getvalue()

    def copy(self) -> T:
        """A copy that can be changed without changing the original or another copy."""
        with collector_paused():
            return cast("T", _SharingUnpickler(io.BytesIO(self.blob), self._shared).load())


class Forks(Protocol):
    """Where trials run: each gets a cluster of its own, equal to the one that is asked about."""

    def run(self, trial: Callable[[Cluster], T]) -> T:
        """What *trial* returns for a fork, which it may use up."""
        ...


class CopiedForks:
    """Forks that are copies in this process; works everywhere, and takes seconds where it is large."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._original: Original[Cluster] | None = None

    def run(self, trial: Callable[[Cluster], T]) -> T:
        """See `Forks`."""
        if self._original is None:
            self._original = Original(self._cluster)
        return trial(self._original.copy())


# Makes the forks of a cluster.
MakeForks = Callable[["Cluster"], Forks]


class _SharingPickler(pickle.Pickler):
    """Leaves out what never changes, and the history that a copy has no use for."""

    kinds: ClassVar[tuple[type[object], ...]] = (ApiObject,)

    def __init__(self, buffer: io.BytesIO, also: Iterable[object]) -> None:
        super().__init__(buffer, protocol=pickle.HIGHEST_PROTOCOL)
        self.shared: list[object] = []
        self._also = {id(each) for each in also}

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, self.kinds) or id(obj) in self._also:
            self.shared.append(obj)
            return _shared_object, (len(self.shared) - 1,)
        if isinstance(obj, Recorder):
            return _without_history(obj)
        return NotImplemented


class _TablePickler(_SharingPickler):
    """Leaves out the pods of a table of nodes, too."""

    kinds = (ApiObject, PodInfo, SharedRows)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, NodeTable):
            return TableCopy, (), TableCopy.state_of(obj)
        if isinstance(obj, PodCounts):
            # Its copy gets them from that of the table.
            make, args, state = cast("tuple[Any, ...]", obj.__reduce_ex__(5))[:3]
            return make, args, {**state, "pods": []}
        return super().reducer_override(obj)


class _SharingUnpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, shared: list[object]) -> None:
        super().__init__(buffer)
        self._shared = shared

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        if global_name == _shared_object.__name__ and module_name == __name__:
            return self._shared.__getitem__
        return super().find_class(module_name, global_name)


def _shared_object(place: int) -> object:
    """Stands for a shared object in a blob; only `_SharingUnpickler` knows which one it is."""
    raise pickle.UnpicklingError(f"shared object {place} of a blob that was read elsewhere")


def _without_history(recorder: Recorder) -> Any:
    """How pickle would reduce the recorder, but for what is not taken and what the pages show."""
    reduced: tuple[Any, ...] = cast("tuple[Any, ...]", recorder.__reduce_ex__(5))
    make, args, (rest, slots) = reduced[:3]
    kept: dict[str, Any] = dict(slots)
    for name in ("_pending", "_view"):
        if name in kept:
            kept[name] = type(kept[name])()
    return make, args, (rest, kept)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a fork may do: `steps` callbacks and `cycles` of its schedulers."""

    steps: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of the pod in a fork: its node and when it was bound to it.

    `node` is "" when it got none until `at`; `ended` says that nothing more was due then, `cut`
    that a limit was reached. `refusal` is why a command was not carried out. `rivals` are pods that
    were bound meanwhile to the node that was meant for this one. `flushed` says that only the
    periodic flush of the queue brought the pod back. `steps` and `cycles` are what it took.
    """

    node: str = ""
    at: int = 0
    ended: bool = False
    cut: bool = False
    refusal: str = ""
    rivals: tuple[str, ...] = ()
    flushed: bool = False
    steps: int = 0
    cycles: int = 0


def run_fork(
    cluster: Cluster,
    pod_key: str,
    limits: Limits,
    commands: Sequence[Command] = (),
    meant: str = "",
) -> Trial:
    """Carry out *commands* on *cluster*, which is used up by this, and wait for the pod's node.

    Binding is part of it: a pod gets its node only when its volumes are bound. *meant* is the node
    that it should get; when others are bound there, and the pod was tried in vain, that is the end.
    """
    return _Fork(cluster, pod_key, limits, meant).run(commands)


class _Fork:
    def __init__(self, cluster: Cluster, pod_key: str, limits: Limits, meant: str) -> None:
        # It has limits of its own, and no client that would decide.
        cluster.limit(None)
        for each in cluster.schedulers:
            each.take_over()
            each.explains = False
        self._cluster = cluster
        self._key = pod_key
        self._meant = meant
        self._steps, self._cycles = cluster.steps, self._cycles_ended()
        self._limits = limits
        self._there = frozenset(self._pods_meant())
        self._parked_after = self._attempts_when_parked()

    def run(self, commands: Sequence[Command]) -> Trial:
        cluster = self._cluster
        for command in commands:
            outcome = cluster.apply(command)
            if not outcome.applied:
                return self._ended(refusal=outcome.reason)
        until = cluster.now + PATIENCE
        while (due := cluster.next_at) is not None and due <= until:
            if self._is_used_up():
                return self._ended(cut=True)
            cluster.advance(due, max_steps=_STEPS_PER_LOOK, stop="cycle")
            pod = cluster.store.find(Pod.KIND, self._key)
            if isinstance(pod, Pod) and pod.node_name:
                return self._ended(node=pod.node_name, flushed=self._was_flushed(pod.id))
            rivals = self._rivals_after_another_attempt()
            if rivals:
                return self._ended(rivals=rivals)
        return self._ended(ended=cluster.next_at is None)

    def _ended(self, **what: Any) -> Trial:
        cluster = self._cluster
        steps, cycles = cluster.steps - self._steps, self._cycles_ended() - self._cycles
        return Trial(at=cluster.now, steps=steps, cycles=cycles, **what)

    def _is_used_up(self) -> bool:
        steps = self._cluster.steps - self._steps
        cycles = self._cycles_ended() - self._cycles
        return steps >= self._limits.steps or cycles >= self._limits.cycles

    def _cycles_ended(self) -> int:
        return sum(each.cycles_ended for each in self._cluster.replicas)

    def _rivals_after_another_attempt(self) -> tuple[str, ...]:
        """The pod that took the place meant for this one, after it was tried again in vain."""
        attempts = self._attempts_when_parked() if self._meant else None
        if attempts is None or attempts == self._parked_after:
            return ()
        self._parked_after = attempts
        return tuple(key for key in self._pods_meant() if key not in self._there)

    def _attempts_when_parked(self) -> tuple[str, int] | None:
        """The pod's uid and attempts while it waits for another; None while it is to be tried."""
        for each in self._cluster.schedulers:
            queued = each.queue.get(self._key)
            if queued is not None and queued.place in ("unschedulable", "backoff"):
                return queued.pod_info.uid, queued.attempts
        return None

    def _pods_meant(self) -> list[str]:
        store = self._cluster.store
        return [pod.key for pod in store.pods_on(self._meant)] if self._meant else []

    def _was_flushed(self, pod_id: str) -> bool:
        """Whether the pod's last way back to the queue was a flush; the history is the fork's."""
        for event in reversed(self._cluster.recorder.pending):
            shown = (event.changes or {}).get(pod_id) if event.object == pod_id else None
            if shown and shown.get("queue") in ("active", "backoff"):
                return bool(shown.get("flushed"))
        return False
