"""An informer: one component's own, possibly stale, copy of the objects of a kind."""

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import Watcher, WatchEvent
from engine.kernel.loop import is_method_of
from engine.objects.objects import ApiObject

Obj = TypeVar("Obj", bound=ApiObject)


class Informer(Generic[Obj]):
    """A cache fed by a watch. Handlers run after the cache has taken the event."""

    __slots__ = ("_handlers", "_loop", "_objects", "_thorough")

    def __init__(self, store: ObjectStore, kind: str, latency: int = 0) -> None:
        self._loop = store.loop
        self._objects: dict[str, Obj] = {}
        # Each handler with the objects that it needs to have work (`only_with`), or None.
        self._handlers: list[tuple[Watcher, dict[str, Any] | None]] = []
        # The handlers that get plain events, too (see WatchEvent.plain).
        self._thorough: list[tuple[Watcher, dict[str, Any] | None]] = []
        store.watch(kind, self.observe, latency)

    def observe(self, event: WatchEvent) -> None:
        """Apply a watch event to the cache and call the handlers."""
        new: Any = event.new
        if event.type == "DELETED":
            self._objects.pop(new.key, None)
        else:
            self._objects[new.key] = new
        handlers = self._thorough if event.plain else self._handlers
        # Asked one by one: what a handler does may give the next one work.
        with_work = (handler for handler, needed in handlers if needed is None or needed)
        self._loop.tell_each(with_work, event, new)

    def on_event(
        self,
        handler: Watcher,
        *,
        plain: bool = True,
        only_with: "Informer[Any] | None" = None,
    ) -> None:
        """Call *handler*, a bound method, with every event from now on.

        Without *plain* the handler does not get plain events (see WatchEvent.plain), such as that a
        pod without owner and volumes got its node. They are most events of a large cluster. While
        the informer *only_with* has no object, the handler gets no event.
        """
        entry = handler, None if only_with is None else only_with._objects
        self._handlers.append(entry)
        if plain:
            self._thorough.append(entry)

    def forget(self, owners: Sequence[object]) -> None:
        """Remove every handler that is a method of one of *owners*."""
        for handlers in (self._handlers, self._thorough):
            handlers[:] = [one for one in handlers if not is_method_of(one[0], owners)]

    def get(self, key: str) -> Obj | None:
        """The cached object, or None."""
        return self._objects.get(key)

    def __iter__(self) -> Iterator[Obj]:
        return iter([*self._objects.values()])

    def __len__(self) -> int:
        return len(self._objects)
