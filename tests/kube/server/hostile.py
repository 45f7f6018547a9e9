"""Requests that make no sense, each drawn from its number alone."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import quote

import yaml

from kube.resources import SERVED
from tests.fuzz.samples import HOSTILE, broken_bytes
from tests.kube.server.client import JSON, JSON_PATCH, MERGE, STRATEGIC
from tests.properties.mutations import mutated

YAML = "application/yaml"
APPLY = "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
TYPES = (
    JSON,
    YAML,
    PROTOBUF,
    JSON_PATCH,
    MERGE,
    STRATEGIC,
    APPLY,
    "",
    "text/html",
    "a/b;;c=\u00e9",
)
_METADATA = {
    "name": "web",
    "namespace": "default",
    "labels": {"a": "b"},
    "resourceVersion": "3",
    "uid": "u",
    "finalizers": ["a/b"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b"}],
    "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
}
_POD_SPEC = {
    "containers": [
        {
            "name": "c",
            "image": "app:1",
            "ports": [{"containerPort": 1}],
            "resources": {"requests": {"cpu": "1"}},
            "env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        }
    ],
    "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
}
_BODY: dict[str, Any] = {
    "metadata": _METADATA,
    "spec": {
        **_POD_SPEC,
        "replicas": 2,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": _POD_SPEC},
        "resources": {"requests": {"storage": "1Gi"}},
        "accessModes": ["ReadWriteOnce"],
        "$patch": "replace",
        "$setElementOrder/containers": [{"name": "c"}],
        "$deleteFromPrimitiveList/finalizers": ["a"],
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    "target": {"kind": "Node", "name": "n1"},
    "deleteOptions": {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}},
    "preconditions": {"resourceVersion": "1"},
    "propagationPolicy": "Foreground",
    "involvedObject": {"kind": "Pod", "name": "web", "namespace": "default"},
    "regarding": {"kind": "Node", "name": "n1"},
    "source": {"component": "mine"},
    "reason": "Seen",
    "note": "text",
}
_WORDS = (
    *("", "0", "1", "-1", "true", "All", "Strict", "x", "9" * 40, "\0", "%", "\u00e9", "a=b", "(("),
    *("a in (b", "metadata.name=web", "spec.nodeName!=n1", "NotOlderThan", "Exact", "Background"),
)
_QUERIES = (
    *("labelSelector", "fieldSelector", "limit", "continue", "watch", "resourceVersion"),
    *("resourceVersionMatch", "timeoutSeconds", "allowWatchBookmarks", "sendInitialEvents"),
    *("fieldManager", "fieldValidation", "force", "gracePeriodSeconds", "propagationPolicy"),
    *("includeObject", "pretty", "orphanDependents", "\u00e9"),
)
_ACCEPTS = (
    JSON,
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=Table;v=v9;g=x",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    PROTOBUF,
    "*/*;q=x",
    ";;;,,,",
    "",
)
_PARTS = ("", "status", "scale", "binding", "eviction", "log", "exec", "resize", "token", "..")


@dataclass
class Hostile:
    """One request."""

    method: str
    path: str
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def is_watch(self) -> bool:
        """Whether it may ask for an answer that does not end."""
        return "watch" in self.path


def hostile(number: int, *, tried: bool) -> Hostile:
    """The request of that number; *tried*: as a dry run, so that it must change nothing."""
    draw = Random(number)
    method = draw.choice(("POST", "POST", "PUT", "PATCH", "PATCH", "PATCH", "DELETE", "GET"))
    path = _path(draw, method)
    if draw.random() < 0.1:
        path = quote(broken_bytes(path.encode(), draw).decode("utf-8", "replace"), safe="/%")
    names = draw.sample(_QUERIES, draw.choice((0, 0, 1, 2)))
    query = [f"{quote(name)}={quote(draw.choice(_WORDS))}" for name in names]
    if method == "GET":
        query = [one for one in query if not one.startswith("watch")]
    if tried and method != "GET":
        query.append("dryRun=All")
    content_type = draw.choice(TYPES[:7] if draw.random() < 0.9 else TYPES)
    headers = {"content-type": content_type, "accept": draw.choice(_ACCEPTS)}
    if draw.random() < 0.1:
        headers |= draw.choice(_HEADERS)
    return Hostile(method, f"{path}?{'&'.join(query)}", _body(draw, content_type), headers)


_HEADERS: tuple[dict[str, str], ...] = (
    {"host": "evil.example"},
    {"host": "localhost:80:80"},
    {"host": ""},
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"sec-fetch-site": "cross-site"},
    {"authorization": "Bearer x"},
    {"authorization": "Basic !!!"},
    {"authorization": "Basic Og=="},
    {"content-length": "-5"},
    {"content-encoding": "gzip"},
)


def _path(draw: Random, method: str) -> str:
    resource = draw.choice(SERVED)
    group = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    namespaced = resource.namespaced if draw.random() < 0.95 else not resource.namespaced
    place = "/namespaces/default" if namespaced else ""
    path = f"{group}{place}/{resource.plural}"
    if method != "POST" or draw.random() < 0.3:
        path += "/" + draw.choice(("web", "giant", "n1", "nobody", "x" * 300, "\u00e9", "a:b"))
        part = draw.choice(_PARTS) if draw.random() < 0.4 else ""
        path += f"/{part}" if part else ""
    return path


def _body(draw: Random, content_type: str) -> bytes:
    kind = draw.choice(SERVED)
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **_BODY}
    (body,) = mutated([whole], draw, HOSTILE) or [{}]
    if isinstance(body, dict) and draw.random() < 0.6:
        kept = draw.sample(sorted(body, key=str), k=min(len(body), draw.randint(1, 4)))
        body = {name: body[name] for name in kept}
    if content_type == JSON_PATCH:
        body = mutated(_operations(draw, body), draw, HOSTILE)
    text = _ENCODED.get(content_type, _as_json)(draw, body)
    return broken_bytes(text, draw) if text and draw.random() < 0.25 else text


def _operations(draw: Random, body: Any) -> list[Any]:
    paths = ("", "/", "/metadata/labels/a", "/spec/containers/0", "/spec/containers/-", "/~2", "a")
    names = ("add", "remove", "replace", "move", "copy", "test", "explode")
    return [
        {
            "op": draw.choice(names),
            "path": draw.choice(paths),
            "from": draw.choice(paths),
            "value": body,
        }
        for _ in range(draw.randint(1, 3))
    ]


def _as_json(draw: Random, body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")


def _as_yaml(draw: Random, body: Any) -> bytes:
    return yaml.safe_dump(json.loads(json.dumps(body))).encode("utf-8", "surrogatepass")


# -- protobuf, of which the numbers are those of Kubernetes' generated.proto ---------------------


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _as_protobuf(draw: Random, body: Any) -> bytes:
    texts = [b"web", b"default", b"", b"\xff\xfe", b"x" * 5_000, "\u00e9".encode()]
    metadata = b"".join(_field(number, draw.choice(texts)) for number in (1, 2, 3, 11))
    container = _field(1, draw.choice(texts)) + _field(2, b"app:1") + _field(8, _field(2, b"\x08"))
    spec = b"".join(_field(2, container) for _ in range(draw.randint(0, 2)))
    message = _field(1, broken_bytes(metadata, draw)) + _field(2, spec)
    for _ in range(draw.choice((0, 0, 3, 200))):
        message = _field(draw.choice((1, 2, 3)), message)
    kind = draw.choice(("Pod", "Deployment", "Namespace", "DeleteOptions", "Binding", "None"))
    version = draw.choice(("v1", "apps/v1", "meta.k8s.io/v1", ""))
    named = _field(1, version.encode()) + _field(2, kind.encode())
    return b"k8s\0" + _field(1, named) + _field(2, broken_bytes(message, draw))


_ENCODED: dict[str, Callable[[Random, Any], bytes]] = {
    YAML: _as_yaml,
    APPLY: _as_yaml,
    PROTOBUF: _as_protobuf,
}
