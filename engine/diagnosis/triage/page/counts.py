"""How many pods of each workload a group holds, and how many of its others run."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, controller_reference, is_under_way, key_of
from engine.diagnosis.triage.drawn import WorkloadCount
from engine.diagnosis.triage.report import Group
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest

_NUMBER: Final = re.compile(r"\d+$")


class PodCounts:
    """The pods of some files by workload, read once for all groups of a triage."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        # By what controls them: asking for the workload of each pod would walk the same way again.
        self._controllers: dict[tuple[str, str, str], str] = {}
        self._pods: Counter[str] = Counter()
        self._running: Counter[str] = Counter()
        self._single: dict[str, str] = {}
        for (kind, _), pods in evidence.pods_by_controller.items():
            if kind:
                self._count(self._owner(pods[0]), pods)
                continue
            for pod in pods:
                self._count(self._owner(pod), [pod])

    def _count(self, owner: str, pods: list[Manifest]) -> None:
        self._pods[owner] += len(pods)
        self._running[owner] += sum(map(_is_running, pods))
        self._single[owner] = f"pod/{key_of(pods[-1])}"

    def of(self, group: Group) -> tuple[WorkloadCount, ...]:
        """The workloads of a group, the one with most waiting pods first.

        The counts that *group* has already are of pods that do not exist.
        """
        waiting = Counter({each.workload: each.waiting for each in group.workload_counts})
        missing = Counter(waiting)
        running, ended = Counter[str](), Counter[str]()
        for key in group.pods:
            pod = self._evidence.find("Pod", key)
            if pod is None:
                continue
            owner = self._owner(pod)
            waiting[owner] += 1
            running[owner] -= _is_running(pod)
            ended[owner] += not is_under_way(pod)
        counts = [
            WorkloadCount(
                workload=self._name(owner),
                waiting=number,
                running=self._running[owner] + running[owner],
                of=self._pods[owner] + missing[owner] + ended[owner],
            )
            for owner, number in waiting.items()
        ]
        return tuple(sorted(counts, key=_most))

    def _owner(self, pod: Manifest) -> str:
        """Its workload; of a pod without one what its name has before a number at the end."""
        reference = controller_reference(pod)
        namespace = str(pod["metadata"].get("namespace"))
        if reference is None:
            return f"pod/{_NUMBER.sub('*', key_of(pod))}"
        key = namespace, str(reference.get("kind")), str(reference.get("name"))
        found = self._controllers.get(key)
        if found is None:
            found = self._controllers[key] = self._evidence.workload(pod)
        return found

    def _name(self, owner: str) -> str:
        return self._single[owner] if owner.startswith("pod/") and self._pods[owner] == 1 else owner


def _is_running(pod: Manifest) -> bool:
    is_leaving = bool(pod["metadata"].get("deletionTimestamp"))
    return section(pod, "status").get("phase") == "Running" and not is_leaving


def _most(count: WorkloadCount) -> tuple[int, str]:
    return -count.waiting, count.workload
