"""Dumps as large as those of real clusters: what `kubectl get … --show-managed-fields` prints.

The objects are those of the sick cluster, with what an export has beside them: managed fields, and
in pods and nodes the environment, probes, mounts and images that nothing here depends on. They are
written one by one, so a dump of any size needs the memory of one object.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

import orjson
import yaml

from bench.shapes import Manifest
from bench.sick import Size, sick_cluster

Form = Literal["indented", "compact", "yaml"]

_WRITTEN: Final = "2026-11-27T14:17:00Z"
_SETTINGS: Final = 6
_IMAGES: Final = 40
_INDENT: Final = b"    "
# Who writes an object beside its author, and what part of it.
_WRITERS: Final = {
    "Pod": (("kube-controller-manager", "", "spec"), ("kubelet", "status", "status")),
    "Node": (("kube-controller-manager", "", "spec"), ("kubelet", "status", "status")),
}
_USUAL: Final = (("kubectl-client-side-apply", "", "spec"), ("controller", "status", "status"))


def write_dump(path: Path, size: Size, form: Form = "indented") -> int:
    """Write the dump of a cluster of *size* to *path*; the number of its bytes."""
    with path.open("wb") as file:
        for piece in pieces(size, form):
            file.write(piece)
        return file.tell()


def pieces(size: Size, form: Form = "indented") -> Iterator[bytes]:
    """The text of a dump, piece by piece."""
    objects = (_exported(each) for each in sick_cluster(size))
    if form == "yaml":
        yield b"apiVersion: v1\nitems:\n"
        for each in objects:
            yield _as_yaml(each)
        yield b'kind: List\nmetadata:\n  resourceVersion: ""\n'
        return
    is_indented = form == "indented"
    yield (
        b'{\n    "apiVersion": "v1",\n    "items": ['
        if is_indented
        else b'{"apiVersion":"v1","items":['
    )
    between = b""
    for each in objects:
        yield between + (_as_indented(each) if is_indented else orjson.dumps(each))
        between = b","
    yield _TAIL if is_indented else b'],"kind":"List","metadata":{"resourceVersion":""}}\n'


_TAIL: Final = (
    b'\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n'
)


def _as_indented(manifest: Manifest) -> bytes:
    """As kubectl indents: by four spaces."""
    lines = orjson.dumps(manifest, option=orjson.OPT_INDENT_2).split(b"\n")
    return b"".join(b"\n" + _INDENT * 2 + _deeper(line) for line in lines)


def _deeper(line: bytes) -> bytes:
    rest = line.lstrip(b" ")
    return b" " * (2 * (len(line) - len(rest))) + rest


def _as_yaml(manifest: Manifest) -> bytes:
    text: bytes = yaml.dump(
        manifest, Dumper=yaml.CSafeDumper, encoding="utf-8", allow_unicode=True, width=2**20
    )
    first, *rest = text.splitlines(keepends=True)
    return b"- " + first + b"".join(b"  " + line for line in rest)


def _exported(manifest: Manifest) -> Manifest:
    kind = manifest["kind"]
    if kind == "Pod":
        manifest = {**manifest, "spec": _pod_spec(manifest["spec"])}
    elif kind == "Node":
        manifest = {**manifest, "status": {**manifest["status"], "images": _images()}}
    metadata = {**manifest["metadata"], "managedFields": _managed_fields(manifest)}
    return dict(sorted({**manifest, "metadata": dict(sorted(metadata.items()))}.items()))


def _pod_spec(spec: Manifest) -> Manifest:
    return {**spec, "containers": [_container(each) for each in spec["containers"]]}


def _container(container: Manifest) -> Manifest:
    """The container with its settings, as charts give them."""
    probe = {
        "failureThreshold": 3,
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "successThreshold": 1,
        "timeoutSeconds": 1,
    }
    env = [
        {"name": f"SETTING_{number:02d}", "value": f"https://service-{number}.example.com:8443/v1"}
        for number in range(_SETTINGS)
    ]
    return {
        "args": ["--config=/etc/app/config.yaml", "--log-level=info", "--metrics-address=:9090"],
        "env": env,
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        **container,
    }


def _images() -> list[Manifest]:
    return [_image(number) for number in range(_IMAGES)]


def _image(number: int) -> Manifest:
    digest = hashlib.sha256(f"image-{number}".encode()).hexdigest()
    name = f"registry.example.com/team/image-{number}"
    names = [f"{name}@sha256:{digest}", f"{name}:1.{number}.0"]
    return {"names": names, "sizeBytes": 10_000_000 + number * 1_000_003}


def _managed_fields(manifest: Manifest) -> list[Manifest]:
    """Who wrote which fields of the object, as API servers keep it."""
    found: list[Manifest] = []
    for manager, subresource, part in _WRITERS.get(manifest["kind"], _USUAL):
        if part not in manifest:
            continue
        owned: Manifest = {f"f:{part}": _owned(manifest[part])}
        if not subresource:
            owned["f:metadata"] = _owned(
                {key: value for key, value in manifest["metadata"].items() if key != "name"}
            )
        found.append(
            {
                "apiVersion": manifest["apiVersion"],
                "fieldsType": "FieldsV1",
                "fieldsV1": owned,
                "manager": manager,
                "operation": "Update",
                **({"subresource": subresource} if subresource else {}),
                "time": _WRITTEN,
            }
        )
    return found


def _owned(value: Any) -> Manifest:
    """The set of the fields of *value*. Upstream: structured-merge-diff, fieldpath."""
    if isinstance(value, dict):
        return {f"f:{name}": _owned(part) for name, part in value.items()}
    if isinstance(value, list):
        found: Manifest = {}
        for each in value:
            if isinstance(each, dict):
                keys = {name: each[name] for name in ("name", "type", "uid", "key") if name in each}
                key = orjson.dumps(dict(list(keys.items())[:1])).decode()
                found[f"k:{key}"] = {".": {}, **_owned(each)}
        return found
    return {}
