"""The decisions of a real kube-scheduler 1.36.3 that is configured, extended or gated otherwise."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.input.loader import load_files
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.extenders import Extender, ExtenderCalls
from engine.scheduler.configuration.scenario_schedulers import setup_without_configuration
from engine.scheduler.cycle.decisions_mode.decide import decide
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import VERSIONS
from tests.conformance.scheduler.extender_answers import Answers
from tests.conformance.vectors import parametrised
from tests.vectors import vector_set

STORAGE_GATES = {"StorageCapacityScoring": True, "VolumeLimitScaling": True}


def _files(name: str) -> list[Any]:
    found = sorted(vector_set(name).glob("*.yaml"))
    return parametrised(((path.stem, path) for path in found) if found else None, absent=name)


def _decided(path: Path, version: str = "v1.36", **gates: bool) -> dict[str, Any]:
    loaded = load_files([(path.name, path.read_bytes())])
    assert loaded.ok, loaded.problems
    kubernetes = with_gates(VERSIONS[version], gates)
    setup = (
        setup_without_configuration(kubernetes)
        if loaded.configuration is None
        else read_setup(loaded.configuration, kubernetes)
    )
    calls = ExtenderCalls()
    calls.transport = Answers()
    objects = [from_manifest(raw) for raw in loaded.manifests]
    extenders = [Extender(one, calls) for one in setup.extenders]
    return orjson.loads(orjson.dumps(decide(objects, *setup.profiles, extenders=extenders)))


def _check(path: Path, **gates: bool) -> None:
    expected = json.loads(path.with_suffix(".json").read_text())
    actual = _decided(path, **gates)
    assert len(actual["attempts"]) == len(expected["attempts"])
    for got, wanted in zip(actual["attempts"], expected["attempts"], strict=True):
        key = wanted["pod"], wanted["attempt"]
        assert (got["pod"], got["attempt"]) == key
        for field in ("result", "node"):
            assert got[field] == wanted[field], (key, field)
        assert _texts(got["message"]) == _texts(wanted["message"]), key
        assert _filters(got) == _filters(wanted), key
        assert _choice(got) == _choice(wanted), key
        if not wanted["single_feasible"]:
            assert _scores(got) == _scores(wanted), key
    assert actual["final"]["pods"] == {
        key: node or "" for key, node in expected["final"]["pods"].items()
    }
    assert sorted(actual["final"]["evicted"]) == sorted(expected["final"]["evicted"] or [])


def _texts(message: str) -> list[str]:
    """Its words: the errors of several nodes come in the order of a Go map."""
    return sorted(message.replace("[", " ").replace("]", " ").replace(",", " ").split())


def _filters(attempt: dict[str, Any]) -> dict[str, Any]:
    return {
        node: verdict and (verdict["plugin"], sorted(verdict["reasons"]))
        for node, verdict in (attempt["filters"] or {}).items()
    }


def _scores(attempt: dict[str, Any]) -> dict[str, Any]:
    """Without the extenders that give a node nothing, which the reference lists in part."""
    return {
        node: (
            given["total"],
            {
                name: score
                for name, score in given["plugins"].items()
                if score or not name.startswith("http")
            },
        )
        for node, given in attempt["scores"].items()
    }


def _choice(attempt: dict[str, Any]) -> tuple[str, list[str]] | None:
    preemption = attempt["preemption"]
    if not preemption or not preemption["node"]:
        return None
    return preemption["node"], sorted(preemption["victims"])


@pytest.mark.parametrize("path", _files("decisions-v1.36-plugins"))
def test_other_plugins_decide_as_in_kube_scheduler(path: Path) -> None:
    _check(path)


@pytest.mark.parametrize("path", _files("decisions-v1.36-profiles"))
def test_several_profiles_decide_as_in_kube_scheduler(path: Path) -> None:
    _check(path)


@pytest.mark.parametrize("path", _files("decisions-v1.36-extenders"))
def test_extenders_are_heard_as_by_kube_scheduler(path: Path) -> None:
    _check(path)


@pytest.mark.parametrize("path", _files("decisions-v1.36-storage-gates"))
def test_storage_gates_decide_as_in_kube_scheduler(path: Path) -> None:
    _check(path, **STORAGE_GATES)


def test_budgets_without_status_are_counted_by_placed_pods() -> None:
    folder = vector_set("budgets-without-status")
    expected = json.loads((folder / "big-4.expected.json").read_text())["final"]
    final = _decided(folder / "big-4.json", "v1.34")["final"]
    assert final["pods"] == expected["pods"]
    assert final["evicted"] == sorted(expected["evicted"])
