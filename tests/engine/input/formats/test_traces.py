"""Recordings with times of their own, and those that are refused by name."""

import json
from typing import Any

import msgpack
import pytest

from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.kernel.units import SECOND

NODE: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c"}]},
}
GONE: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": POD["metadata"]}


def record(time: str, event: str, resource: dict[str, Any]) -> dict[str, Any]:
    return {"time": f"2026-01-02T10:{time}Z", "event": event, "resource": resource}


RECORDS = [
    record("00:00.1", "Add", NODE),
    record("00:20", "Add", POD),
    record("01:00", "Update", {**NODE, "spec": {"unschedulable": True}}),
    record("02:00", "Delete", GONE),
]
DONE = [
    (19, "create", "p"),
    (59, "patch", "node/n1"),
    (119, "delete", "pod/default/p"),
]


def steps(loaded: LoadResult) -> list[tuple[int, str, str]]:
    assert loaded.ok, loaded.problems
    assert loaded.scenario is not None
    return [
        (
            each["at"] // SECOND,
            each["verb"],
            each.get("object") or each["manifest"]["metadata"]["name"],
        )
        for each in loaded.scenario["steps"]
    ]


@pytest.mark.parametrize("form", ["list", "lines"])
def test_records_of_the_simulator_become_steps(form: str) -> None:
    text = json.dumps(RECORDS) if form == "list" else "\n".join(map(json.dumps, RECORDS))
    loaded = load_files([("records.jsonl", text.encode())])
    assert steps(loaded) == DONE
    assert "records of kube-scheduler-simulator" in loaded.sources["records.jsonl"]


def test_what_was_there_before_is_no_step() -> None:
    old = {**POD, "metadata": {**POD["metadata"], "creationTimestamp": "2026-01-01T00:00:00Z"}}
    text = json.dumps([RECORDS[0], record("00:03", "Add", old), RECORDS[3]])
    loaded = load_files([("records.json", text.encode())])
    assert [each["kind"] for each in loaded.manifests] == ["Node", "Pod"]
    assert [each[1] for each in steps(loaded)] == ["delete"]


def trace(*events: dict[str, Any]) -> bytes:
    parts = {"version": 2, "config": {}, "events": list(events), "index": {}, "pod_lifecycles": {}}
    packed = msgpack.packb(parts)
    assert packed is not None
    return packed


def change(ts: int, *applied: dict[str, Any], deleted: Any = ()) -> dict[str, Any]:
    return {"ts": ts, "applied_objs": list(applied), "deleted_objs": list(deleted)}


@pytest.mark.parametrize("form", ["cluster.sktrace", "trace.json"])
def test_a_trace_of_simkube_becomes_steps(form: str) -> None:
    cordoned = {**NODE, "spec": {"unschedulable": True}}
    events = change(100, NODE), change(120, POD), change(160, cordoned), change(220, deleted=[GONE])
    packed = trace(*events)
    text = json.dumps(msgpack.unpackb(packed)).encode()
    loaded = load_files([(form, packed if form == "cluster.sktrace" else text)])
    assert steps(loaded) == [(20, *DONE[0][1:]), (60, *DONE[1][1:]), (120, *DONE[2][1:])]
    assert loaded.scenario is not None
    assert loaded.scenario["instant"] == "1970-01-01T00:01:40Z"


@pytest.mark.parametrize(
    "data",
    [
        trace(change(1, NODE))[:-9],
        trace(change(1 << 60, NODE)),
        trace({"ts": 1, "deleted_objs": [1]}),
        b'{"config": {}, "events": [{"ts": 1, "deleted_objs": [1]}]}',
    ],
)
def test_a_broken_trace_is_refused_by_name(data: bytes) -> None:
    (problem,) = load_files([("broken.sktrace", data)]).problems
    assert "not a trace of SimKube" in problem.message


NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,32000,262144,8,V100M16\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    "a,1000,2048,1,500,V100M16|T4,LS,Running,10,40,10\n"
    "b,1000,2048,0,0,,LS,Running,0,,0\n"
)


def test_pods_of_an_openb_trace_come_and_go() -> None:
    loaded = load_files([("nodes.csv", NODES.encode()), ("pods.csv", PODS.encode())])
    assert [each["metadata"]["name"] for each in loaded.manifests] == ["n1", "b"]
    assert steps(loaded) == [(10, "create", "a"), (40, "delete", "pod/default/a")]
    assert loaded.scenario is not None
    spec = loaded.scenario["steps"][0]["manifest"]["spec"]
    assert spec["containers"][0]["resources"]["requests"]["alibabacloud.com/gpu-milli"] == "500"
    assert "V100M16" in json.dumps(spec["affinity"])


def test_pods_without_times_are_there_at_once() -> None:
    pods = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\na,1000,2048,1,500\n"
    loaded = load_files([("nodes.csv", NODES.encode()), ("pods.csv", pods)])
    assert [each["metadata"]["name"] for each in loaded.manifests] == ["n1", "a"]
    assert loaded.ok


def test_a_row_without_its_number_is_refused() -> None:
    (problem,) = load_files([("pods.csv", PODS.replace("b,1000", "b,many").encode())]).problems
    assert "a row that is not as the columns say" in problem.message


REFUSED = {
    "audit": (
        {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "verb": "get"},
        "it is an audit log",
    ),
    "kwok": (
        {
            "kind": "ResourcePatch",
            "apiVersion": "action.kwok.x-k8s.io/v1alpha1",
            "method": "create",
        },
        "a step of a KWOK recording",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_recordings_are_refused_by_name(name: str) -> None:
    document, sentence = REFUSED[name]
    text = f"{json.dumps(document)}\n{json.dumps(document)}\n"
    problems = load_files([("recording.json", text.encode())]).problems
    assert sentence in problems[0].message
    both = load_files([("recording.json", f"{json.dumps(NODE)}\n{text}".encode())])
    assert (len(both.manifests), len(both.skipped)) == (1, 2)
