"""Changes after which a node has room for a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import Manifest, resource_units


def ask_for_less(pod: PodInfo, node: str, numbers: Mapping[str, Any]) -> SmallestFix | None:
    """See `Fixes`: one container's request, lowered by what is short, to be tried."""
    # Some details hold plain values too: the label that was found, or None.
    entries = [
        (name, cast("dict[str, int]", entry))
        for name, entry in numbers.items()
        if isinstance(entry, dict)
    ]
    short = [(name, entry) for name, entry in entries if name != "pods" and "short" in entry]
    if len(short) != 1 or len(numbers) != 1:
        return None
    name, entry = short[0]
    patch = _lowered(pod, name, int(entry["short"]))
    if patch is None:
        return None
    asked = int(entry["requested"])
    less = format_amount(name, asked - int(entry["short"]))
    return SmallestFix(
        text=f"Ask for {less} {name} instead of {format_amount(name, asked)} "
        f"and it fits {node} now.",
        object=pod.pod.id,
        patch={"spec": patch},
        is_tried=True,
    )


def _lowered(pod: PodInfo, name: str, short: int) -> Manifest | None:
    """A patch of spec in which one container asks for *short* less, or None if none asks enough."""
    containers: list[Manifest] = [dict(each) for each in pod.pod.containers]
    for container in containers:
        resources: Manifest = dict(container.get("resources") or {})
        requests: Manifest = dict(resources.get("requests") or {})
        if name not in requests:
            continue
        amount = resource_units({name: requests[name]})[name]
        if amount <= short:
            continue
        left = amount - short
        requests[name] = f"{left}m" if name == "cpu" else str(left)
        container["resources"] = {**resources, "requests": requests}
        return {"containers": containers}
    return None
