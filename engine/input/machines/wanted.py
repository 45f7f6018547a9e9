"""The nodes that people ask for beside their files: `10xm5.large,3xn2-standard-8:zone=a,b,c`.

A name is an instance type of the catalogue, or a node of the files: then new nodes are like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from engine.input.machines.catalogue import InstanceType, instance_types
from engine.kernel.sentences import Sentence, any_of, grouped, say
from engine.objects.manifest_parts import section

Manifest = dict[str, Any]

MOST_NODES: Final = 15_000
_ENTRY: Final = re.compile(r"(?P<count>\d{1,6})x(?P<name>[^:]+)(?::(?P<option>.*))?", re.DOTALL)
_ZONE_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_REGION: Final = "topology.kubernetes.io/region"
_READY: Final = [{"type": "Ready", "status": "True"}]


@dataclass(frozen=True, slots=True)
class WantedNodes:
    """So many nodes of an instance type, or like a node, in zones in turn."""

    count: int
    name: str
    zones: tuple[str, ...] = ()


def parse_wanted(text: str) -> list[WantedNodes]:
    """The nodes of a list such as `10xm5.large,3xn2-standard-8:zone=a,b,c`. Raises ValueError."""
    found: list[WantedNodes] = []
    for part in _entries(text):
        match = _ENTRY.fullmatch(part)
        if match is None:
            raise ValueError(
                say(
                    "{part} does not say how many nodes of which type; write it as 10xm5.large or 3xn2-standard-8:zone=a,b,c",
                    part=repr(part),
                )
            )
        count = int(match["count"])
        if not 0 < count <= MOST_NODES:
            raise ValueError(
                say(
                    "{count} nodes are asked for; at least 1 and at most {most_nodes} can be",
                    count=grouped(count),
                    most_nodes=grouped(MOST_NODES),
                )
            )
        found.append(WantedNodes(count, match["name"].strip(), _zones(match["option"])))
    if sum(each.count for each in found) > MOST_NODES:
        raise ValueError(
            say("more than {most_nodes} nodes are asked for in all", most_nodes=grouped(MOST_NODES))
        )
    return found


def _entries(text: str) -> list[str]:
    """The parts at the commas, but for those between the values of an option."""
    found: list[str] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if found and ":" in found[-1] and not re.match(r"\d+x", part):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found


def _zones(option: str | None) -> tuple[str, ...]:
    if option is None:
        return ()
    name, _, values = option.partition("=")
    zones = tuple(each.strip() for each in values.split(",") if each.strip())
    wrong = next((each for each in zones if not _ZONE_NAME.fullmatch(each)), None)
    if wrong is not None:
        raise ValueError(say("{wrong} is not the name of a zone", wrong=repr(wrong)))
    if name.strip() != "zone" or not zones:
        raise ValueError(
            say(
                "{option} is not known; after the type only zone=a,b,c may stand",
                option=repr(option),
            )
        )
    return zones


def nodes_of(
    wanted: Sequence[WantedNodes], given: Mapping[str, Manifest], csi_nodes: Mapping[str, Manifest]
) -> list[Manifest]:
    """The manifests of *wanted*; *given* are the nodes of the files by name, *csi_nodes* theirs.

    CSINodes are made beside them where the files have some, or no nodes. Raises ValueError.
    """
    taken = dict.fromkeys(given)
    has_csi_nodes = bool(csi_nodes) or not given
    made: list[Manifest] = []
    for each in wanted:
        like, type_ = given.get(each.name), instance_types().get(each.name.lower())
        if like is None and type_ is None:
            raise ValueError(_unknown(each.name, given))
        names = _free_names(each, taken)
        for place, name in enumerate(names):
            zone = each.zones[place % len(each.zones)] if each.zones else ""
            if like is not None:
                made += _copies(like, csi_nodes.get(each.name), name, zone)
            elif type_ is not None:
                made += _of_type(type_, name, zone, has_csi_nodes=has_csi_nodes)
    return made


def _unknown(name: str, given: Mapping[str, Manifest]) -> Sentence:
    known = [each.name for each in instance_types().values()]
    close = get_close_matches(name, [*given, *known], 3, 0.5)
    if not close:
        return say(
            "there is no instance type and no node of the files called {name}", name=repr(name)
        )
    return say(
        "there is no instance type and no node of the files called {name}; do you mean {list}?",
        name=repr(name),
        list=any_of(close),
    )


def _free_names(wanted: WantedNodes, taken: dict[str, None]) -> Iterator[str]:
    stem = wanted.name.lower().replace("_", "-")
    number = 0
    for _ in range(wanted.count):
        number += 1
        while f"{stem}-{number}" in taken:
            number += 1
        name = f"{stem}-{number}"
        taken[name] = None
        yield name


def _of_type(type_: InstanceType, name: str, zone: str, *, has_csi_nodes: bool) -> list[Manifest]:
    gpus = {"nvidia.com/gpu": str(type_.gpus)} if type_.gpus else {}
    pods = {"pods": str(type_.pods), **gpus}
    capacity = {"cpu": f"{type_.cpu}m", "memory": f"{type_.memory}Mi", **pods}
    allocatable = {
        "cpu": f"{type_.allocatable_cpu}m",
        "memory": f"{type_.allocatable_memory}Mi",
        **pods,
    }
    labels = {
        _HOSTNAME: name,
        "kubernetes.io/arch": type_.arch,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": type_.name,
        **({_REGION: type_.region} if type_.region else {}),
        **({_ZONE: zone} if zone else {}),
    }
    status = {"capacity": capacity, "allocatable": allocatable, "conditions": deepcopy(_READY)}
    node = _node(name, {"labels": labels}, {}, status)
    if not has_csi_nodes or not type_.driver:
        return [node]
    return [node, _csi_node(name, type_)]


def _csi_node(name: str, type_: InstanceType) -> Manifest:
    keys = {"ebs.csi.aws.com": "topology.ebs.csi.aws.com/zone", "pd.csi.storage.gke.io": _ZONE}
    driver: Manifest = {"name": type_.driver, "nodeID": name}
    driver["topologyKeys"] = [keys.get(type_.driver, _ZONE)]
    if type_.volumes:
        driver["allocatable"] = {"count": type_.volumes}
    metadata = {"name": name}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": metadata,
        "spec": {"drivers": [driver]},
    }


def _copies(like: Manifest, csi_node: Manifest | None, name: str, zone: str) -> list[Manifest]:
    """A node like *like*, as it joins: ready, not cordoned, with nothing on it."""
    labels = {**section(like, "metadata", "labels"), _HOSTNAME: name}
    labels |= {
        key: zone
        for key in (_ZONE, "failure-domain.beta.kubernetes.io/zone")
        if zone and (key in labels or key == _ZONE)
    }
    taints = [
        each
        for each in section(like, "spec").get("taints") or ()
        if not str(each.get("key")).startswith("node.kubernetes.io/")
    ]
    status = {
        part: deepcopy(section(like, "status")[part])
        for part in (
            "capacity",
            "allocatable",
            "images",
            "nodeInfo",
            "features",
            "declaredFeatures",
        )
        if part in section(like, "status")
    }
    spec = {"taints": deepcopy(taints)} if taints else {}
    node = _node(name, {"labels": labels}, spec, {**status, "conditions": deepcopy(_READY)})
    if csi_node is None:
        return [node]
    beside = {part: deepcopy(each) for part, each in csi_node.items() if part != "metadata"}
    return [node, {**beside, "metadata": {"name": name}}]


def _node(name: str, metadata: Manifest, spec: Manifest, status: Manifest) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **metadata},
        "spec": spec,
        "status": status,
    }
