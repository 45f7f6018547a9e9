"""An informer: one component's own, possibly stale, copy of the objects of a kind."""

from collections.abc import Iterator
from typing import Generic, TypeVar, cast

from kscope.sim.objects import ApiObject
from kscope.sim.store import ObjectStore, Watcher, WatchEvent

Obj = TypeVar("Obj", bound=ApiObject)


class Informer(Generic[Obj]):
    """A cache fed by a watch. Handlers run after the cache has taken the event."""

    __slots__ = ("_handlers", "_objects")

    def __init__(self, store: ObjectStore, kind: str, latency: int = 0) -> None:
        self._objects: dict[str, Obj] = {}
        self._handlers: list[Watcher] = []
        store.watch(kind, self.observe, latency)

    def observe(self, event: WatchEvent) -> None:
        """Take a watch event into the cache and tell the handlers."""
        if event.type == "DELETED":
            self._objects.pop(event.new.key, None)
        else:
            self._objects[event.new.key] = cast("Obj", event.new)
        for handler in self._handlers:
            handler(event)

    def on_event(self, handler: Watcher) -> None:
        """Call *handler*, a bound method, with every event from now on."""
        self._handlers.append(handler)

    def get(self, key: str) -> Obj | None:
        """The cached object, or None."""
        return self._objects.get(key)

    def __iter__(self) -> Iterator[Obj]:
        return iter([*self._objects.values()])

    def __len__(self) -> int:
        return len(self._objects)
