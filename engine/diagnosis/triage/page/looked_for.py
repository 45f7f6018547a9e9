"""What was looked at in the files, and what of it is not counted as stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, is_ready, key_of
from engine.diagnosis.triage.drawn import Finding
from engine.diagnosis.triage.report import Group
from engine.diagnosis.triage.stuck.controllers import ready_pods
from engine.objects.manifest_parts import section, wanted_pods
from engine.objects.objects import Manifest

_WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet")


def looked_for(evidence: Evidence) -> tuple[Finding, ...]:
    """How many objects of each kind are as they should be, as their own status says."""
    workloads = [each for kind in _WORKLOADS for each in evidence.all(kind)]
    rows = (
        _share("Pods", evidence.pods_under_way, _runs, "run"),
        _share("Nodes", evidence.all("Node"), is_ready, "are ready"),
        _share("Workloads", workloads, _is_complete, "have all their pods"),
        _share("Claims", evidence.all("PersistentVolumeClaim"), _is_bound, "are bound"),
        _share("Attachments", evidence.all("VolumeAttachment"), _is_attached, "are attached"),
    )
    return tuple(each for each in rows if each is not None)


def not_counted(evidence: Evidence, groups: Iterable[Group]) -> tuple[Finding, ...]:
    """The pods that go on, among them those that are ending or starting in time."""
    held = {key for group in groups for key in group.pods}
    left = [pod for pod in evidence.pods_under_way if key_of(pod) not in held]
    return tuple(_left(left))


def _left(pods: list[Manifest]) -> Iterator[Finding]:
    ending = sum(bool(each["metadata"].get("deletionTimestamp")) for each in pods)
    starting = sum(_starts(each) for each in pods)
    yield Finding(what="Pods that go on", found=f"{len(pods):,}")
    yield Finding(what="Ending, within their grace", found=f"{ending:,}")
    yield Finding(what="Starting on their node", found=f"{starting:,}")


def _share(
    what: str, objects: Iterable[Manifest], is_well: Callable[[Manifest], bool], verb: str
) -> Finding | None:
    found = [is_well(each) for each in objects]
    if not found:
        return None
    return Finding(what=what, found=f"{sum(found):,} of {len(found):,} {verb}")


def _runs(pod: Manifest) -> bool:
    return section(pod, "status").get("phase") == "Running"


def _starts(pod: Manifest) -> bool:
    is_placed = bool(section(pod, "spec").get("nodeName"))
    return is_placed and section(pod, "status").get("phase") == "Pending"


def _is_complete(workload: Manifest) -> bool:
    return ready_pods(workload) >= wanted_pods(workload)


def _is_bound(claim: Manifest) -> bool:
    return section(claim, "status").get("phase") == "Bound"


def _is_attached(attachment: Manifest) -> bool:
    return bool(section(attachment, "status").get("attached"))
