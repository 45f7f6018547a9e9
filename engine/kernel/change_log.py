"""What has changed, in order: a reader that keeps its position asks only for later changes."""

from typing import Generic, TypeVar

Item = TypeVar("Item")

_LIMIT = 65_536


class ChangeLog(Generic[Item]):
    """Names of what changed, each time it did; the oldest are forgotten."""

    __slots__ = ("_items", "_start", "end")

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._start = 0
        # The position after the newest change.
        self.end = 0

    def note(self, item: Item) -> None:
        """*item* has changed."""
        self._items.append(item)
        self.end += 1
        if len(self._items) > _LIMIT:
            keep = _LIMIT // 2
            self._start += len(self._items) - keep
            self._items = self._items[-keep:]

    def since(self, position: int) -> list[Item] | None:
        """What has changed since *position*, or None when that is forgotten."""
        return None if position < self._start else self._items[position - self._start :]
