"""Go's `sort.Sort` as it was until Go 1.18, for orders in which equal elements change places.

Up to 12 elements it is a Shell sort: one pass with a gap of 6, then an insertion sort. Beyond that
it is a quicksort, and a heapsort where that makes too little progress. None of them is stable, so
the order of equal elements follows from the exact sequence of swaps. Upstream: Go 1.10
src/sort/sort.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")

_FEW = 12
_GAP = 6
# From here on the pivot is a median of nine elements instead of three.
_MANY = 40


def go_sorted(items: Iterable[T], key: Callable[[T], int]) -> list[T]:
    """*items* by *key*, smallest first, with equal ones in the order that Go leaves them in."""
    sort = _Sort(items, key)
    count = len(sort.items)
    sort.quick_sort(0, count, 2 * count.bit_length())
    return sort.items


class _Sort(Generic[T]):
    """A list that is sorted in place by its keys. Ranges are half open."""

    def __init__(self, items: Iterable[T], key: Callable[[T], int]) -> None:
        self.items = list(items)
        self._keys = [key(item) for item in self.items]

    def _less(self, i: int, j: int) -> bool:
        return self._keys[i] < self._keys[j]

    def _swap(self, i: int, j: int) -> None:
        items, keys = self.items, self._keys
        items[i], items[j] = items[j], items[i]
        keys[i], keys[j] = keys[j], keys[i]

    def quick_sort(self, start: int, end: int, depth: int) -> None:
        """Sort the range; at depth 0 by a heapsort. Upstream: quickSort()."""
        while end - start > _FEW:
            if depth == 0:
                self._heap_sort(start, end)
                return
            depth -= 1
            low, high = self._partition(start, end)
            # The smaller part first; the larger one in the next turn.
            if low - start < end - high:
                self.quick_sort(start, low, depth)
                start = high
            else:
                self.quick_sort(high, end, depth)
                end = low
        self._shell_sort(start, end)

    def _shell_sort(self, start: int, end: int) -> None:
        for i in range(start + _GAP, end):
            if self._less(i, i - _GAP):
                self._swap(i, i - _GAP)
        for i in range(start + 1, end):
            while i > start and self._less(i, i - 1):
                self._swap(i, i - 1)
                i -= 1

    def _heap_sort(self, start: int, end: int) -> None:
        count = end - start
        for root in range((count - 1) // 2, -1, -1):
            self._sift_down(start, root, count)
        for last in range(count - 1, -1, -1):
            self._swap(start, start + last)
            self._sift_down(start, 0, last)

    def _sift_down(self, start: int, root: int, count: int) -> None:
        while (child := 2 * root + 1) < count:
            if child + 1 < count and self._less(start + child, start + child + 1):
                child += 1
            if not self._less(start + root, start + child):
                return
            self._swap(start + root, start + child)
            root = child

    def _partition(self, start: int, end: int) -> tuple[int, int]:
        """Put the pivot into its place; the range of what equals it. Upstream: doPivot()."""
        middle = (start + end) // 2
        self._choose_pivot(start, middle, end)
        pivot, smaller, larger = start, start + 1, end - 1
        while smaller < larger and self._less(smaller, pivot):
            smaller += 1
        at = smaller
        while True:
            while at < larger and not self._less(pivot, at):
                at += 1
            while at < larger and self._less(pivot, larger - 1):
                larger -= 1
            if at >= larger:
                break
            self._swap(at, larger - 1)
            at, larger = at + 1, larger - 1
        has_duplicates = end - larger < 5
        if not has_duplicates and end - larger < (end - start) // 4:
            at, larger, has_duplicates = self._find_duplicates(middle, end, at, larger, pivot)
        if has_duplicates:
            at = self._gather_duplicates(smaller, at, pivot)
        self._swap(pivot, at - 1)
        return at - 1, larger

    def _choose_pivot(self, start: int, middle: int, end: int) -> None:
        if end - start > _MANY:
            step = (end - start) // 8
            self._median(start, start + step, start + 2 * step)
            self._median(middle, middle - step, middle + step)
            self._median(end - 1, end - 1 - step, end - 1 - 2 * step)
        self._median(start, middle, end - 1)

    def _median(self, to: int, low: int, high: int) -> None:
        """Put the median of three elements at *to*. Upstream: medianOfThree()."""
        if self._less(to, low):
            self._swap(to, low)
        if self._less(high, to):
            self._swap(high, to)
            if self._less(to, low):
                self._swap(to, low)

    def _find_duplicates(
        self, middle: int, end: int, at: int, larger: int, pivot: int
    ) -> tuple[int, int, bool]:
        """Compare three elements with the pivot; whether at least two of them equal it."""
        found = 0
        if not self._less(pivot, end - 1):
            self._swap(larger, end - 1)
            larger += 1
            found += 1
        if not self._less(at - 1, pivot):
            at -= 1
            found += 1
        if not self._less(middle, pivot):
            self._swap(middle, at - 1)
            at -= 1
            found += 1
        return at, larger, found > 1

    def _gather_duplicates(self, smaller: int, at: int, pivot: int) -> int:
        """Move what equals the pivot behind what is smaller; where the equal ones begin."""
        while True:
            while smaller < at and not self._less(at - 1, pivot):
                at -= 1
            while smaller < at and self._less(smaller, pivot):
                smaller += 1
            if smaller >= at:
                return at
            self._swap(smaller, at - 1)
            smaller, at = smaller + 1, at - 1
