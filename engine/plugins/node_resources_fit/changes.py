"""Changes after which a node has room for a pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from engine.framework.explaining.amounts import format_amount, shortages
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.proposes import Proposal, pod_made_anew, template_note
from engine.framework.explaining.refusals import NODES, Refusals
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import say
from engine.objects.objects import Manifest, resource_units
from engine.plugins.node_resources_fit.asking import with_request

_LESS = say("Less is reserved for it: measure first what it uses.")


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
        text=say(
            "Ask for {less} {name} instead of {amount} and it fits {node} now.",
            less=less,
            name=name,
            amount=format_amount(name, asked),
            node=node,
        ),
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


def room_changes(refusals: Refusals) -> Iterator[Proposal]:
    """A device that a node advertises again, or smaller requests."""
    yield from _advertised_devices(refusals)
    yield from _smaller_requests(refusals)


def _smaller_requests(refusals: Refusals) -> Iterator[Proposal]:
    """Ask for exactly so much less that a node has room; the smallest part of a request first."""
    world, pod = refusals.world, refusals.pod
    wanted: dict[tuple[str, int], float] = {}
    for each in refusals.refused:
        # Each resource that is short counts as an obstacle of its own.
        if each.obstacle_count > 1 + refusals.others:
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
        asked, less = (format_amount(name, n) for n in (world.info().resources.fit.get(name), room))
        text = say("Ask for {less} {name} instead of {asked}", less=less, name=name, asked=asked)
        changed = [field for field in smaller if smaller[field] != pod.spec.get(field)]
        if set(changed) <= {"containers", "initContainers"}:
            patch = {"spec": {field: smaller[field] for field in changed}}
            note = template_note(pod, breaks=_LESS)
            yield Proposal(kind="requests", text=text, object=pod, patch=patch, note=note)
        else:
            yield pod_made_anew(pod, smaller, kind="requests", text=text, breaks=_LESS)


def _share_and_name(entry: tuple[tuple[str, int], float]) -> tuple[float, str]:
    (name, _), share = entry
    return share, name


def _advertised_devices(refusals: Refusals) -> Iterator[Proposal]:
    """Let a node whose extended resource has dropped to 0 advertise enough of it again."""
    asked = refusals.world.info().resources.fit
    for each, node in refusals.near():
        for obstacle in each.obstacles:
            for name in obstacle.detail.numbers:
                amount = asked.get(name) if "/" in name else 0
                if not amount or node.allocatable_units.get(name) != 0:
                    continue
                fields = {"allocatable": {name: str(amount)}, "capacity": {name: str(amount)}}
                yield Proposal(
                    kind="device",
                    text=say(
                        "Let {node} advertise {amount} {name} again",
                        node=node.name,
                        amount=amount,
                        name=name,
                    ),
                    object=node,
                    patch={"status": fields},
                    note=say(
                        "Its device plugin reports what it finds: repair that on the machine."
                    ),
                )
