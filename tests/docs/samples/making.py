"""Makes the samples that are no text, and those that are written of a run.

The same sources give the same bytes.
"""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgpack
import yaml

from engine.input.formats.collection import Collection, SeenKind
from kscope.exports.registry import FORMATS
from kscope.program.live.files import HEAD
from tests.docs.documents import ROOT

SAMPLES = ROOT / "docs" / "samples"
READ, WRITTEN, SHOP = (SAMPLES / name for name in ("read", "written", "shop"))
SCENARIO = READ / "scenario.yaml"
OF_POD = "pod/urgent"
_READ_AT = "2026-11-20T11:45:00Z"
_OLDEST = (1980, 1, 1, 0, 0, 0)  # that a zip can say

Manifest = dict[str, Any]


def packed() -> Iterator[tuple[Path, bytes]]:
    """The archives of the shop, and a trace of SimKube."""
    yield READ / "troubleshoot-bundle.tar.gz", _tar_gz("bundle", _troubleshoot())
    yield READ / "must-gather.zip", _zip(_must_gather())
    yield READ / "collection.tar.gz", _tar_gz("shop", _collection())
    yield READ / "trace.sktrace", _trace()


def exports() -> Iterator[tuple[Path, bytes]]:
    """The run of the scenario in every format, as the program writes it; not the page, which is built."""
    with tempfile.TemporaryDirectory() as folder:
        for each in FORMATS.values():
            if each.of == "page":
                continue
            path = Path(folder, f"run{each.ending}")
            pod = [OF_POD] if each.of_pod else []
            _kscope("export", SCENARIO.name, *pod, str(path))
            yield WRITTEN / path.name, path.read_bytes()
        _write_gate(Path(folder, "gate"))
        reports = Path(folder, "gate.junit.xml"), Path(folder, "gate.sarif")
        words = "--junit", str(reports[0]), "--sarif", str(reports[1])
        _kscope("test", "gate", *words, room=Path(folder), status=1)
        for path in reports:
            yield WRITTEN / path.name, path.read_bytes()


def _write_gate(folder: Path) -> None:
    """The gate of the tutorial, with the change that it does not let in."""
    parts = (SHOP / "fix.yaml").read_text(), (SHOP / "cluster.yaml").read_text()
    folder.mkdir()
    text = "---\n".join(parts).replace("memory: 5Gi", "memory: 6500Mi")
    (folder / "shop.yaml").write_text(text)


def _kscope(*words: str, room: Path = READ, status: int = 0) -> None:
    command = [sys.executable, "-m", "kscope.program", *words, "--quiet"]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=room, env=environment, capture_output=True, check=False)
    assert done.returncode == status, done.stderr.decode()


def _objects(kind: str) -> list[Manifest]:
    """The objects of the shop of one kind."""
    items: list[Manifest] = yaml.safe_load((SHOP / "cluster.yaml").read_text())["items"]
    return [each for each in items if each["kind"] == kind]


def _list(kind: str) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects(kind)}).encode()


def _troubleshoot() -> Iterator[tuple[str, bytes]]:
    yield "cluster-resources/nodes.json", _list("Node")
    yield "cluster-resources/pvs.json", _list("PersistentVolume")
    yield "cluster-resources/storage-classes.json", _list("StorageClass")
    yield "cluster-resources/pvcs/shop.json", _list("PersistentVolumeClaim")
    yield "cluster-resources/pods/shop.json", _list("Pod")
    yield "version.yaml", b"apiVersion: troubleshoot.sh/v1beta2\nkind: SupportBundle\n"


def _must_gather() -> Iterator[tuple[str, bytes]]:
    cluster, shop = "must-gather/cluster-scoped-resources", "must-gather/namespaces/shop"
    for node in _objects("Node"):
        yield f"{cluster}/core/nodes/{node['metadata']['name']}.yaml", yaml.safe_dump(node).encode()
    yield f"{cluster}/core/persistentvolumes/all.json", _list("PersistentVolume")
    yield f"{shop}/core/persistentvolumeclaims.json", _list("PersistentVolumeClaim")
    yield f"{shop}/core/pods.json", _list("Pod")
    yield "must-gather/timestamp", b"2026-11-20 11:45:00"


def _collection() -> Iterator[tuple[str, bytes]]:
    kinds = {"nodes": "Node", "pods": "Pod", "persistentvolumes": "PersistentVolume"}
    kinds |= {"persistentvolumeclaims": "PersistentVolumeClaim"}
    kinds |= {"storageclasses": "StorageClass"}
    seen = [SeenKind(name, kind, "all", len(_objects(kind))) for name, kind in kinds.items()]
    told = Collection("shop", "eva", "shop", "v1.34.2", _READ_AT, tuple(seen))
    yield HEAD, json.dumps(told.to_document()).encode()
    for name, kind in kinds.items():
        yield f"{name}-001.json", _list(kind)


def _trace() -> bytes:
    node, pod = _objects("Node")[0], _objects("Pod")[1]
    new = {key: pod["metadata"][key] for key in ("namespace", "name", "labels")}
    fresh = {**pod, "metadata": new, "status": {}, "spec": {**pod["spec"], "nodeName": None}}
    changes: list[Manifest] = [
        {"ts": 1763640000, "applied_objs": [node], "deleted_objs": []},
        {"ts": 1763640020, "applied_objs": [fresh], "deleted_objs": []},
        {"ts": 1763640080, "applied_objs": [], "deleted_objs": [fresh]},
    ]
    parts: Mapping[str, Any] = {"version": 2, "config": {}, "events": changes, "index": {}}
    data = msgpack.packb(parts)
    assert data is not None
    return bytes(data)


def _tar_gz(folder: str, files: Iterable[tuple[str, bytes]]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in files:
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), mtime=0)


def _zip(files: Iterable[tuple[str, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            member = zipfile.ZipInfo(name, _OLDEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, data)
    return packed.getvalue()
