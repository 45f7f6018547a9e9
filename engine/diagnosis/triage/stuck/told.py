"""What Events and conditions tell of the containers of a pod, where its statuses do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, SeenEvent, condition
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

# A pod that has been on its node for so long without starting is stuck, whatever is said of it.
PATIENCE_SECONDS: Final = 600
# Upstream: kubelet/events/event.go, FailedCreatePodSandBox.
SANDBOX: Final = "FailedCreatePodSandBox"
# Why a pod that runs is not ready. Upstream: kubelet/events/event.go, ContainerUnhealthy; reasons of
# kubelet/status/generate.go.
UNREADY: Final = ("Unhealthy", "ReadinessGatesNotReady", "ContainersNotReady", "BackOff")
# Upstream: k8s.io/api core/v1, PodResizePending and PodResizeInProgress; the reasons of the first.
RESIZING: Final = ("PodResizePending", "PodResizeInProgress")
_INFEASIBLE, _DEFERRED, _ERROR_OF_RESIZE = "Infeasible", "Deferred", "Error"
# What a volume manager says after it has waited in vain: others say why.
_SUMMARIES: Final = ("Unable to attach or mount volumes", "timed out waiting for the condition")
_PULL: Final = ("pull image", "pulling image", "ErrImagePull", "ImagePullBackOff")
_ERROR: Final = "Error: "


@dataclass(frozen=True, slots=True)
class Told:
    """Why a pod does not run or is not ready, and the Events that say so.

    `is_inferred`: no Event or status says it, the objects show it.
    """

    reason: str
    message: str
    events: list[SeenEvent]
    is_inferred: bool = False


def container_statuses(pod: Manifest) -> Iterator[Manifest]:
    """The statuses of its init containers and containers."""
    for name in ("initContainerStatuses", "containerStatuses"):
        yield from items(section(pod, "status"), name)


def told_by(warnings: Sequence[SeenEvent]) -> tuple[str, str]:
    """The reason and message that say most, of the warnings about a pod that has not started.

    Kubelets report a pull that fails, an image that they wait for and a container that they cannot
    configure by the reason Failed; this is the waiting reason of the container instead.
    Upstream: kubelet/images/image_manager.go, kuberuntime/kuberuntime_container.go.
    """
    newest = warnings[-1]
    if newest.reason == "BackOff":
        return "CrashLoopBackOff", newest.message
    if newest.reason == "Failed":
        of_image = [each for each in warnings if any(word in each.message for word in _PULL)]
        if newest in of_image:
            return "ErrImagePull", max(of_image, key=_length).message
        if newest.message.startswith(_ERROR):
            is_config = (
                newest.message.endswith("not found") or "couldn't find key" in newest.message
            )
            reason = "CreateContainerConfigError" if is_config else "CreateContainerError"
            return reason, newest.message.removeprefix(_ERROR)
    if any(words in newest.message for words in _SUMMARIES):
        newest = next((each for each in reversed(warnings) if not _sums_up(each)), newest)
    return newest.reason, newest.message


def _length(event: SeenEvent) -> int:
    return len(event.message)


def _sums_up(event: SeenEvent) -> bool:
    return any(words in event.message for words in _SUMMARIES)


def unresized(evidence: Evidence, pod: Manifest) -> Told | None:
    """Why a pod that runs does not get what it asks for since it was resized; None where it will.

    The kubelet tries what it has deferred again: only one that has waited for long is told.
    Upstream: pkg/kubelet/status/status_manager.go, SetPodResizePendingCondition().
    """
    for kind in RESIZING:
        found = condition(pod, kind)
        if found is None or found.get("status") != "True":
            continue
        reason, since = found.get("reason"), str(found.get("lastTransitionTime") or "")
        is_long = evidence.age_seconds(since) > PATIENCE_SECONDS
        if reason in (_INFEASIBLE, _ERROR_OF_RESIZE) or (reason == _DEFERRED and is_long):
            return Told(kind, f"{reason}: {found.get('message') or ''}".rstrip(": "), [])
    return None


def unready(evidence: Evidence, pod: Manifest, warnings: Sequence[SeenEvent]) -> Told | None:
    """Why a pod that runs has not been ready for long; None where it is, or is expected to be.

    Upstream: kubelet/status/generate.go, GeneratePodReadyCondition().
    """
    ready = condition(pod, "Ready")
    if ready is None or ready.get("status") == "True" or ready.get("reason") == "PodCompleted":
        return None
    if evidence.age_seconds(str(ready.get("lastTransitionTime") or "")) <= PATIENCE_SECONDS:
        return None
    if ready.get("reason") == "ReadinessGatesNotReady":
        return Told("ReadinessGatesNotReady", str(ready.get("message") or ""), [])
    for each in container_statuses(pod):
        ended = section(each, "lastState", "terminated")
        if not each.get("ready") and each.get("restartCount") and ended:
            backoffs = [each for each in warnings if each.reason == "BackOff"]
            return Told("BackOff", backoffs[-1].message if backoffs else "", list(warnings))
    failed = [each for each in warnings if each.reason == "Unhealthy"]
    if failed:
        return Told("Unhealthy", failed[-1].message, failed)
    if not ready.get("message"):
        return None
    return Told("ContainersNotReady", str(ready["message"]), [])
