"""The cluster that decisions mode decides on, and what its decisions change in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from engine.controllers.disruption.budget_count import with_counted_budgets
from engine.framework.framework import PodVolumes
from engine.framework.handle import Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_info import NodeInfo
from engine.framework.nodes.node_tree import NodeTree, zone_key
from engine.framework.pods.pod_info import PodInfo
from engine.objects.objects import ApiObject, Node, PersistentVolumeClaim, Pod, from_manifest
from engine.objects.phases import claim_ref_of
from engine.plugins.volume_zone.plugin import BETA_ZONE
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.decisions_mode.claim_work import ClaimWork
from engine.scheduler.cycle.decisions_mode.stored_objects import settled
from engine.scheduler.preemption.dry_run import Candidate


@dataclass(slots=True)
class DecidedCluster:
    """The nodes, pods and volumes; pods are placed and evicted, and volumes bound, at once."""

    handle: Handle
    claims: ClaimWork | None = None
    """Where devices are allocated; None in a version that allocates none."""
    placed: dict[str, str] = field(default_factory=dict[str, str])
    """The node of each pod by key; "" for a pod that stays pending."""
    evicted: list[str] = field(default_factory=list[str])
    held: dict[str, NodeInfo] = field(default_factory=dict[str, NodeInfo])
    """The pods of each node in the order in which the scheduler's cache would hold them."""

    def read(
        self,
        objects: list[ApiObject],
        profile: Profile,
        parsed: Mapping[str, PodInfo] = MappingProxyType({}),
    ) -> list[PodInfo]:
        """Build the cluster from *objects*; returns the pods without a node.

        *parsed* has what is known of pods already, by key: it serves those that are the same object.
        """
        rules = profile.resource_rules
        if not profile.preemption.goes_by_start:
            self.handle.table.lister = self._pods_on
        if profile.rules.counts_budgets_without_status:
            objects = with_counted_budgets(objects, profile.kubernetes.workloads)
        pending: list[PodInfo] = []
        for obj in objects:
            if isinstance(obj, Node):
                self.handle.table.add_node(obj)
            elif not isinstance(obj, Pod):
                self.handle.listers.put(settled(obj))
            elif not obj.is_terminated:
                info = parsed.get(obj.key)
                if info is None or info.pod is not obj or info.rules != rules:
                    info = PodInfo(obj, rules)
                if info.node_name:
                    self._read_placed(info)
                else:
                    pending.append(info)
        return pending

    def rows_by_zone(self, *, beta_only: bool) -> IntArray:
        """The rows of all nodes, one from each zone in turn, as a scheduler's snapshot lists them."""
        table, tree = self.handle.table, NodeTree()
        for name, row in table.rows.items():
            tree.add(name, zone_key(table.node(row).labels, beta_only=beta_only))
        return np.array([table.rows[name] for name in tree.list()], np.int64)

    def _read_placed(self, pod: PodInfo) -> None:
        self.placed[pod.key] = pod.node_name
        row = self.handle.table.rows.get(pod.node_name)
        if row is not None:
            self._count(row, pod)

    def _pods_on(self, node_name: str) -> list[PodInfo]:
        entry = self.held.get(node_name)
        return [] if entry is None else entry.pods

    def _count(self, row: int, pod: PodInfo) -> None:
        self.handle.table.add_pod(row, pod)
        entry = self.held.get(pod.node_name)
        if entry is None:
            entry = self.held[pod.node_name] = NodeInfo(pod.node_name, 0)
        entry.add_pod(pod)

    # -- what decisions change -------------------------------------------------------------------

    def place(
        self, result: ScheduleResult, plan: PodVolumes, *, in_zone: bool
    ) -> dict[str, list[str]] | None:
        """Put the pod on its node, and bind and provision what *plan* says.

        With *in_zone* a provisioned volume gets the zone of its node, as before CSI. Returns the
        devices of each resource claim by key, or None in a version that allocates none.
        """
        pod, node = result.pod, result.node
        assert node is not None
        self._count(result.row, pod.assigned_to(node))
        self.handle.table.images.note_change(result.row)
        self.placed[pod.key] = node
        devices = None
        if self.claims is not None and result.search is not None:
            devices = self.claims.place(result.search.state, node)
        for key, volume in plan.bind.items():
            self._bind(key, volume)
        for key, node_name in plan.provision.items():
            self._provision(key, node_name, in_zone=in_zone)
        return devices

    def displace(self, pod: PodInfo, row: int) -> None:
        """Take a pod that was placed at *row* off again; its volumes and devices stay as they are."""
        table = self.handle.table
        table.remove_pod(row, pod.key)
        self.held[table.name(row)].remove_pod(pod.uid)
        table.images.note_change(row)
        self.placed.pop(pod.key, None)
        if self.claims is not None:
            self.claims.of_pods.pop(pod.key, None)

    def keep_pending(self, pod: PodInfo) -> None:
        """Leave *pod* without a node."""
        self.placed[pod.key] = ""

    def deallocate(self, result: ScheduleResult) -> None:
        """Free the devices that PostFilter frees for a pod that fits nowhere."""
        if self.claims is not None and result.search is not None:
            self.claims.deallocate(result.search.state)

    def evict(self, chosen: Candidate) -> None:
        """Remove the victims of the *chosen* candidate."""
        for victim in chosen.victims:
            self.handle.table.remove_pod(chosen.row, victim.key)
            self.held[chosen.node].remove_pod(victim.uid)
            self.handle.table.images.note_change(chosen.row)
            self.placed.pop(victim.key, None)
            self.evicted.append(victim.key)
            if self.claims is not None:
                self.claims.evict(victim.pod)

    def to_dict(self) -> dict[str, Any]:
        """Where everything is in the end, as the `final` part of a decisions file."""
        claims = {
            claim.key: claim.volume_name
            for claim in self.handle.listers.all(PersistentVolumeClaim.KIND)
            if isinstance(claim, PersistentVolumeClaim)
        }
        final: dict[str, Any] = {
            "pods": dict(sorted(self.placed.items())),
            "evicted": sorted(self.evicted),
            "claims": dict(sorted(claims.items())),
        }
        devices = None if self.claims is None else self.claims.to_dict()
        if devices:
            final["devices"] = devices
        return final

    # -- volumes ---------------------------------------------------------------------------------

    def _bind(self, claim_key: str, volume_name: str) -> None:
        listers = self.handle.listers
        claim, volume = listers.claim(claim_key), listers.volume(volume_name)
        assert claim is not None
        assert volume is not None
        listers.put(
            volume.patched(
                {"spec": {"claimRef": claim_ref_of(claim)}, "status": {"phase": "Bound"}}
            )
        )
        listers.put(
            claim.patched(
                {
                    "metadata": {
                        "annotations": {
                            "pv.kubernetes.io/bind-completed": "yes",
                            "pv.kubernetes.io/bound-by-controller": "yes",
                        }
                    },
                    "spec": {"volumeName": volume_name},
                    "status": {"phase": "Bound"},
                }
            )
        )

    def _provision(self, claim_key: str, node_name: str, *, in_zone: bool) -> None:
        listers = self.handle.listers
        claim = listers.claim(claim_key)
        assert claim is not None
        storage_class = listers.storage_class(claim.storage_class_name or "")
        provisioner = storage_class.provisioner if storage_class else ""
        name = f"pvc-{claim.uid}"
        spec: dict[str, Any] = {
            "accessModes": list(claim.access_modes),
            "capacity": {"storage": str(claim.request_bytes)},
            "csi": {"driver": provisioner, "volumeHandle": name},
            "storageClassName": claim.storage_class_name or "",
            "volumeMode": claim.spec.get("volumeMode") or "Filesystem",
        }
        if in_zone:
            spec |= self._zone_affinity(node_name)
        volume = from_manifest(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": spec,
                "status": {"phase": "Available"},
            }
        )
        listers.put(volume)
        self._bind(claim_key, name)

    def _zone_affinity(self, node_name: str) -> dict[str, Any]:
        """Node affinity for the zone of the node, as zonal disks had it before CSI."""
        table = self.handle.table
        zone = table.node(table.rows[node_name]).labels.get(BETA_ZONE)
        if not zone:
            return {}
        requirement = {"key": BETA_ZONE, "operator": "In", "values": [zone]}
        terms = [{"matchExpressions": [requirement]}]
        return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
