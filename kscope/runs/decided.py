"""When a pod that somebody waits for has been decided on."""

from collections.abc import Sequence

from kscope.sim.recorder import Event


def pod_is_decided(events: Sequence[Event], pod: str) -> bool:
    """Whether the events of one step bind, refuse or delete the pod of this entity id.

    A pod that others make room for is not refused: it has a nominated node, and waits for them.
    """
    about = [event for event in events if event.object == pod]
    if any(event.kind in ("PodBound", "PodDeleted") for event in about):
        return True
    nominated = any(event.kind == "PodNominated" for event in about)
    return not nominated and any(_is_refusal(event) for event in about)


def _is_refusal(event: Event) -> bool:
    return event.kind == "FailedScheduling" and (event.data or {}).get("type") == "Warning"
