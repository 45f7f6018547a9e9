"""Reads parts of manifests; a part that is absent or null reads as an empty one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def section(manifest: Mapping[str, Any], *path: str) -> dict[str, Any]:
    """The mapping at *path*."""
    found: Any = manifest
    for name in path:
        found = found.get(name) or {}
    return found


def items(manifest: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The list of mappings called *name*."""
    return list(manifest.get(name) or ())


def wanted_pods(workload: Mapping[str, Any]) -> int:
    """How many pods a workload should have, whose controllers create them."""
    if workload["kind"] == "DaemonSet":
        return int(section(workload, "status").get("desiredNumberScheduled") or 0)
    if workload["kind"] == "Job":
        is_over = section(workload, "status").get("completionTime")
        is_over = is_over or section(workload, "spec").get("suspend")
        return 0 if is_over else int(section(workload, "spec").get("parallelism", 1))
    replicas = section(workload, "spec").get("replicas")
    return 1 if replicas is None else int(replicas)
