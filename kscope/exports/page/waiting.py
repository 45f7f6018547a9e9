"""The answers why of what waits at the end of a run: the file has no engine to ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import CopiedForks, MakeForks
from engine.diagnosis.subjects.goals import Goal
from engine.diagnosis.why import explain_object
from engine.objects.kinds import entity_id

MOST: Final = 200
# Changes are tried in forks, each of which takes as long as its cluster is large.
MOST_TRIED: Final = 40
MOST_NODES_TRIED: Final = 500


class Waiting:
    """What waits in a cluster, and the answers about the first of it."""

    def __init__(self, cluster: Cluster, make_forks: MakeForks = CopiedForks) -> None:
        self._cluster, self._make_forks = cluster, make_forks
        self._waiting = [*waiting_in(cluster)]
        self._tries = tries_changes(cluster)

    @property
    def entities(self) -> list[str]:
        """The ids of all that waits."""
        return [entity_id(kind, key) for kind, key in self._waiting]

    @property
    def unanswered(self) -> int:
        """How many objects wait about which nothing is asked."""
        return max(0, len(self._waiting) - MOST)

    def answers(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Entity id and answer of each, as the resource `why` has them: docs/why-pending.md."""
        cluster = self._cluster
        for place, (kind, key) in enumerate(self._waiting[:MOST]):
            tries = self._tries and place < MOST_TRIED
            found = explain_object(
                cluster, kind, key, tries_changes=tries, make_forks=self._make_forks
            )
            outcome = Goal(kind, key).outcome(cluster)
            told = {"run": 0, "seq": cluster.seq, "outcome": outcome, **found.to_dict()}
            yield entity_id(kind, key), told


def tries_changes(cluster: Cluster) -> bool:
    """Whether changes are tried in a cluster of this size."""
    return len(cluster.store.objects("Node")) <= MOST_NODES_TRIED


def waiting_in(cluster: Cluster) -> Iterator[tuple[str, str]]:
    """Kind and key of the pods without a node and of the claims without a volume, oldest first."""
    for pod in cluster.store.objects("Pod"):
        if not pod.spec.get("nodeName") and pod.status.get("phase") not in ("Succeeded", "Failed"):
            yield "Pod", pod.key
    for claim in cluster.store.objects("PersistentVolumeClaim"):
        if claim.status.get("phase") != "Bound":
            yield "PersistentVolumeClaim", claim.key
