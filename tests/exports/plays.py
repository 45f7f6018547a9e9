"""Demos that were played, once for all tests that ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engine.cluster.cluster import Cluster, Slice
from engine.cluster.playing import play
from engine.input.loader import load_files, load_paths
from engine.input.scenario import Scenario
from engine.kernel.recorder import EventRow
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.versions.registry import DEFAULT
from kscope.exports.encoder import Heading
from kscope.exports.registry import FORMATS

ROOT = Path(__file__).resolve().parents[2]
DEMOS = sorted(path.stem for path in (ROOT / "scenarios").glob("*.yaml"))
IMPORTED = "2026-11-29T00:00:00Z"


@dataclass(frozen=True)
class Played:
    """A demo at the end of its play, and everything it recorded."""

    scenario: Scenario
    cluster: Cluster
    rows: list[EventRow]

    @property
    def heading(self) -> Heading:
        """What an encoder is told of it."""
        return Heading(
            name=self.scenario.name, profile=self.cluster.profile, ahead=self.scenario.ahead
        )

    def written(self, name: str, pod: str = "", each: int = 100) -> bytes:
        """The demo in the format called *name*, given to the encoder in pieces of *each* events."""
        heading = Heading(
            name=self.scenario.name,
            profile=self.cluster.profile,
            ahead=self.scenario.ahead,
            pod=pod,
        )
        encoder = FORMATS[name].encoder(heading)
        return b"".join(self._pieces(encoder, each))

    def _pieces(self, encoder: Any, each: int) -> Iterator[bytes]:
        yield encoder.begin()
        for first in range(0, len(self.rows), each):
            yield encoder.take(self.rows[first : first + each])
        yield encoder.end()


@cache
def played(name: str, until: int | None = None) -> Played:
    """A demo, played to its end or until a time in ns."""
    scenario = scenario_of(name)
    cluster = Cluster.create(scenario, profile=scenario.profile or DEFAULT.name, seed=scenario.seed)
    rows: list[EventRow] = []

    def hear(taken: Slice) -> bool:
        rows.extend(taken.rows)
        return True

    play(cluster, scenario.until if until is None else until, hear, lambda: None)
    return Played(scenario, cluster, rows)


def scenario_of(name: str) -> Scenario:
    """A demo as it is read from its file."""
    loaded = load_paths([ROOT / "scenarios" / f"{name}.yaml"], check=check_setup)
    return Scenario.from_load(loaded, name=name, at=IMPORTED)


def imported(data: bytes, profile: str, gates: dict[str, bool] | None = None) -> Cluster:
    """The cluster of a file at its beginning, under a version."""
    loaded = load_files([("exported.yaml", data)], check=check_setup)
    assert loaded.problems == []
    scenario = Scenario.from_load(loaded, name="exported", at=IMPORTED)
    parts = {**scenario.to_dict(), "feature_gates": gates or {}}
    return Cluster.create(Scenario.from_dict(parts), profile=profile)
