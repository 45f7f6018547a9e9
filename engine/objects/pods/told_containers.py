"""What the status of a pod tells of its containers: which does not run, and why, as pages show it.

Upstream: pkg/printers/internalversion/printers.go, printPod(), which prints these reasons as STATUS.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.kernel.units import nanoseconds_of
from engine.kernel.view import Attributes
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject

# Why containers wait without any fault.
STARTING: Final = ("", "ContainerCreating", "PodInitializing")
_ENDED: Final = ("Succeeded", "Failed")


def told_of_containers(pod: Mapping[str, Any]) -> Attributes | None:
    """The first fault that the status of a pod with a node tells; None where it tells of none.

    `reason` and `message` are those of the container (`container`), or of the condition Ready of a
    pod that runs; `restarts` counts those of the container; `is_fault` is left out where it only
    waits; `since` is when the pod or the condition began to be so, in RFC 3339.
    """
    status = section(pod, "status")
    if not section(pod, "spec").get("nodeName") or status.get("phase") in _ENDED:
        return None
    if pod["metadata"].get("deletionTimestamp"):
        return None
    found = [told for told in map(_of_container, _containers(status)) if told]
    told = next((each for each in found if "is_fault" in each), None) or next(iter(found), None)
    if told is not None and "is_fault" not in told and status.get("phase") == "Running":
        told = None
    since = status.get("startTime") or pod["metadata"].get("creationTimestamp")
    if told is None and status.get("phase") == "Running":
        told, since = _of_ready(status)
    return None if told is None else {**told, "since": str(since or "")}


def told_on_pages(pod: ApiObject, ahead: int) -> Attributes | None:
    """The same as pages show it; `since` is virtual time then, which clocks are *ahead* of."""
    told = told_of_containers(pod.raw)
    if told is None:
        return None
    since = told.pop("since")
    try:
        return {**told, "since": nanoseconds_of(since) - ahead}
    except ValueError:
        return told


def _containers(status: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in ("initContainerStatuses", "containerStatuses"):
        yield from items(status, name)


def _of_container(status: Mapping[str, Any]) -> Attributes | None:
    """What the status of one container tells; None where it runs or has ended well."""
    waiting = section(status, "state", "waiting")
    ended = section(status, "state", "terminated")
    if ended and ended.get("exitCode"):
        reason = str(ended.get("reason") or "Error")
        told = {"reason": reason, "message": str(ended.get("message") or "")}
        told["message"] = told["message"] or f"exit code {ended['exitCode']}"
    elif waiting.get("reason"):
        told = {name: str(waiting.get(name) or "") for name in ("reason", "message")}
    else:
        return None
    shown: Attributes = {"container": str(status.get("name") or ""), **told}
    shown["restarts"] = status.get("restartCount")
    shown["is_fault"] = told["reason"] not in STARTING
    return {name: value for name, value in shown.items() if value}


def _of_ready(status: Mapping[str, Any]) -> tuple[Attributes | None, object]:
    """What the condition Ready of a pod that runs tells, and since when."""
    for each in items(status, "conditions"):
        if each.get("type") != "Ready" or each.get("reason") == "PodCompleted":
            continue
        if each.get("status") == "False":
            told = {name: str(each[name]) for name in ("reason", "message") if each.get(name)}
            told.setdefault("reason", "ContainersNotReady")
            return dict(told), each.get("lastTransitionTime")
    return None, None
