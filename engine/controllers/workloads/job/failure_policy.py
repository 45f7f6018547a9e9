"""The pod failure policy of a Job: what the failure of a pod means for it.

Upstream: pkg/controller/job/pod_failure_policy.go.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from engine.controllers.shared.manifests import part
from engine.objects.objects import ApiObject, Manifest, Pod

FAIL_JOB: Final = "FailJob"
FAIL_INDEX: Final = "FailIndex"
IGNORE: Final = "Ignore"


@dataclass(frozen=True, slots=True)
class Match:
    """The first rule that matches a failed pod: its action, and what matched, for the message."""

    action: str
    message: str

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the backoff limit."""
        return self.action != IGNORE


NO_MATCH: Final = Match("", "")


def match_failure(job: ApiObject, pod: Pod) -> Match:
    """The rule that applies to *pod*, which failed; NO_MATCH for none. Upstream: matchPodFailurePolicy()."""
    policy: Manifest = job.spec.get("podFailurePolicy") or {}
    for index, rule in enumerate(policy.get("rules") or ()):
        action: str = rule.get("action") or ""
        if rule.get("onExitCodes"):
            found = _matching_container(pod, rule["onExitCodes"])
            if found is not None:
                name, code = found
                said = f"Container {name} for pod {pod.key} failed with exit code {code}"
                return Match(action, f"{said} matching {action} rule at index {index}")
        elif rule.get("onPodConditions"):
            condition = _matching_condition(pod, rule["onPodConditions"])
            if condition:
                said = f"Pod {pod.key} has condition {condition}"
                return Match(action, f"{said} matching {action} rule at index {index}")
    return NO_MATCH


def is_failed(job: ApiObject, pod: Pod) -> bool:
    """Whether *pod* counts as failed: a terminating one too, unless only failed ones are replaced.

    Upstream: isPodFailed().
    """
    if pod.phase == "Failed":
        return True
    if replaces_only_failed(job):
        return False
    return bool(pod.deletion_timestamp) and pod.phase != "Succeeded"


def replaces_only_failed(job: ApiObject) -> bool:
    """Whether a terminating pod is replaced only once it has failed. Upstream: onlyReplaceFailedPods()."""
    policy = job.spec.get("podReplacementPolicy")
    return policy == "Failed" if policy else bool(job.spec.get("podFailurePolicy"))


def failing_message(job: ApiObject, pods: Sequence[Pod]) -> str:
    """Why the policy fails the whole job, or "". Upstream: getFailJobMessage()."""
    if not job.spec.get("podFailurePolicy"):
        return ""
    failed = (match_failure(job, pod) for pod in pods if is_failed(job, pod))
    return next((match.message for match in failed if match.action == FAIL_JOB), "")


def _matching_container(pod: Pod, requirement: Manifest) -> tuple[str, int] | None:
    """The name and exit code of the first container that meets *requirement*."""
    statuses: list[Manifest] = [
        *(pod.status.get("containerStatuses") or ()),
        *(pod.status.get("initContainerStatuses") or ()),
    ]
    wanted = requirement.get("containerName")
    values = requirement.get("values") or ()
    for status in statuses:
        ended = part(part(status, "state"), "terminated")
        code = ended.get("exitCode") or 0
        # A container that still runs has no exit code, and one that succeeded did not fail.
        if not code or wanted not in (None, status.get("name")):
            continue
        if (code in values) is (requirement.get("operator") == "In"):
            return status.get("name") or "", code
    return None


def _matching_condition(pod: Pod, patterns: Sequence[Manifest]) -> str:
    """The type of the first condition of *pod* that meets one of *patterns*, or ""."""
    for condition in pod.status.get("conditions") or ():
        for pattern in patterns:
            status = pattern.get("status") or "True"
            if (condition.get("type"), condition.get("status")) == (pattern.get("type"), status):
                return condition["type"]
    return ""
