"""The virtual time of a run: what is wanted of it, and how far it should have come."""

import time
from dataclasses import dataclass

from engine.cluster.cluster import Cluster
from engine.kernel.loop import NEVER
from kscope.runs.drive import slices
from kscope.runs.models import Run

CHUNK = 200  # callbacks between two looks at the wall clock, at most
CHUNK_SECONDS = 0.01  # after which others should have a turn
PASSING_SECONDS = 1.0  # between two commits while nothing is due, and time alone goes on
SPEEDS = {"1": 1, "10": 10, "100": 100}


@dataclass(frozen=True, slots=True)
class Time:
    """How the clock of a run goes on: what is wanted of it, and the engine where it stands."""

    wanted: slices.Controls
    engine: Cluster

    @property
    def plays_on(self) -> bool:
        """Whether time goes on by itself, and not up to something that the user waits for."""
        wanted = self.wanted
        is_playing = wanted.status == Run.Status.PLAYING
        return is_playing and not wanted.steps_wanted and not wanted.until_pod

    @property
    def end(self) -> int:
        """The last moment that the user wants to see."""
        return NEVER if self.wanted.until is None else self.wanted.until

    @property
    def is_at_end(self) -> bool:
        """Whether the run is over: at its `until`, or where nothing more is due and time ends, too."""
        until = self.wanted.until
        if until is not None:
            return self.engine.now >= until
        return self.engine.next_at is None and not self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether a run that plays goes on though nothing is due.

        Clients use it, or it keeps up with the clock of the wall and its duration is not over.
        """
        wanted = self.wanted
        lasts = wanted.speed in SPEEDS and not wanted.until_pod
        return wanted.is_used or (lasts and self.engine.now < (wanted.duration or 0))

    @property
    def stands(self) -> bool:
        """Whether the clock stands because nothing is due: at full speed it does not jump."""
        is_full = self.wanted.speed not in SPEEDS and self.wanted.until is None
        return is_full and self.engine.next_at is None

    @property
    def open_until(self) -> int:
        """Up to which instant things are due, also beyond the horizon.

        At full speed retries that repeat themselves would never let the clock stand.
        """
        wanted = self.wanted
        return NEVER if wanted.is_used and wanted.speed in SPEEDS else wanted.duration or 0

    @property
    def passes_to(self) -> int | None:
        """Up to when time passes though nothing is due; None for no end."""
        wanted = self.wanted
        if wanted.until is None and not wanted.is_used:
            return wanted.duration or 0
        return wanted.until

    @property
    def goal(self) -> int | None:
        """What time goes on to next: what is due, or else where it ends."""
        due = self.engine.next_at
        return self.passes_to if due is None else due

    @property
    def quiet_seconds(self) -> float:
        """How often time alone is worth a commit, at most."""
        return PASSING_SECONDS if self.engine.next_at is None else 0.0


class Pace:
    """The virtual time that a run should have reached, by the wall clock and its speed."""

    def __init__(self, at: int, speed: str) -> None:
        self.speed = speed
        self._factor = SPEEDS.get(speed)
        self._at = at
        self._since = time.monotonic()
        self._chunk = CHUNK

    def now(self) -> int | None:
        """The virtual time to have reached by now; None at full speed."""
        if self._factor is None:
            return None
        return self._at + int((time.monotonic() - self._since) * self._factor * 1e9)

    def advance(self, engine: Cluster, end: int, last: int | None) -> bool:
        """Bring the *engine* nearer to where it should be by now, but no further than *end*.

        Returns whether it is not there yet. Where nothing is due any more, time still moves on to
        *last*, or without an end, and at full speed to an *end* that is wanted; else it stays.
        """
        if is_halted(engine):
            return False
        due = engine.next_at
        target = self.now()
        limit = end if target is None else min(target, end)
        if due is None:
            limit = limit if target is None or last is None else min(limit, last)
            if engine.now < limit < NEVER:
                engine.advance(limit)
            return False
        if due > limit:
            engine.advance(limit)
            return False
        began = time.monotonic()
        # rest=False: where the run ends must not depend on the wall clock.
        engine.advance(limit, max_steps=self._chunk, rest=False)
        is_long = time.monotonic() - began > CHUNK_SECONDS
        self._chunk = max(self._chunk // 2, 1) if is_long else min(self._chunk * 2, CHUNK)
        return True

    def seconds_until(self, at: int | None) -> float:
        """Wall seconds until virtual time *at* should be reached; 1 for never, less than 0 at full speed."""
        now = self.now()
        if now is None or self._factor is None:
            return -1.0
        if at is None:
            return 1.0
        return (at - now) / 1e9 / self._factor


def is_halted(engine: Cluster) -> bool:
    """Whether the engine goes no further, for now or for good."""
    return bool(engine.failure) or engine.budget_stop is not None
