"""Watches: how a write reaches the components that watch its kind.

Each watch has a latency. A fault may delay watches of a kind, or cut them until they list again.
A follower that is to know each write as it is made has the latency AT_ONCE; faults do not reach it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

from engine.api_server.store.faults import ApiFaults, Cut
from engine.kernel.loop import EventLoop, is_method_of
from engine.objects.objects import ApiObject

WatchType = Literal["ADDED", "MODIFIED", "DELETED"]


class WatchEvent(NamedTuple):
    """What a watch delivers. `old` is None for ADDED; for DELETED `new` is the last state."""

    type: WatchType
    old: ApiObject | None
    new: ApiObject
    # Only the progress of a pod without owner and volumes changed, not its labels.
    plain: bool = False

    @property
    def final_state_unknown(self) -> bool:
        """A deletion that no watch saw: `new` is what was known last, and may be out of date."""
        return self.type == "DELETED" and self.old is self.new


# Like WatchEvent(…), but faster than the constructor of NamedTuple.
new_event: Callable[..., WatchEvent] = cast("Any", tuple).__new__

Watcher = Callable[[WatchEvent], None]

# A new watch that finds more than _FEW objects gets them in batches: no user steps through
# thousands of them, and a callback for each would cost as much as its work.
_FEW = 1_000
_BATCH = 20

# Less than any latency: within the write itself.
AT_ONCE = -1

_NO_WATCHERS: dict[int, list[Watcher]] = {}


class Watches:
    """Delivers each write to the watchers of its kind, to each after its latency.

    `faults` is None until the first fault, so that until then no delivery has to ask.
    """

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._watchers: dict[str, dict[int, list[Watcher]]] = {}
        # When the newest delivery is due, by kind and latency.
        self._latest: dict[tuple[str, int], int] = {}
        self.faults: ApiFaults | None = None

    def add(
        self, kind: str, watcher: Watcher, latency: int, found: list[tuple[int, ApiObject]]
    ) -> None:
        """Call *watcher* with every later write of *kind*, *latency* ns after it.

        *found* are the objects that exist already, each with the event that is its cause; they are
        delivered as ADDED.
        """
        loop = self._loop
        self._watchers.setdefault(kind, {}).setdefault(latency, []).append(watcher)
        if latency == AT_ONCE:
            self._call_each([watcher], found)
            return
        if len(found) > _FEW:
            for start in range(0, len(found), _BATCH):
                loop.call_after(latency, self._call_each, [watcher], found[start : start + _BATCH])
            return
        for cause, obj in found:
            loop.cause = cause
            event = WatchEvent("ADDED", None, obj)
            if loop.held:
                loop.call_after(latency, self._call, [watcher], event)
            else:
                loop.call_after(latency, watcher, event)

    def remove(self, owners: Sequence[object]) -> None:
        """End every watch whose watcher is a method of one of *owners*, deliveries under way too."""
        lists = [each for of_kind in self._watchers.values() for each in of_kind.values()]
        # A delivery that is under way while watches are cut has its own list of watchers.
        for call in (self._call, self._call_each):
            lists += [arguments[0] for arguments in self._loop.pending_arguments(call)]
        for watchers in lists:
            watchers[:] = [one for one in watchers if not is_method_of(one, owners)]

    def slow_down(self, owner: object, latency: int) -> None:
        """Delay the events of *owner* that came at once by *latency* ns from now on."""
        for of_kind in self._watchers.values():
            told = of_kind.get(AT_ONCE, [])
            moved = [one for one in told if is_method_of(one, (owner,))]
            if moved:
                told[:] = [one for one in told if one not in moved]
                of_kind.setdefault(latency, []).extend(moved)

    def watchers_of(
        self, kind: str, owners: Sequence[object] | None = None
    ) -> dict[int, list[Watcher]]:
        """The watchers of *kind*, by latency; with *owners* only those that are their methods."""
        return {
            latency: [one for one in watchers if owners is None or is_method_of(one, owners)]
            for latency, watchers in self._watchers.get(kind, {}).items()
            if latency != AT_ONCE
        }

    def deliver(self, event: WatchEvent) -> None:
        """Deliver a write made now."""
        loop, faults, kind = self._loop, self.faults, event.new.kind
        for latency, watchers in self._watchers.get(kind, _NO_WATCHERS).items():
            if latency == AT_ONCE:
                self._call(watchers, event)
                continue
            at = loop.now + latency if faults is None else self._due(kind, latency)
            if faults is not None and faults.cuts:
                watchers = faults.hearing(latency, watchers, event.new, event.old)
            loop.call_at(at, self._call, watchers, event)

    def relist(self, cut: Cut, objects: Mapping[str, ApiObject]) -> None:
        """Deliver the result of a new list to broken watches: only the current *objects*, by key.

        An object that was written several times is delivered once, one that was created and deleted
        not at all, and a deleted one with the last state that was known. Upstream: client-go,
        DeltaFIFO.Replace() and DeletedFinalStateUnknown.
        """
        events = _missed(cut, objects)
        for latency, broken in cut.watchers.items():
            there = self._watchers.get(cut.kind, {}).get(latency, [])
            watchers = [one for one in broken if one in there]
            for event in events:
                self._loop.call_at(self._due(cut.kind, latency), self._call, watchers, event)

    def _due(self, kind: str, latency: int) -> int:
        """When a write made now is delivered; a watch that lagged keeps its order."""
        at = self._loop.now + latency
        if self.faults is not None:
            at += self.faults.delay(kind)
        at = self._latest[kind, latency] = max(at, self._latest.get((kind, latency), 0))
        return at

    def _call(self, watchers: list[Watcher], event: WatchEvent) -> None:
        loop, cause = self._loop, self._loop.cause
        loop.tell_each(watchers, event, event.new, cause)
        loop.cause = cause

    def _call_each(self, watchers: list[Watcher], found: list[tuple[int, ApiObject]]) -> None:
        """Deliver objects that a new watch finds, each with the event that is its cause."""
        for cause, obj in found:
            event = new_event(WatchEvent, ("ADDED", None, obj, False))
            self._loop.tell_each(watchers, event, obj, cause)


def _missed(cut: Cut, objects: Mapping[str, ApiObject]) -> list[WatchEvent]:
    """The events by which watches that were cut catch up with a new list; objects that are gone come last."""
    found: list[WatchEvent] = []
    gone: list[WatchEvent] = []
    for key, old in cut.known.items():
        new = objects.get(key)
        if old is not None and (new is None or new.uid != old.uid):
            # Another object of its name is first seen without it here; informers make one
            # update of both, which their handlers then take apart.
            (gone if new is None else found).append(WatchEvent("DELETED", old, old))
            old = None
        if new is not None:
            found.append(WatchEvent("MODIFIED" if old else "ADDED", old, new))
    return [*found, *gone]
