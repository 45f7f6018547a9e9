"""Finds volumes for the claims of a pod on every node: bound ones, free ones, provisioned ones.

Upstream: plugins/volumebinding/binder.go FindPodVolumes(), checkVolumeProvisions().
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from engine.framework.columns.cells import Trait
from engine.framework.columns.volume_choices import (
    NONE,
    KeptVolumeChoices,
    VolumeChoices,
    by_labels,
)
from engine.framework.framework import PodVolumes
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import Sentence, enumerated, phrase
from engine.objects.objects import ApiObject, PersistentVolumeClaim, StorageClass, claim_of
from engine.objects.phases import (
    CLAIM_LOST,
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
)
from engine.objects.selectors import LabelSelector
from engine.objects.values import quantity
from engine.storage.ephemeral import ownership_fault
from engine.storage.matching.offers import Offer, wanted_of
from engine.storage.matching.storage_capacity import requests_storage, volume_limit
from engine.storage.migration import in_tree_plugin_of, is_migrated_on_node, translated_affinity
from engine.storage.topology import matches_topologies
from engine.storage.translation import translation_fault

_NO_CODES = np.zeros(0, np.int64)
_CAPACITY = "CSIStorageCapacity"
_KEPT_CLASSES = 64


# Those of unbound claims.
BIND_CONFLICT, NO_SPACE = 4, 8


@dataclass(slots=True)
class RowPlans:
    """What would be done on each row, written out."""

    by_row: dict[int, PodVolumes] = field(default_factory=dict[int, PodVolumes])

    def at(self, row: int) -> PodVolumes | None:
        """The plan for *row*, or None when there is none."""
        return self.by_row.get(row)


@dataclass(slots=True)
class ClaimPlans:
    """What would be done on every row for a claim, with the codes of the rows that have no volume.

    `fault` is the code of all of them; when it is 0, `codes` has one for each.
    """

    claim: str
    choices: VolumeChoices
    # As they were in this cycle: by row, the place in `names` of the volume that it would get.
    picks: IntArray
    names: list[str]
    fault: int
    codes: IntArray
    # Whether `codes` stay as long as the nodes' labels and the class do.
    lasting: bool
    table: NodeTable

    def refused(self, rows: IntArray) -> IntArray:
        """The code of each of *rows*."""
        lacks = self.picks.take(rows) == NONE
        return lacks * self.fault if self.fault else np.where(lacks, self.codes.take(rows), 0)

    def accepts(self, row: int) -> bool:
        """Whether `refused` has no code for *row*."""
        return self.picks.item(row) != NONE or not (self.fault or self.codes.item(row))

    def at(self, row: int) -> PodVolumes | None:
        """The plan for *row*, if that was accepted."""
        pick = self.picks.item(row)
        if pick != NONE:
            return PodVolumes(bind={self.claim: self.names[pick]})
        return PodVolumes(provision={self.claim: self.table.name(row)})

    def traits(self) -> list[Trait] | None:
        """The traits that decide the codes; None when they change too often to list."""
        if self.fault:
            return [Trait(tally=self.choices.tally)]
        if not self.lasting:
            return None
        return [Trait(tally=self.choices.tally), Trait(column=self.codes)]


Plans = RowPlans | ClaimPlans


@dataclass(slots=True)
class PodClaims:
    """The claims of a pod by what has to happen to them. Upstream: PodVolumeClaims."""

    bound: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    delayed: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    immediate: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    # For all rows at once, once that was asked for: None where it does not work.
    plans: ClaimPlans | None = None
    is_planned: bool = False

    def kept(self) -> Iterator[Sentence]:
        """The three kinds, in words, for a trace."""
        named = (
            (phrase("bound: {claims}"), self.bound),
            (phrase("to be bound or provisioned: {claims}"), self.delayed),
            (phrase("unbound immediate: {claims}"), self.immediate),
        )
        for what, claims in named:
            if claims:
                yield what.say(claims=enumerated([claim.key for claim in claims]))


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
    # Whether the capacity that drivers report counts.
    counts_room: bool = True
    # Whether a claim that is being provisioned for a node is still the scheduler's.
    delays_selected: bool = True
    # Whether no volume is looked for on behalf of such a claim.
    provisions_selected: bool = True
    # Whether disks of in-tree plugins are looked at as their CSI drivers' where a node says so.
    translates: bool = False
    # Whether a claim that is lost or being deleted blocks the pod. v1.20 treats a Lost claim as bound:
    # only its missing volume blocks the pod.
    finds_faults: bool = False
    knows_lost: bool = True
    # Whether the claim of an ephemeral volume is awaited, and has to be the pod's own.
    awaits_own: bool = False


class VolumeFinder:
    """Answers for claims and nodes; shared by the plugin and the v1.16 predicate."""

    def __init__(
        self, table: NodeTable, listers: Listers, rules: FinderRules | None = None
    ) -> None:
        self._rules = rules or FinderRules()
        self._table = table
        self._listers = listers
        self._volume_choices = KeptVolumeChoices(table, listers)
        self._provisioning = Provisioning(
            table,
            listers,
            provisions=self._rules.provisions,
            counts_room=self._rules.counts_room,
        )

    def pod_claims(self, pod: PodInfo) -> tuple[PodClaims, str]:
        """The pod's claims sorted out, or why that cannot be said.

        Upstream: GetPodVolumeClaims().
        """
        claims = PodClaims()
        rules = self._rules
        for volume in pod.pod.volumes:
            name, is_own = claim_of(pod.pod.name, volume)
            if not name:
                continue
            claim = self._listers.claim(f"{pod.pod.namespace}/{name}")
            if claim is None:
                return claims, missing_claim(name, is_awaited=is_own and rules.awaits_own)
            fault = claim_fault(claim, knows_lost=rules.knows_lost) if rules.finds_faults else ""
            if not fault and is_own and rules.awaits_own:
                fault = ownership_fault(claim, pod.pod)
            if fault:
                return claims, fault
            if not claim.volume_name:
                # A claim that names its volume is the PV controller's to finish.
                group = claims.delayed if self._is_delayed(claim) else claims.immediate
            elif claim.is_bind_completed or rules.prebound_is_bound:
                group = claims.bound
            else:
                group = claims.immediate
            group.append(claim)
        return claims, ""

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool:
        """Upstream: IsDelayBindingMode()."""
        name = claim_class(claim)
        if not name or (not self._rules.delays_selected and SELECTED_NODE in claim.annotations):
            return False
        storage_class = self._listers.storage_class(name)
        return storage_class is not None and storage_class.binding_mode == WAIT_FOR_FIRST_CONSUMER

    def bound_conflicts(self, claims: list[PersistentVolumeClaim]) -> tuple[BoolArray, str]:
        """Rows out of reach of some bound volume, and the first volume that does not exist.

        Claims behind that one are not looked at; rows that are not out of reach then lack it.
        Upstream: checkBoundClaims().
        """
        conflict = np.zeros(self._table.capacity, np.bool_)
        for claim in claims:
            offer = self._listers.volumes.offer(claim.volume_name)
            if offer is None:
                return conflict, claim.volume_name
            reach = self.reach(offer)
            if reach is not None:
                conflict |= ~reach
        return conflict, ""

    def untranslated(self, claims: list[PersistentVolumeClaim]) -> tuple[BoolArray, str]:
        """Rows that a bound volume is to be translated for but cannot, and why; "" for none.

        Upstream: checkBoundClaims(), which an earlier volume that is out of reach ends first.
        """
        rows = np.zeros(self._table.capacity, np.bool_)
        faults = [self._fault_of(claim) for claim in claims] if self._rules.translates else []
        if not any(faults):
            return rows, ""
        conflict, why = rows.copy(), ""
        for claim, fault in zip(claims, faults, strict=True):
            offer = self._listers.volumes.offer(claim.volume_name)
            if offer is None:
                break
            if fault is not None:
                plugin, text = fault
                rows |= self._migrated(plugin) & ~conflict
                why = why or f"could not translate pv: {text}"
            reach = self.reach(offer)
            if reach is not None:
                conflict |= ~reach
        return rows, why

    def _fault_of(self, claim: PersistentVolumeClaim) -> tuple[str, str] | None:
        """The in-tree plugin of the claim's volume, and why it cannot be translated; or None."""
        volume = self._listers.volume(claim.volume_name)
        plugin = None if volume is None else in_tree_plugin_of(volume)
        if volume is None or plugin is None:
            return None
        text = translation_fault(plugin, volume.spec, volume.labels)
        return (plugin, text) if text else None

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

    def unbound(self, claims: PodClaims, rows: IntArray) -> tuple[IntArray, Plans]:
        """For each row the failure bits, and what would be bound and provisioned where it works."""
        together = self.planned(claims)
        if together is not None:
            return together.refused(rows), together
        selected = [claim for claim in claims.delayed if self._is_selected(claim)]
        free = [claim for claim in claims.delayed if not self._is_selected(claim)]
        free.sort(key=_request)
        codes = np.zeros(len(rows), np.int64)
        plans = RowPlans()
        for place, row in enumerate(rows.tolist()):
            codes[place], plans.by_row[row] = self._on_row(selected, free, row)
        return codes, plans

    def free_storage(self, claim: PersistentVolumeClaim) -> list[FreeStorage] | None:
        """See Provisioning."""
        return self._provisioning.free_storage(claim)

    def planned(self, claims: PodClaims) -> ClaimPlans | None:
        """The plans of all rows at once, worked out once in a cycle; None where it takes longer."""
        if not claims.is_planned:
            claims.is_planned = True
            if len(claims.delayed) == 1 and not self._is_selected(claims.delayed[0]):
                claims.plans = self._plan_all(claims.delayed[0])
        return claims.plans

    def _is_selected(self, claim: PersistentVolumeClaim) -> bool:
        """Whether a volume for *claim* is being provisioned for a node already."""
        return self._rules.provisions_selected and SELECTED_NODE in claim.annotations

    def _plan_all(self, claim: PersistentVolumeClaim) -> ClaimPlans | None:
        wanted = wanted_of(claim)
        # A claim with a volume reserved for it takes no other.
        if self._listers.volumes.reserved_in_class(wanted):
            return None
        choices = self._volume_choices.of(wanted)
        if choices is None:
            return None
        provisioning = self._provisioning
        fault = provisioning.fault_everywhere(claim)
        return ClaimPlans(
            claim=claim.key,
            choices=choices,
            picks=choices.choice,
            names=choices.names,
            fault=fault,
            codes=_NO_CODES if fault else provisioning.codes(claim),
            lasting=bool(fault) or not provisioning.counts(claim),
            table=self._table,
        )

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
            return BIND_CONFLICT, plan
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
            code = self._provisioning.fault_everywhere(claim) or (
                self._provisioning.codes(claim).item(row)
            )
            if code:
                return code, plan
            plan.provision[claim.key] = node.name
        return 0, plan


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the codes of a class depend on; without capacity checks `capacities` is 0, `size` None."""

    storage_class: StorageClass
    driver: ApiObject | None
    size: int | None
    nodes: tuple[int, int]
    capacities: int


class FreeStorage(NamedTuple):
    """A CSIStorageCapacity: the nodes that can reach it, and how much there is, in bytes."""

    topology: LabelSelector
    capacity: int


class Provisioning:
    """Where a class could provision a volume; kept per class. Upstream: checkVolumeProvisions()."""

    def __init__(
        self, table: NodeTable, listers: Listers, *, provisions: bool, counts_room: bool
    ) -> None:
        self._table = table
        self._listers = listers
        self._provisions = provisions
        self._counts_room = counts_room
        self._kept: dict[tuple[str, int | None], tuple[_Asked, IntArray]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """A checkpoint goes without what is kept."""
        return {**self.__dict__, "_kept": {}}

    def fault_everywhere(self, claim: PersistentVolumeClaim) -> int:
        """The code of every row when the claim's class provisions nowhere at all, else 0."""
        if not self._provisions:
            return BIND_CONFLICT
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None or storage_class.provisioner in ("", NO_PROVISIONER):
            return BIND_CONFLICT
        return 0

    def counts(self, claim: PersistentVolumeClaim) -> bool:
        """Whether the driver of the claim's class reports its capacity."""
        storage_class = self._listers.storage_class(claim_class(claim))
        return storage_class is not None and self._counts(claim, self._driver(storage_class))

    def _counts(self, claim: PersistentVolumeClaim, driver: ApiObject | None) -> bool:
        """Upstream: hasEnoughCapacity(), its beginning."""
        keeps_account = driver is not None and bool(driver.spec.get("storageCapacity"))
        return self._counts_room and keeps_account and requests_storage(claim)

    def _driver(self, storage_class: StorageClass) -> ApiObject | None:
        return self._listers.get("CSIDriver", storage_class.provisioner)

    def codes(self, claim: PersistentVolumeClaim) -> IntArray:
        """The code of each row, for a claim that is not refused everywhere. Not to be changed."""
        asked = self._asked(claim)
        key = asked.storage_class.name, asked.size
        kept = self._kept.get(key)
        if kept is None or not _is_same(kept[0], asked):
            if len(self._kept) >= _KEPT_CLASSES:
                self._kept.clear()
            kept = self._kept[key] = asked, self._work_out(asked)
        return kept[1]

    def _asked(self, claim: PersistentVolumeClaim) -> _Asked:
        storage_class = self._listers.storage_class(claim_class(claim))
        assert storage_class is not None
        driver = self._driver(storage_class)
        counts = self._counts(claim, driver)
        return _Asked(
            storage_class,
            driver,
            claim.request_bytes if counts else None,
            (self._table.static_generation, self._table.capacity),
            self._listers.generation.get(_CAPACITY, 0) if counts else 0,
        )

    def _work_out(self, asked: _Asked) -> IntArray:
        room = None if asked.size is None else self._with_room(asked.storage_class, asked.size)
        allowed = asked.storage_class.raw.get("allowedTopologies")
        codes = np.zeros(self._table.capacity, np.int64)
        for row in self._table.active.tolist():
            labels = self._table.node(row).labels
            if not matches_topologies(allowed, labels):
                codes[row] = BIND_CONFLICT
            elif room is not None and not any(one.topology.matches(labels) for one in room):
                codes[row] = NO_SPACE
        return codes

    def free_storage(self, claim: PersistentVolumeClaim) -> list[FreeStorage] | None:
        """The storage with enough room for *claim*; None when its driver does not report any."""
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None or not self._counts(claim, self._driver(storage_class)):
            return None
        return self._with_room(storage_class, claim.request_bytes)

    def _with_room(self, storage_class: StorageClass, size: int) -> list[FreeStorage]:
        """The storage with enough room. Upstream: hasEnoughCapacity()."""
        found: list[FreeStorage] = []
        for capacity in self._listers.all(_CAPACITY):
            raw = capacity.raw
            if raw.get("storageClassName") != storage_class.name:
                continue
            limit = volume_limit(capacity)
            if limit is None or limit < size:
                continue
            if raw.get("nodeTopology") is not None:
                topology = LabelSelector.parse(raw["nodeTopology"])
                found.append(FreeStorage(topology, quantity.value(raw.get("capacity") or 0)))
        return found


def _is_same(kept: _Asked, asked: _Asked) -> bool:
    return (
        kept.storage_class is asked.storage_class
        and kept.driver is asked.driver
        and kept.nodes == asked.nodes
        and kept.capacities == asked.capacities
    )


def claim_fault(claim: PersistentVolumeClaim, *, knows_lost: bool) -> str:
    """Why a pod cannot use this claim at all, or "". Upstream: podHasPVCs()."""
    if knows_lost and claim.phase == CLAIM_LOST:
        return (
            f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume '
            f'"{claim.volume_name}"'
        )
    if claim.deletion_timestamp:
        return f'persistentvolumeclaim "{claim.name}" is being deleted'
    return ""


def missing_claim(name: str, *, is_awaited: bool) -> str:
    """Why a pod cannot use a claim that is not there. Upstream: podHasPVCs()."""
    if is_awaited:
        return (
            f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        )
    return f'persistentvolumeclaim "{name}" not found'


def _request(claim: PersistentVolumeClaim) -> int:
    # Upstream compares the quantities, not their bytes.
    return wanted_of(claim).size
