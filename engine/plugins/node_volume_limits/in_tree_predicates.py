"""The predicates that count the in-tree volumes of a node, each against the limit of its kind.

Upstream: pkg/scheduler/algorithm/predicates/predicates.go MaxPDVolumeCountChecker.
"""

from __future__ import annotations

import re
from typing import ClassVar, cast

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
from engine.kernel.sentences import say
from engine.objects.objects import Manifest, Node
from engine.plugins.node_volume_limits.facts import explain_limits

REASON_MAX_VOLUMES = "node(s) exceed max volume count"
_INSTANCE_TYPE = "beta.kubernetes.io/instance-type"
# Upstream: EBSNitroLimitRegex, which anchors its first alternative only.
_NITRO = re.compile(r"^[cmr]5.*|t3|z1d")


class _MaxVolumeCount(Plugin):
    """How many volumes of one in-tree kind a node can attach. Upstream: MaxPDVolumeCountChecker."""

    needs_volumes: ClassVar[bool] = True
    source: ClassVar[str] = ""
    id_field: ClassVar[str] = ""
    provisioner: ClassVar[str] = ""
    resource: ClassVar[str] = ""
    default_limit: ClassVar[int] = 16

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._reads_allocatable = bool(arguments.get("reads_allocatable", True))

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Most pods have none."""
        wanted = self._volumes(state.pod)
        state.data[self.name] = wanted
        return PRE_FILTER_OK if wanted else PRE_FILTER_SKIP

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 where the limit would be passed."""
        return np.array(
            [int(sum(self._counts(state, row)) > self._limit(row)) for row in rows.tolist()],
            np.int64,
        )

    def _counts(self, state: CycleState, row: int) -> tuple[int, int]:
        """Volumes attached, and those that the pod adds."""
        attached: dict[str, None] = {}
        for other in self._table.pods[row].values():
            if other.pod.volumes:
                attached.update(self._volumes(other))
        wanted = cast("dict[str, None]", state.data[self.name])
        # Upstream: a node that is over its limit refuses even a pod that adds nothing.
        return len(attached), sum(volume not in attached for volume in wanted)

    def _limit(self, row: int) -> int:
        node = self._table.node(row)
        published = node.allocatable_units.get(self.resource) if self._reads_allocatable else None
        return self.limit_of(node) if published is None else published

    def limit_of(self, node: Node) -> int:
        """What a node can attach that does not say so itself."""
        return self.default_limit

    def _volumes(self, pod: PodInfo) -> dict[str, None]:
        """Upstream: filterVolumes()."""
        found: dict[str, None] = {}
        namespace = pod.pod.namespace
        for volume in pod.pod.volumes:
            direct: Manifest | None = volume.get(self.source)
            if direct:
                found[str(direct.get(self.id_field))] = None
                continue
            claimed: Manifest = volume.get("persistentVolumeClaim") or {}
            name = claimed.get("claimName")
            claim = self._listers.claim(f"{namespace}/{name}") if name else None
            if claim is None:
                continue
            bound = self._listers.volume(claim.volume_name) if claim.volume_name else None
            if bound is not None:
                held: Manifest | None = bound.spec.get(self.source)
                if held:
                    found[str(held.get(self.id_field))] = None
                continue
            # Upstream, matchProvisioner(): the old annotation does not count here.
            storage_class = self._listers.storage_class(claim.spec.get("storageClassName") or "")
            if storage_class is not None and storage_class.provisioner == self.provisioner:
                found[f"claim-{claim.key}"] = None
        return found

    def explain(self, state: CycleState, code: int) -> Status:
        """Evicting users of other volumes helps."""
        return Status(Code.UNSCHEDULABLE, (REASON_MAX_VOLUMES,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Attached, wanted and the limit."""
        attached, new = self._counts(state, row)
        limit = self._limit(row)
        return Detail(
            text=say(
                "{attached} of {limit} volumes attached, {new} more wanted",
                attached=attached,
                limit=limit,
                new=new,
            ),
            short=attached + new - limit,
            unit="volumes",
            numbers={"attached": attached, "added": new, "limit": limit},
        )

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_limits(case)


class MaxEBSVolumeCount(_MaxVolumeCount):
    """AWS disks: 39, or 25 on Nitro instances."""

    name: ClassVar[str] = names.MAX_EBS_VOLUME_COUNT
    source: ClassVar[str] = "awsElasticBlockStore"
    id_field: ClassVar[str] = "volumeID"
    provisioner: ClassVar[str] = "kubernetes.io/aws-ebs"
    resource: ClassVar[str] = "attachable-volumes-aws-ebs"

    def limit_of(self, node: Node) -> int:
        """By the instance type. Upstream: getMaxEBSVolume()."""
        return 25 if _NITRO.search(node.labels.get(_INSTANCE_TYPE, "")) else 39


class MaxGCEPDVolumeCount(_MaxVolumeCount):
    """Google disks."""

    name: ClassVar[str] = names.MAX_GCE_PD_VOLUME_COUNT
    source: ClassVar[str] = "gcePersistentDisk"
    id_field: ClassVar[str] = "pdName"
    provisioner: ClassVar[str] = "kubernetes.io/gce-pd"
    resource: ClassVar[str] = "attachable-volumes-gce-pd"


class MaxAzureDiskVolumeCount(_MaxVolumeCount):
    """Azure disks."""

    name: ClassVar[str] = names.MAX_AZURE_DISK_VOLUME_COUNT
    source: ClassVar[str] = "azureDisk"
    id_field: ClassVar[str] = "diskName"
    provisioner: ClassVar[str] = "kubernetes.io/azure-disk"
    resource: ClassVar[str] = "attachable-volumes-azure-disk"


class MaxCinderVolumeCount(_MaxVolumeCount):
    """OpenStack disks; not asked by default."""

    name: ClassVar[str] = names.MAX_CINDER_VOLUME_COUNT
    source: ClassVar[str] = "cinder"
    id_field: ClassVar[str] = "volumeID"
    provisioner: ClassVar[str] = "kubernetes.io/cinder"
    resource: ClassVar[str] = "attachable-volumes-cinder"
    default_limit: ClassVar[int] = 256
