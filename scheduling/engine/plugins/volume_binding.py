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
from volumes.engine.matching import Wanted
from volumes.engine.phases import claim_class

REASON_UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
REASON_NOT_EXIST = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
REASON_NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
REASON_BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
REASON_NO_SPACE = "node(s) did not have enough free storage"

NO_PROVISIONER = "kubernetes.io/no-provisioner"

_NOT_EXIST, _NODE_CONFLICT, _BIND_CONFLICT, _NO_SPACE = 1, 2, 4, 8


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod by what has to happen to them. Upstream: PodVolumeClaims."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    delayed: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    immediate: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])


class VolumeFinder:
    """Answers for claims and nodes; shared by the plugin and the v1.16 predicate."""

    def __init__(self, table: NodeTable, listers: Listers) -> None:
        self._table = table
        self._listers = listers

    def pod_claims(self, pod: PodInfo) -> tuple[PodClaims, str]:
        """The pod's claims sorted out, or why that cannot be said.

        Upstream: GetPodVolumeClaims().
        """
        claims = PodClaims()
        for name in pod.pod.claim_names:
            claim = self._listers.claim(f"{pod.pod.namespace}/{name}")
            if claim is None:
                return claims, f'persistentvolumeclaim "{name}" not found'
            if claim.volume_name and claim.is_bind_completed:
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
        if not name:
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
            elif offer.affinity is not None:
                conflict |= ~self._table.matching(offer.affinity)
        return conflict, missing

    def unbound(
        self, claims: list[PersistentVolumeClaim], rows: IntArray
    ) -> tuple[IntArray, dict[int, PodVolumes]]:
        """For each row the failure bits, and what would be bound and provisioned where it works."""
        codes = np.zeros(len(rows), np.int64)
        selected = [claim for claim in claims if claim.selected_node]
        free = [claim for claim in claims if not claim.selected_node]
        free.sort(key=_request)
        plans: dict[int, PodVolumes] = {}
        if len(free) == 1 and not selected:
            return self._one_claim(free[0], rows)
        for place, row in enumerate(rows.tolist()):
            codes[place], plans[row] = self._on_row(selected, free, row)
        return codes, plans

    def _one_claim(
        self, claim: PersistentVolumeClaim, rows: IntArray
    ) -> tuple[IntArray, dict[int, PodVolumes]]:
        """All nodes at once: the volumes in order of preference, each where it can be reached."""
        wanted = Wanted(claim)
        index = self._listers.volumes
        reserved = index.reserved_in_class(wanted)
        left = np.ones(len(rows), np.bool_)
        plans: dict[int, PodVolumes] = {}
        # A claim with a volume reserved for it takes no other.
        for offer in reserved[:1] or index.free_offers(wanted):
            reach = (
                left
                if offer.affinity is None
                else left & self._table.matching(offer.affinity)[rows]
            )
            for row in rows[reach].tolist():
                plans[row] = PodVolumes(bind={claim.key: offer.name})
            left = left & ~reach
            if not left.any():
                break
        codes = np.zeros(len(rows), np.int64)
        for place in np.flatnonzero(left).tolist():
            row = int(rows[place])
            codes[place] = self._provision_code(claim, row)
            if not codes[place]:
                name = self._table.name(row)
                plans[row] = PodVolumes(provision={claim.key: name})
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
        self._finder = VolumeFinder(handle.table, handle.listers)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Sort the claims out; unbound immediate ones are not the scheduler's to bind."""
        pod = state.pod
        if not pod.pod.claim_names:
            return PRE_FILTER_SKIP
        for name in pod.pod.claim_names:
            fault = claim_fault(self._listers, pod.pod.namespace, name)
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
            known = cast("dict[int, PodVolumes]", state.data.setdefault(f"{self.name}/plans", {}))
            known.update(plans)
        return codes

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """What has to be bound and provisioned when the pod goes to the node at *row*."""
        plans = cast("dict[int, PodVolumes]", state.data.get(f"{self.name}/plans") or {})
        return plans.get(row) or PodVolumes()

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
            if offer is None or offer.affinity is None:
                continue
            if not self._table.matching(offer.affinity)[row]:
                return Detail(
                    text=f"volume {offer.name} of {claim.name} is out of reach",
                    numbers={"volume": offer.name, "needs": str(offer.affinity)},
                )
        return Detail(text="volume out of reach")


def claim_fault(listers: Listers, namespace: str, name: str) -> str:
    """Why a pod cannot use this claim at all, or "". Upstream: podHasPVCs()."""
    claim = listers.claim(f"{namespace}/{name}")
    if claim is None:
        return f'persistentvolumeclaim "{name}" not found'
    if claim.phase == "Lost":
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
