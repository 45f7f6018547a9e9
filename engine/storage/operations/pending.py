"""Pending operations: one at a time per volume, or per pod of a volume, with backoff on error.

Upstream: pkg/volume/util/nestedpendingoperations and pkg/util/goroutinemap/exponentialbackoff.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.kernel.loop import EventLoop
from engine.storage.operations.backoff import MAX_BACKOFF, Backoff, Start


@dataclass(frozen=True, slots=True)
class OperationKey:
    """What an operation works on; an empty pod or node stands for all of them."""

    volume_name: str
    pod_name: str = ""
    node_name: str = ""

    def overlaps(self, other: "OperationKey") -> bool:
        """Whether the two may not run at the same time."""
        return (
            self.volume_name == other.volume_name
            and _same(self.pod_name, other.pod_name)
            and _same(self.node_name, other.node_name)
        )


def _same(one: str, other: str) -> bool:
    return not one or not other or one == other


class Operation(Protocol):
    """An operation that reports its end by `NestedPendingOperations.complete`."""

    @property
    def key(self) -> OperationKey:
        """What it works on."""
        ...

    @property
    def name(self) -> str:
        """Its kind, such as volume_mount; another kind does not wait for this kind's backoff."""
        ...

    def begin(self) -> None:
        """Take the first step; called by the loop."""
        ...


@dataclass(slots=True)
class Entry:
    """The operation that runs on a key, or the last one that failed."""

    key: OperationKey
    operation: Operation
    started: int
    pending: bool = True
    backoff: Backoff = field(default_factory=Backoff)
    # How often in a row operations of this name have failed.
    failures: int = 0

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.operation.name


class NestedPendingOperations:
    """Runs operations whose keys do not overlap; refuses others, and those that back off.

    `changed` collects the keys whose entries changed, until the view takes and clears them.
    """

    __slots__ = ("_entries", "_loop", "changed")

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self._entries: dict[str, list[Entry]] = {}
        self.changed: dict[OperationKey, None] = {}

    def run(self, operation: Operation) -> Start:
        """Start *operation* after the current callback, unless one runs or its backoff holds."""
        key = operation.key
        entry = self._find(key)
        if entry is None:
            entry = Entry(key, operation, self._loop.now)
            self._entries.setdefault(key.volume_name, []).append(entry)
        elif entry.pending:
            return Start.RUNNING
        else:
            if entry.backoff.holds(self._loop.now):
                if entry.name == operation.name:
                    return Start.BACKING_OFF
                entry.backoff = Backoff()
            if entry.name != operation.name:
                entry.failures = 0
            self.changed[entry.key] = None
            entry.key, entry.operation, entry.pending = key, operation, True
            entry.started = self._loop.now
        self.changed[key] = None
        self._loop.call_after(0, self._begin, operation)
        return Start.STARTED

    def _begin(self, operation: Operation) -> None:
        """An operation that fails unexpectedly waits until its component begins anew."""
        key = operation.key
        name = f"{key.volume_name} {key.pod_name} {key.node_name} {operation.name}"
        self._loop.tried(self._begin_one, operation, key=name)

    def _begin_one(self, operation: Operation) -> None:
        operation.begin()

    def complete(self, operation: Operation, error: str | None) -> Entry | None:
        """Note the end of *operation*; the entry that backs off is returned after an error."""
        entries = self._entries[operation.key.volume_name]
        entry = next(e for e in entries if e.key == operation.key and e.pending)
        self.changed[entry.key] = None
        if error is None:
            entries.remove(entry)
            if not entries:
                del self._entries[operation.key.volume_name]
            return None
        entry.pending = False
        entry.failures += 1
        entry.backoff.failed(error, self._loop.now)
        return entry

    def is_operation_pending(self, key: OperationKey) -> bool:
        """Whether an operation runs that overlaps *key*."""
        return any(
            e.pending and e.key.overlaps(key) for e in self._entries.get(key.volume_name, ())
        )

    def volumes(self) -> list[str]:
        """Names of the volumes on which something runs or backs off."""
        return [*self._entries]

    def entries(self, volume_name: str) -> list[Entry]:
        """What runs or backs off on the volume."""
        return self._entries.get(volume_name, [])

    def catch_up(self, volume_name: str, period: int) -> None:
        """Advance the backoffs of the volume as if upstream's repeated attempts had been made and failed.

        A caller that knows an attempt to fail for as long as nothing changes need not make it: when
        something does change it calls this, and then tries whenever the loop of upstream, which
        looks every *period*, would next have tried.
        """
        for entry in self.entries(volume_name):
            backoff = entry.backoff
            while not entry.pending and (retry := retry_at(backoff, period)) < self._loop.now:
                backoff.at = retry
                backoff.delay = min(backoff.delay * 2, MAX_BACKOFF)
                self.changed[entry.key] = None

    def _find(self, key: OperationKey) -> Entry | None:
        # Upstream: isOperationExists; what runs comes first, then the very same key.
        found: Entry | None = None
        for entry in self._entries.get(key.volume_name, ()):
            if entry.key.overlaps(key):
                if entry.pending:
                    return entry
                if found is None or entry.key == key:
                    found = entry
        return found


def entry_attributes(entry: Entry, period: int) -> dict[str, Any]:
    """The entry as the pages show it: when it began or is repeated, how often and why it failed."""
    shown: dict[str, Any] = {"name": entry.name}
    if entry.failures:
        shown |= {"failures": entry.failures, "error": entry.backoff.error}
    if entry.pending:
        return {**shown, "started": entry.started}
    return {**shown, "failed": entry.backoff.at, "retry_at": retry_at(entry.backoff, period)}


def retry_at(backoff: Backoff, period: int) -> int:
    """The first tick of *period* at which the backoff no longer holds."""
    return next_tick(backoff.at + backoff.delay + 1, period)


def next_tick(at: int, period: int) -> int:
    """The first multiple of *period* at or after *at*."""
    return -(-at // period) * period
