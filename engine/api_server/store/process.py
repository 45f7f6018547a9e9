"""Ends what belongs to the process of a component: its callbacks, its watches, its handlers.

A component names in PARTS those of its attributes that act by themselves: queues, tickers,
informers. The component and these are all that the loop and the store may still call; with them
gone, what it had in memory is gone, too.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, Protocol, cast

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop


class Component(Protocol):
    """Something that can be restarted."""

    PARTS: ClassVar[tuple[str, ...]]


class Listers(Protocol):
    """The informers of one process."""

    def informers(self) -> "list[Informer[Any]]":
        """All of them."""
        ...


def end(
    component: Component, loop: EventLoop, store: ObjectStore, listers: Listers | None = None
) -> None:
    """Let *component*, which heard of the cluster through *listers* too, do nothing any more."""
    parts = parts_of(component)
    loop.cancel_of(parts)
    store.watches.remove(parts)
    for informer in listers.informers() if listers is not None else ():
        informer.forget(parts)


def end_listers(listers: Listers, loop: EventLoop, store: ObjectStore) -> None:
    """End the watches of informers that have no handlers any more."""
    informers = listers.informers()
    loop.cancel_of(informers)
    store.watches.remove(informers)


def parts_of(component: Component) -> list[object]:
    """*component* and those of its attributes that act by themselves."""
    parts: list[object] = [component]
    for name in component.PARTS:
        part = getattr(component, name)
        if part is not None:
            parts += cast("Iterable[object]", part) if isinstance(part, list) else [part]
    return parts
