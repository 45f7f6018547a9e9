"""The pods that hold a host port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.framework.explaining.case import FEW, Case, listed, pod_and_owner
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.kernel.sentences import NOTHING, say
from engine.objects.manifest_parts import items
from engine.objects.objects import Pod


def explain_port(case: Case) -> Explanation:
    """The pods that hold the host port on the closest nodes."""
    because = list(_own_ports(case))
    held: list[str] = []
    for each in case.refused[:FEW]:
        node = case.node(each)
        for info in case.pods_at(each.row):
            for container, place, port in _host_ports(info.pod):
                if not _clashes(case.pod, port):
                    continue
                held.append(pod_and_owner(info.pod))
                number, protocol = port.get("hostPort"), port.get("protocol") or "TCP"
                text = say(
                    "Pod {pod} holds host port {number}/{protocol} on {node}.",
                    pod=pod_and_owner(info.pod),
                    number=number,
                    protocol=protocol,
                    node=node.name,
                )
                path = ("spec", "containers", container, "ports", place, "hostPort")
                because.append(fact(info.pod, path, text, compared_with=number))
    why = (
        say("The host port is held by pod {pods}.", pods=listed(list(dict.fromkeys(held)), 3))
        if held
        else NOTHING
    )
    return Explanation(lead=why, why=why, because=tuple(because))


def _own_ports(case: Case) -> Iterator[Fact]:
    """The host ports that the pod wants and that some pod of the closest nodes holds."""
    others = [
        port
        for each in case.refused[:FEW]
        for info in case.pods_at(each.row)
        for _, _, port in _host_ports(info.pod)
    ]
    for container, place, port in _host_ports(case.pod):
        if any(_clash(port, other) for other in others):
            number, protocol = port.get("hostPort"), port.get("protocol") or "TCP"
            path = ("spec", "containers", container, "ports", place, "hostPort")
            yield fact(
                case.pod,
                path,
                say(
                    "The pod wants host port {number}/{protocol}.", number=number, protocol=protocol
                ),
            )


def _host_ports(pod: Pod) -> list[tuple[int, int, dict[str, Any]]]:
    return [
        (at, place, port)
        for at, container in enumerate(items(pod.spec, "containers"))
        for place, port in enumerate(items(container, "ports"))
        if port.get("hostPort")
    ]


def _clashes(pod: Pod, other: dict[str, Any]) -> bool:
    return any(_clash(port, other) for _, _, port in _host_ports(pod))


def _clash(port: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether one node cannot have both host ports."""
    anywhere = ("", "0.0.0.0")
    return (
        port["hostPort"] == other["hostPort"]
        and (port.get("protocol") or "TCP") == (other.get("protocol") or "TCP")
        and (
            (port.get("hostIP") or "") in anywhere
            or (other.get("hostIP") or "") in anywhere
            or port.get("hostIP") == other.get("hostIP")
        )
    )
