"""The predicates of v1.16 that do not run by default.

A Policy names them. Upstream: pkg/scheduler/algorithm/predicates/predicates.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

import numpy as np

from kscope.sim.objects.objects import Manifest, Node, Pod
from kscope.sim.objects.quantity import parse
from scheduling.engine import names
from scheduling.engine.columns.cells import Trait
from scheduling.engine.columns.row_plugins import RowFilter
from scheduling.engine.framework.framework import (
    FITS,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SUCCESS,
    Code,
    CycleState,
    Detail,
    Plugin,
    PreFilterResult,
    Status,
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.framework.simple import NodeState, SimplePlugin
from scheduling.engine.nodes.arrays import BoolArray, IntArray
from scheduling.engine.plugins.classic.classic_predicates import ERROR_PLUGIN, GeneralPredicates
from scheduling.engine.plugins.classic.optional_priorities import service_selectors
from scheduling.engine.plugins.pod_topology_spread import Domains, PodTopologySpread
from scheduling.engine.plugins.spreading.constraints import Constraints
from scheduling.engine.pods.pod_info import PodInfo

REASON_LABELS = "node(s) didn't have the requested labels"
REASON_SERVICE = "node(s) didn't match service affinity"
ERROR_NO_NODE = 'node "" not found'
REASON_SPREAD = "node(s) didn't match pod topology spread constraints"


class _PartOfGeneral(GeneralPredicates):
    """One of the predicates that GeneralPredicates combines, on its own."""

    kept: ClassVar[int] = 0

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Those bits that are this predicate's."""
        return super().filter(state, rows) & self.kept


class PodFitsResources(_PartOfGeneral):
    """Room for the requests, and for one more pod."""

    name: ClassVar[str] = names.POD_FITS_RESOURCES
    # The pod count and every bit from the first resource on.
    kept: ClassVar[int] = ~0xE


class HostName(_PartOfGeneral):
    """The node that the pod names."""

    name: ClassVar[str] = names.HOST_NAME
    kept: ClassVar[int] = 0x2


class PodFitsHostPorts(_PartOfGeneral):
    """Host ports that are taken."""

    name: ClassVar[str] = names.POD_FITS_HOST_PORTS
    kept: ClassVar[int] = 0x4


class MatchNodeSelector(_PartOfGeneral):
    """nodeSelector and required node affinity."""

    name: ClassVar[str] = names.MATCH_NODE_SELECTOR
    kept: ClassVar[int] = 0x8


