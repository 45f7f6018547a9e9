"""What became of the pods of a run: counted from its events, as it is played."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any, Final

from engine.cluster.cluster import Slice
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND

_POD: Final = "pod/"
_SCHEDULER: Final = "scheduler"
_FAILED_ATTEMPTS: Final = ("FailedScheduling",)
_STEM: Final = re.compile(r"-(?:\d+|[a-z0-9]{5})$")


@dataclass(slots=True)
class PodLife:
    """One pod: when it was made and bound, in ns, and what became of it."""

    key: str
    workload: str
    created: int
    bound: int | None = None
    # Its node at the beginning, where it had one.
    had_node: bool = False
    node: str = ""
    phase: str = ""
    is_there: bool = True
    evicted_by: str = ""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def waits(self) -> bool:
        """Whether it is there and has no node."""
        return self.is_there and not self.node

    def waited(self, end: int) -> int:
        """How long it waited, or has waited until *end*, in ns."""
        if self.had_node:
            return 0
        if self.bound is not None:
            return self.bound - self.created
        return end - self.created if self.is_there else 0


@dataclass(slots=True)
class Tally:
    """All pods of a run, and how often one was tried."""

    pods: dict[str, PodLife] = field(default_factory=dict[str, PodLife])
    # Pods of the same name that were there before.
    earlier: list[PodLife] = field(default_factory=list[PodLife])
    attempts: int = 0
    failed: int = 0
    events: int = 0
    # When the last of them came, in ns.
    last: int = 0

    def hear(self, taken: Slice) -> None:
        """Count a slice."""
        for event in taken.events:
            self.events, self.last = self.events + 1, event.at
            self.attempts += event.kind == "AttemptStarted"
            self.failed += event.kind in _FAILED_ATTEMPTS
            if (event.object or "").startswith(_POD):
                self._of_pod(event, event.object.removeprefix(_POD))
        for entity, manifest in taken.touched.items():
            pod = self.pods.get(entity.removeprefix(_POD)) if entity.startswith(_POD) else None
            if pod is not None and manifest is not None:
                pod.labels = manifest["metadata"].get("labels") or {}
                pod.workload = _controlled_by(manifest) or _STEM.sub("", pod.key)

    def _of_pod(self, event: Event, key: str) -> None:
        if event.kind == "PodCreated":
            if key in self.pods:
                self.earlier.append(self.pods[key])
            shown: dict[str, Any] = (event.changes or {}).get(event.object) or {}
            node = str(shown.get("node") or "")
            phase = str(shown.get("phase") or "")
            self.pods[key] = PodLife(
                key, _STEM.sub("", key), event.at, had_node=bool(node), node=node, phase=phase
            )
            return
        pod = self.pods.get(key)
        if pod is None:
            return
        shown = (event.changes or {}).get(event.object) or {}
        pod.node, pod.phase = (
            str(shown.get("node", pod.node) or ""),
            str(shown.get("phase", pod.phase)),
        )
        if event.kind == "PodBound":
            pod.bound = event.at
        elif event.kind == "PodDeleted":
            pod.is_there = False
        elif event.kind == "PodEvicted":
            pod.evicted_by = event.component

    def lives(self) -> Iterator[PodLife]:
        """Every pod that there was."""
        yield from self.earlier
        yield from self.pods.values()

    @property
    def bound_in_run(self) -> list[PodLife]:
        """The pods that got their node in the run."""
        return [each for each in self.lives() if each.bound is not None]

    @property
    def typical_wait(self) -> float:
        """Half of the pods that were bound in the run waited less; in seconds, rounded up to a tenth."""
        waits = [each.waited(0) for each in self.bound_in_run]
        return ceil(median(waits) / SECOND * 10) / 10 if waits else 0.0


def _controlled_by(pod: Mapping[str, Any]) -> str:
    """The workload that controls a pod; "" for none."""
    metadata = pod["metadata"]
    for each in metadata.get("ownerReferences") or ():
        if each.get("controller"):
            name = str(each.get("name"))
            # A ReplicaSet is called after its Deployment.
            name = (
                re.sub(r"-[a-z0-9]{8,10}$", "", name) if each.get("kind") == "ReplicaSet" else name
            )
            return f"{metadata.get('namespace')}/{name}"
    return ""


@dataclass(frozen=True, slots=True)
class WorkloadTally:
    """The pods of one workload at the end of a run."""

    workload: str
    pods: tuple[PodLife, ...]

    @property
    def running(self) -> list[PodLife]:
        """Those that run, or start."""
        return [
            each for each in self.pods if each.is_there and each.node and not self._has_ended(each)
        ]

    @property
    def ended(self) -> int:
        """Those that ended by themselves."""
        return sum(self._has_ended(each) for each in self.pods)

    @property
    def evicted(self) -> int:
        """Those that were evicted."""
        return sum(bool(each.evicted_by) for each in self.pods)

    @property
    def waiting(self) -> int:
        """Those without a node."""
        return sum(each.waits for each in self.pods)

    @property
    def nodes(self) -> Counter[str]:
        """The nodes of those that run, each with how many it has."""
        return Counter(each.node for each in self.running)

    @staticmethod
    def _has_ended(pod: PodLife) -> bool:
        return pod.phase in ("Succeeded", "Failed")


def workloads(tally: Tally) -> list[WorkloadTally]:
    """All workloads, the largest first; what waits comes after what does not."""
    found: dict[str, list[PodLife]] = {}
    for pod in tally.lives():
        found.setdefault(pod.workload, []).append(pod)
    made = [WorkloadTally(name, tuple(pods)) for name, pods in found.items()]
    return sorted(made, key=lambda each: (-len(each.pods), each.waiting, each.workload))


def preempted(life: PodLife) -> bool:
    """Whether a scheduler evicted it for another."""
    return life.evicted_by == _SCHEDULER
