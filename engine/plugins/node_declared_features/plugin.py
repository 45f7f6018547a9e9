"""Features of the kubelet that a pod needs. Upstream: plugins/nodedeclaredfeatures (v1.36)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
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
from engine.framework.pods.signing import Signed, SignFragment
from engine.framework.registrations import Registration
from engine.kernel.sentences import enumerated, say
from engine.objects.objects import Pod
from engine.plugins.node_declared_features.events import EVENTS
from engine.plugins.node_declared_features.facts import explain_features

REASON_FEATURES = "node(s) didn't match Pod's required features"
_USER_NAMESPACES = "UserNamespacesHostNetworkSupport"
_RESTART_ALL = "RestartAllContainersOnContainerExits"


class NodeDeclaredFeatures(Plugin):
    """Refuses nodes that do not declare every feature that the pod needs."""

    name: ClassVar[str] = names.NODE_DECLARED_FEATURES

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod needs any feature."""
        return bool(required_features(state.pod.pod))

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for a pod that needs none."""
        return PRE_FILTER_OK if required_features(state.pod.pod) else PRE_FILTER_SKIP

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a node that lacks one."""
        required = required_features(state.pod.pod)
        return np.array([not required <= self._declared(row) for row in rows.tolist()], np.int64)

    def _declared(self, row: int) -> frozenset[str]:
        return frozenset(self._table.node(row).status.get("declaredFeatures") or ())

    def explain(self, state: CycleState, code: int) -> Status:
        """The only reason."""
        return Status(Code.UNRESOLVABLE, (REASON_FEATURES,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The features that the node does not declare."""
        missing = sorted(required_features(state.pod.pod) - self._declared(row))
        text = say("lacks {features}", features=enumerated(missing))
        return Detail(text=text, numbers={"missing": missing})

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_features(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return (SignFragment("required features", sorted(required_features(pod.pod))),)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS


def required_features(pod: Pod) -> frozenset[str]:
    """The features that the spec of the pod needs; kept with what follows from its spec.

    Upstream: nodedeclaredfeatures InferForPodScheduling().
    """
    known: frozenset[str] | None = pod.template.get("required_features")
    if known is None:
        known = pod.template["required_features"] = _inferred_features(pod.spec)
    return known


def _inferred_features(spec: Mapping[str, Any]) -> frozenset[str]:
    found: list[str] = []
    if spec.get("hostNetwork") and spec.get("hostUsers") is False:
        found.append(_USER_NAMESPACES)
    containers = (*(spec.get("initContainers") or ()), *(spec.get("containers") or ()))
    if any(
        rule.get("action") == "RestartAllContainers"
        for container in containers
        for rule in container.get("restartPolicyRules") or ()
    ):
        found.append(_RESTART_ALL)
    return frozenset(found)
