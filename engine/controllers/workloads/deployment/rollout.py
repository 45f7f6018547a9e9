"""The arithmetic of a Deployment's rollout: how much each ReplicaSet may grow or shrink.

Upstream: pkg/controller/deployment/util/deployment_util.go.
"""

from typing import Final

from engine.controllers.shared.controller import generation_of, replicas_of, status_number
from engine.controllers.shared.manifests import part
from engine.controllers.shared.pods import count_of, filled_template, plain_template, time_of
from engine.objects.objects import ApiObject, Manifest

AUTHOR: Final = "deployment-controller"
HASH_LABEL: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
REVISION_HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED_REPLICAS: Final = "deployment.kubernetes.io/desired-replicas"
MAX_REPLICAS: Final = "deployment.kubernetes.io/max-replicas"

# The annotations of a Deployment that are not copied to its ReplicaSets.
NOT_COPIED: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
)


def is_rolling(deployment: ApiObject) -> bool:
    """Whether its strategy is RollingUpdate, the default."""
    return part(deployment.spec, "strategy").get("type") != "Recreate"


def _fences(deployment: ApiObject) -> tuple[int, int]:
    """maxSurge and maxUnavailable as numbers. Upstream: ResolveFenceposts()."""
    rolling: Manifest = part(deployment.spec, "strategy", "rollingUpdate")
    replicas = replicas_of(deployment)
    surge = count_of(rolling.get("maxSurge", "25%"), replicas, round_up=True)
    unavailable = count_of(rolling.get("maxUnavailable", "25%"), replicas, round_up=False)
    # With zero for both a rollout could never begin.
    return (surge, unavailable) if surge or unavailable else (0, 1)


def max_surge(deployment: ApiObject) -> int:
    """How many pods it may have beyond its replicas."""
    return _fences(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: ApiObject) -> int:
    """How many of its replicas may be missing during a rollout."""
    if not is_rolling(deployment) or not replicas_of(deployment):
        return 0
    return min(_fences(deployment)[1], replicas_of(deployment))


def spec_replicas(replica_sets: list[ApiObject]) -> int:
    """The sum of their spec.replicas."""
    return sum(replicas_of(each) for each in replica_sets)


def status_sum(replica_sets: list[ApiObject], name: str) -> int:
    """The sum of a count in their statuses."""
    return sum(status_number(each, name) for each in replica_sets)


def new_replicas(deployment: ApiObject, replica_sets: list[ApiObject], current: int) -> int:
    """How many replicas the new ReplicaSet, which has *current* ones, is to have now.

    Upstream: NewRSNewReplicas().
    """
    wanted = replicas_of(deployment)
    if not is_rolling(deployment):
        return wanted
    room = wanted + max_surge(deployment) - spec_replicas(replica_sets)
    return current if room <= 0 else current + min(room, wanted - current)


def proportion(replica_set: ApiObject, deployment: ApiObject, to_add: int, added: int) -> int:
    """This ReplicaSet's share of a scaling by *to_add*. Upstream: GetProportion()."""
    replicas = replicas_of(replica_set)
    if not replicas or not to_add or to_add == added:
        return 0
    fraction = _fraction(replica_set, deployment)
    allowed = to_add - added
    return min(fraction, allowed) if to_add > 0 else max(fraction, allowed)


def _fraction(replica_set: ApiObject, deployment: ApiObject) -> int:
    wanted, replicas = replicas_of(deployment), replicas_of(replica_set)
    if not wanted:
        return -replicas
    largest = wanted + max_surge(deployment)
    annotated = annotated_number(replica_set, MAX_REPLICAS)
    if not annotated:
        annotated = status_number(deployment, "replicas") or largest
    # Rounded half away from zero; everything here is positive.
    return (2 * replicas * largest + annotated) // (2 * annotated) - replicas


def annotated_number(obj: ApiObject, name: str) -> int:
    """A number in an annotation; 0 when it is not one."""
    text = obj.annotations.get(name) or ""
    return int(text) if text.isdecimal() else 0


def oldest_first(replica_sets: list[ApiObject]) -> list[ApiObject]:
    """By creation, then by name. Upstream: ReplicaSetsByCreationTimestamp."""
    return sorted(replica_sets, key=_age)


def _age(obj: ApiObject) -> tuple[int, str]:
    return time_of(obj.creation_timestamp), obj.name


def find_new(deployment: ApiObject, replica_sets: list[ApiObject]) -> ApiObject | None:
    """The oldest ReplicaSet whose template is the Deployment's. Upstream: FindNewReplicaSet()."""
    for form in (plain_template, filled_template):
        wanted = form(part(deployment.spec, "template"), without_label=HASH_LABEL)
        for each in oldest_first(replica_sets):
            if form(part(each.spec, "template"), without_label=HASH_LABEL) == wanted:
                return each
    return None


def is_complete(deployment: ApiObject, status: Manifest) -> bool:
    """Whether all pods are new and available, and no old ones are left. Upstream: DeploymentComplete()."""
    wanted = replicas_of(deployment)
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    if any((status.get(name) or 0) != wanted for name in counts):
        return False
    return (status.get("observedGeneration") or 0) >= generation_of(deployment)


def is_progressing(deployment: ApiObject, status: Manifest) -> bool:
    """Whether *status* shows progress compared with the current one. Upstream: DeploymentProgressing()."""
    new = {name: status.get(name) or 0 for name in _COUNTS}
    before = {name: status_number(deployment, name) for name in _COUNTS}
    old_left = new["replicas"] - new["updatedReplicas"]
    return (
        new["updatedReplicas"] > before["updatedReplicas"]
        or old_left < before["replicas"] - before["updatedReplicas"]
        or new["readyReplicas"] > before["readyReplicas"]
        or new["availableReplicas"] > before["availableReplicas"]
    )


_COUNTS: Final = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
