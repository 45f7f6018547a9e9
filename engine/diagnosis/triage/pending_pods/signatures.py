"""What makes two refusals the same cause: the rule that refuses, and the object behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import orjson

from engine.diagnosis.causes import Refused, shortages
from engine.diagnosis.explaining import family_of
from engine.diagnosis.report import Cause
from engine.diagnosis.world import World
from engine.framework.explaining.manifests import HOSTNAME
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod

Signature = tuple[str, ...]


def signature_of(world: World, main: Cause, refused: Sequence[Refused], workload: str) -> Signature:
    """What pods of one group share; *workload* where the rule is the pod's own."""
    owner = workload or world.pod.namespace
    find = _FAMILIES.get(family_of(world, main.plugin))
    if find is None:
        return (main.plugin, *main.reasons, owner)
    return find(world, main, refused, owner)


def _taint(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    """The taint; not who lacks the toleration."""
    return ("taint", *_texts(main, refused))


def _resources(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    """What is short, and on which nodes; a request that no node could meet is the pod's own."""
    nearest = next((each for each in refused if each.node in main.nodes), refused[0])
    short = sorted({name for each in nearest.obstacles for name in shortages(each.detail)})
    node = world.table.node(nearest.row)
    if any(_is_beyond(world, node, name) for name in short):
        return ("resources", *short, owner)
    return ("resources", *short, _pool(node))


def _is_beyond(world: World, node: Node, name: str) -> bool:
    return world.info().resources.fit.get(name) > node.allocatable_units.get(name, 0)


def _pool(node: Node) -> str:
    """Nodes of one shape and purpose, wherever they stand."""
    labels = {
        key: value
        for key, value in node.labels.items()
        if key != HOSTNAME and not any(word in key for word in ("zone", "region", "hostname"))
    }
    shape = (dict(node.allocatable), labels, node.taints)
    return orjson.dumps(shape, option=orjson.OPT_SORT_KEYS).decode()


def _volume(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    """The nodes that the volume leaves."""
    if len(main.nodes) == len(world.table):
        return ("volume", *main.reasons, *_claims_behind(world.pod), owner)
    return ("volume", *sorted(node.name for node in world.nodes_beside(main.nodes)))


def _claims_behind(pod: Pod) -> list[str]:
    return [str(pod.claim_names[0])] if len(pod.claim_names) == 1 else []


def _port(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    ports = sorted(
        str(port.get("hostPort"))
        for container in items(world.pod.spec, "containers")
        for port in items(container, "ports")
        if port.get("hostPort")
    )
    return ("port", *ports, owner)


def _selector(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    """The labels that are wanted."""
    wanted = sorted(
        f"{key}={value}" for key, value in section(world.pod.spec, "nodeSelector").items()
    )
    return ("selector", *wanted) if wanted else ("selector", owner)


def _affinity(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    """The pod's own rule about other pods."""
    return ("affinity", owner)


def _devices(world: World, main: Cause, refused: Sequence[Refused], owner: str) -> Signature:
    return ("devices", *device_classes(world))


def device_classes(world: World) -> list[str]:
    """The DeviceClasses that the claims of the pod ask for."""
    found: dict[str, None] = {}
    for claim in resource_claims(world):
        for request in items(section(claim, "spec", "devices"), "requests"):
            exact = request.get("exactly") or request
            found[str(exact.get("deviceClassName"))] = None
            for choice in items(request, "firstAvailable"):
                found[str(choice.get("deviceClassName"))] = None
    return sorted(name for name in found if name != "None")


def resource_claims(world: World) -> list[Manifest]:
    """The ResourceClaims of the pod, and those that its templates would make, as manifests."""
    listers, pod = world.listers, world.pod
    made = {
        str(each.get("name")): each.get("resourceClaimName")
        for each in items(pod.status, "resourceClaimStatuses")
    }
    found: list[Manifest] = []
    for each in items(pod.spec, "resourceClaims"):
        name = made.get(str(each.get("name"))) or each.get("resourceClaimName")
        claim = listers.get("ResourceClaim", f"{pod.namespace}/{name}")
        template = f"{pod.namespace}/{each.get('resourceClaimTemplateName')}"
        if claim is not None:
            found.append(claim.raw)
        elif (made_from := listers.get("ResourceClaimTemplate", template)) is not None:
            found.append(dict(made_from.spec))
    return found


def _texts(main: Cause, refused: Sequence[Refused]) -> list[str]:
    """What the refusing plugin says of the closest node of the cause."""
    for each in refused:
        if each.node in main.nodes:
            return [one.detail.text for one in each.obstacles if one.name == main.plugin]
    return list(main.reasons)


_Family = Callable[[World, Cause, Sequence[Refused], str], Signature]
_FAMILIES: Final[Mapping[str, _Family]] = {
    "taint": _taint,
    "resources": _resources,
    "volume": _volume,
    "volume zone": _volume,
    "port": _port,
    "selector": _selector,
    "devices": _devices,
    "affinity": _affinity,
}
