"""How controllers create pods, and what they do when the API server refuses one."""

from collections.abc import Iterator, Sequence
from typing import Final

from engine.objects.objects import ApiObject, Manifest

REPLICA_FAILURE: Final = "ReplicaFailure"


def batches(count: int) -> Iterator[int]:
    """How many of *count* objects to create at a time: 1, 2, 4 and so on.

    A controller stops after a batch in which one was refused, and has not tried all the others.
    Upstream: slowStartBatch().
    """
    size, left = 1, count
    while left > 0:
        now = min(size, left)
        yield now
        size, left = size * 2, left - now


def with_replica_failure(
    conditions: list[Manifest], new: ApiObject | None, old: Sequence[ApiObject]
) -> list[Manifest]:
    """A Deployment's *conditions* with the ReplicaFailure of its ReplicaSets, or without one.

    That of the new ReplicaSet goes first. Upstream: progress.go, getReplicaFailures().
    """
    sets = [*([new] if new is not None else []), *old]
    failure = next((found for each in sets if (found := _replica_failure(each))), None)
    others = [each for each in conditions if each.get("type") != REPLICA_FAILURE]
    if failure is None:
        return conditions if len(others) == len(conditions) else others
    known = next((each for each in conditions if each.get("type") == REPLICA_FAILURE), None)
    if known and all(known.get(name) == failure.get(name) for name in ("status", "reason")):
        return conditions
    return [*others, {**failure, "lastUpdateTime": failure.get("lastTransitionTime")}]


def _replica_failure(replica_set: ApiObject) -> Manifest | None:
    conditions: list[Manifest] = replica_set.status.get("conditions") or []
    return next((each for each in conditions if each.get("type") == REPLICA_FAILURE), None)
