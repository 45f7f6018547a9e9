"""The pods of each PodGroup as one scheduler knows them.

Upstream: pkg/scheduler/backend/cache/podgroupmanager (v1.36), PodGroupState.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from engine.framework import names
from engine.framework.handle import Handle
from engine.framework.nodes.listers import Listers
from engine.objects.manifest_parts import section
from engine.objects.objects import Pod

POD_GROUP: Final = "PodGroup"


def group_of(pod: Pod) -> str:
    """The key of the PodGroup that the pod names, "namespace/name"; "" where it names none."""
    name = section(pod.spec, "schedulingGroup").get("podGroupName")
    return f"{pod.namespace}/{name}" if name else ""


def groups_of(handle: Handle) -> PodGroups | None:
    """The groups that the plugins of one scheduler share; None where pods are scheduled one by one."""
    return handle.shared.get(names.GANG_SCHEDULING)


class PodGroups:
    """The PodGroups, and the pods that name each of them, waiting or on a node."""

    def __init__(self, listers: Listers, assumed: Container[str]) -> None:
        """*assumed* has the keys of the pods that count on a node before they are bound."""
        self._listers = listers
        self._assumed = assumed
        # By group and key of the pod.
        self._pods: dict[str, dict[str, Pod]] = {}

    def observe(self, pod: Pod, *, gone: bool) -> None:
        """A watch shows the pod, or that it is *gone*."""
        group = group_of(pod)
        if not group:
            return
        pods = self._pods.setdefault(group, {})
        if gone:
            pods.pop(pod.key, None)
        else:
            pods[pod.key] = pod

    def exists(self, group: str) -> bool:
        """Whether the PodGroup itself is there."""
        return self._listers.get(POD_GROUP, group) is not None

    def minimum(self, group: str) -> int:
        """How many pods must get a node together: minCount of a gang, 1 for any other policy."""
        found = self._listers.get(POD_GROUP, group)
        gang = {} if found is None else section(found.spec, "schedulingPolicy", "gang")
        return int(gang.get("minCount") or 1)

    def pods(self, group: str) -> list[Pod]:
        """All pods of the group, in the order in which they came."""
        return list(self._pods.get(group, {}).values())

    def placed(self, group: str) -> list[Pod]:
        """Those that have a node, or count on one."""
        return [pod for pod in self.pods(group) if self._is_placed(pod)]

    def unplaced(self, group: str) -> list[Pod]:
        """Those that still wait for one."""
        return [pod for pod in self.pods(group) if not self._is_placed(pod)]

    def _is_placed(self, pod: Pod) -> bool:
        return bool(pod.node_name) or pod.key in self._assumed
