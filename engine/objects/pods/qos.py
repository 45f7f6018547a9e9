"""The quality of service class of a pod: who is evicted, and resized, first.

Upstream: pkg/apis/core/helper/qos, ComputePodQOS().
"""

from collections.abc import Mapping
from typing import Any, Final

from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.values.quantity import parse

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"
_COUNTED: Final = ("cpu", "memory")


def qos_class(spec: Mapping[str, Any]) -> str:
    """The class of a pod with this *spec*: Guaranteed, Burstable or BestEffort.

    Only cpu and memory count. Requests of the pod as a whole take the place of those of its containers.
    """
    containers = [*items(spec, "containers"), *items(spec, "initContainers")]
    holders = [spec] if section(spec, "resources") else containers
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    is_limited = True
    for holder in holders:
        _add(requests, section(holder, "resources", "requests"))
        is_limited &= _add(limits, section(holder, "resources", "limits")) == len(_COUNTED)
    if not requests and not limits:
        return BEST_EFFORT
    if is_limited and all(limits[name] == amount for name, amount in requests.items()):
        return GUARANTEED if len(requests) == len(limits) else BURSTABLE
    return BURSTABLE


def _add(totals: dict[str, int], amounts: Manifest) -> int:
    """Add cpu and memory of *amounts* to *totals*; returns how many of the two are above 0."""
    found = 0
    for name in _COUNTED:
        nanos = parse(amounts[name]).nanos if name in amounts else 0
        if nanos > 0:
            totals[name] = totals.get(name, 0) + nanos
            found += 1
    return found
