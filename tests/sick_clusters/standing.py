"""A sick cluster that was read as an upload is, and what triage says of it."""

from dataclasses import dataclass
from typing import Any

import orjson

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Triage
from engine.diagnosis.triage.triage import triage
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.scheduler.configuration.scenario_schedulers import check_setup
from tests.sick_clusters.generator import sick_cluster

Manifest = dict[str, Any]

_PROFILES = ("v1.36", "v1.34", "v1.34", "v1.20", "v1.16", "v1.11")


@dataclass(frozen=True, slots=True)
class Sick:
    """The files, the cluster at its beginning, and what is stuck in it."""

    seed: int
    manifests: list[Manifest]
    cluster: Cluster
    evidence: Evidence
    found: Triage


def sick(seed: int) -> Sick:
    """The sick cluster of a seed, under one of the profiles."""
    manifests = sick_cluster(seed)
    exported = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
    loaded = load_files([("sick.json", exported)], check=check_setup)
    assert loaded.ok, [str(each) for each in loaded.problems]
    evidence = Evidence.of(loaded)
    scenario = Scenario.from_load(loaded, name="sick")
    cluster = Cluster.create(scenario, profile=_PROFILES[seed % len(_PROFILES)])
    return Sick(seed, manifests, cluster, evidence, triage(cluster, evidence))


def as_bytes(evidence: Evidence) -> bytes:
    """Everything that the files say, Events aside, to compare."""
    return orjson.dumps(list(evidence.everything()), option=orjson.OPT_SORT_KEYS)
