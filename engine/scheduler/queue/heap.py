"""A heap whose entries can be looked up, changed and taken out by pod key."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush

from engine.scheduler.queue.queued_pod import QueuedPodInfo

SortKey = tuple[int, ...]
# Sort key, turn among equals, a number that no other entry has, the pod.
Entry = tuple[SortKey, int, int, QueuedPodInfo]

_WORTH_COMPACTING = 64


class ChangeCount:
    """How often something has changed; several may count together."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class KeyedHeap:
    """Pods by sort key, equal ones in order of insertion. Upstream: pkg/scheduler/backend/heap.

    Taking an entry out only forgets it; the heap drops it when it comes up, or when the forgotten
    ones are the majority. Go's heap leaves the order of equals open; this one does not.
    """

    __slots__ = ("_changes", "_entries", "_run", "_sequence", "live")

    def __init__(self, changes: ChangeCount | None = None) -> None:
        # A pod that comes in order, as most do, joins the run, whose ends cost nothing; one that comes out of
        # order to the heap.
        self._run: deque[Entry] = deque()
        self._entries: list[Entry] = []
        # The entries by pod key. Only to be looked at from outside.
        self.live: dict[str, Entry] = {}
        self._sequence = 0
        self._changes = ChangeCount() if changes is None else changes

    def __len__(self) -> int:
        return len(self.live)

    def __contains__(self, key: object) -> bool:
        return key in self.live

    def get(self, key: str) -> QueuedPodInfo | None:
        """The pod with this key, if it is here."""
        entry = self.live.get(key)
        return None if entry is None else entry[3]

    def put(self, info: QueuedPodInfo, sort_key: SortKey) -> None:
        """Add the pod, or replace the one with its key, which keeps its turn among equals."""
        present = self.live.get(info.key)
        self._sequence += 1
        if present is None:
            turn = self._sequence
        elif present[0] == sort_key and present[3] is info:
            return
        else:
            turn = present[1]
        self._changes.count += 1
        entry = (sort_key, turn, self._sequence, info)
        self.live[info.key] = entry
        run = self._run
        if not run or run[-1] < entry:
            run.append(entry)
        else:
            heappush(self._entries, entry)

    def peek(self) -> QueuedPodInfo | None:
        """The first pod, left where it is."""
        run, entries, live = self._run, self._entries, self.live
        while run or entries:
            from_run = bool(run) and (not entries or run[0] < entries[0])
            entry = run[0] if from_run else entries[0]
            if live.get(entry[3].key) is entry:
                return entry[3]
            if from_run:
                run.popleft()
            else:
                heappop(entries)
        return None

    def pop(self) -> QueuedPodInfo | None:
        """Take out the first pod."""
        run, entries, live = self._run, self._entries, self.live
        while run or entries:
            if run and (not entries or run[0] < entries[0]):
                entry = run.popleft()
            else:
                entry = heappop(entries)
            info = entry[3]
            if live.get(info.key) is entry:
                del live[info.key]
                self._changes.count += 1
                return info
        return None

    def remove(self, key: str) -> QueuedPodInfo | None:
        """Take out the pod with this key, if it is here."""
        entry = self.live.pop(key, None)
        if entry is None:
            return None
        self._changes.count += 1
        kept = len(self._entries) + len(self._run)
        if kept > _WORTH_COMPACTING and kept > 2 * len(self.live):
            self._compact()
        return entry[3]

    def ordered(self) -> list[Entry]:
        """Every entry, first to last."""
        return sorted(self.live.values(), key=_order)

    def infos(self) -> list[QueuedPodInfo]:
        """Every pod, in order of insertion."""
        return [entry[3] for entry in self.live.values()]

    def _compact(self) -> None:
        self._run = deque(self.ordered())
        self._entries = []


def _order(entry: Entry) -> tuple[SortKey, int]:
    return entry[0], entry[1]
