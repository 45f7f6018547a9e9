"""A heap of pods in which equal ones come out as from Go's `container/heap`.

v1.11 compares pods in activeQ by priority only, so the order of equal ones follows from the exact
sequence of swaps: a new entry is put at the end and sifted up, and the first one is swapped with
the last and taken out. Upstream: v1.11 pkg/scheduler/core/scheduling_queue.go Heap.
"""

from __future__ import annotations

from engine.scheduler.queue.heap import Entry, SortKey
from engine.scheduler.queue.queued_pod import QueuedPodInfo


class GoHeap:
    """Pods by sort key, as `KeyedHeap`."""

    __slots__ = ("_entries", "_places", "_sequence", "live")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._places: dict[str, int] = {}
        self._sequence = 0
        # The entries by pod key. Only to be looked at from outside.
        self.live: dict[str, Entry] = {}

    def __len__(self) -> int:
        return len(self.live)

    def __contains__(self, key: object) -> bool:
        return key in self.live

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with this key, if it is here."""
        entry = self.live.get(key)
        return None if entry is None else entry[3]

    def put(self, info: QueuedPodInfo, sort_key: SortKey) -> None:
        """Add the pod, or replace the one with its key and find its place again."""
        self._sequence += 1
        entry = self.live[info.key] = (sort_key, self._sequence, self._sequence, info)
        place = self._places.get(info.key)
        if place is None:
            self._entries.append(entry)
            self._places[info.key] = len(self._entries) - 1
            self._sift_up(len(self._entries) - 1)
            return
        self._entries[place] = entry
        if not self._sift_down(place, len(self._entries)):
            self._sift_up(place)

    def pop(self) -> QueuedPodInfo | None:
        """Take out the first pod."""
        return self.remove(self._entries[0][3].key) if self._entries else None

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take out the pod with this key, if it is here."""
        place = self._places.get(key)
        if place is None:
            return None
        last = len(self._entries) - 1
        if place != last:
            self._swap(place, last)
            if not self._sift_down(place, last):
                self._sift_up(place)
        del self._places[key], self.live[key]
        return self._entries.pop()[3]

    def ordered(self) -> list[Entry]:
        """Every entry, in the order in which they would be popped."""
        rest = GoHeap()
        rest._entries, rest._places = list(self._entries), dict(self._places)
        rest.live = dict(self.live)
        found: list[Entry] = []
        while rest._entries:
            found.append(rest._entries[0])
            rest.pop()
        return found

    def _less(self, i: int, j: int) -> bool:
        return self._entries[i][0] < self._entries[j][0]

    def _swap(self, i: int, j: int) -> None:
        entries = self._entries
        entries[i], entries[j] = entries[j], entries[i]
        self._places[entries[i][3].key], self._places[entries[j][3].key] = i, j

    def _sift_up(self, place: int) -> None:
        while place and self._less(place, parent := (place - 1) // 2):
            self._swap(place, parent)
            place = parent

    def _sift_down(self, start: int, count: int) -> bool:
        """Whether the entry at *start* has moved."""
        place = start
        while (child := 2 * place + 1) < count:
            if child + 1 < count and self._less(child + 1, child):
                child += 1
            if not self._less(child, place):
                break
            self._swap(place, child)
            place = child
        return place > start
