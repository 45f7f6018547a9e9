"""All cases, and the reasons that have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.reasons import automatic, objects, scheduling, storage
from tests.reasons.case import Case


def _of(reason: str) -> Case:
    """The first case of a reason of v1.34."""
    return next(each for each in (*scheduling.CASES, *storage.CASES) if each.reason == reason)


def _older(reason: str, profile: str, now: str, by: str) -> Case:
    """The case of the reason *now* under an older version, which says it in other words."""
    return replace(_of(now), reason=reason, profile=profile, by=by)


_SELECTOR: Final = "node(s) didn't match Pod's node affinity/selector"
_OLDER: Final = (
    _older("node(s) didn't match Pod's node affinity", "v1.20", _SELECTOR, "NodeAffinity"),
    _older("node(s) didn't match node selector", "v1.16", _SELECTOR, "MatchNodeSelector"),
    _older(
        "node(s) had taint {*: *}, that the pod didn't tolerate",
        "v1.20",
        "node(s) had untolerated taint {*: *}",
        "TaintToleration",
    ),
    _older(
        "node(s) had taints that the pod didn't tolerate",
        "v1.16",
        "node(s) had untolerated taint {*: *}",
        "PodToleratesNodeTaints",
    ),
    _older(
        "pod has unbound PersistentVolumeClaims",
        "v1.11",
        "pod has unbound immediate PersistentVolumeClaims",
        "CheckVolumeBinding",
    ),
    _older(
        "node(s) had volume node affinity conflict",
        "v1.16",
        "node(s) didn't match PersistentVolume's node affinity",
        "CheckVolumeBinding",
    ),
    _older(
        "node(s) didn't match pod affinity/anti-affinity",
        "v1.16",
        "node(s) didn't match pod anti-affinity rules",
        "MatchInterPodAffinity",
    ),
)

CASES: Final = (*scheduling.CASES, *storage.CASES, *_OLDER, *objects.CASES, *automatic.CASES)

# Reasons without a case, and why.
WITHOUT_CASE: Final = {
    "BackOff": "A container that follows a script: its pod runs, and nothing is looked for.",
    "Unhealthy": "A container that follows a script: its pod runs, and nothing is looked for.",
    "node(s) didn't match the requested node name": "A pod with nodeName never reaches a scheduler.",
    "node(s) didn't match the requested hostname": "A pod with nodeName never reaches a scheduler.",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": (
        "VolumeZone or the claim's phase Lost is reported first; the facts are those of ClaimLost."
    ),
    "node(s) didn't have the requested labels": "Only of a Policy; its argument has the labels.",
    "node(s) didn't match service affinity": "Only of a Policy; its argument has the labels.",
    "cannot fit resource": (
        "Only of the gate DRAExtendedResource: tests/engine/plugins/dynamic_resources provokes it."
    ),
    "cannot schedule extended resource claim": (
        "Only of the gate DRAExtendedResource: tests/engine/plugins/dynamic_resources provokes it."
    ),
    "CalculateExpectedPodCountFailed": "About a budget whose pods have no scale: not a pod's reason.",
    "Failed": "A container waits for a Secret or a ConfigMap: its status names that.",
    "FailedDelete": "An old Job of a CronJob that cannot be deleted: the CronJob goes on.",
    "FailedGet": "A Job that a CronJob was to replace is gone: it is tried again at once.",
    "FailedNeedsStart": "A schedule that is never due, up to v1.20; InvalidSchedule since.",
    "FailedPrepareDynamicResources": (
        "Needs a fault of a driver: tests/engine/plugins/dynamic_resources holds the answer, with claim and device."
    ),
    "FailedResourceClaimCreation": "A pod waits for a template: the Event names it.",
    "FailedRescale": "Needs a fault of the API server; the condition AbleToScale says the same.",
    "FailedUpdateStatus": "A status of an autoscaler that was written meanwhile: tried again.",
    "MissSchedule": "A CronJob that starts too late; what was missed is a note of its answer.",
    "TooManyMissedTimes": "A CronJob that was long suspended: it starts the newest Job.",
    "UnParseableCronJobSchedule": "A schedule that the API server refuses.",
    "UnexpectedJob": "A Job that names a CronJob as its controller: nothing waits for it.",
    "UnknownTimeZone": "A time zone that the API server refuses.",
    "UnparseableSchedule": "A schedule that the API server refuses.",
    "UnsupportedSchedule": "A time zone in the schedule, which is obeyed all the same.",
    "FailedDaemonPod": "Says that a failed daemon pod is replaced.",
    "FileSystemResizeFailed": "The pod runs on with the old size; told with FailedMount otherwise.",
    "NodeNotReady": "Says that a node is not ready: its condition is a fact of the node.",
    "ProvisioningCleanupFailed": "Follows ProvisioningFailed of the same claim.",
    "RecreatingFailedPod": "Says that a failed pod is replaced.",
    "ReplicaSetCreateError": "A name that is taken; the Deployment tries another.",
    "SelectingAll": "A selector that the API server refuses.",
    "TooManySucceededPods": "About a Job that is complete: not a pod's reason.",
    "VolumeModifyFailed": "The claim keeps its volume, and its pods run on with it.",
    "VolumeResizeFailed": "The claim waits until no pod uses it; ClaimResizing names them.",
    "VolumeUnknownReclaimPolicy": "A policy that the API server refuses.",
}
