"""Volumes for the pod's claims. Upstream: plugins/volumebinding/{volume_binding,binder}.go.

Bound claims need their volume's node affinity; unbound claims of delayed classes need a free
volume that can be reached, or a class that can provision one at the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np

from kscope.sim import quantity
from kscope.sim.objects import PersistentVolumeClaim, StorageClass
from kscope.sim.selectors import LabelSelector
from scheduling.engine import names
from scheduling.engine.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    BoolArray,
    Code,
    CycleState,
    Detail,
    IntArray,
    Plugin,
    PodVolumes,
    PreFilterResult,
    Status,
)
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.listers import Listers
from scheduling.engine.node_table import NodeTable
from scheduling.engine.pod_info import PodInfo
from scheduling.engine.volume_ladder import NONE, Ladders, by_labels
from volumes.engine.matching import Offer, wanted_of
from volumes.engine.migration import (
    in_tree_plugin_of,
    is_migrated_on_node,
    translated_affinity,
)
from volumes.engine.phases import claim_class

REASON_UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
REASON_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
REASON_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
REASON_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
REASON_NO_SPACE = "node(s) did not have enough free storage"

NO_PROVISIONER = "kubernetes.io/no-provisioner"

_NOT_EXIST, _NODE_CONFLICT, _BIND_CONFLICT, _NO_SPACE = 1, 2, 4, 8


def _no_rows() -> IntArray:
    return np.zeros(0, np.int64)


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod by what has to happen to them. Upstream: PodVolumeClaims."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    delayed: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    immediate: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])


@dataclass(slots=True)
class Plans:
    """What would be done on each row: written out, or as the picks of one claim."""

    claim: str = ""
    rows: IntArray = field(default_factory=_no_rows)
    picks: IntArray = field(default_factory=_no_rows)
    names: list[str] = field(default_factory=list[str])
    by_row: dict[int, PodVolumes] = field(default_factory=dict[int, PodVolumes])

    def at(self, row: int) -> PodVolumes | None:
        """The plan for *row*, or None when there is none."""
        found = self.by_row.get(row)
        if found is not None:
            return found
        for place in np.flatnonzero(self.rows == row).tolist():
            if self.picks[place] != NONE:
                return PodVolumes(bind={self.claim: self.names[int(self.picks[place])]})
        return None


def plan_at(found: list[Plans] | None, row: int) -> PodVolumes:
    """The newest plan for *row*; nothing to do when there is none."""
    for plans in reversed(found or []):
        plan = plans.at(row)
        if plan is not None:
            return plan
    return PodVolumes()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinderRules:
    """What v1.11 answers differently, and what v1.34 does."""

    # A claim that names its volume counts as bound, whether the PV controller is done or not.
    prebound_is_bound: bool = False
    # Whether volumes are provisioned for a chosen node, once no volume is found.
    provisions: bool = True
    # Whether a claim that is being provisioned for a node is still the scheduler's.
    delays_selected: bool = True
    # Whether disks of in-tree plugins are looked at as their CSI drivers' where a node says so.
    translates: bool = False


class VolumeFinder:
    """Answers for claims and nodes; shared by the plugin and the v1.16 predicate."""

    def __init__(
        self, table: NodeTable, listers: Listers, rules: FinderRules | None = None
    ) -> None:
        self._rules = rules or FinderRules()
        self._table = table
        self._listers = listers
        self._ladders = Ladders(table, listers)

    def pod_claims(self, pod: PodInfo) -> tuple[PodClaims, str]:
        """The pod's claims sorted out, or why that cannot be said.

        Upstream: GetPodVolumeClaims().
        """
        claims = PodClaims()
        for name in pod.pod.claim_names:
            claim = self._listers.claim(f"{pod.pod.namespace}/{name}")
            if claim is None:
                return claims, f'persistentvolumeclaim "{name}" not found'
            is_bound = claim.is_bind_completed or self._rules.prebound_is_bound
            if claim.volume_name and is_bound:
                claims.bound.append(claim)
                continue
            delayed, error = self._is_delayed(claim)
            if error:
                return claims, error
            # A claim that names its volume is the PV controller's to finish.
            group = claims.delayed if delayed and not claim.volume_name else claims.immediate
            group.append(claim)
        return claims, ""

    def _is_delayed(self, claim: PersistentVolumeClaim) -> tuple[bool, str]:
        """Upstream: IsDelayBindingMode()."""
        name = claim_class(claim)
        if not name or (claim.selected_node and not self._rules.delays_selected):
            return False, ""
        storage_class = self._listers.storage_class(name)
        if storage_class is None:
            return False, ""
        return storage_class.binding_mode == "WaitForFirstConsumer", ""

    def bound_conflicts(self, claims: list[PersistentVolumeClaim]) -> tuple[BoolArray, list[str]]:
        """Rows out of reach of some bound volume, and volumes that do not exist."""
        conflict = np.zeros(self._table.capacity, np.bool_)
        missing: list[str] = []
        for claim in claims:
            offer = self._listers.volumes.offer(claim.volume_name)
            if offer is None:
                missing.append(claim.volume_name)
                continue
            reach = self.reach(offer)
            if reach is not None:
                conflict |= ~reach
        return conflict, missing

    def reach(self, offer: Offer) -> BoolArray | None:
        """From which rows a bound volume can be reached; None for all.

        Upstream: tryTranslatePVToCSI(), CheckNodeAffinity().
        """
        table, affinity = self._table, offer.affinity
        as_it_is = None if affinity is None else table.matching(by_labels(affinity))
        volume = self._listers.volume(offer.name) if self._rules.translates else None
        plugin = None if volume is None else in_tree_plugin_of(volume)
        if volume is None or plugin is None:
            return as_it_is
        translated = translated_affinity(volume, affinity, plugin)
        if translated is None or translated == affinity:
            return as_it_is
        there = np.ones(table.capacity, np.bool_) if as_it_is is None else as_it_is
        return np.where(self._migrated(plugin), table.matching(by_labels(translated)), there)

    def _migrated(self, plugin: str) -> BoolArray:
        """The rows whose CSINode says that a CSI driver has taken *plugin* over."""
        rows = np.zeros(self._table.capacity, np.bool_)
        for csi_node in self._listers.all("CSINode"):
            row = self._table.rows.get(csi_node.name)
            if row is not None and is_migrated_on_node(plugin, csi_node):
                rows[row] = True
        return rows

    def unbound(
        self, claims: list[PersistentVolumeClaim], rows: IntArray
    ) -> tuple[IntArray, Plans]:
        """For each row the failure bits, and what would be bound and provisioned where it works."""
        selected = [claim for claim in claims if claim.selected_node]
        free = [claim for claim in claims if not claim.selected_node]
        free.sort(key=_request)
        if len(free) == 1 and not selected:
            found = self._one_claim(free[0], rows)
            if found is not None:
                return found
        codes = np.zeros(len(rows), np.int64)
        plans = Plans()
        for place, row in enumerate(rows.tolist()):
            codes[place], plans.by_row[row] = self._on_row(selected, free, row)
        return codes, plans

    def _one_claim(
        self, claim: PersistentVolumeClaim, rows: IntArray
    ) -> tuple[IntArray, Plans] | None:
        """All nodes at once; None where that does not work."""
        wanted = wanted_of(claim)
        # A claim with a volume reserved for it takes no other.
        if self._listers.volumes.reserved_in_class(wanted):
            return None
        ladder = self._ladders.of(wanted)
        if ladder is None:
            return None
        picks = ladder.choice.take(rows)
        plans = Plans(claim.key, rows, picks, ladder.names)
        codes = np.zeros(len(rows), np.int64)
        left = np.flatnonzero(picks == NONE)
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            codes[left] = _BIND_CONFLICT
            return codes, plans
        for place in left.tolist():
            row = int(rows[place])
            codes[place] = self._provision_code(claim, row)
            if not codes[place]:
                plans.by_row[row] = PodVolumes(provision={claim.key: self._table.name(row)})
        return codes, plans

    def _on_row(
        self,
        selected: list[PersistentVolumeClaim],
        free: list[PersistentVolumeClaim],
        row: int,
    ) -> tuple[int, PodVolumes]:
        """Upstream: FindPodVolumes(), the part about unbound claims."""
        node = self._table.node(row)
        plan = PodVolumes()
        if any(claim.selected_node != node.name for claim in selected):
            return _BIND_CONFLICT, plan
        to_provision = list(selected)
        chosen: dict[str, None] = {}
        for claim in free:
            volume = self._listers.volumes.find_for_node(claim, node, chosen)
            if volume is None:
                to_provision.append(claim)
            else:
                chosen[volume.name] = None
                plan.bind[claim.key] = volume.name
        for claim in to_provision:
            code = self._provision_code(claim, row)
            if code:
                return code, plan
            plan.provision[claim.key] = node.name
        return 0, plan

    def _provision_code(self, claim: PersistentVolumeClaim, row: int) -> int:
        """Upstream: checkVolumeProvisions()."""
        if not self._rules.provisions:
            return _BIND_CONFLICT
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None:
            return _BIND_CONFLICT
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return _BIND_CONFLICT
        labels = self._table.node(row).labels
        if not matches_topologies(storage_class, labels):
            return _BIND_CONFLICT
        if not self._has_capacity(claim, storage_class, labels):
            return _NO_SPACE
        return 0

    def _has_capacity(
        self,
        claim: PersistentVolumeClaim,
        storage_class: StorageClass,
        labels: Mapping[str, str],
    ) -> bool:
        """Upstream: hasEnoughCapacity()."""
        driver = self._listers.get("CSIDriver", storage_class.provisioner)
        if driver is None or not driver.spec.get("storageCapacity"):
            return True
        for capacity in self._listers.all("CSIStorageCapacity"):
            raw = capacity.raw
            if raw.get("storageClassName") != storage_class.name:
                continue
            limit = raw.get("maximumVolumeSize") or raw.get("capacity")
            if limit is None or quantity.value(limit) < claim.request_bytes:
                continue
            topology = raw.get("nodeTopology")
            if topology is not None and LabelSelector.parse(topology).matches(labels):
                return True
        return False


class VolumeBinding(Plugin):
    """Refuses nodes where the pod's claims cannot be had."""

    name: ClassVar[str] = names.VOLUME_BINDING
    needs_volumes: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        rules = FinderRules(translates=arguments.get("translates", True))
        self._finder = VolumeFinder(handle.table, handle.listers, rules)
        # v1.20 takes a Lost claim for bound: only its missing volume stands in the way.
        self._knows_lost: bool = arguments.get("knows_lost_claims", True)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Sort the claims out; unbound immediate ones are not the scheduler's to bind."""
        pod = state.pod
        if not pod.pod.claim_names:
            return PRE_FILTER_SKIP
        for name in pod.pod.claim_names:
            fault = claim_fault(self._listers, pod.pod.namespace, name, knows_lost=self._knows_lost)
            if fault:
                return _rejected(fault, self.name)
        claims, error = self._finder.pod_claims(pod)
        if error:
            return _rejected(error, self.name)
        if claims.immediate:
            return _rejected(REASON_UNBOUND_IMMEDIATE, self.name)
        state.data[self.name] = claims
        return PRE_FILTER_OK

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The reasons as bits."""
        claims = cast("PodClaims", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        if claims.bound:
            conflict, missing = self._finder.bound_conflicts(claims.bound)
            codes[conflict[rows]] |= _NODE_CONFLICT
            if missing:
                codes |= _NOT_EXIST
        if claims.delayed:
            unbound, plans = self._finder.unbound(claims.delayed, rows)
            codes |= unbound
            cast("list[Plans]", state.data.setdefault(f"{self.name}/plans", [])).append(plans)
        return codes

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """What has to be bound and provisioned when the pod goes to the node at *row*."""
        return plan_at(cast("list[Plans] | None", state.data.get(f"{self.name}/plans")), row)

    def explain(self, state: CycleState, code: int) -> Status:
        """All reasons together; no eviction frees a volume."""
        reasons = tuple(
            reason
            for bit, reason in (
                (_NOT_EXIST, REASON_NOT_EXIST),
                (_NODE_CONFLICT, REASON_NODE_CONFLICT),
                (_BIND_CONFLICT, REASON_BIND_CONFLICT),
                (_NO_SPACE, REASON_NO_SPACE),
            )
            if code & bit
        )
        return Status(Code.UNRESOLVABLE, reasons, self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Which claims or volumes are in the way."""
        claims = cast("PodClaims", state.data[self.name])
        if code & _NODE_CONFLICT:
            return self._conflict_detail(claims.bound, row)
        if code & _NOT_EXIST:
            return Detail(text="bound to a volume that does not exist")
        keys = [claim.key for claim in claims.delayed]
        text = "not enough free storage" if code & _NO_SPACE else "no volume for"
        return Detail(text=f"{text} {', '.join(keys)}", numbers={"claims": keys})

    def _conflict_detail(self, bound: Iterable[PersistentVolumeClaim], row: int) -> Detail:
        for claim in bound:
            offer = self._listers.volumes.offer(claim.volume_name)
            reach = None if offer is None else self._finder.reach(offer)
            if offer is None or reach is None:
                continue
            if not reach[row]:
                return Detail(
                    text=f"volume {offer.name} of {claim.name} is out of reach",
                    numbers={"volume": offer.name, "needs": str(offer.affinity)},
                )
        return Detail(text="volume out of reach")


