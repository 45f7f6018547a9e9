"""Every sample of docs/formats.md is read, by the intake or by the reader of its own kind."""

import base64
import csv
import gzip
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from engine.cluster.cluster import Cluster
from engine.input.load_result import LoadResult
from engine.input.loader import load_paths
from engine.input.options import IntakeOptions
from engine.input.scenario import Scenario
from engine.run_file.reading import read_run_file
from engine.scheduler.configuration.scenario_schedulers import check_setup, is_known_plugin
from kscope.exports.registry import FORMATS
from tests.docs.documents import ROOT
from tests.docs.samples.making import READ, SAMPLES, SHOP, WRITTEN, exports, packed

PAGE = ROOT / "docs" / "formats.md"
AGAIN = "python -m tests.docs.samples"
# By sample: how many objects the cluster begins with, the verbs of its steps, what it is taken for.
INTAKE = {
    "scenario.yaml": (5, ["create"], ""),
    "list.json": (2, [], ""),
    "lines.jsonl": (2, [], ""),
    "watch.jsonl": (2, ["patch"], "a watch"),
    "troubleshoot-bundle.tar.gz": (10, [], "a troubleshoot support bundle"),
    "must-gather.zip": (9, [], "a must-gather"),
    "cluster-info-dump.txt": (2, [], ""),
    "collection.tar.gz": (10, [], "a collection of context shop"),
    "simulator-snapshot.json": (2, [], ""),
    "simulator-records.jsonl": (1, ["create", "delete"], "records of kube-scheduler-simulator"),
    "trace.sktrace": (1, ["create", "delete"], "a trace of SimKube"),
    "openb-nodes.csv": (1, [], "a table of an OpenB trace"),
    "openb-pods.csv": (1, ["create", "delete"], "a table of an OpenB trace"),
    "scheduler-perf.yaml": (3, ["create"] * 6, "the scheduler_perf test case"),
    "recording.json": (1, ["create"], ""),
}
# Read beside objects, and the version of the run then.
CONFIGURATIONS = {"kube-scheduler.yaml": "v1.36", "policy.json": "v1.16"}


def load(*names: str) -> LoadResult:
    options = IntakeOptions.read({"ignore_unknown_plugins": "on"}, is_known_plugin)
    loaded = load_paths([READ / name for name in names], check=check_setup, options=options)
    assert loaded.ok, loaded.problems
    return loaded


def test_the_page_links_every_sample() -> None:
    linked = set(re.findall(r"\]\((samples/[^)]+)\)", PAGE.read_text()))
    there = {path.relative_to(PAGE.parent).as_posix() for path in SAMPLES.rglob("*.*")}
    assert linked == there - {"samples/shop/fix.yaml"}


def test_a_test_reads_every_sample() -> None:
    assert {path.name for path in READ.iterdir()} == {*INTAKE, *CONFIGURATIONS}
    assert {path.name for path in WRITTEN.iterdir()} == {*READERS, "run.kscope"}
    exports = [each for each in FORMATS.values() if each.of != "page"]
    assert {f"run{each.ending}" for each in exports} < {*READERS, "run.kscope"}


@pytest.mark.parametrize("name", INTAKE)
def test_a_sample_is_taken_for_what_it_is(name: str) -> None:
    loaded = load(name)
    count, verbs, what = INTAKE[name]
    assert len(loaded.manifests) == count
    assert [step["verb"] for step in (loaded.scenario or {}).get("steps") or []] == verbs
    assert " ".join(loaded.sources.values()).startswith(what)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_configuration_is_that_of_the_run(name: str) -> None:
    scenario = Scenario.from_load(load(name, "list.json"), name="shop")
    assert scenario.configuration is not None
    assert scenario.configuration["kind"] in ("KubeSchedulerConfiguration", "Policy")
    cluster = Cluster.create(scenario, profile=scenario.profile)
    assert cluster.profile == CONFIGURATIONS[name]


def test_what_the_simulator_wraps_is_configured() -> None:
    assert load("simulator-snapshot.json").configuration is not None


def test_the_shop_is_a_cluster_as_it_stands() -> None:
    loaded = load_paths([SHOP / "cluster.yaml"], check=check_setup)
    assert loaded.ok
    assert (len(loaded.manifests), loaded.unknown_fields) == (10, [])


