"""Instance types of clouds and of local clusters, and what of each is left for pods.

`instance_types.json` has the types, family by family, as their providers publish them, and where each
figure is from. How many pods and volumes a type takes, and what a provider keeps for the system, are
rules: see _pods(), _volumes(), _reserved_cpu() and _reserved_memory().
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

_FILE: Final = Path(__file__).with_name("instance_types.json")
_MIB_OF_GIB: Final = 1024
# The kubelet evicts pods before the last of the memory is used.
_EVICTION_MIB: Final = 100
# What firmware and kernel of an EC2 machine take of its memory, in thousandths.
_AWS_OVERHEAD: Final = 75
# AKS keeps that many thousandths of a CPU, by the number of CPUs.
_AZURE_CPU: Final = {1: 60, 2: 100, 4: 140, 8: 180, 16: 260, 32: 420, 64: 740}
# GKE keeps these parts of the first GiB, the next, and so on, in percent.
_GCP_MEMORY: Final = ((4, 25), (4, 20), (8, 10), (112, 6))
_GCP_MEMORY_REST: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """A machine, and what of it pods can have: CPUs in thousandths, memory in MiB."""

    name: str
    provider: str
    # What the provider calls its clusters.
    service: str
    cpu: int
    memory: int
    allocatable_cpu: int
    allocatable_memory: int
    pods: int
    gpus: int = 0
    # How many volumes of the driver attach to it; 0 where that is not known.
    volumes: int = 0
    driver: str = ""
    region: str = ""
    arch: str = "amd64"
    family: str = ""
    # What each figure is from: `types` is the page of the family.
    sources: Mapping[str, str] = field(default_factory=dict[str, str])


@lru_cache(maxsize=1)
def instance_types() -> Mapping[str, InstanceType]:
    """Every type by its name in lower case."""
    found: dict[str, InstanceType] = {}
    for provider, group in orjson.loads(_FILE.read_bytes()).items():
        for family, kin in group["families"].items():
            for name, one in kin["types"].items():
                origin = _Origin(provider, family, kin["source"], group)
                found[name.lower()] = _type(name, origin, one)
    return found


class _Origin(NamedTuple):
    """Where a type stands in the file."""

    provider: str
    family: str
    source: str
    group: Mapping[str, Any]


def _type(name: str, origin: _Origin, one: Mapping[str, Any]) -> InstanceType:
    group = origin.group
    rule, cpus, pods = group["reserved"], one["cpu"], _pods(one)
    memory = int(one["memory_gib"] * _MIB_OF_GIB)
    usable = memory - memory * _AWS_OVERHEAD // 1000 if rule == "aws" else memory
    return InstanceType(
        name=name,
        provider=origin.provider,
        service=group["title"],
        cpu=cpus * 1000,
        memory=usable,
        allocatable_cpu=cpus * 1000 - _reserved_cpu(rule, cpus),
        allocatable_memory=usable - _reserved_memory(rule, usable, pods),
        pods=pods,
        gpus=one.get("gpus", 0),
        volumes=_volumes(one),
        driver=group["driver"],
        region=group["region"],
        arch=one.get("arch", "amd64"),
        family=origin.family,
        sources={"types": origin.source, **group["sources"]},
    )


def _pods(one: Mapping[str, Any]) -> int:
    """On EKS each pod has an address: an interface keeps its first, and two pods use the node's."""
    if "interfaces" in one:
        return int(one["interfaces"] * (one["addresses"] - 1) + 2)
    return int(one["pods"])


def _volumes(one: Mapping[str, Any]) -> int:
    """The disks beside the one that the machine boots from; Azure counts that one apart."""
    return int(one["disks"] if "disks" in one else max(one.get("attachments", 1) - 1, 0))


def _reserved_cpu(rule: str, cpus: int) -> int:
    """Thousandths of a CPU: 6 % of the first, 1 % of the second, 0.5 % of two more, 0.25 % of the rest."""
    if rule == "none":
        return 0
    if rule == "azure":
        return next((kept for least, kept in sorted(_AZURE_CPU.items()) if cpus <= least), 740)
    kept = 60 + 10 * (cpus > 1) + 5 * min(max(cpus - 2, 0), 2)
    return kept + max(cpus - 4, 0) * 5 // 2


def _reserved_memory(rule: str, memory: int, pods: int) -> int:
    """MiB that kubelet, runtime and system keep, with the threshold of eviction."""
    if rule == "aws":
        return 255 + 11 * pods + _EVICTION_MIB
    if rule == "azure":
        return min(20 * pods + 50, memory // 4) + _EVICTION_MIB
    if rule == "gcp":
        return _reserved_by_gke(memory) + _EVICTION_MIB
    return 0


def _reserved_by_gke(memory: int) -> int:
    kept, rest = 0, memory
    for gib, percent in _GCP_MEMORY:
        part = min(rest, gib * _MIB_OF_GIB)
        kept, rest = kept + part * percent // 100, rest - part
    return kept + rest * _GCP_MEMORY_REST // 100
