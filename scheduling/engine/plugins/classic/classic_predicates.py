"""The predicates of v1.16. Upstream: pkg/scheduler/algorithm/predicates/{predicates,metadata}.go.

Each is a filter plugin under its predicate's name; most share their arithmetic with the plugins
that came after them. The order in which they run is the profile's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
from scheduling.engine.nodes.arrays import BoolArray, IntArray
from scheduling.engine.nodes.pod_counts import REQUIRED_ANTI_AFFINITY as REQUIRED_ANTI
from scheduling.engine.nodes.pod_counts import PodMatcher
from scheduling.engine.plugins.node_affinity import selector_detail
from scheduling.engine.plugins.node_resources_fit import asked_amounts, shortage
from scheduling.engine.plugins.node_unschedulable import REASON_UNSCHEDULABLE, tolerates_cordon
from scheduling.engine.plugins.pod_affinity.domains import DomainCounts, domain_counts
from scheduling.engine.plugins.taint_toleration import taint_detail, untolerated
from scheduling.engine.plugins.volumes.node_volume_limits import NodeVolumeLimits
from scheduling.engine.plugins.volumes.volume_binding import (
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
from scheduling.engine.pods.pod_info import AffinityTerm, PodInfo
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
REASON_POD_AFFINITY = "node(s) didn't match pod affinity/anti-affinity"
REASON_AFFINITY_RULES = "node(s) didn't match pod affinity rules"
REASON_ANTI_AFFINITY_RULES = "node(s) didn't match pod anti-affinity rules"
REASON_EXISTING_RULES = "node(s) didn't satisfy existing pods anti-affinity rules"
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
        """An error of the attempt when a claim is missing or going."""
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

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Everything that is wrong."""
        table = self._table
        codes = (table.pod_count[rows] + 1 > table.allowed_pods[rows]).astype(np.int64)
        for bit, (column, amount) in enumerate(self._wanted(state.pod), self._FIRST_RESOURCE):
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

    def _wanted(self, pod: PodInfo) -> list[tuple[int, int]]:
        """Columns and amounts. Upstream compares even what is not asked for, if anything is."""
        asked = asked_amounts(self._table, pod.resources.fit)
        if not self._ignored:
            return asked
        names_of = self._table.resource_names
        return [pair for pair in asked if names_of[pair[0]] not in self._ignored]

    def explain(self, state: CycleState, code: int) -> Status:
        """Resources first, then host, ports and selector."""
        reasons: list[str] = ["Insufficient pods"] if code & self._PODS else []
        for bit, (column, _) in enumerate(self._wanted(state.pod), self._FIRST_RESOURCE):
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
            for bit, pair in enumerate(self._wanted(state.pod), self._FIRST_RESOURCE)
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
        """Few pods have such disks."""
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
        """But the detail does."""
        group, place = divmod(code - 1, 256)
        return taint_detail(self._table.taints.groups[group][place])


class PodToleratesNodeNoExecuteTaints(PodToleratesNodeTaints):
    """Only NoExecute taints; used where daemon sets are looked at."""

    name: ClassVar[str] = names.POD_TOLERATES_NODE_NO_EXECUTE_TAINTS
    effects: ClassVar[tuple[str, ...]] = ("NoExecute",)


class MaxCSIVolumeCount(NodeVolumeLimits):
    """CSI attach limits, as later in NodeVolumeLimits."""

    name: ClassVar[str] = names.MAX_CSI_VOLUME_COUNT
    needs_volumes: ClassVar[bool] = True
    is_modern: ClassVar[bool] = False


class CheckVolumeBinding(Plugin):
    """Claims, with the reasons of the time; an unbound immediate claim is an error."""

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
        """Sort the claims out; what is wrong with them shows on each node that gets this far."""
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


