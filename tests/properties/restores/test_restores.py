"""A run that is restored at any instant, in another process, plays on to the same history."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster, Slice
from engine.cluster.commands import Command
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.errors import SimError
from engine.kernel.units import SECOND
from engine.versions.registry import VERSIONS
from tests.properties.broken import broken_scenario
from tests.properties.clusters import pod, random_scenario, step
from tests.properties.examples import examples
from tests.properties.mutations import mutated
from tests.properties.restores.other_process import OtherProcess, Piece
from tests.vectors import vector_set

UNTIL = 120 * SECOND
RESTORES = 4
NODES = ["n0", "n1", "node-1"]
SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
SETS = ("decisions-v1.34", "decisions-v1.36-features", "decisions-v1.36-storage-gates")


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[OtherProcess]:
    """The process that goes on."""
    process = OtherProcess()
    yield process
    process.end()


@cache
def _files() -> list[Path]:
    vectors = [path for name in SETS for path in sorted(vector_set(name).glob("*.yaml"))]
    return [*sorted(SCENARIOS.glob("*.yaml")), *vectors]


@cache
def _documents(path: Path) -> list[Any]:
    return list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))


def _scenario(chance: Random, seed: int) -> Scenario | None:
    """A random world, one in which things break, or a changed file; None where that is refused."""
    kind = chance.randrange(3)
    if kind == 0:
        return random_scenario(seed)
    if kind == 1:
        return broken_scenario(seed, size=chance.choice((1, 1, 4)))
    documents = mutated(_documents(chance.choice(_files())), chance)
    text = yaml.dump_all(documents, Dumper=yaml.CSafeDumper).encode()
    loaded = load_files([("a.yaml", text)])
    return Scenario.from_load(loaded, name="changed") if loaded.ok else None


def _command(chance: Random) -> Command | None:
    """What a user does, to things that are there or not."""
    if chance.random() < 0.5:
        return None
    pods = [pod(f"{prefix}{chance.randrange(8)}", chance, []) for prefix in ("p", "more")]
    if chance.random() < 0.3:
        return Command(verb="create", manifest=pods[1])
    return Command.from_step(step(chance, NODES, pods))


def _pieces(chance: Random, steps: int) -> list[Piece]:
    """The run, cut at random among its first *steps* callbacks."""
    cuts = sorted(chance.randint(0, steps) for _ in range(RESTORES))
    lengths = [cut - before for before, cut in zip([0, *cuts], cuts, strict=False)]
    pieces = [Piece(_command(chance), UNTIL, length) for length in lengths]
    return [*pieces, Piece(_command(chance), UNTIL, None)]


def _shown(taken: Slice) -> dict[str, Any]:
    """What is stored of a slice."""
    return {
        "rows": taken.rows,
        "touched": taken.touched,
        "written": taken.written,
        "removals": taken.removals,
        "attempts": [attempt._replace(explanation=None) for attempt in taken.attempts],
    }


def _steps(scenario: Scenario, version: str, seed: int) -> int:
    """How many callbacks it has."""
    cluster = Cluster.create(scenario, profile=version, seed=seed)
    cluster.advance(UNTIL)
    return cluster.steps


@pytest.mark.parametrize("version", sorted(VERSIONS))
@examples(16)
@given(seed=st.integers(0, 1_000_000))
def test_restored_elsewhere_a_run_plays_on_alike(
    elsewhere: OtherProcess, version: str, seed: int
) -> None:
    chance = Random(seed)
    scenario = _scenario(chance, seed)
    if scenario is None:
        return
    try:
        straight = Cluster.create(scenario, profile=version, seed=seed)
    except SimError:
        return  # Such as a plugin that this version does not have.
    pieces = _pieces(chance, _steps(scenario, version, seed))
    first, *others = pieces
    other = Cluster.create(scenario, profile=version, seed=seed)
    assert _shown(first.play(other)) == _shown(first.play(straight))
    blob = other.checkpoint()
    for piece in others:
        taken, blob = elsewhere.play(blob, piece)
        assert _shown(taken) == _shown(piece.play(straight)), piece
    restored = Cluster.restore(blob)
    assert restored.digest() == straight.digest()
    assert restored.steps == straight.steps
    assert restored.view() == straight.view()
    assert cluster_findings(restored) == cluster_findings(straight) == []