def claim_fault(listers: Listers, namespace: str, name: str, *, knows_lost: bool = True) -> str:
    """Why a pod cannot use this claim at all, or "". Upstream: podHasPVCs()."""
    claim = listers.claim(f"{namespace}/{name}")
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.phase == "Lost" and knows_lost:
        return (
            f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
            f'"{claim.volume_name}"'
        )
    if claim.deletion_timestamp:
        return f'persistentvolumeclaim "{name}" is being deleted'
    return ""


def matches_topologies(storage_class: StorageClass, labels: Mapping[str, str]) -> bool:
    """Whether the class may provision for a node with these labels.

    Upstream: component-helpers MatchTopologySelectorTerms(); no terms match everything.
    """
    terms: list[dict[str, Any]] = storage_class.raw.get("allowedTopologies") or []
    if not terms:
        return True
    return any(_matches_term(term, labels) for term in terms)


def _matches_term(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    expressions: list[dict[str, Any]] = term.get("matchLabelExpressions") or []
    return bool(expressions) and all(
        labels.get(expression["key"]) in expression["values"] for expression in expressions
    )


def _request(claim: PersistentVolumeClaim) -> int:
    return claim.request_bytes


def _rejected(reason: str, plugin: str) -> PreFilterResult:
    return PreFilterResult(status=Status(Code.UNRESOLVABLE, (reason,), plugin))
