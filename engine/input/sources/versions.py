"""Which versions of Kubernetes the objects of a cluster tell, and what tells them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod

Source = Literal["", "scheduler", "server", "control-plane", "kubelets"]

_SCHEDULER: Final = re.compile(
    r"(?:^|/)kube-scheduler(?:-[a-z0-9]+)?:(v1\.\d+\.\d+[^@]*)", re.ASCII
)
_CONTROL_PLANE: Final = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)


@dataclass(frozen=True, slots=True)
class Told:
    """The versions, each with how many objects tell it: "v1.34.1". None where nothing tells any.

    The scheduler decides, so its image counts first; then the API server, which is as old; then the
    kubelets beside them; else all kubelets, of which none is newer than its API server.
    """

    source: Source = ""
    versions: Mapping[str, int] = field(default_factory=dict[str, int])


def versions_told(manifests: Iterable[Manifest], served: str = "") -> Told:
    """What *manifests* tell; *served* is what the API server said of itself, where that was read."""
    schedulers, control_plane, kubelets = Counter[str](), Counter[str](), Counter[str]()
    for each in manifests:
        if each["kind"] == Pod.KIND:
            schedulers.update(_scheduler_versions(each))
        elif each["kind"] == Node.KIND:
            version = section(each, "status", "nodeInfo").get("kubeletVersion")
            if version:
                kubelets[str(version)] += 1
                if any(label in section(each, "metadata", "labels") for label in _CONTROL_PLANE):
                    control_plane[str(version)] += 1
    if schedulers:
        return Told("scheduler", schedulers)
    if served:
        return Told("server", {served: 1})
    if control_plane:
        return Told("control-plane", control_plane)
    return Told("kubelets", kubelets) if kubelets else Told()


def _scheduler_versions(pod: Manifest) -> Iterable[str]:
    for each in items(section(pod, "spec"), "containers"):
        if found := _SCHEDULER.search(str(each.get("image") or "")):
            yield found[1]