def test_archives_are_made_of_the_shop() -> None:
    pairs = [(path, _unpacked(path.read_bytes()), _unpacked(data)) for path, data in packed()]
    assert [path.name for path, found, made in pairs if found != made] == [], AGAIN


def _unpacked(data: bytes) -> bytes | list[tuple[str, bytes]]:
    """What an archive holds: each version of zlib packs it in a way of its own."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(name, archive.read(name)) for name in archive.namelist()]
    return data


def test_the_run_is_played_again_to_its_end() -> None:
    file = read_run_file(WRITTEN / "run.kscope")
    assert file.choices.name == "one-has-to-leave"
    done = subprocess.run(
        [sys.executable, "-m", "kscope.program", "simulate", str(WRITTEN / "run.kscope")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "replayed to the same digest" in done.stderr) == (0, True), AGAIN


def test_exports_are_what_the_program_writes() -> None:
    stale = [path.name for path, data in exports() if path.suffix in TEXTS and _text(path) != data]
    assert stale == [], AGAIN


# Others have parts that depend on the library that packs them.
TEXTS = (".ndjson", ".csv", ".mmd", ".prom", ".yaml")


def _text(path: Path) -> bytes:
    return path.read_bytes()


def _evicts(kinds: list[str]) -> bool:
    return "PodEvicted" in kinds and kinds.count("PodBound") == 2


def _ndjson(path: Path) -> bool:
    return _evicts([json.loads(line)["kind"] for line in path.read_text().splitlines()])


def _csv(path: Path) -> bool:
    with path.open(newline="") as file:
        return _evicts([row["kind"] for row in csv.DictReader(file)])


def _parquet(path: Path) -> bool:
    found = duckdb.read_parquet(str(path)).order("seq").project("kind").fetchall()
    return _evicts([kind for (kind,) in found])


def _perfetto(path: Path) -> bool:
    trace = perfetto_trace_pb2.Trace()
    trace.ParseFromString(path.read_bytes())
    names = {packet.track_descriptor.process.process_name for packet in trace.packet}
    return {"scheduler", "pods", "claims"} <= names


def _otlp(path: Path) -> bool:
    found: list[str] = []
    for line in path.read_text().splitlines():
        data: dict[str, Any] = json.loads(line)
        for span in data["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        message = json_format.ParseDict(data, TracesData())
        found += [span.name for span in message.resource_spans[0].scope_spans[0].spans]
    return found.count("SchedulePod") == 2 and "PostFilter" in found


def _openmetrics(path: Path) -> bool:
    names = {each.name for each in text_string_to_metric_families(path.read_text())}
    return "scheduler_preemption_victims" in names


def _mermaid(path: Path) -> bool:
    first, *rest = path.read_text().splitlines()
    return first == "sequenceDiagram" and any("PodEvicted" in line for line in rest)


def _yaml(path: Path) -> bool:
    loaded = load_paths([path], check=check_setup)
    pods = [each["metadata"]["name"] for each in loaded.manifests if each["kind"] == "Pod"]
    return loaded.ok and pods == ["urgent"]


def _events(path: Path) -> bool:
    found = json.loads(gzip.decompress(path.read_bytes()))
    return found["kind"] == "EventList" and "Preempted" in {
        each["reason"] for each in found["items"]
    }


def _junit(path: Path) -> bool:
    root = ElementTree.parse(path).getroot()
    return len(list(root.iter("testcase"))) == 3 and len(list(root.iter("failure"))) == 2


def _sarif(path: Path) -> bool:
    found = json.loads(path.read_text())
    return found["version"] == "2.1.0" and len(found["runs"][0]["results"]) == 2


READERS: dict[str, Callable[[Path], bool]] = {
    "run.ndjson": _ndjson,
    "run.csv": _csv,
    "run.parquet": _parquet,
    "run.pftrace": _perfetto,
    "run.otlp.json": _otlp,
    "run.prom": _openmetrics,
    "run.mmd": _mermaid,
    "run.yaml": _yaml,
    "run.json.gz": _events,
    "gate.junit.xml": _junit,
    "gate.sarif": _sarif,
}


@pytest.mark.parametrize("name", READERS)
def test_the_reader_of_its_kind_understands_it(name: str) -> None:
    assert READERS[name](WRITTEN / name)
