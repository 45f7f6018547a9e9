"""Asking for less: exactly so much that some node has room."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.candidates import (
    NODES,
    Candidate,
    Situation,
    patched,
    replaced,
    template_note,
)
from engine.diagnosis.causes import shortages
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.manifests import deep_copy
from engine.framework.pods.pod_info import PodInfo
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, resource_units

_LESS = "Less is reserved for it: measure first what it uses."


def smaller_requests(situation: Situation) -> Iterator[Candidate]:
    """Ask for exactly so much less that a node has room; the smallest part of a request first."""
    world, pod = situation.world, situation.pod
    wanted: dict[tuple[str, int], float] = {}
    for each in situation.refused:
        # Each resource that is short counts as an obstacle of its own.
        if each.distance[1] > 1 + situation.others:
            continue
        for obstacle in each.obstacles:
            for name, share in shortages(obstacle.detail).items():
                numbers: dict[str, int] = obstacle.detail.numbers[name]
                room = numbers["allocatable"] - numbers["used"]
                if room > 0 and name != "pods":
                    wanted.setdefault((name, room), share)
    for (name, room), _ in sorted(wanted.items(), key=_share_and_name)[:NODES]:
        smaller = with_request(world.info(), name, room)
        if smaller is None:
            continue
        asked, less = (format_amount(name, n) for n in (_request(world.info(), name), room))
        text = f"Ask for {less} {name} instead of {asked}"
        changed = [field for field in smaller if smaller[field] != pod.spec.get(field)]
        if set(changed) <= {"containers", "initContainers"}:
            patch = {"spec": {field: smaller[field] for field in changed}}
            command = patched(pod.id, patch)
            note = template_note(pod, breaks=_LESS)
            yield Candidate(kind="requests", text=text, command=command, note=note)
        else:
            yield replaced(pod, smaller, kind="requests", text=text, breaks=_LESS)


def _share_and_name(entry: tuple[tuple[str, int], float]) -> tuple[float, str]:
    (name, _), share = entry
    return share, name


def _request(info: PodInfo, name: str) -> int:
    return info.resources.fit.get(name)


def with_request(info: PodInfo, name: str, most: int) -> Manifest | None:
    """The fields of the pod's spec, lowered so that it asks for at most *most* of a resource.

    None when that cannot be done, as where the overhead alone is more.
    """
    pod = info.pod
    fields: Manifest = {
        key: deep_copy(pod.spec[key])
        for key in ("containers", "initContainers", "resources")
        if pod.spec.get(key)
    }
    room = most - _amount(section(pod.spec, "overhead"), name)
    for container in items(fields, "initContainers"):
        if container.get("restartPolicy") != "Always":
            _lower(container, name, room)
    if "resources" in fields:
        _lower(fields, name, room)
    for container in _greediest_first(fields, name):
        excess = _asked(info, fields, name) - most
        if excess <= 0:
            break
        _lower(container, name, _own_request(container, name) - excess)
    return fields if _asked(info, fields, name) <= most else None


def _greediest_first(fields: Manifest, name: str) -> list[Manifest]:
    """The containers that run side by side."""
    sidecars = [
        each for each in items(fields, "initContainers") if each.get("restartPolicy") == "Always"
    ]
    beside = [
        (-_own_request(each, name), place, each)
        for place, each in enumerate((*items(fields, "containers"), *sidecars))
    ]
    return [each for _, _, each in sorted(beside, key=_by_request)]


def _by_request(entry: tuple[int, int, Manifest]) -> tuple[int, int]:
    return entry[:2]


def _lower(holder: Manifest, name: str, most: int) -> None:
    """Let the container (or the pod as a whole) request at most *most*; 0 is the least."""
    if _own_request(holder, name) <= max(most, 0):
        return
    amount = f"{max(most, 0)}m" if name == "cpu" else str(max(most, 0))
    resources = holder["resources"]
    resources["requests"][name] = amount
    if "/" in name and name in (resources.get("limits") or {}):
        # Of an extended resource the limit is the request.
        resources["limits"][name] = amount


def _own_request(holder: Manifest, name: str) -> int:
    return _amount(section(holder, "resources", "requests"), name)


def _amount(quantities: Manifest, name: str) -> int:
    return resource_units({name: quantities[name]})[name] if name in quantities else 0


def _asked(info: PodInfo, fields: Manifest, name: str) -> int:
    """What the pod asks for with other *fields* in its spec."""
    return _request(PodInfo(info.pod.patched({"spec": fields}), info.rules), name)
