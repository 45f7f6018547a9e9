"""What a file holds is refused with its place, or played and decided; nothing else ever happens."""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.cluster import Cluster
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.errors import SimError
from engine.kernel.units import SECOND
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide
from tests.properties.examples import examples
from tests.properties.mutations import mutated
from tests.vectors import vector_set

REFERENCES = [
    path
    for name in ("decisions-v1.16", "decisions-v1.34")
    for path in sorted(vector_set(name).glob("*.yaml"))
]
DEMOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))
SEEDS = st.integers(0, 100_000)


@cache
def _documents(path: Path) -> list[Any]:
    return list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))


def _loaded(paths: list[Path], chance: Random) -> LoadResult:
    documents = mutated(_documents(chance.choice(paths)), chance)
    result = load_files([("a.yaml", yaml.dump_all(documents, Dumper=yaml.CSafeDumper).encode())])
    for problem in result.problems:
        assert problem.message
        assert problem.document or problem.message.startswith("nothing that takes part")
    return result


@examples(60)
@given(SEEDS)
def test_columns_decide_a_changed_cluster_alike(seed: int) -> None:
    chance = Random(seed)
    loaded = _loaded(REFERENCES, chance)
    if not loaded.ok:
        return
    profile = PROFILES[chance.choice(("v1.34", "v1.16", "v1.20", "v1.11"))]
    objects = [from_manifest(raw) for raw in loaded.manifests]
    try:
        anew = decide(objects, profile)
    except SimError:
        return  # Such as a priority class that is not there; the command says where.
    assert json.dumps(anew) == json.dumps(decide(objects, profile, by_columns=True))


@examples(60)
@given(SEEDS)
def test_a_changed_scenario_is_refused_or_played(seed: int) -> None:
    chance = Random(seed)
    loaded = _loaded(DEMOS if chance.random() < 0.7 else REFERENCES, chance)
    if not loaded.ok:
        return
    profile = chance.choice(("v1.34", "v1.16", "v1.20", "v1.11"))
    try:
        cluster = Cluster.create(Scenario.from_load(loaded, name="x"), profile=profile, seed=seed)
    except SimError:
        return
    cluster.advance(60 * SECOND)
    assert all(row.seq for row in cluster.take().rows)
