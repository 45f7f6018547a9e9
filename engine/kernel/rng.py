"""Random numbers: one independent, seeded stream per name.

A stream's draws depend on the run's seed and the stream's name alone, so that a component that
draws more often does not disturb what another one sees.
"""

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Stream:
    """A seeded source of integers. Draws are built on `getrandbits`, which is stable over Pythons."""

    __slots__ = ("_random",)

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        """A uniform integer in 0 … limit - 1. Raises ValueError unless *limit* is positive."""
        if limit <= 0:
            raise ValueError(f"limit is {limit}; there is nothing to draw from")
        bits = limit.bit_length()
        while (drawn := self._random.getrandbits(bits)) >= limit:
            pass
        return drawn

    def between(self, low: int, high: int) -> int:
        """A uniform integer in low … high, both included."""
        return low + self.below(high - low + 1)

    def choice(self, items: Sequence[T]) -> T:
        """One of *items*."""
        return items[self.below(len(items))]


class Streams:
    """The run's named streams, made when first asked for."""

    __slots__ = ("_seed", "_streams")

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, Stream] = {}

    def stream(self, name: str) -> Stream:
        """The stream called *name*; the same one every time."""
        found = self._streams.get(name)
        if found is None:
            digest = hashlib.sha256(f"{self._seed}/{name}".encode()).digest()
            found = self._streams[name] = Stream(int.from_bytes(digest[:8], "big"))
        return found
