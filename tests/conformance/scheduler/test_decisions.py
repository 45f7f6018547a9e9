"""The decisions of real kube-schedulers (1.36.3, 1.34.1, 1.16.6 and 1.11.1), file by file.

Each file is decided twice: with every verdict worked out anew, as `manage.py simulate` does, and by
the columns that a running cluster keeps per pod template. Each cluster is then also played for a
minute, whole: with its kubelets, controllers and evictions.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.diagnosis import diagnose
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.objects.objects import Pod, from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.cycle.decisions_mode.decide import decide
from tests.conformance.vectors import parametrised
from tests.samples import sample
from tests.vectors import vector_set

FIELDS = ("result", "node", "volumes", "preemption", "message", "devices")


def _scenarios(profile: str) -> list[Any]:
    """Those of a version, or of the features of one."""
    name = f"decisions-{profile}"
    found = sorted(vector_set(name).glob("*.yaml"))
    return parametrised(((path.stem, path) for path in found) if found else None, absent=name)


def _comparable(attempt: dict[str, Any], field: str) -> Any:
    value = attempt.get(field)
    if field == "preemption":
        if not value or not (value.get("node") or value.get("candidates")):
            return None
        candidates = {
            node: (sorted(one["victims"]), one["pdb_violations"])
            for node, one in value["candidates"].items()
        }
        return value["node"], sorted(value["victims"]), candidates
    if field == "volumes":
        return (value or {}).get("bind") or {}, (value or {}).get("provision") or {}
    return value or None


def _filters(attempt: dict[str, Any]) -> dict[str, Any]:
    return {
        node: verdict and (verdict["plugin"], sorted(verdict["reasons"]), verdict.get("code"))
        for node, verdict in (attempt.get("filters") or {}).items()
    }


@cache
def _loaded(path: Path) -> LoadResult:
    """The file as it is read; several tests need each."""
    loaded = load_files([(path.name, path.read_bytes())])
    assert loaded.ok, loaded.problems
    return loaded


def _decided(path: Path, profile: str, *ways: bool) -> Iterator[dict[str, Any]]:
    """What is decided anew (False), and what is decided by columns (True)."""
    loaded = _loaded(path)
    chosen = PROFILES[profile]
    if loaded.configuration is not None:
        (chosen,) = read_setup(loaded.configuration, profile).profiles
    for by_columns in ways:
        objects = [from_manifest(raw) for raw in loaded.manifests]
        yield orjson.loads(orjson.dumps(decide(objects, chosen, by_columns=by_columns)))


def _check(path: Path, profile: str) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    actual, by_columns = _decided(path, profile, False, True)
    assert actual == by_columns
    attempts = {(one["pod"], one["attempt"]): one for one in actual["attempts"]}
    assert len(attempts) == len(expected["attempts"])
    for wanted in expected["attempts"]:
        key = wanted["pod"], wanted["attempt"]
        got = attempts[key]
        for field in FIELDS:
            assert _comparable(got, field) == _comparable(wanted, field), (key, field)
        assert _filters(got) == _filters(wanted), key
        assert sorted(got["tied"]) == sorted(wanted["tied"]), key
        if not wanted["single_feasible"]:
            assert got["scores"] == wanted["scores"], key
    assert sorted(actual["final"]["evicted"]) == sorted(expected["final"]["evicted"] or [])
    assert actual["final"]["pods"] == {
        key: node or "" for key, node in expected["final"]["pods"].items()
    }
    # v1.11 and v1.16 have none.
    if "claims" in expected["final"]:
        assert actual["final"]["claims"] == expected["final"]["claims"]
    assert actual["final"].get("devices") == expected["final"].get("devices")


@pytest.mark.parametrize("path", _scenarios("v1.36"))
def test_decisions_are_those_of_kube_scheduler_1_36(path: Path) -> None:
    _check(path, "v1.36")


@pytest.mark.parametrize("path", _scenarios("v1.36-features"))
def test_features_decide_as_in_kube_scheduler_1_36(path: Path) -> None:
    _check(path, "v1.36")


def _read_of_v1_37() -> list[Any]:
    """Not of a real 1.37: kube-scheduler 1.36.3 with what changes in 1.37 by default and could be had."""
    found = sorted(vector_set("approx-v1.37").glob("*/*.yaml"))
    named = [(f"{path.parent.name}-{path.stem}", path) for path in sample(found, 3)]
    return parametrised(named or None, absent="approx-v1.37")


@pytest.mark.parametrize("path", _read_of_v1_37())
def test_v1_37_decides_as_was_read_of_it(path: Path) -> None:
    _check(path, "v1.37")


@pytest.mark.parametrize("path", _scenarios("v1.34"))
def test_decisions_are_those_of_kube_scheduler_1_34(path: Path) -> None:
    _check(path, "v1.34")


_TAINT = re.compile(r"untolerated taint \{[^}]*\}")


@pytest.mark.parametrize("path", _scenarios("v1.34"))
def test_v1_34_9_words_taints_otherwise(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    (actual,) = _decided(path, "v1.34.9", True)
    attempts = {(one["pod"], one["attempt"]): one for one in actual["attempts"]}
    assert len(attempts) == len(expected["attempts"])
    for wanted in expected["attempts"]:
        key = wanted["pod"], wanted["attempt"]
        got = attempts[key]
        for field in ("result", "node", "volumes", "preemption"):
            assert _comparable(got, field) == _comparable(wanted, field), (key, field)
        said = _TAINT.sub("untolerated taint(s)", json.dumps(_filters(wanted)))
        assert json.dumps(_filters(got)) == said, key


@pytest.mark.parametrize("path", _scenarios("v1.34"))
def test_v1_35_decides_as_v1_34_did(path: Path) -> None:
    """Without claims, v1.35 only words taints otherwise, and DynamicResources gives every node 0."""
    expected = json.loads(path.with_suffix(".json").read_text())
    (actual,) = _decided(path, "v1.35", True)
    assert len(actual["attempts"]) == len(expected["attempts"])
    attempts = {(one["pod"], one["attempt"]): one for one in actual["attempts"]}
    for wanted in expected["attempts"]:
        key = wanted["pod"], wanted["attempt"]
        got = attempts[key]
        assert (got["result"], got["node"]) == (wanted["result"], wanted["node"]), key
        for node, scores in {} if wanted["single_feasible"] else wanted["scores"].items():
            found = dict(got["scores"][node]["plugins"])
            assert found.pop("DynamicResources") == 0
            assert {**got["scores"][node], "plugins": found} == scores, key


@pytest.mark.parametrize("path", _scenarios("v1.16"))
def test_decisions_are_those_of_kube_scheduler_1_16(path: Path) -> None:
    _check(path, "v1.16")


@pytest.mark.parametrize("path", _scenarios("v1.11"))
def test_decisions_are_those_of_kube_scheduler_1_11(path: Path) -> None:
    _check(path, "v1.11")


def _sample(profile: str) -> list[Any]:
    """Every twentieth scenario."""
    return _scenarios(profile)[::20]


def _without_uids(manifest: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: value for key, value in manifest["metadata"].items() if key != "uid"}
    return {**manifest, "metadata": metadata}


@pytest.mark.parametrize("path", [*_sample("v1.34"), *_sample("v1.16")])
def test_claims_without_a_uid_are_decided_alike(path: Path) -> None:
    loaded = _loaded(path)
    bare = [
        _without_uids(raw) if raw["kind"] == "PersistentVolumeClaim" else raw
        for raw in loaded.manifests
    ]
    profile = PROFILES["v1.34" if path.parent.name == "decisions-v1.34" else "v1.16"]
    with_uids, without = (
        decide([from_manifest(raw) for raw in manifests], profile)
        for manifests in (loaded.manifests, bare)
    )
    # The names of provisioned volumes follow from the claims' uids.
    del with_uids["final"]["claims"], without["final"]["claims"]
    assert without == with_uids


def _played(profile: str) -> list[Any]:
    """Every third scenario: playing takes longest, and finds what has nothing to do with versions."""
    return list(sample(_scenarios(profile)[::3], 3))


def _play(path: Path, profile: str) -> None:
    loaded = _loaded(path)
    cluster = Cluster.create(Scenario.from_load(loaded, name=path.stem), profile=profile)
    cluster.advance(60 * SECOND)
    assert cluster_findings(cluster) == []
    pending = [
        pod.key
        for pod in cluster.store.objects(Pod.KIND)
        if isinstance(pod, Pod) and not pod.node_name and not pod.is_terminated
    ]
    for key in pending[:1]:
        assert diagnose(cluster, key).sentence


@pytest.mark.parametrize("path", _played("v1.36"))
def test_clusters_of_v1_36_can_be_played(path: Path) -> None:
    _play(path, "v1.36")


@pytest.mark.parametrize("path", _played("v1.34"))
def test_clusters_of_v1_34_can_be_played(path: Path) -> None:
    _play(path, "v1.34")


@pytest.mark.parametrize("path", _played("v1.16"))
def test_clusters_of_v1_16_can_be_played(path: Path) -> None:
    _play(path, "v1.16")


@pytest.mark.parametrize("path", _played("v1.11"))
def test_clusters_of_v1_11_can_be_played(path: Path) -> None:
    _play(path, "v1.11")
