"""What is stuck in a large sick cluster: until the causes, until the first change, until everything.

The baseline is reading the same cluster and `Cluster.create`, which have to be before: a triage
should take a small part of that.
"""

import os
import time

import orjson

from bench.sick import Size, sick_cluster
from bench.size import usual
from bench.table import Row
from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.report import Triage
from engine.diagnosis.triage.triage import triage_parts
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.kernel.garbage import collector_paused
from engine.objects.objects import Pod
from scheduling.process_forks import forks_of

# The pod that is asked about is one of the largest group of pods without a node.
NODES, PODS, STUCK = usual(5_000, least=20), usual(40_000, least=100), usual(2_000, least=20)
# In seconds of CPU, after reading and creating.
CAUSES, FIRST_CHANGE, ONE_POD = 3.0, 5.0, 5.0


def bench(full: bool = False) -> list[Row]:
    """Rows in seconds of CPU, because other programs use the machine, too."""
    text = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": list(_objects())})
    size = f"{len(text) / 2**20:.0f} MiB of JSON"
    with collector_paused():
        began = time.process_time()
        loaded = load_files([("all.json", text)])
        assert loaded.ok, loaded.problems[:3]
        evidence = Evidence.of(loaded)
        cluster = _cluster(loaded)
        created = time.process_time() - began
        return _rows(cluster, evidence, created, size)


def _objects() -> list[dict[str, object]]:
    return list(sick_cluster(Size(NODES, PODS, STUCK)))


def _cluster(loaded: LoadResult) -> Cluster:
    return Cluster.create(Scenario.from_load(loaded, name="sick"), profile="v1.34")


def _rows(cluster: Cluster, evidence: Evidence, created: float, size: str) -> list[Row]:
    began, first, causes, groups, pod = time.process_time(), 0.0, 0.0, 0, ""
    for part in triage_parts(cluster, evidence):
        passed = time.process_time() - began
        if isinstance(part, Triage):
            causes, groups = passed, len(part.groups)
            pod = next(each.pods[0] for each in part.groups if each.kind == "pending")
        elif not first and isinstance(part, tuple) and part[1].changes:
            first = passed
    all_changes = time.process_time() - began
    note = f"{groups} causes among {NODES:,} nodes and {PODS:,} pods, {STUCK:,} stuck; {size}"
    return [
        _row("causes", causes, created, CAUSES, note),
        _row("first change", first, created, FIRST_CHANGE),
        _row("all changes", all_changes, created),
        _row("why one pod", _why(cluster, evidence, pod), created, ONE_POD),
    ]


def _why(cluster: Cluster, evidence: Evidence, pod: str) -> float:
    """The CPU that it takes to say why *pod* is pending, and what would help; with that of forks."""
    began = _with_children()
    assert explain_as_it_stands(cluster, evidence, Pod.KIND, pod, make_forks=forks_of)
    return _with_children() - began


def _with_children() -> float:
    return sum(os.times()[:4])


def _row(name: str, figure: float, created: float, aim: float | None = None, note: str = "") -> Row:
    return Row(
        name=name,
        figure=figure,
        unit="CPU s",
        baseline=created,
        against="reading and Cluster.create",
        aim=aim,
        at_least=False,
        note=note,
    )
