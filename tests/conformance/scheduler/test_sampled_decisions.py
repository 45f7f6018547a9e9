"""Where a real kube-scheduler 1.36.3 looks: samples from a rotating start, and pods in batches.

Besides the chosen node this compares at which node each search began and how many it evaluated.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.framework.framework import PodVolumes
from engine.framework.handle import Handle
from engine.input.loader import load_files
from engine.objects.objects import from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.scenario_schedulers import setup_without_configuration
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decisions_mode.decided_cluster import DecidedCluster
from engine.scheduler.cycle.decisions_mode.stored_objects import admitted
from engine.versions.registry import VERSIONS
from tests.conformance.vectors import Json, parametrised
from tests.vectors import vector_set

VERSION = VERSIONS["v1.36"]


@dataclass
class Looked:
    """The attempts on a cluster, in the form of the vectors."""

    attempts: list[Json]
    hints: int
    """How many pods were tried first on the node that the pod before them left as the best."""


def _looked(path: Path, *, explain: bool) -> Looked:
    loaded = load_files([(path.name, path.read_bytes())])
    assert loaded.ok, loaded.problems
    configured = loaded.configuration
    setup = (
        setup_without_configuration(VERSION)
        if configured is None
        else read_setup(configured, VERSION)
    )
    (profile,), handle = setup.profiles, Handle()
    algorithm, cluster = SchedulingAlgorithm(profile, handle), DecidedCluster(handle)
    objects = admitted([from_manifest(raw) for raw in loaded.manifests])
    pending = sorted(cluster.read(objects, profile), key=lambda pod: -pod.priority)
    order = cluster.rows_by_zone(beta_only=False)
    looked = Looked([], 0)
    for cycle, pod in enumerate(pending, 1):
        start = handle.next_start
        # Nobody preempts in these vectors.
        result = algorithm.schedule(pod, order, explain=explain, cycle=cycle)
        looked.hints += bool(result.node_hint) and result.node_hint == result.node
        looked.attempts.append(
            {
                "pod": pod.key,
                "result": result.result,
                "node": result.node or "",
                "start_index": start,
                "message": result.message,
                # The reference does not say it of a pod that fits nowhere.
                "evaluated": result.evaluated if result.node else 0,
            }
        )
        if result.node is not None:
            cluster.place(result, PodVolumes(), in_zone=False)
    return looked


def _expected(path: Path) -> list[Json]:
    fields = ("pod", "result", "node", "start_index", "message", "evaluated")
    attempts = json.loads(path.with_suffix(".json").read_text())["attempts"]
    return [{field: each[field] for field in fields} for each in attempts]


def _files(name: str) -> list[Any]:
    found = sorted(vector_set(name).glob("*.yaml"))
    return parametrised(((path.stem, path) for path in found) if found else None, absent=name)


@pytest.mark.parametrize("path", _files("sampling-v1.36"))
def test_samples_begin_and_end_as_in_kube_scheduler(path: Path) -> None:
    assert _looked(path, explain=False).attempts == _expected(path)


@pytest.mark.parametrize("path", _files("sampling-v1.36")[-1:])
def test_explained_samples_begin_and_end_alike(path: Path) -> None:
    assert _looked(path, explain=True).attempts == _expected(path)


@pytest.mark.parametrize("path", _files("batching-v1.36"))
def test_batches_are_placed_as_in_kube_scheduler(path: Path) -> None:
    assert _looked(path, explain=False).attempts == _expected(path)


@pytest.mark.parametrize("path", _files("batching-v1.36")[:1])
def test_batches_of_the_vectors_take_hints(path: Path) -> None:
    assert _looked(path, explain=False).hints > 0
