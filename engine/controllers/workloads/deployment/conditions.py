"""The conditions of a Deployment. Upstream: pkg/controller/deployment/util/deployment_util.go."""

from typing import Any, Final, NamedTuple

from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Manifest

PROGRESS_DEADLINE: Final = 600

PROGRESSING: Final = "Progressing"
AVAILABLE: Final = "Available"

NEW_REPLICA_SET: Final = "NewReplicaSetCreated"
FOUND_REPLICA_SET: Final = "FoundNewReplicaSet"
REPLICA_SET_UPDATED: Final = "ReplicaSetUpdated"
NEW_AVAILABLE: Final = "NewReplicaSetAvailable"
TIMED_OUT: Final = "ProgressDeadlineExceeded"
REPLICA_SET_REFUSED: Final = "ReplicaSetCreateError"


class Condition(NamedTuple):
    """A condition to set: its type, its status ("True" or "False"), reason and message."""

    type: str
    status: str
    reason: str
    message: str


def find_condition(deployment: ApiObject, kind: str) -> Manifest | None:
    """The condition of type *kind*, or None. Upstream: GetDeploymentCondition()."""
    return _find(deployment.status, kind)


def with_condition(
    status: Any, new: Condition, clock: int, *, renewed: bool = False
) -> list[Manifest]:
    """The conditions of *status* with *new* set at *clock*. Upstream: SetDeploymentCondition().

    They stay unchanged if status and reason are the same, unless the condition is *renewed*.
    """
    conditions: list[Manifest] = list(status.get("conditions") or ())
    current = _find(status, new.type)
    is_same = current is not None and current.get("status") == new.status
    if current is not None and is_same and current.get("reason") == new.reason and not renewed:
        return conditions
    since = time = timestamp(clock)
    if current is not None and is_same:
        since = current.get("lastTransitionTime", time)
    made: Manifest = {
        "type": new.type,
        "status": new.status,
        "lastUpdateTime": time,
        "lastTransitionTime": since,
        "reason": new.reason,
        "message": new.message,
    }
    return [*(each for each in conditions if each.get("type") != new.type), made]


def progress_deadline(deployment: ApiObject) -> int:
    """spec.progressDeadlineSeconds; 0 if it has none."""
    seconds = deployment.spec.get("progressDeadlineSeconds")
    if seconds is None:
        return PROGRESS_DEADLINE
    # The API writes "none" as the largest number.
    return 0 if seconds == 2**31 - 1 else seconds


def _find(status: Any, kind: str) -> Manifest | None:
    conditions: list[Manifest] = status.get("conditions") or []
    return next((each for each in conditions if each.get("type") == kind), None)
