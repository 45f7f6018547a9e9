"""The predicates of v1.16. Upstream: pkg/scheduler/algorithm/predicates/{predicates,metadata}.go.

Each is a filter plugin under its predicate's name; most share their arithmetic with the plugins
that came after them. The order in which they run is the profile's.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from scheduling.engine import names
from scheduling.engine.framework.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    Code,
    CycleState,
    Detail,
    Plugin,
    PodVolumes,
    PreFilterResult,
    Status,
)
from scheduling.engine.framework.handle import Arguments, Handle
from scheduling.engine.nodes.arrays import IntArray
from scheduling.engine.plugins.node_affinity import selector_detail
from scheduling.engine.plugins.node_resources_fit import asked_amounts, shortage
from scheduling.engine.plugins.node_unschedulable import REASON_UNSCHEDULABLE, tolerates_cordon
from scheduling.engine.plugins.taint_toleration import taint_detail, untolerated
from scheduling.engine.plugins.volumes.node_volume_limits import NodeVolumeLimits
from scheduling.engine.plugins.volumes.volume_finder import (
    FinderRules,
    Plans,
    PodClaims,
    VolumeFinder,
    plan_at,
)
from scheduling.engine.plugins.volumes.volume_restrictions import (
    has_disk_conflict,
    restricted_disks,
)
from scheduling.engine.plugins.volumes.volume_zone import Topology, volume_topologies
from volumes.engine.phases import claim_class

ERROR_PLUGIN = "error"

REASON_HOST = "node(s) didn't match the requested hostname"
REASON_PORTS = "node(s) didn't have free ports for the requested pod ports"
REASON_SELECTOR = "node(s) didn't match node selector"
REASON_DISK = "node(s) had no available disk"
REASON_TAINTS = "node(s) had taints that the pod didn't tolerate"
REASON_NODE_CONFLICT = "node(s) had volume node affinity conflict"
REASON_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
REASON_ZONE = "node(s) had no available volume zone"
REASON_UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
REASON_UNBOUND_1_11 = "pod has unbound PersistentVolumeClaims"

BETA_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


class PodPassesBasicChecks(Plugin):
    """Claims have to exist before anything else. Upstream: podPassesBasicChecks()."""

    name: ClassVar[str] = names.POD_PASSES_BASIC_CHECKS
    needs_volumes: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._listers = handle.listers

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """An error of the attempt when a claim is missing or being deleted."""
        pod = state.pod.pod
        for volume in pod.volumes:
            source = volume.get("persistentVolumeClaim")
            if not source:
                continue
            name = source["claimName"]
            claim = self._listers.claim(f"{pod.namespace}/{name}")
            fault = ""
            if claim is None:
                fault = f'persistentvolumeclaim "{name}" not found'
            elif claim.deletion_timestamp:
                fault = f'persistentvolumeclaim "{name}" is being deleted'
            if fault:
                return PreFilterResult(status=Status(Code.ERROR, (fault,), ERROR_PLUGIN))
        return PRE_FILTER_SKIP


class CheckNodeUnschedulable(Plugin):
    """Cordoned nodes."""

    name: ClassVar[str] = names.CHECK_NODE_UNSCHEDULABLE
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a cordoned node."""
        if tolerates_cordon(state.template):
            return np.zeros(len(rows), np.int64)
        return self._table.unschedulable[rows].astype(np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNRESOLVABLE, (REASON_UNSCHEDULABLE,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Cordoned."""
        return Detail(text="cordoned")


class GeneralPredicates(Plugin):
    """Resources, host name, host ports and node selector, all reported together.

    The code is a set of bits: pod count, host, ports, selector, then one per resource.
    """

    name: ClassVar[str] = names.GENERAL_PREDICATES
    is_local: ClassVar[bool] = True

    _PODS, _HOST, _PORTS, _SELECTOR, _FIRST_RESOURCE = 1, 2, 4, 8, 4

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._ignored: tuple[str, ...] = tuple(arguments.get("ignoredResources") or ())
        self._known: dict[int, list[tuple[int, int]]] = {}

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """All failures, as bits."""
        table = self._table
        codes = (table.pod_count[rows] + 1 > table.allowed_pods[rows]).astype(np.int64)
        for bit, (column, amount) in enumerate(self._wanted(state), self._FIRST_RESOURCE):
            used = table.requested[column][rows] + amount
            codes |= (table.allocatable[column][rows] < used).astype(np.int64) << bit
        template = state.template
        if template.node_name:
            wrong = rows != table.rows.get(template.node_name, -1)
            codes |= np.where(wrong, self._HOST, 0)
        if state.pod.ports:
            taken = table.ports.conflicts(state.pod.ports)
            conflict = np.isin(rows, np.fromiter(taken, np.int64, len(taken)))
            codes |= np.where(conflict, self._PORTS, 0)
        if not template.required_affinity.is_empty:
            matching = table.matching(template.required_affinity)[rows]
            codes |= np.where(matching, 0, self._SELECTOR)
        return codes

    def code_at(self, state: CycleState, row: int) -> int:
        """As `filter` for one row."""
        # First, for a resource that is new gets a column.
        wanted = self._wanted(state)
        table, template, ports = self._table, state.template, state.pod.ports
        requested, allocatable = table.requested, table.allocatable
        code = int(table.pod_count.item(row) + 1 > table.allowed_pods.item(row))
        for bit, (column, amount) in enumerate(wanted, self._FIRST_RESOURCE):
            used = requested.item(column, row) + amount
            code |= (allocatable.item(column, row) < used) << bit
        if template.node_name and row != table.rows.get(template.node_name):
            code |= self._HOST
        if ports and row in table.ports.conflicts(ports):
            code |= self._PORTS
        affinity = template.required_affinity
        if not affinity.is_empty and not table.matching(affinity)[row]:
            code |= self._SELECTOR
        return code

    def _wanted(self, state: CycleState) -> list[tuple[int, int]]:
        """Columns and amounts, the same for every pod of a template.

        If any resource is requested, upstream compares the others, too.
        """
        number = state.template.number
        wanted = self._known.get(number)
        if wanted is None:
            asked = asked_amounts(self._table, state.pod.resources.fit)
            names_of = self._table.resource_names
            wanted = [pair for pair in asked if names_of[pair[0]] not in self._ignored]
            self._known[number] = wanted
        return wanted

    def explain(self, state: CycleState, code: int) -> Status:
        """Resources first, then host, ports and selector."""
        reasons: list[str] = ["Insufficient pods"] if code & self._PODS else []
        for bit, (column, _) in enumerate(self._wanted(state), self._FIRST_RESOURCE):
            if code >> bit & 1:
                reasons.append(f"Insufficient {self._table.resource_names[column]}")
        for bit, reason in (
            (self._HOST, REASON_HOST),
            (self._PORTS, REASON_PORTS),
            (self._SELECTOR, REASON_SELECTOR),
        ):
            if code & bit:
                reasons.append(reason)
        hopeless = code & (self._HOST | self._SELECTOR)
        verdict = Code.UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
        return Status(verdict, tuple(reasons), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The selector when it is in the way, else what is short."""
        if code & self._SELECTOR:
            return selector_detail(state, self._table.node(row).labels, self._table.name(row))
        if code & self._HOST:
            return Detail(text=f"pod asks for {state.template.node_name}")
        short = [
            pair
            for bit, pair in enumerate(self._wanted(state), self._FIRST_RESOURCE)
            if code >> bit & 1
        ]
        if not short and code & self._PORTS:
            port = self._table.ports.conflicts(state.pod.ports)[row]
            return Detail(
                text=f"host port {port.port}/{port.protocol} taken",
                numbers={"port": port.port, "protocol": port.protocol},
            )
        return shortage(self._table, row, short, too_many_pods=bool(code & self._PODS))


class NoDiskConflict(Plugin):
    """In-tree disks that two pods of one node may not share."""

    name: ClassVar[str] = names.NO_DISK_CONFLICT
    needs_volumes: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for a pod without such disks."""
        return PRE_FILTER_OK if restricted_disks(state.pod.pod) else PRE_FILTER_SKIP

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 for a conflict."""
        disks = restricted_disks(state.pod.pod)
        return np.array(
            [has_disk_conflict(self._table, row, disks) for row in rows.tolist()], np.int64
        )

    def explain(self, state: CycleState, code: int) -> Status:
        """The one reason there is."""
        return Status(Code.UNSCHEDULABLE, (REASON_DISK,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """In use."""
        return Detail(text="disk in use on this node")


class PodToleratesNodeTaints(Plugin):
    """Untolerated taints; the code is 1 + taint group * 256 + place in the group."""

    name: ClassVar[str] = names.POD_TOLERATES_NODE_TAINTS
    is_local: ClassVar[bool] = True
    is_static: ClassVar[bool] = True
    effects: ClassVar[tuple[str, ...]] = ("NoSchedule", "NoExecute")

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The first untolerated taint."""
        verdicts: list[int] = []
        for group, taints in enumerate(self._table.taints.groups):
            place = untolerated(state.template, taints, self.effects)
            verdicts.append(0 if place is None else 1 + group * 256 + place)
        return np.array(verdicts, np.int64)[self._table.taints.codes[rows]]

    def explain(self, state: CycleState, code: int) -> Status:
        """The reason does not name the taint."""
        return Status(Code.UNRESOLVABLE, (REASON_TAINTS,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The taint, which the reason leaves out."""
        group, place = divmod(code - 1, 256)
        return taint_detail(self._table.taints.groups[group][place])


class PodToleratesNodeNoExecuteTaints(PodToleratesNodeTaints):
    """Only NoExecute taints; used for DaemonSets."""

    name: ClassVar[str] = names.POD_TOLERATES_NODE_NO_EXECUTE_TAINTS
    effects: ClassVar[tuple[str, ...]] = ("NoExecute",)


class MaxCSIVolumeCount(NodeVolumeLimits):
    """CSI attach limits, as later in NodeVolumeLimits."""

    name: ClassVar[str] = names.MAX_CSI_VOLUME_COUNT
    needs_volumes: ClassVar[bool] = True
    is_modern: ClassVar[bool] = False


class CheckVolumeBinding(Plugin):
    """Claims, with the reasons of these versions; an unbound immediate claim is an error."""

    name: ClassVar[str] = names.CHECK_VOLUME_BINDING
    needs_volumes: ClassVar[bool] = True

    _NODE_CONFLICT, _BIND_CONFLICT, _ERROR = 1, 2, 4

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        in_rounds = bool(arguments.get("in_rounds"))
        provisions = bool(arguments.get("provisions", True))
        rules = FinderRules(
            prebound_is_bound=in_rounds,
            provisions=provisions,
            counts_room=False,
            # v1.11 reads the annotation only if it writes it. Upstream: shouldDelayBinding().
            delays_selected=not (in_rounds and provisions),
            provisions_selected=not in_rounds,
        )
        self._finder = VolumeFinder(handle.table, handle.listers, rules)
        self._unbound = REASON_UNBOUND_1_11 if in_rounds else REASON_UNBOUND

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Classify the claims; their errors show on each node that passes the predicates before."""
        if not any(volume.get("persistentVolumeClaim") for volume in state.pod.pod.volumes):
            return PRE_FILTER_SKIP
        state.data[self.name] = self._finder.pod_claims(state.pod)
        return PRE_FILTER_OK

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The failures as bits."""
        claims, error = cast("tuple[PodClaims, str]", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        if error or claims.immediate:
            return codes + self._ERROR
        if claims.bound:
            conflict, missing = self._finder.bound_conflicts(claims.bound)
            codes |= np.where(conflict[rows], self._NODE_CONFLICT, self._ERROR if missing else 0)
        if claims.delayed:
            unbound, plans = self._finder.unbound(claims, rows)
            codes |= np.where(unbound != 0, self._BIND_CONFLICT, 0)
            cast("list[Plans]", state.data.setdefault(f"{self.name}/plans", [])).append(plans)
        return codes

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """What has to be bound and provisioned when the pod goes to the node at *row*."""
        return plan_at(cast("list[Plans] | None", state.data.get(f"{self.name}/plans")), row)

    def explain(self, state: CycleState, code: int) -> Status:
        """Conflicts are refusals, everything else an error of the attempt."""
        if code & self._ERROR:
            return Status(Code.ERROR, (self._error(state),), ERROR_PLUGIN)
        reasons: list[str] = []
        if code & self._NODE_CONFLICT:
            reasons.append(REASON_NODE_CONFLICT)
        if code & self._BIND_CONFLICT:
            reasons.append(REASON_BIND_CONFLICT)
        return Status(Code.UNRESOLVABLE, tuple(reasons), self.name)

    def _error(self, state: CycleState) -> str:
        claims, error = cast("tuple[PodClaims, str]", state.data[self.name])
        if error:
            return error
        if claims.immediate:
            return self._unbound
        _, missing = self._finder.bound_conflicts(claims.bound)
        return f'could not find v1.PersistentVolume "{missing}"'

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The claims in question, or the fault that ends the attempt."""
        claims, _ = cast("tuple[PodClaims, str]", state.data[self.name])
        if code & self._ERROR:
            return Detail(text=self._error(state))
        if code & self._NODE_CONFLICT:
            volumes = [claim.volume_name for claim in claims.bound]
            return Detail(text=f"out of reach: {', '.join(volumes)}", numbers={"volumes": volumes})
        keys = [claim.key for claim in (*claims.delayed, *claims.immediate)]
        return Detail(text=f"no volume for {', '.join(keys)}", numbers={"claims": keys})


class NoVolumeZoneConflict(Plugin):
    """Zone labels of bound volumes; only the beta labels were known.

    Upstream: VolumeZoneChecker.predicate().
    """

    name: ClassVar[str] = names.NO_VOLUME_ZONE_CONFLICT
    needs_volumes: ClassVar[bool] = True

    _CONFLICT, _ERROR = 1, 2

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Collect the labels of the claims' volumes, in order, up to the first error."""
        pod = state.pod.pod
        wanted: list[Topology] = []
        error = ""
        claims = [v["persistentVolumeClaim"] for v in pod.volumes if v.get("persistentVolumeClaim")]
        if not claims:
            return PRE_FILTER_SKIP
        for source in claims:
            error = self._collect(pod.namespace, source["claimName"], wanted)
            if error:
                break
        state.data[self.name] = (wanted, error)
        return PRE_FILTER_OK

    def _collect(self, namespace: str, name: str, wanted: list[Topology]) -> str:
        claim = self._listers.claim(f"{namespace}/{name}")
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if not claim.volume_name:
            class_name = claim_class(claim)
            storage_class = self._listers.storage_class(class_name) if class_name else None
            if storage_class is not None and storage_class.binding_mode == "WaitForFirstConsumer":
                return ""
            return f'PersistentVolumeClaim was not found: "{name}"'
        volume = self._listers.volume(claim.volume_name)
        if volume is None:
            return f'persistentvolume "{claim.volume_name}" not found'
        wanted += volume_topologies(volume, BETA_LABELS)
        return ""

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Conflicts found before an error count first; nodes without zones reach everything."""
        wanted, error = cast("tuple[list[Topology], str]", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            labels = self._table.node(row).labels
            if not any(key in labels for key in BETA_LABELS):
                continue
            if any(labels.get(key, "") not in values for key, values, _ in wanted):
                codes[place] = self._CONFLICT
            elif error:
                codes[place] = self._ERROR
        return codes

    def explain(self, state: CycleState, code: int) -> Status:
        """A conflict, or what is wrong with the claims."""
        if code == self._ERROR:
            _, error = cast("tuple[Any, str]", state.data[self.name])
            return Status(Code.ERROR, (error,), ERROR_PLUGIN)
        return Status(Code.UNRESOLVABLE, (REASON_ZONE,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The label on the volume's side."""
        wanted, error = cast("tuple[list[Topology], str]", state.data[self.name])
        labels = self._table.node(row).labels
        for key, values, volume in wanted:
            if labels.get(key, "") not in values:
                allowed = sorted(values)
                return Detail(
                    text=f"volume {volume} is in {key}={','.join(allowed)}",
                    numbers={"volume": volume, "key": key, "values": allowed},
                )
        return Detail(text=error)
