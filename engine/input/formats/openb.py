"""The OpenB traces of a GPU cluster: nodes and pods in CSV, with the times at which pods come and go.

A share of a GPU is an extended resource in milli, the wanted models a node affinity. Upstream:
hkust-adsl/kubernetes-scheduler-simulator, data/README.md.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from engine.input.formats.watches import Version
from engine.kernel.sentences import say
from engine.objects.documents import DocumentError

Manifest = dict[str, Any]
Row = dict[str, str]
# What such a file is called.
OPENB: Final = say("a table of an OpenB trace")

GPU: Final = "alibabacloud.com/gpu-milli"
MODEL: Final = "gpu-model"
_NODES: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
# Some of its tables say neither which models a pod wants nor when it comes: all are there at once.
_PODS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
# The traces count seconds from a day that they do not name.
_BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_LONGEST_LINE: Final = 4096


def is_openb(data: bytes) -> bool:
    """Whether a file begins with the columns of such a trace."""
    return _kind_of(_columns(data)) != ""


def openb_versions(data: bytes) -> list[Version]:
    """The nodes, or the pods with their arrivals and departures, in order of time.

    Raises DocumentError.
    """
    rows = csv.DictReader(data.decode().splitlines())
    make = _node_versions if _kind_of(_columns(data)) == "nodes" else _pod_versions
    found: list[Version] = []
    try:
        for number, row in enumerate(rows, 2):
            found += make(row, number)
    except (ValueError, TypeError, KeyError, OverflowError, csv.Error) as error:
        message = f"a row that is not as the columns say: {error}"
        raise DocumentError(message, document=1, line=rows.line_num) from None
    return sorted(found, key=_told)


def _told(version: Version) -> str:
    return version.told


def _columns(data: bytes) -> tuple[str, ...]:
    line = data[:_LONGEST_LINE].removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
    return tuple(each.strip() for each in line.decode(errors="replace").split(","))


def _kind_of(columns: Iterable[str]) -> str:
    names = set(columns)
    return "nodes" if names.issuperset(_NODES) else "pods" if names.issuperset(_PODS) else ""


def _node_versions(row: Row, line: int) -> Iterator[Version]:
    yield Version("ADDED", node_of(row), 1, line, _time(0))


def _pod_versions(row: Row, line: int) -> Iterator[Version]:
    pod = pod_of(row)
    yield Version("ADDED", pod, 1, line, _time(int(row.get("creation_time") or 0)))
    if row.get("deletion_time"):
        yield Version("DELETED", pod, 1, line, _time(int(row["deletion_time"])))


def _time(seconds: int) -> str:
    return (_BEGIN + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def node_of(row: Row) -> Manifest:
    """The node of a row."""
    amounts = {
        "cpu": f"{int(row['cpu_milli'])}m",
        "memory": f"{int(row['memory_mib'])}Mi",
        "pods": "110",
        GPU: str(int(row["gpu"]) * 1000),
    }
    labels = {
        "kubernetes.io/hostname": row["sn"],
        **({MODEL: row["model"]} if row["model"] else {}),
    }
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": ready},
    }


def pod_of(row: Row) -> Manifest:
    """The pod of a row."""
    requests = {"cpu": f"{int(row['cpu_milli'])}m", "memory": f"{int(row['memory_mib'])}Mi"}
    milli = int(row["num_gpu"]) * int(row["gpu_milli"] or 0)
    if milli:
        requests[GPU] = str(milli)
    # An extended resource has one amount: what is asked for is the limit as well.
    limits = {"limits": {GPU: str(milli)}} if milli else {}
    container = {"name": "main", "image": "openb", "resources": {"requests": requests, **limits}}
    spec: Manifest = {"containers": [container]}
    if row.get("gpu_spec"):
        wanted = {"key": MODEL, "operator": "In", "values": row["gpu_spec"].split("|")}
        terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"nodeAffinity": required}
    metadata = {"name": row["name"], "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
