"""One trace in which several questions about the inside of a run are answered by one replay."""

from __future__ import annotations

from collections.abc import Iterable

from engine.cluster.cluster import Cluster
from engine.diagnosis.inside.trace import Asked, VolumesTrace
from engine.framework.trace_steps.nodes import NodeChanged
from engine.kernel.trace import Trace


class TogetherTrace(Trace):
    """Follows some pods through their scheduling cycles, and objects as a VolumesTrace of each does.

    `entries` are for `cycle_inside`; `about` are the traces for `inside_volumes`, as they were asked
    for. `since` is the event after which it began, 0 where that is the beginning of the run.
    """

    __slots__ = ("_pods", "about", "since")

    def __init__(self, cluster: Cluster, pods: Iterable[str], asked: Iterable[Asked]) -> None:
        """*pods* are entity ids."""
        super().__init__(cluster.loop, cluster.recorder)
        self._pods = frozenset(pods)
        self.since = cluster.seq if cluster.steps else 0
        self.about = tuple(VolumesTrace(cluster, each) for each in asked)

    def follows(self, entity: str) -> bool:
        """See Trace."""
        # Each has to hear of it: whom it follows depends on whom it met.
        followed = [each.follows(entity) for each in self.about]
        return entity in self._pods or any(followed)

    def add(self, entity: str, step: object) -> None:
        """See Trace. What changed in a scheduler's cache is about nodes that nobody has to follow."""
        if entity in self._pods or isinstance(step, NodeChanged):
            super().add(entity, step)
        if isinstance(step, NodeChanged):
            return
        for each in self.about:
            if each.follows(entity):
                each.add(entity, step)
