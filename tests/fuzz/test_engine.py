"""Broken files and commands end in a refusal with a reason, or in a cluster that plays."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import orjson
import pytest

from kscope.sim.errors import SimError
from kscope.sim.input.loader import load_files
from kscope.sim.input.scenario import Scenario
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.documents import DocumentError, parse_json
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.cluster.commands import Command
from scheduling.engine.configuration.scenario_schedulers import check_setup
from tests.fuzz import samples
from tests.fuzz.limits import Tally, numbers_of

STEPS = 400


def _read(name: str, data: bytes) -> bool:
    """Read a file as an upload is, make its cluster and let it play a little."""
    loaded = load_files([(name, data)], check=check_setup)
    assert all(problem.message for problem in loaded.problems)
    if not loaded.ok:
        assert not loaded.objects
        return False
    kept = orjson.dumps(Scenario.from_load(loaded, name="x").to_dict(), option=orjson.OPT_SORT_KEYS)
    scenario = Scenario.from_dict(orjson.loads(kept))
    try:
        cluster = Cluster.create(scenario, profile=scenario.profile, seed=scenario.seed)
    except SimError:
        return False
    _play(cluster)
    return True


def _play(cluster: Cluster) -> None:
    cluster.advance(cluster.now + 30 * SECOND, max_steps=STEPS)
    for row in cluster.take().rows:
        assert "\0" not in (row.message + (row.data or ""))
        row.message.encode()


def _bytes(chance: Random) -> bool:
    return _read(*samples.some_bytes(chance))


def _manifests(chance: Random) -> bool:
    return _read("a.yaml", samples.manifests(chance))


def _scenarios(chance: Random) -> bool:
    return _read("a.yaml", samples.scenario(chance))


def _configurations(chance: Random) -> bool:
    return _read("a.yaml", samples.configuration(chance))


def _commands(chance: Random) -> bool:
    """Give a cluster a command, as the REST API does, and let it go on."""
    blob, held = samples.warm_cluster(chance.randrange(samples.CLUSTERS))
    body = _sent(samples.command(chance, held))
    if body is None:
        return False
    try:
        command = Command.from_dict(body)
    except SimError:
        return False
    cluster = Cluster.restore(blob)
    revision = cluster.store.revision
    outcome = cluster.apply(command)
    if not outcome.applied:
        assert outcome.reason
        assert body["verb"] == "evict_pods" or cluster.store.revision == revision, "half-done"
    _play(cluster)
    return outcome.applied


def _sent(body: dict[str, Any]) -> dict[str, Any] | None:
    """*body* as it arrives; None for what is no JSON that a database can hold."""
    try:
        return parse_json(json.dumps(body).encode())
    except DocumentError:
        return None


KINDS: dict[str, Callable[[Random], bool]] = {
    "bytes": _bytes,
    "manifests": _manifests,
    "scenarios": _scenarios,
    "configurations": _configurations,
    "commands": _commands,
}


@pytest.mark.parametrize("kind", KINDS)
def test_broken_input_is_refused_or_played(kind: str) -> None:
    tally = Tally(kind)
    for number in numbers_of(kind):
        chance = Random(f"{kind} {number}")
        tally.watch(number, lambda chance=chance: KINDS[kind](chance))
    print(tally)
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])
