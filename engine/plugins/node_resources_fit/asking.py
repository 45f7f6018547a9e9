"""The requests of a pod, changed so that it asks for a given amount, or no more."""

from __future__ import annotations

from engine.framework.explaining.manifests import deep_copy
from engine.framework.pods.pod_info import PodInfo
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Pod, resource_units


def with_request(info: PodInfo, name: str, most: int) -> Manifest | None:
    """The fields of the pod's spec, lowered so that it asks for at most *most* of a resource.

    None when that cannot be done, as where the overhead alone is more.
    """
    fields = _resourceful(info.pod)
    room = most - _amount(section(info.pod.spec, "overhead"), name)
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


def asking(info: PodInfo, name: str, amount: int) -> Manifest | None:
    """The fields of the pod's spec, changed so that it asks for exactly *amount* of a resource.

    More is asked for by the container that asks for most, or by the pod as a whole where that has
    requests of its own. None when it cannot be done.
    """
    if amount > info.resources.fit.get(name):
        fields = _resourceful(info.pod)
        of_pod = name in section(fields, "resources", "requests")
        _raise(fields if of_pod else _greediest_first(fields, name)[0], name, amount)
        info = PodInfo(info.pod.patched({"spec": fields}), info.rules)
    lowered = with_request(info, name, amount)
    return lowered if lowered and _asked(info, lowered, name) == amount else None


def _resourceful(pod: Pod) -> Manifest:
    """A copy of the fields of a pod's spec that say what it asks for."""
    fields = ("containers", "initContainers", "resources")
    return {key: deep_copy(pod.spec[key]) for key in fields if pod.spec.get(key)}


def _raise(holder: Manifest, name: str, amount: int) -> None:
    """Let the container (or the pod as a whole) request so much, and no less as its limit."""
    text = f"{amount}m" if name == "cpu" else str(amount)
    resources = holder.setdefault("resources", {})
    resources.setdefault("requests", {})[name] = text
    limits: Manifest = resources.get("limits") or {}
    if name in limits and _amount(limits, name) < amount:
        limits[name] = text


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
    return PodInfo(info.pod.patched({"spec": fields}), info.rules).resources.fit.get(name)
