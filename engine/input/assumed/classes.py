"""Placeholders for the PriorityClasses and RuntimeClasses that admitted pods name.

Without them a controller could not make the pods of a workload again: the API server refuses a pod
whose class does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.input.assumed.placeholder import Placeholder, assumed
from engine.kernel.sentences import grouped, say, say_count
from engine.objects.manifest_parts import section

Manifest = dict[str, Any]

# These exist in every cluster. Upstream: pkg/apis/scheduling/v1/helpers.go, systemPriorityClasses.
_ALWAYS: Final = "system-"
_NEVER: Final = "Never"


def absent_classes(objects: Sequence[Manifest]) -> Iterator[Placeholder]:
    """One for each class that a pod which a cluster has admitted names, and *objects* have not."""
    known = {(each["kind"], each["metadata"]["name"]) for each in objects}
    users: dict[tuple[str, str], list[Manifest]] = {}
    for each in objects:
        if each["kind"] == "Pod" and _is_admitted(each):
            for key in _named(each):
                if key not in known:
                    users.setdefault(key, []).append(each)
    for (kind, name), pods in users.items():
        yield _priority_class(name, pods) if kind == "PriorityClass" else _runtime_class(name, pods)


def _is_admitted(pod: Manifest) -> bool:
    return bool(section(pod, "spec").get("nodeName") or section(pod, "status").get("phase"))


def _named(pod: Manifest) -> Iterator[tuple[str, str]]:
    spec = section(pod, "spec")
    name = spec.get("priorityClassName")
    # A pod that was admitted has the number; what has none is no export of a cluster.
    if name and not name.startswith(_ALWAYS) and isinstance(spec.get("priority"), int):
        yield "PriorityClass", name
    if spec.get("runtimeClassName"):
        yield "RuntimeClass", spec["runtimeClassName"]


def _priority_class(name: str, pods: Sequence[Manifest]) -> Placeholder:
    spec = section(pods[0], "spec")
    value = spec["priority"]
    never = {"preemptionPolicy": _NEVER} if spec.get("preemptionPolicy") == _NEVER else {}
    sentence = say_count(
        "PriorityClass {name} is not in these files; it is assumed to have the value {value}, which the one pod of it has.",
        "PriorityClass {name} is not in these files; it is assumed to have the value {value}, which its {count} pods have.",
        len(pods),
        name=name,
        value=grouped(value),
        count=grouped(len(pods)),
    )
    manifest = _manifest("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **never)
    return assumed(manifest, sentence)


def _runtime_class(name: str, pods: Sequence[Manifest]) -> Placeholder:
    overhead = section(pods[0], "spec").get("overhead")
    sentence = (
        say(
            "RuntimeClass {name} is not in these files; it is assumed to have the overhead of its pods.",
            name=name,
        )
        if overhead
        else say(
            "RuntimeClass {name} is not in these files; it is assumed to have no overhead, as its pods have none.",
            name=name,
        )
    )
    parts: Manifest = {"overhead": {"podFixed": overhead}} if overhead else {}
    return assumed(
        _manifest("node.k8s.io/v1", "RuntimeClass", name, handler=name, **parts), sentence
    )


def _manifest(version: str, kind: str, name: str, **parts: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **parts}
