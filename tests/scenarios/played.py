"""Plays scenario files and manifests as `manage.py simulate` does, and tells what came of it."""

import math
from collections import deque
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from engine.cluster.cluster import Cluster
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from engine.kernel.view import State, fold

FOLDER = Path(__file__).parents[2] / "scenarios"


class Played:
    """A finished run: its scenario, its events, and the view state at any moment."""

    def __init__(self, scenario: Scenario, tie_break: Any = "random") -> None:
        cluster = Cluster.create(
            scenario, profile=scenario.profile, seed=scenario.seed, tie_break=tie_break
        )
        cluster.advance(scenario.until)
        self.scenario = scenario
        self.cluster = cluster
        taken = cluster.take()
        self.events: list[Event] = taken.events
        self.attempts = taken.attempts
        self.end = cluster.view()

    def at(self, seconds: float) -> State:
        """The view state at that moment."""
        return next(self.looks(every=seconds, since=seconds))

    def looks(self, *, every: float, since: float = 0, until: float = math.inf) -> Iterator[State]:
        """The view state as it goes on, seen again and again before *until*, all in seconds."""
        state: State = {}
        left = deque(self.events)
        seconds = since
        while seconds < until:
            while left and left[0].at <= seconds * SECOND:
                fold(state, left.popleft().changes or {})
            yield state
            seconds += every

    def pods(self, state: State | None = None) -> dict[str, tuple[str, str]]:
        """Phase and node of every pod, in the end or in *state*."""
        found = self.end if state is None else state
        return {
            entity.removeprefix("pod/"): (shown["phase"], shown.get("node", ""))
            for entity, shown in found.items()
            if entity.startswith("pod/")
        }

    def claims(self, state: State | None = None) -> dict[str, str]:
        """The volume of every claim, "" while it has none."""
        found = self.end if state is None else state
        return {
            entity.removeprefix("claim/"): shown.get("volume", "")
            for entity, shown in found.items()
            if entity.startswith("claim/")
        }

    def story(self, *kinds: str) -> list[str]:
        """ "second kind object" of every event of these kinds, in order."""
        return [
            f"{event.at / SECOND:.0f} {event.kind} {event.object}"
            for event in self.events
            if event.kind in kinds
        ]

    def told(self, *kinds: str) -> list[tuple[str, str, str, str]]:
        """(component, kind, object, message) of every event of these kinds, in order."""
        return [
            (event.component, event.kind, event.object, event.message)
            for event in self.events
            if event.kind in kinds
        ]


@cache
def demo(name: str) -> Played:
    """The demo scenario called *name*, played to its end."""
    result = load_paths([FOLDER / f"{name}.yaml"])
    assert result.problems == []
    return Played(Scenario.from_load(result, name=name))