@dataclass(slots=True)
class AffinityState:
    """Topology pairs with matching pods, and what pods added on trial contributed.

    Upstream: predicateMetadata's three topologyPairsMaps.
    """

    own: tuple[AffinityTerm, ...]
    own_anti: tuple[AffinityTerm, ...]
    affinity: dict[str, DomainCounts]
    anti: dict[str, DomainCounts]
    existing: dict[str, DomainCounts]
    matches_itself: bool
    trials: dict[str, list[tuple[DomainCounts, int]]] = field(
        default_factory=dict[str, "list[tuple[DomainCounts, int]]"]
    )


class MatchInterPodAffinity(Plugin):
    """Pod affinity and anti-affinity. Upstream: InterPodAffinityMatches()."""

    name: ClassVar[str] = names.MATCH_INTER_POD_AFFINITY

    AFFINITY, ANTI, EXISTING = 1, 2, 3

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Upstream: GetMetadata()."""
        pod = state.pod
        own, own_anti = pod.affinity.required, pod.affinity.required_anti
        affinity: dict[str, DomainCounts] = {}
        if own:
            counts = self._table.pod_counts.counter(PodMatcher(own)).tally
            for term in own:
                affinity[term.topology_key] = domain_counts(self._table, term.topology_key, counts)
        anti: dict[str, DomainCounts] = {}
        for term in own_anti:
            counts = self._table.pod_counts.counter(PodMatcher((term,))).tally
            self._merge(anti, domain_counts(self._table, term.topology_key, counts))
        existing = self.existing(pod)
        if not own and not own_anti and not existing:
            return PRE_FILTER_SKIP
        matches_itself = bool(own) and all(
            term.matches(pod.pod.namespace, pod.pod.labels) for term in own
        )
        state.data[self.name] = AffinityState(
            own, own_anti, affinity, anti, existing, matches_itself
        )
        return PRE_FILTER_OK

    def existing(self, pod: PodInfo) -> dict[str, DomainCounts]:
        """Per topology label, how many pods with anti-affinity against *pod* each domain has."""
        existing: dict[str, DomainCounts] = {}
        # Those of nominated pods are among them, which are put on a node on trial only later.
        for column in self._table.pod_counts.known_terms(REQUIRED_ANTI):
            if column.term.matches(pod.pod.namespace, pod.pod.labels):
                key = column.term.topology_key
                self._merge(existing, domain_counts(self._table, key, column.tally))
        return existing

    @staticmethod
    def _merge(domains: dict[str, DomainCounts], more: DomainCounts) -> None:
        before = domains.get(more.key)
        if before is None:
            domains[more.key] = more
        else:
            before.counts += more.counts

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """Placed pods' anti-affinity first, then the pod's own affinity and anti-affinity."""
        counted = cast("AffinityState", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        codes[self.any_counted(counted.anti, rows)] = self.ANTI
        if counted.own:
            nowhere = not any(domain.counts.any() for domain in counted.affinity.values())
            if not (nowhere and counted.matches_itself):
                codes[~self._all(counted, rows)] = self.AFFINITY
        codes[self.any_counted(counted.existing, rows)] = self.EXISTING
        return codes

    def any_counted(self, domains: Mapping[str, DomainCounts], rows: IntArray) -> BoolArray:
        """Which of *rows* are in a domain with a count."""
        found = np.zeros(len(rows), np.bool_)
        for domain in domains.values():
            counts, _ = domain.on(self._table, rows)
            found |= counts > 0
        return found

    def _all(self, counted: AffinityState, rows: IntArray) -> BoolArray:
        found = np.ones(len(rows), np.bool_)
        for domain in counted.affinity.values():
            counts, present = domain.on(self._table, rows)
            found &= present & (counts > 0)
        return found

    def clone_state(self, data: object) -> object:
        """A copy for one node's dry run."""
        counted = cast("AffinityState", data)
        return AffinityState(
            counted.own,
            counted.own_anti,
            _copied(counted.affinity),
            _copied(counted.anti),
            _copied(counted.existing),
            counted.matches_itself,
        )

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: AddPod() and RemovePod() of the metadata."""
        counted = cast("AffinityState | None", state.data.get(self.name))
        if counted is not None:
            self.update_counts(counted, state.pod, other, row, delta)

    def update_counts(
        self, counted: AffinityState, pod: PodInfo, other: PodInfo, row: int, delta: int
    ) -> None:
        """Count *other*, which came to *row* or left it, for the incoming *pod*."""
        trial = counted.trials.pop(other.key, None) if delta < 0 else None
        if trial is not None:
            for domain, code in trial:
                domain.counts[code] -= 1
            return
        parts = self._contributions(counted, pod, other, row, added=delta > 0)
        for domain, code in parts:
            domain.counts[code] += delta
        if delta > 0:
            counted.trials[other.key] = parts

    def _contributions(
        self, counted: AffinityState, pod: PodInfo, other: PodInfo, row: int, *, added: bool
    ) -> list[tuple[DomainCounts, int]]:
        """The domains in which *other* counts.

        AddPod differs from counting afresh: a pod without a node name (a nominated one) does not
        count for the incoming pod's own terms, and one that matches any anti-affinity term counts
        for all of them.
        """
        parts: list[tuple[DomainCounts, int]] = []
        incoming = pod.pod
        for term in other.affinity.required_anti:
            if term.matches(incoming.namespace, incoming.labels):
                self._add(parts, counted.existing, term.topology_key, row)
        if added and not other.node_name:
            return parts
        namespace, labels = other.pod.namespace, other.pod.labels
        if counted.own and all(term.matches(namespace, labels) for term in counted.own):
            for key in counted.affinity:
                self._add(parts, counted.affinity, key, row)
        matched = [term for term in counted.own_anti if term.matches(namespace, labels)]
        for term in counted.own_anti if added and matched else matched:
            self._add(parts, counted.anti, term.topology_key, row)
        return parts

    def _add(
        self,
        parts: list[tuple[DomainCounts, int]],
        domains: dict[str, DomainCounts],
        key: str,
        row: int,
    ) -> None:
        column = self._table.topology(key)
        code = int(column.codes[row])
        if code < 0:
            return
        domain = domains.get(key)
        if domain is None:
            domain = domains[key] = DomainCounts(key, np.zeros(len(column.values), np.int64))
        parts.append((domain, code))

    def explain(self, state: CycleState, code: int) -> Status:
        """Always two reasons: that it failed, and by which rules."""
        rules = {
            self.AFFINITY: REASON_AFFINITY_RULES,
            self.ANTI: REASON_ANTI_AFFINITY_RULES,
            self.EXISTING: REASON_EXISTING_RULES,
        }[code]
        verdict = Code.UNRESOLVABLE if code == self.AFFINITY else Code.UNSCHEDULABLE
        return Status(verdict, (REASON_POD_AFFINITY, rules), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The topology key and domain in question."""
        return self.domain_detail(cast("AffinityState", state.data[self.name]), row, code)

    def domain_detail(self, counted: AffinityState, row: int, code: int) -> Detail:
        """The same from the counts themselves."""
        labels = self._table.node(row).labels
        if code == self.AFFINITY:
            for key in counted.affinity:
                if key not in labels:
                    return Detail(text=f"no label {key}", numbers={"topologyKey": key})
            where = ", ".join(f"{key}={labels[key]}" for key in counted.affinity)
            return Detail(text=f"no matching pod in {where}")
        domains = counted.existing if code == self.EXISTING else counted.anti
        at = np.array([row], np.int64)
        for key, domain in domains.items():
            counts, _ = domain.on(self._table, at)
            if counts[0] > 0:
                who = "a pod there refuses it" if code == self.EXISTING else "a pod it avoids"
                return Detail(
                    text=f"{who}: {key}={labels[key]}",
                    numbers={"topologyKey": key, "domain": labels[key], "pods": int(counts[0])},
                )
        return Detail(text="anti-affinity")


def _copied(domains: Mapping[str, DomainCounts]) -> dict[str, DomainCounts]:
    return {key: DomainCounts(key, domain.counts.copy()) for key, domain in domains.items()}
