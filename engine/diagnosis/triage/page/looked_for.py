"""What was looked at in the files, and what of it is not counted as stuck."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, is_ready, is_under_way
from engine.diagnosis.triage.drawn import Finding
from engine.diagnosis.triage.report import Group
from engine.diagnosis.triage.stuck.controllers import ready_pods
from engine.kernel.sentences import Phrase, Sentence, grouped, phrase, say, verbatim
from engine.objects.manifest_parts import section, wanted_pods
from engine.objects.objects import Manifest

_WORKLOADS: Final = ("Deployment", "StatefulSet", "DaemonSet")


def looked_for(evidence: Evidence) -> tuple[Finding, ...]:
    """How many objects of each kind are as they should be, as their own status says."""
    workloads = [each for kind in _WORKLOADS for each in evidence.all(kind)]
    rows = (
        _share(say("Pods"), evidence.pods_under_way, _runs, phrase("{count} of {all} run")),
        _share(say("Nodes"), evidence.all("Node"), is_ready, phrase("{count} of {all} are ready")),
        _share(
            say("Workloads"),
            workloads,
            _is_complete,
            phrase("{count} of {all} have all their pods"),
        ),
        _share(
            say("Claims"),
            evidence.all("PersistentVolumeClaim"),
            _is_bound,
            phrase("{count} of {all} are bound"),
        ),
        _share(
            say("Attachments"),
            evidence.all("VolumeAttachment"),
            _is_attached,
            phrase("{count} of {all} are attached"),
        ),
    )
    return tuple(each for each in rows if each is not None)


def not_counted(evidence: Evidence, groups: Iterable[Group]) -> tuple[Finding, ...]:
    """The pods that go on, among them those that are ending or starting in time."""
    # A pod that several groups hold is one.
    keys = dict.fromkeys(key for group in groups for key in group.pods)
    found = (evidence.find("Pod", key) for key in keys)
    held = [pod for pod in found if pod is not None and is_under_way(pod)]
    return tuple(
        Finding(what=what, found=verbatim(grouped(count(evidence.pods_under_way) - count(held))))
        for what, count in _GOING_ON.items()
    )


def _ending(pods: list[Manifest]) -> int:
    return sum(bool(each["metadata"].get("deletionTimestamp")) for each in pods)


def _starting(pods: list[Manifest]) -> int:
    return sum(map(_starts, pods))


# How many of some pods do what.
_GOING_ON: Final[dict[Sentence, Callable[[list[Manifest]], int]]] = {
    say("Pods that go on"): len,
    say("Ending, within their grace"): _ending,
    say("Starting on their node"): _starting,
}


def _share(
    what: Sentence, objects: Iterable[Manifest], is_well: Callable[[Manifest], bool], said: Phrase
) -> Finding | None:
    found = [is_well(each) for each in objects]
    if not found:
        return None
    return Finding(what=what, found=said.say(count=grouped(sum(found)), all=grouped(len(found))))


def _runs(pod: Manifest) -> bool:
    return section(pod, "status").get("phase") == "Running"


def _starts(pod: Manifest) -> bool:
    is_pending = section(pod, "status").get("phase") == "Pending"
    return is_pending and bool(section(pod, "spec").get("nodeName"))


def _is_complete(workload: Manifest) -> bool:
    return ready_pods(workload) >= wanted_pods(workload)


def _is_bound(claim: Manifest) -> bool:
    return section(claim, "status").get("phase") == "Bound"


def _is_attached(attachment: Manifest) -> bool:
    return bool(section(attachment, "status").get("attached"))
