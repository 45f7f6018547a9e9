"""The clock of a run that clients use meanwhile: it plays, is paused, hurries, and finishes."""

import threading
from collections.abc import Callable, Mapping
from random import Random


class Clock(threading.Thread):
    """Does one of *moves* after the other, at random; what it did it counts."""

    def __init__(self, moves: Mapping[str, Callable[[], object]], seed: int) -> None:
        super().__init__(name="clock of a run", daemon=True)
        self.counts = dict.fromkeys(moves, 0)
        self.broken: list[str] = []
        self._moves = moves
        self._chance = Random(f"clock {seed}")
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._chance.random() * 0.6):
            name = self._chance.choice([*self._moves])
            try:
                self._moves[name]()
            except Exception as problem:  # noqa: BLE001  # a clock that stands proves nothing
                self.broken.append(f"{name}: {problem!r}")
                return
            self.counts[name] += 1

    def end(self) -> list[str]:
        """Move it no more; what it broke at."""
        self._over.set()
        self.join()
        return self.broken
