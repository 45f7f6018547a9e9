"""A queue that serves its clients in turn, however much each of them has queued.

Used wherever several clients wait for few places: requests for a thread, questions for an engine.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")
Key = tuple[str, ...]
_UNLIMITED = 2**31


class QueueFull(Exception):
    """There is no room for an item; with *own*, because its owner has used up `limit_each`."""

    def __init__(self, *, own: bool) -> None:
        super().__init__("the queue is full")
        self.own = own


class FairQueue(Generic[Item]):
    """First in, first out for equal keys; different keys take turns, part by part.

    The first parts take turns; then, among items with the same first part, the second parts, and
    so on. With keys `(account, run)` no account waits for the many questions of another account,
    and no run for another run of its account. All keys of a queue have the same number of parts.

    There is room for *limit* items, *limit_each* of them with the same first part of their keys.
    """

    def __init__(self, limit: int = _UNLIMITED, limit_each: int = _UNLIMITED) -> None:
        self._limit = limit
        self._limit_each = limit_each
        self._items: deque[Item] = deque()
        self._branches: OrderedDict[str, FairQueue[Item]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, key: Key, item: Item) -> Item | None:
        """Add *item* behind the others with the same key.

        When the queue was full, the newest item of the key with most items is removed and returned.
        The owner is the first part of the key. Raises QueueFull if that newest item would be *item*
        itself, or if its owner has `limit_each` items.
        """
        dropped = self._make_room(key[0]) if key else None
        self._count += 1
        if key:
            self._branches.setdefault(key[0], FairQueue()).put(key[1:], item)
        else:
            self._items.append(item)
        return dropped

    def _make_room(self, name: str) -> Item | None:
        if self.count_of(name) >= self._limit_each:
            raise QueueFull(own=True)
        if len(self) < self._limit:
            return None
        longest = self._longest()
        if self.count_of(longest) <= self.count_of(name) + 1:
            raise QueueFull(own=False)
        return self._drop_newest_of(longest)

    def take(self, skip: Callable[[Key], bool] = lambda _: False) -> Item | None:
        """Remove and return the next item; None when there is none.

        An item stays in the queue if *skip* returns True for its key, or for the first parts of it.
        """
        return self._take(skip, ())

    def _take(self, skip: Callable[[Key], bool], parts: Key) -> Item | None:
        if self._items:
            self._count -= 1
            return self._items.popleft()
        for name, branch in self._branches.items():
            if skip((*parts, name)):
                continue
            item = branch._take(skip, (*parts, name))
            if item is not None:
                del self._branches[name]
                if branch:
                    self._branches[name] = branch  # Behind the others, whose turn comes first.
                self._count -= 1
                return item
        return None

    def remove(self, key: Key, item: Item) -> bool:
        """Remove *item*, which was put in under *key*; False when it is no longer there."""
        if not key:
            if item not in self._items:
                return False
            self._items.remove(item)
        else:
            branch = self._branches.get(key[0])
            if branch is None or not branch.remove(key[1:], item):
                return False
            if not branch:
                del self._branches[key[0]]
        self._count -= 1
        return True

    def find(self, wanted: Callable[[Item], bool]) -> Item | None:
        """An item that is *wanted*, which stays where it is."""
        return next(filter(wanted, self), None)

    def __iter__(self) -> Iterator[Item]:
        yield from self._items
        for branch in self._branches.values():
            yield from branch

    def count_of(self, name: str) -> int:
        """How many items have a key whose first part is *name*."""
        return len(self._branches.get(name, ()))

    def _longest(self) -> str:
        return max(self._branches, key=self.count_of)

    def _drop_newest_of(self, name: str) -> Item:
        branch = self._branches[name]
        item = branch._drop_newest()
        if not branch:
            del self._branches[name]
        self._count -= 1
        return item

    def _drop_newest(self) -> Item:
        if not self._items:
            return self._drop_newest_of(self._longest())
        self._count -= 1
        return self._items.pop()
