"""Placeholders for nodes: pods run there, and the files do not hold them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from engine.input.assumed.placeholder import Placeholder, assumed
from engine.kernel.sentences import count_phrase, grouped
from engine.objects.manifest_parts import section
from engine.objects.pods.pod_resources import NEWEST, pod_resources

Manifest = dict[str, Any]

_ABSENT: Final = count_phrase(
    "Node {name} is not in these files; it is assumed to be ready and to have what the one pod that "
    "runs there asks for, and no more: no other pod fits.",
    "Node {name} is not in these files; it is assumed to be ready and to have what the {count} pods "
    "that run there ask for, and no more: no other pod fits.",
)
_LEFT_OUT: Final = count_phrase(
    "Node {name} was left out by the filter; it is assumed to be ready and to have what the one pod "
    "that runs there asks for, and no more: no other pod fits.",
    "Node {name} was left out by the filter; it is assumed to be ready and to have what the {count} "
    "pods that run there ask for, and no more: no other pod fits.",
)
_ENDED: Final = ("Succeeded", "Failed")


def absent_nodes(objects: Sequence[Manifest], *, kinds_are_left_out: bool) -> Iterator[Placeholder]:
    """One for each node that pods of a cluster run on and that is not among *objects*.

    With *kinds_are_left_out* the user has filtered the nodes out, so that they are no gap of a dump.
    """
    known = {each["metadata"]["name"] for each in objects if each["kind"] == "Node"}
    pods: dict[str, list[Manifest]] = {}
    for each in objects:
        if each["kind"] == "Pod" and _runs(each):
            name = section(each, "spec")["nodeName"]
            if name not in known:
                pods.setdefault(name, []).append(each)
    for name, found in pods.items():
        yield _node(name, found, kinds_are_left_out=kinds_are_left_out)


def _runs(pod: Manifest) -> bool:
    """Whether a cluster has admitted the pod to a node, and it has not ended."""
    status = section(pod, "status")
    is_stored = bool(pod["metadata"].get("uid") or status.get("phase"))
    return (
        is_stored
        and bool(section(pod, "spec").get("nodeName"))
        and status.get("phase") not in _ENDED
    )


def _node(name: str, pods: list[Manifest], *, kinds_are_left_out: bool) -> Placeholder:
    amounts: Counter[str] = Counter()
    for pod in pods:
        amounts.update(pod_resources(pod, NEWEST).requested.amounts())
    capacity = {
        resource: _quantity(resource, amount) for resource, amount in sorted(amounts.items())
    }
    capacity = {"cpu": "0", "memory": "0", **capacity, "pods": str(len(pods))}
    pattern = _LEFT_OUT if kinds_are_left_out else _ABSENT
    sentence = pattern.say(len(pods), name=name, count=grouped(len(pods)))
    manifest: Manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**_labels(pods), "kubernetes.io/hostname": name}},
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    return assumed(manifest, sentence)


def _quantity(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)


def _labels(pods: Iterable[Manifest]) -> dict[str, str]:
    """The labels that the pods there ask their node for."""
    found: dict[str, str] = {}
    for pod in pods:
        for key, value in section(pod, "spec", "nodeSelector").items():
            found[str(key)] = str(value)
    return found
