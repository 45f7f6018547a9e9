"""`--nodes 4xgeneral-a1`: nodes like one of the files, beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

from engine.input.load_result import LoadedObject, LoadResult
from engine.objects.manifest_parts import items, section
from kscope.program.speech.errors import ProgramError, similar_help

_ENTRY: Final = re.compile(r"(?P<count>[1-9]\d{0,3})x(?P<name>[^:,\s]+)")
_HOSTNAME: Final = "kubernetes.io/hostname"
# Taints that say how a node is, and not what it is for.
_OF_STATE: Final = "node.kubernetes.io/"
_MOST: Final = 5_000
_READY: Final = [{"type": "Ready", "status": "True"}]


def add_nodes(loaded: LoadResult, text: str) -> None:
    """Add the nodes of a list such as `4xgeneral-a1,2xgpu-a1`. Raises ProgramError."""
    nodes = {each.manifest["metadata"]["name"]: each for each in _of_kind(loaded, "Node")}
    drivers = {each.manifest["metadata"]["name"]: each for each in _of_kind(loaded, "CSINode")}
    for count, name in _wanted(text):
        like = nodes.get(name)
        if like is None:
            helps = similar_help("node", name, nodes)
            raise ProgramError(f"no node is called {name}, to add {count} like it", helps=helps)
        for made in _free_names(name, count, nodes):
            loaded.objects.append(LoadedObject(_node(like.manifest, made), like.origin))
            if name in drivers:
                beside = drivers[name]
                loaded.objects.append(LoadedObject(_driver(beside.manifest, made), beside.origin))


def _of_kind(loaded: LoadResult, kind: str) -> Iterator[LoadedObject]:
    return (each for each in loaded.objects if each.manifest["kind"] == kind)


def _wanted(text: str) -> Iterator[tuple[int, str]]:
    total = 0
    for part in text.split(","):
        match = _ENTRY.fullmatch(part.strip())
        if match is None:
            raise ProgramError(
                f"{part!r} does not say how many nodes like which", helps=["4xgeneral-a1"]
            )
        total += int(match["count"])
        if total > _MOST:
            raise ProgramError(f"more than {_MOST:,} nodes are asked for")
        yield int(match["count"]), match["name"]


def _free_names(name: str, count: int, taken: dict[str, Any]) -> Iterator[str]:
    number = 0
    for _ in range(count):
        number += 1
        while f"{name}-more-{number}" in taken:
            number += 1
        taken[f"{name}-more-{number}"] = None
        yield f"{name}-more-{number}"


def _node(like: dict[str, Any], name: str) -> dict[str, Any]:
    """A node as it joins: ready, not cordoned, with nothing on it."""
    labels = {**section(like, "metadata", "labels"), _HOSTNAME: name}
    taints = [
        deepcopy(each)
        for each in items(section(like, "spec"), "taints")
        if not str(each.get("key")).startswith(_OF_STATE)
    ]
    status = {
        key: deepcopy(value) for key, value in section(like, "status").items() if key in _KEPT
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints} if taints else {},
        "status": {**status, "conditions": deepcopy(_READY)},
    }


_KEPT: Final = ("capacity", "allocatable", "images", "nodeInfo", "features", "declaredFeatures")


def _driver(like: dict[str, Any], name: str) -> dict[str, Any]:
    return {**deepcopy(like), "metadata": {"name": name}}
