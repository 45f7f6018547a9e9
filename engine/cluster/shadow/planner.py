"""What a controller would write: tried on a copy of what it sees, which is thrown away.

The controller of a trial is new. It has what one has in memory that was started just now: nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import AT_ONCE, Watcher, WatchEvent
from engine.api_server.store.write_record import Note
from engine.cluster.shadow.planned import Write
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.listers import WorkloadListers
from engine.kernel.errors import ApiError
from engine.kernel.loop import Callback, EventLoop, Timer
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.objects.objects import ApiObject

_Objects = dict[str, dict[str, ApiObject]]


class Planner:
    """Asks controllers what they would write; the cluster stays as it is."""

    def __init__(self, context: ControllerContext, kinds: Mapping[str, type[Controller]]) -> None:
        """*kinds* are the controllers' classes, by the names of EXTERNAL_CONTROLLERS."""
        self._context = context
        self._kinds = kinds

    def has(self, controller: str) -> bool:
        """Whether this controller can be asked."""
        return controller in self._kinds

    def plan(
        self,
        controller: str,
        key: str,
        namespace: str,
        at: int,
        *,
        unseen: Sequence[WatchEvent] = (),
        awaits: bool = False,
    ) -> list[Write]:
        """What *controller* would write of *key*, in its order, if it looked at virtual time *at*.

        It sees *namespace* and what is in none, as if *unseen*, the newest writes, had not been
        made. If it *awaits* what it has created, it creates nothing before it sees that.
        """
        real = self._context
        loop = _TrialLoop(real.loop.ahead)
        loop.now = at
        objects = _seen(real.store, namespace)
        for write in reversed(unseen):
            _undo(objects, write)
        store = _TrialStore(loop, objects)
        listers = WorkloadListers(store, AT_ONCE)
        store.list_all()
        context = replace(
            real,
            loop=loop,
            store=store,
            listers=listers,
            admission=real.admission.of_store(store),
            names=Streams(0).stream("trials"),
        )
        made = self._kinds[controller](context, _Unheard())
        if awaits:
            made.await_creation(key)
        # What is refused ends the sync; what was written before counts.
        with suppress(ApiError):
            made.sync(key)
        return [Write.of(each) for each in store.writes]


class _TrialLoop(EventLoop):
    """Nothing that is due later ever comes."""

    __slots__ = ()

    def call_at(self, at: int, callback: Callback, *args: Any) -> Timer:
        """See EventLoop."""
        return Timer(at, callback, args, self.cause)

    def call_after(self, delay: int, callback: Callback, *args: Any) -> Timer:
        """See EventLoop."""
        return self.call_at(self.now + delay, callback, *args)

    def call_next(self, callback: Callback, *args: Any) -> Timer:
        """See EventLoop."""
        return self.call_at(self.now, callback, *args)


class _TrialStore(ObjectStore):
    """A store that notes what is written, and tells nobody."""

    def __init__(self, loop: EventLoop, objects: _Objects) -> None:
        super().__init__(loop, Recorder(loop))
        self._objects = objects
        self._kinds = dict.fromkeys(objects)
        self.writes: list[WatchEvent] = []
        # What wants to hear of the objects that there are; None once it has.
        self._listing: list[tuple[str, Watcher]] | None = []

    def watch(self, kind: str, watcher: Watcher, latency: int = 0) -> None:
        """See ObjectStore."""
        if self._listing is None:
            super().watch(kind, watcher, AT_ONCE)
        else:
            self._listing.append((kind, watcher))

    def list_all(self) -> None:
        """Tell the watchers so far of all objects: their handlers are there by now."""
        listing, self._listing = self._listing or (), None
        for kind, watcher in listing:
            super().watch(kind, watcher, AT_ONCE)

    def _publish(
        self, record: Callable[..., None], write: WatchEvent, fact: str, note: Note
    ) -> None:
        self.writes.append(write)


class _Unheard:
    """Takes Kubernetes Events, which are no part of a comparison."""

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        """See EventSink."""


def _seen(store: ObjectStore, namespace: str) -> _Objects:
    return {
        kind: {obj.key: obj for obj in store.objects(kind) if obj.namespace in (namespace, "")}
        for kind in store.kinds()
    }


def _undo(objects: _Objects, write: WatchEvent) -> None:
    of_kind = objects.setdefault(write.new.kind, {})
    if write.old is None:
        of_kind.pop(write.new.key, None)
    else:
        of_kind[write.new.key] = write.old
