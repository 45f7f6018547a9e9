"""Broken files and commands end in a refusal with a reason, or in a cluster that plays."""

import json
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.budget import Budget
from engine.input.loader import load_files
from engine.input.options import IntakeOptions, OptionFault
from engine.input.scenario import Scenario
from engine.kernel.errors import SimError
from engine.kernel.units import SECOND
from engine.objects.documents import DocumentError, parse_json
from engine.objects.kinds import NAMESPACED, entity_id
from engine.objects.openapi.fields import without
from engine.scheduler.configuration.scenario_schedulers import check_setup, is_known_plugin
from kscope.runs.manifest_edits import difference
from kube.decoding import decoding_problem, fields_of
from kube.resources import SERVED
from tests.fuzz import samples, typed_objects
from tests.fuzz.limits import FEW, Tally, numbers_of

STEPS = 400
# How long a cluster with an object of other types plays.
DURATION = 120 * SECOND
MOST_STEPS = 20_000
# Each has one field of another type: a few would leave most fields out.
TYPED = 200


def _read(name: str, data: bytes, options: IntakeOptions | None = None) -> bool:
    """Read a file as an upload is, make its cluster and let it play a little."""
    loaded = load_files([(name, data)], check=check_setup, options=options)
    orjson.dumps(loaded.to_report())
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


def _small_inputs(chance: Random) -> bool:
    """A file of any format that is read, with choices as a form sends them."""
    name, data, choices = samples.small_input(chance)
    options = None
    with suppress(OptionFault):
        options = IntakeOptions.read(choices, is_known_plugin)
    return _read(name, data, options)


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


def _typed_objects(chance: Random) -> bool:
    """An object through one of the doors; what is taken is played to its end."""
    changed = typed_objects.changed_object(chance)
    profile = chance.choice(("v1.36", "v1.36", "v1.34", "v1.20", "v1.11"))
    match chance.choice(("file", "step", "command", "patch", "api")):
        case "file":
            return _loaded([*typed_objects.cluster_objects(), changed], profile)
        case "step":
            steps = [{"at": "5s", chance.choice(("create", "apply", "replace")): changed}]
            header = {"apiVersion": "kscope.dev/v1", "kind": "Scenario", "spec": {"steps": steps}}
            return _loaded([*typed_objects.cluster_objects(), header], profile)
        case "command":
            verb = chance.choice(("create", "apply", "replace"))
            return _commanded({"verb": verb, "manifest": changed}, profile)
        case "patch":
            return _patched(changed, profile)
        case _:
            return _posted(changed, profile)


def _loaded(found: list[Any], profile: str) -> bool:
    loaded = load_files([("a.yaml", _as_documents(found))], check=check_setup)
    for problem in loaded.problems:
        assert problem.message
        assert problem.field, problem
    if not loaded.ok:
        return False
    scenario = Scenario.from_load(loaded, name="x")
    try:
        cluster = Cluster.create(replace(scenario, until=DURATION), profile=profile)
    except SimError:
        return False
    _play_to_the_end(cluster)
    return True


def _as_documents(found: list[Any]) -> bytes:
    documents = [json.dumps(each) for each in found]
    return "\n---\n".join(documents).encode()


def _commanded(body: dict[str, Any], profile: str) -> bool:
    body = _sent(body) or {}
    try:
        command = Command.from_dict(body)
    except SimError:
        return False
    cluster = Cluster.restore(_typed_cluster(profile))
    outcome = cluster.apply(command)
    if not outcome.applied:
        assert ": " in outcome.reason
        return False
    _play_to_the_end(cluster)
    return True


def _patched(changed: dict[str, Any], profile: str) -> bool:
    """The valid object is there; a patch makes the changed one of it."""
    kind = changed["kind"]
    (valid,) = (each for each in typed_objects.objects() if each["kind"] == kind)
    cluster = Cluster.restore(_typed_cluster(profile))
    if not cluster.apply(Command(verb="create", manifest=deepcopy(valid))).applied:
        return False
    patch = difference(valid, changed)
    name = f"{'default/' if kind in NAMESPACED else ''}{valid['metadata']['name']}"
    body = {"verb": "patch", "object": entity_id(kind, name), "patch": patch}
    try:
        command = Command.from_dict(_sent(body) or {})
    except SimError:
        return False
    outcome = cluster.apply(command)
    assert outcome.applied or ": " in outcome.reason
    _play_to_the_end(cluster)
    return outcome.applied


def _posted(changed: dict[str, Any], profile: str) -> bool:
    """As the Kubernetes API takes an object: decoded, pruned, and created."""
    resource = next(
        one
        for one in SERVED
        if (one.api_version, one.kind) == (changed["apiVersion"], changed["kind"])
    )
    body = _sent(changed)
    if body is None:
        return False
    found = fields_of(resource, body, profile)
    if found.wrong:
        problem = decoding_problem(found)
        assert "unmarshal" in problem or "quantit" in problem or "parsing time" in problem
        return False
    kept = without(body, [each.path for each in found.unknown])
    return _commanded({"verb": "create", "manifest": kept}, profile)


@cache
def _typed_cluster(profile: str) -> bytes:
    loaded = load_files([("a.yaml", _as_documents(typed_objects.cluster_objects()))])
    scenario = replace(Scenario.from_load(loaded, name="x"), until=DURATION)
    cluster = Cluster.create(scenario, profile=profile)
    cluster.advance(5 * SECOND)
    cluster.take()
    return cluster.checkpoint()


def _play_to_the_end(cluster: Cluster) -> None:
    # As a run has one: a set may want two thousand million pods.
    cluster.limit(Budget(objects=500))
    cluster.advance(cluster.horizon, max_steps=MOST_STEPS)
    assert not cluster.failure, cluster.failure
    for row in cluster.take().rows:
        (row.message + (row.data or "")).encode()


KINDS: dict[str, Callable[[Random], bool]] = {
    "bytes": _bytes,
    "manifests": _manifests,
    "scenarios": _scenarios,
    "configurations": _configurations,
    "small-inputs": _small_inputs,
    "commands": _commands,
    "typed-objects": _typed_objects,
}


@pytest.mark.parametrize("kind", KINDS)
def test_broken_input_is_refused_or_played(kind: str) -> None:
    tally = Tally(kind)
    for number in numbers_of(kind, TYPED if kind == "typed-objects" else FEW):
        chance = Random(f"{kind} {number}")
        tally.watch(number, lambda chance=chance: KINDS[kind](chance))
    print(tally)
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])