class _NodeCheck(Plugin):
    """A predicate that looks at the node object only; its code is the place of a reason."""

    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        # Reasons for which evictions are tried although they cannot change the node.
        self._hopeful: tuple[str, ...] = tuple(arguments.get("hopeful_reasons") or ())

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """What is wrong with each node."""
        return np.array([self.code_at(state, row) for row in rows.tolist()], np.int64)

    def code_at(self, state: CycleState, row: int) -> int:
        """What is wrong with one node."""
        return self.check(self._table.node(row))

    def row_filter(self, state: CycleState) -> RowFilter:
        """Itself: every pod gets the same answer."""
        return self

    def fits(self, rows: IntArray) -> BoolArray:
        """See RowFilter."""
        checked = [self.fits_row(row) for row in rows.tolist()]
        return np.array(checked, np.bool_)

    def fits_row(self, row: int) -> bool:
        """See RowFilter."""
        return self.check(self._table.node(row)) == FITS

    def check(self, node: Node) -> int:
        """0, or a code."""
        raise NotImplementedError

    def reasons(self, code: int) -> tuple[str, ...]:
        """The reasons that *code* means."""
        raise NotImplementedError

    def explain(self, state: CycleState, code: int) -> Status:
        """No eviction changes a node; upstream tries them all the same for a few reasons."""
        reasons = self.reasons(code)
        hopeful = all(reason in self._hopeful for reason in reasons)
        verdict = Code.UNSCHEDULABLE if hopeful else Code.UNRESOLVABLE
        return Status(verdict, reasons, self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The reasons again."""
        return Detail(text=", ".join(self.reasons(code)))


class CheckNodeLabelPresence(SimplePlugin):
    """Labels that a node must have, or must not have. Arguments: labels, presence."""

    name: ClassVar[str] = names.CHECK_NODE_LABEL_PRESENCE
    is_local: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._labels: tuple[str, ...] = tuple(arguments.get("labels") or ())
        self._presence = bool(arguments.get("presence"))

    def fits(self, pod: Pod, node: NodeState) -> Status:
        """Refuses a node where one of the labels is absent that must be there, or the reverse."""
        if all((label in node.labels) == self._presence for label in self._labels):
            return SUCCESS
        return Status(Code.UNRESOLVABLE, (REASON_LABELS,))


class CheckNodeCondition(_NodeCheck):
    """Ready, with a network, not cordoned: runs when TaintNodesByCondition is off.

    The code has a digit for each reason, in the order of the message.
    """

    name: ClassVar[str] = names.CHECK_NODE_CONDITION
    _REASONS: ClassVar[dict[int, str]] = {
        1: "node(s) were not ready",
        2: "node(s) were out of disk space",
        3: "node(s) had unavailable network",
        4: "node(s) were unschedulable",
    }
    _DIGITS: ClassVar[int] = 8
    # So many fit into a code.
    _MOST: ClassVar[int] = 20

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__(arguments, handle)
        # What each condition has to be, and the reason where it is not. v1.11: out of disk is a
        # condition of its own, which has since become a pressure.
        self._wanted = {"Ready": ("True", 1), "NetworkUnavailable": ("False", 3)}
        if arguments.get("knows_out_of_disk"):
            self._wanted["OutOfDisk"] = ("False", 2)

    def check(self, node: Node) -> int:
        """Everything that is wrong, in the order of the node's conditions."""
        found: list[int] = []
        for kind, status in node.conditions:
            wanted, reason = self._wanted.get(kind, (status, 0))
            if status != wanted:
                found.append(reason)
        if node.spec.get("unschedulable"):
            found.append(4)
        code = 0
        for reason in reversed(found[: self._MOST]):
            code = code * self._DIGITS + reason
        return code

    def reasons(self, code: int) -> tuple[str, ...]:
        """One per digit."""
        found: list[str] = []
        while code:
            code, reason = divmod(code, self._DIGITS)
            found.append(self._REASONS[reason])
        return tuple(found)


class _Pressure(_NodeCheck):
    condition: ClassVar[str] = ""
    reason: ClassVar[str] = ""

    def check(self, node: Node) -> int:
        """1 under pressure."""
        # Upstream keeps the last condition of a type: SetNode().
        return int(dict(node.conditions).get(self.condition) == "True")

    def reasons(self, code: int) -> tuple[str, ...]:
        """The one reason there is."""
        return (self.reason,)


class CheckNodeMemoryPressure(_Pressure):
    """Best-effort pods keep off nodes that are short of memory."""

    name: ClassVar[str] = names.CHECK_NODE_MEMORY_PRESSURE
    condition: ClassVar[str] = "MemoryPressure"
    reason: ClassVar[str] = "node(s) had memory pressure"
    # The quality of service is no part of the template.
    is_local: ClassVar[bool] = False

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__(arguments, handle)
        reads_all: bool = arguments.get("reads_init_containers", True)
        self._lists = ("containers", "initContainers") if reads_all else ("containers",)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for pods that are not best-effort."""
        spec = state.pod.pod.spec
        containers = [one for name in self._lists for one in spec.get(name) or ()]
        return PRE_FILTER_OK if _are_best_effort(containers) else PRE_FILTER_SKIP


def _are_best_effort(containers: list[Manifest]) -> bool:
    """Whether none of *containers* asks for cpu or memory. Upstream: v1qos.GetPodQOS()."""
    for container in containers:
        resources: Manifest = container.get("resources") or {}
        asked: tuple[Manifest, ...] = (
            resources.get("requests") or {},
            resources.get("limits") or {},
        )
        for amounts in asked:
            if any(parse(amounts.get(name) or 0).nanos > 0 for name in ("cpu", "memory")):
                return False
    return True


class CheckNodeDiskPressure(_Pressure):
    """Nodes that are short of disk."""

    name: ClassVar[str] = names.CHECK_NODE_DISK_PRESSURE
    condition: ClassVar[str] = "DiskPressure"
    reason: ClassVar[str] = "node(s) had disk pressure"


class CheckNodePIDPressure(_Pressure):
    """Nodes that are short of process ids."""

    name: ClassVar[str] = names.CHECK_NODE_PID_PRESSURE
    condition: ClassVar[str] = "PIDPressure"
    reason: ClassVar[str] = "node(s) had pid pressure"


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
            return Detail(text="the service's first pod is nominated, and on no node yet")
        wanted = self._wanted(state)
        text = ", ".join(f"{key}={value}" for key, value in wanted.items())
        return Detail(text=f"the service is at {text}", numbers=dict(wanted))


# Without slots, for the sake of super().
@dataclass
class TriedDomains(Domains):
    """Domains to which pods came, or which they left, on trial: these count whatever lies in them.

    `came` and `left` have the domains by the pods' keys.
    """

    came: dict[str, int] = field(default_factory=dict[str, int])
    left: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def smallest(self) -> int:
        """The global minimum."""
        tried = (*self.came.values(), *self.left.values())
        return min((super().smallest, *map(self.counts.item, tried)))

    def note(self, key: str, domain: int, delta: int) -> None:
        """The pod of this *key* came or left; one that comes and goes again leaves no trace."""
        self.counts[domain] += delta
        if delta < 0 and self.came.pop(key, None) is None:
            self.left[key] = domain
        elif delta > 0 and key not in self.left:
            self.came[key] = domain

    def copy(self) -> TriedDomains:
        """For one node's dry run."""
        counts, came, left = self.counts.copy(), dict(self.came), dict(self.left)
        return replace(self, counts=counts, came=came, left=left)


class EvenPodsSpread(PodTopologySpread):
    """Hard topology spread constraints, with one reason for whatever is wrong (alpha)."""

    name: ClassVar[str] = names.EVEN_PODS_SPREAD
    counts_live_only: ClassVar[bool] = False

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        super().__init__({"defaultingType": "List"}, handle)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Where no node has all the labels, every node fits.

        Upstream: EvenPodsSpreadPredicate(), without any entry in tpPairToMatchNum.
        """
        result = super().pre_filter(state)
        return result if result.status.is_success and self._has_domains(state) else PRE_FILTER_SKIP

    def _all_domains(
        self, state: CycleState, constraints: Constraints, *, live: bool
    ) -> list[Domains]:
        return [
            TriedDomains(one.constraint, one.counts, one.eligible, one.matches_itself)
            for one in super()._all_domains(state, constraints, live=live)
        ]

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        return [domains.copy() for domains in cast("list[TriedDomains]", data)]

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: podSpreadCache.updatePod().

        It looks at a node's labels only, not at whether the pod selects the node.
        """
        found = cast("list[TriedDomains]", state.data[self.name])
        labelled = self._topology.with_labels(tuple(domains.constraint for domains in found))
        if other.pod.namespace != state.template.namespace or not labelled[row]:
            return
        for domains in found:
            selector, key = domains.constraint.selector, domains.constraint.topology_key
            if selector is not None and selector.matches(other.pod.labels):
                domains.note(other.key, self._table.topology(key).codes.item(row), delta)

    def look(self, state: CycleState) -> list[Trait]:
        """The same for the fast path."""
        traits = super().look(state)
        if self.name not in state.skip_filter and not self._has_domains(state):
            state.skip_filter.add(self.name)
        return traits

    def _has_domains(self, state: CycleState) -> bool:
        domains = cast("list[Domains]", state.data[self.name])
        return any(domain.eligible.domains for domain in domains)

    def explain(self, state: CycleState, code: int) -> Status:
        """Upstream: ErrTopologySpreadConstraintsNotMatch."""
        return Status(Code.UNSCHEDULABLE, (REASON_SPREAD,), self.name)
