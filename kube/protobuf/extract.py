"""Writes fields.txt: `python -m kube.protobuf.extract FOLDER…`.

The folders are checkouts of k8s.io/api, k8s.io/apimachinery and k8s.io/apiextensions-apiserver, the
oldest first: versions that were
removed since are only in older ones. A line is a message and its fields:

    core.v1.PodSpec volumes=1*core.v1.Volume nodeName=10:string priority=25?int32 …

After the number comes the kind of field: ":" a value that is always sent, "?" one that is sent only
when it is set (a pointer in Go), "*" a list, "%" a map from text.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from kube.resources import SERVED

_MESSAGE = re.compile(r"^message (\w+) \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(
    r"^  (?:(optional|repeated) ([\w.]+)|map<string, ([\w.]+)>) (\w+) = (\d+);$", re.MULTILINE
)
_STRUCT = re.compile(r"^type (\w+) struct \{$(.*?)^\}$", re.MULTILINE | re.DOTALL)
_POINTER = re.compile(r'^\t\w+\s+\*[\w.]+\s+`[^`]*json:"(\w+)', re.MULTILINE)
_SCALARS = frozenset({"string", "bool", "int32", "int64", "double", "bytes"})
_MORE = (
    "core.v1.Binding",
    "policy.v1.Eviction",
    "autoscaling.v1.Scale",
    "authentication.v1.TokenRequest",
    "meta.v1.DeleteOptions",
    "runtime.Unknown",
)
Messages = dict[str, list[tuple[str, int, str, str]]]


def main() -> None:
    """Write the file."""
    messages: Messages = {}
    for folder in map(Path, sys.argv[1:]):
        for proto in sorted(folder.rglob("generated.proto")):
            messages |= _messages(proto)
    lines = [_line(name, messages[name]) for name in sorted(_reached(messages))]
    (Path(__file__).parent / "fields.txt").write_text("".join(lines))


def _package(text: str) -> str:
    """The short name of a package: "meta.v1" for k8s.io.apimachinery.pkg.apis.meta.v1."""
    parts = text.removesuffix(";").split(".")
    return ".".join(parts[-2:] if re.fullmatch(r"v\d\w*", parts[-1]) else parts[-1:])


def _messages(proto: Path) -> Messages:
    text = proto.read_text()
    found = re.search(r"^package (k8s[\w.]+);", text, re.MULTILINE)
    package = _package(found[1]) if found else ""
    pointers = _pointers(proto.parent)
    messages: Messages = {}
    for name, body in _MESSAGE.findall(text):
        fields = messages[f"{package}.{name}"] = []
        for label, plain, of_map, field, number in _FIELD.findall(body):
            kind = "%" if of_map else "*" if label == "repeated" else ":"
            if kind == ":" and field in pointers.get(name, ()):
                kind = "?"
            # Some fields have a capital in the message alone.
            named = f"{field[0].lower()}{field[1:]}"
            named = _json_name(field) if name == "JSONSchemaProps" else named
            fields.append((named, int(number), kind, _type(of_map or plain, package)))
    return messages


def _json_name(field: str) -> str:
    """What JSON calls a field of a schema: "x-kubernetes-list-type" of xKubernetesListType."""
    if field in ("ref", "schema"):
        return f"${field}"
    is_extension = field.startswith("xKubernetes")
    return re.sub(r"[A-Z]", lambda one: f"-{one[0].lower()}", field) if is_extension else field


def _type(name: str, package: str) -> str:
    if name in _SCALARS:
        return name
    before, _, last = name.rpartition(".")
    return f"{_package(before) if before else package}.{last}"


def _pointers(folder: Path) -> dict[str, frozenset[str]]:
    """For each struct of a Go package the JSON names of its fields that are pointers."""
    found: dict[str, frozenset[str]] = {}
    for source in folder.glob("*.go"):
        if not source.name.startswith("zz_") and "generated" not in source.name:
            for name, body in _STRUCT.findall(source.read_text()):
                found[name] = frozenset(_POINTER.findall(body))
    return found


def _reached(messages: Messages) -> Iterator[str]:
    """The messages of the served kinds and all that they hold."""
    wanted = [*_MORE]
    for one in SERVED:
        wanted.append(f"{one.group.partition('.')[0] or 'core'}.{one.version}.{one.kind}")
    seen: dict[str, None] = {}
    while wanted:
        name = wanted.pop()
        if name in messages and name not in seen:
            seen[name] = None
            wanted += [type for *_, type in messages[name]]
    yield from seen


def _line(name: str, fields: list[tuple[str, int, str, str]]) -> str:
    written = [f"{field}={number}{kind}{type}" for field, number, kind, type in fields]
    return " ".join([name, *written]) + "\n"


if __name__ == "__main__":
    main()
