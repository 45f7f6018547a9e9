"""Pods of a service stay where labels have the same values. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.framework import (
    PRE_FILTER_OK,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import enumerated, say
from engine.plugins.classic import ERROR_PLUGIN
from engine.plugins.service_affinity.services import service_selectors

REASON_SERVICE = "node(s) didn't match service affinity"
ERROR_NO_NODE = 'node "" not found'
# In place of the row of a pod that is on no node yet, and the code where such a one comes first.
_NOWHERE = -1
_NO_NODE = 2


def _is_fellow(pod: PodInfo, other: PodInfo) -> bool:
    return other.pod.namespace == pod.pod.namespace and all(
        other.pod.labels.get(key) == value for key, value in pod.pod.labels.items()
    )


@dataclass(frozen=True, slots=True)
class _Service:
    """The labels that the pod itself asks for, and its fellows' rows where the first one counts.

    A nominated fellow is at `_NOWHERE`.
    """

    selected: dict[str, str]
    fellows: dict[str, int] | None


class CheckServiceAffinity(Plugin):
    """Pods of one service stay where some labels have the same values. Arguments: labels.

    The first pod of the service decides, unless the new pod's nodeSelector does. Upstream:
    ServiceAffinity.checkServiceAffinity().
    """

    name: ClassVar[str] = names.CHECK_SERVICE_AFFINITY
    # Where the first pod of the service is nominated, and on no node yet.
    no_node: ClassVar[Status] = Status(Code.ERROR, (ERROR_NO_NODE,), ERROR_PLUGIN)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._labels: tuple[str, ...] = tuple(arguments.get("labels") or ())

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Upstream: serviceAffinityMetadataProducer()."""
        selector: Mapping[str, str] = state.pod.pod.spec.get("nodeSelector") or {}
        selected = {label: selector[label] for label in self._labels if label in selector}
        asks = len(selected) < len(self._labels) and bool(
            service_selectors(state.pod, self._listers)
        )
        state.data[self.name] = _Service(selected, self._fellows(state.pod) if asks else None)
        return PRE_FILTER_OK

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        service = cast("_Service", data)
        return replace(service, fellows=service.fellows and service.fellows.copy())

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: AddPod() and RemovePod() of the metadata."""
        fellows = cast("_Service", state.data[self.name]).fellows
        if fellows is None:
            return
        if delta < 0:
            fellows.pop(other.key, None)
        elif _is_fellow(state.pod, other):
            fellows[other.key] = row if other.node_name else _NOWHERE

    def _first(self, state: CycleState) -> int | None:
        """The row of the first fellow, if there is one that counts."""
        fellows = cast("_Service", state.data[self.name]).fellows
        return next(iter((fellows or {}).values()), None)

    def _wanted(self, state: CycleState) -> dict[str, str]:
        """The pod's own labels, and those of the first fellow's node for the others."""
        service = cast("_Service", state.data[self.name])
        wanted = dict(service.selected)
        first = self._first(state)
        found: Mapping[str, str] = {} if first is None else self._table.node(first).labels
        for label in self._labels:
            if label not in wanted and label in found:
                wanted[label] = found[label]
        return wanted

    def _fellows(self, pod: PodInfo) -> dict[str, int]:
        """The placed pods with all of the pod's labels, and their rows."""
        return {
            other.key: row
            for row in map(int, self._table.active)
            for other in self._table.pods[row].values()
            if _is_fellow(pod, other)
        }

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 where some label has another value.

        Upstream looks for the node of the first fellow, which a nominated one has not got yet: that
        is an error of the attempt.
        """
        if self._first(state) == _NOWHERE:
            return np.full(len(rows), _NO_NODE, np.int64)
        wanted = self._wanted(state)
        return np.array(
            [
                int(any(self._table.node(row).labels.get(k) != v for k, v in wanted.items()))
                for row in rows.tolist()
            ],
            np.int64,
        )

    def explain(self, state: CycleState, code: int) -> Status:
        """Not among the reasons that evictions cannot undo."""
        if code == _NO_NODE:
            return self.no_node
        return Status(Code.UNSCHEDULABLE, (REASON_SERVICE,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The labels of the service's first pod."""
        if code == _NO_NODE:
            return Detail(text=say("the service's first pod is nominated, and on no node yet"))
        wanted = self._wanted(state)
        text = enumerated([f"{key}={value}" for key, value in wanted.items()])
        return Detail(text=say("the service is at {text}", text=text), numbers=dict(wanted))
