"""How many CSI volumes a node can attach. Upstream: plugins/nodevolumelimits/csi.go.

A node's volumes are those of its pods and, since v1.33, those of all VolumeAttachments there. Disks
of in-tree plugins count for the CSI drivers that they are migrated to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, cast

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
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.node_table import NodeTable
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, sign_volumes
from engine.framework.registrations import Registration
from engine.kernel.sentences import Sentence, say, verbatim
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim, Pod, claim_of
from engine.objects.phases import claim_class
from engine.plugins.arguments import no_arguments
from engine.plugins.node_volume_limits.events import EVENTS
from engine.plugins.node_volume_limits.facts import explain_limits
from engine.storage.ephemeral import ownership_fault
from engine.storage.migration import IN_TREE, is_migrated_on_node
from engine.storage.translation import csi_handle, in_tree_plugin, translation_fault

REASON_MAX_VOLUMES = "node(s) exceed max volume count"
# The gate VolumeLimitScaling: the driver of a volume is not on the node.
REASON_NO_DRIVER = "{} CSI driver is not installed on the node"

# The plugins whose volumes count by their CSI driver.
_MIGRATED: Final = frozenset(
    (
        "kubernetes.io/aws-ebs",
        "kubernetes.io/gce-pd",
        "kubernetes.io/azure-disk",
        "kubernetes.io/cinder",
        "kubernetes.io/portworx-volume",
    )
)
# The one of them that a node had to list, too, before v1.36.
_PORTWORX: Final = "kubernetes.io/portworx-volume"
# The prefix of a CSI driver's limit in a node's allocatable; v1.34 does not read it any more.
_LIMIT_PREFIX: Final = "attachable-volumes-csi-"
_LONGEST_KEY: Final = 63
_OVER_LIMIT, _NO_CLAIM, _NOT_OWNER, _UNTRANSLATED = 1, 2, 3, 4
# Codes from here on are faults found on nodes, by their place in the list of the cycle,
_MET = 5
# and from here on missing drivers, by their place in the pod's required drivers.
_LACKS_DRIVER: Final = 1 << 20

# Where a cycle's state has those faults.
_FAULTS: Final = f"{names.NODE_VOLUME_LIMITS}/faults"


@dataclass(slots=True)
class WantedVolumes:
    """The volumes to attach for a pod: unique name → driver; or why they cannot be determined.

    `without_portworx` is the same where Portworx is not migrated. `untranslated` is the fault of an
    inline disk of the pod, which precedes all other faults; it counts on nodes with a CSINode.
    """

    volumes: dict[str, str] = field(default_factory=dict[str, str])
    without_portworx: dict[str, str] = field(default_factory=dict[str, str])
    code: int = 0
    fault: str = ""
    untranslated: str = ""


@dataclass(frozen=True, slots=True)
class Excess:
    """A driver that would pass its limit on a node, and what it has there already."""

    driver: str
    attached: int
    held: int
    added: int
    limit: int


class NodeVolumeLimits(Plugin):
    """Refuses nodes whose CSI drivers could not attach the pod's volumes in addition."""

    name: ClassVar[str] = names.NODE_VOLUME_LIMITS
    short: ClassVar[Sentence] = say("too many volumes per node")
    needs_volumes: ClassVar[bool] = True
    # Whether attachments and in-tree disks count, unless the arguments say otherwise.
    is_modern: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._volumes = CsiVolumes(
            handle.table,
            handle.listers,
            is_modern=arguments.get("is_modern", self.is_modern),
            migrates_portworx=arguments.get("migrates_portworx", False),
        )
        # The gate VolumeLimitScaling.
        self._needs_driver: bool = arguments.get("needs_driver", False)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Only claims count, and disks that a CSI driver serves."""
        return PRE_FILTER_OK if self._volumes.may_attach(state.pod) else PRE_FILTER_SKIP

    def concerns(self, state: CycleState) -> bool:
        """Whether a driver of the pod's volumes has a limit anywhere, or the pod a fault."""
        if not self._volumes.may_attach(state.pod):
            return False
        limited = self._volumes.limited_drivers()
        wanted = self._volumes.wanted(state.pod, counted=bool(limited) or self._needs_driver)
        if wanted.code or wanted.untranslated or self._volumes.may_meet_faults(wanted):
            return True
        if self._needs_driver and self._volumes.required_drivers(wanted):
            return True
        return not limited.isdisjoint(wanted.volumes.values())

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 where a driver's limit would be exceeded; a fault of the pod applies to every row."""
        limited = self._volumes.limited_drivers()
        counted = bool(limited) or self._needs_driver
        wanted = state.data[self.name] = self._volumes.wanted(state.pod, counted=counted)
        codes = np.full(len(rows), wanted.code, np.int64)
        if wanted.untranslated:
            codes[self._volumes.with_csi_node(rows)] = _UNTRANSLATED
            return codes
        may_meet_faults = self._volumes.may_meet_faults(wanted)
        if self._needs_driver and not wanted.code:
            codes = self._without_driver(wanted, rows)
        if wanted.code or (limited.isdisjoint(wanted.volumes.values()) and not may_meet_faults):
            return codes
        for place, row in enumerate(rows.tolist()):
            fault = self._volumes.fault_at(row, wanted) if may_meet_faults else ""
            if fault:
                codes[place] = _code_of(state, fault)
            elif not codes[place] and self._volumes.excess(row, wanted) is not None:
                codes[place] = _OVER_LIMIT
        return codes

    def _without_driver(self, wanted: WantedVolumes, rows: IntArray) -> IntArray:
        """The code of the first required driver that each node lacks, or 0."""
        required = self._volumes.required_drivers(wanted)
        found = (self._volumes.missing_driver(row, required) for row in rows.tolist())
        return np.array([0 if at is None else _LACKS_DRIVER + at for at in found], np.int64)

    def explain(self, state: CycleState, code: int) -> Status:
        """Evictions may help against a limit, but not if a claim is missing."""
        if code == _OVER_LIMIT:
            return Status(Code.UNSCHEDULABLE, (REASON_MAX_VOLUMES,), self.name)
        if code >= _LACKS_DRIVER:
            return Status(Code.UNSCHEDULABLE, (self._lacks(state, code),), self.name)
        if code >= _MET:
            return Status(Code.ERROR, (_faults_met(state)[code - _MET],), self.name)
        wanted = self._wanted(state)
        fault = wanted.untranslated if code == _UNTRANSLATED else wanted.fault
        kind = Code.UNRESOLVABLE if code == _NO_CLAIM else Code.ERROR
        return Status(kind, (fault,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The driver, its limit and how many it has."""
        if code >= _LACKS_DRIVER:
            driver = self._volumes.required_drivers(self._wanted(state))[code - _LACKS_DRIVER]
            text = verbatim(self._lacks(state, code))
            return Detail(text=text, numbers={"missing_driver": driver})
        if code >= _MET:
            return Detail(text=verbatim(_faults_met(state)[code - _MET]))
        wanted = self._wanted(state)
        is_wrong = bool(wanted.code or wanted.untranslated)
        over = None if is_wrong else self._volumes.excess(row, wanted)
        if over is None:
            told = verbatim(wanted.untranslated or wanted.fault)
            return Detail(text=told or say("too many volumes"))
        numbers: dict[str, Any] = {
            "driver": over.driver,
            "attached": over.attached,
            "added": over.added,
            "limit": over.limit,
        }
        if over.held:
            numbers["held_by_attachments"] = over.held
        return Detail(
            text=say(
                "{driver}: {attached} of {limit} volumes attached, {added} more wanted",
                driver=over.driver,
                attached=over.attached,
                limit=over.limit,
                added=over.added,
            ),
            short=over.attached + over.added - over.limit,
            unit="volumes",
            numbers=numbers,
        )

    def _lacks(self, state: CycleState, code: int) -> str:
        required = self._volumes.required_drivers(self._wanted(state))
        return REASON_NO_DRIVER.format(required[code - _LACKS_DRIVER])

    def _wanted(self, state: CycleState) -> WantedVolumes:
        return cast("WantedVolumes", state.data[self.name])

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_limits(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return sign_volumes(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS


class CsiVolumes:
    """Which volumes of CSI drivers pods want, and which nodes have.

    With *is_modern* as of v1.34; otherwise only claims of CSI volumes count, and a driver's name is
    the key that its limit had in a node's allocatable. With *migrates_portworx* Portworx volumes
    count on every node, otherwise where the node lists their plugin as migrated.
    """

    def __init__(
        self, table: NodeTable, listers: Listers, *, is_modern: bool, migrates_portworx: bool
    ) -> None:
        self._table = table
        self._listers = listers
        self._is_modern = is_modern
        self._migrates_portworx = migrates_portworx
        self._drivers: frozenset[str] = frozenset()
        self._drivers_generation = (-1, -1)

    def may_attach(self, pod: PodInfo) -> bool:
        """Whether anything of the pod's could count. Upstream: PreFilter()."""
        if pod.pod.claim_names:
            return True
        return self._is_modern and any(in_tree_plugin(volume) for volume in pod.pod.volumes)

    def limited_drivers(self) -> frozenset[str]:
        """The drivers that any node sets a limit for, or once did."""
        resources = () if self._is_modern else self._table.resource_names
        generation = self._listers.generation.get("CSINode", 0), len(resources)
        if generation != self._drivers_generation:
            self._drivers_generation = generation
            found = [name for name in resources if name.startswith(_LIMIT_PREFIX)]
            for csi_node in self._listers.all("CSINode"):
                found += self._driver_limits(csi_node)
            self._drivers = frozenset(found)
        return self._drivers

    def wanted(self, pod: PodInfo, *, counted: bool) -> WantedVolumes:
        """The volumes to attach for the pod, and its faults; only the faults unless *counted*.

        Upstream: filterAttachableVolumes(), for a new pod.
        """
        found = WantedVolumes()
        # Before v1.34 VolumeBinding, or its predicate, runs first and reports this.
        for volume in pod.pod.volumes if self._is_modern else ():
            name, is_own = claim_of(pod.pod.name, volume)
            if not name:
                found.untranslated = found.untranslated or _inline_fault(volume)
                continue
            key = f"{pod.pod.namespace}/{name}"
            claim = self._listers.claim(key)
            if claim is None:
                found.code = _NO_CLAIM
                found.fault = f'looking up PVC {key}: persistentvolumeclaim "{name}" not found'
                return found
            found.fault = ownership_fault(claim, pod.pod) if is_own else ""
            if found.fault:
                found.code = _NOT_OWNER
                return found
        if counted:
            found.volumes = self._of_pod(pod, portworx=True)
            found.without_portworx = found.volumes
            if IN_TREE[_PORTWORX].driver in found.volumes.values():
                found.without_portworx = self._of_pod(pod, portworx=False)
        return found

    def with_csi_node(self, rows: IntArray) -> BoolArray:
        """Which of *rows* have a CSINode, without which no in-tree plugin counts as migrated."""
        name, get = self._table.name, self._listers.get
        return np.array([get("CSINode", name(row)) is not None for row in rows.tolist()], np.bool_)

    def required_drivers(self, asked: WantedVolumes) -> list[str]:
        """The drivers of the pod's volumes that a node must have, by name.

        Upstream: CSIDriver spec.preventPodSchedulingIfMissing (v1.36).
        """
        drivers = sorted(frozenset(asked.volumes.values()))
        found = ((name, self._listers.get("CSIDriver", name)) for name in drivers)
        return [
            name
            for name, driver in found
            if driver is not None and driver.spec.get("preventPodSchedulingIfMissing")
        ]

    def missing_driver(self, row: int, required: list[str]) -> int | None:
        """The place in *required* of the first driver that the CSINode of *row* does not list."""
        csi_node = self._listers.get("CSINode", self._table.name(row))
        drivers: list[Mapping[str, Any]] = (
            [] if csi_node is None else csi_node.spec.get("drivers") or []
        )
        installed = {driver.get("name") for driver in drivers}
        return next((at for at, name in enumerate(required) if name not in installed), None)

    def may_meet_faults(self, asked: WantedVolumes) -> bool:
        """Whether `fault_at` may find any."""
        return (
            self._is_modern and bool(asked.volumes) and self._table.volume_users.pods_at_fault > 0
        )

    def fault_at(self, row: int, asked: WantedVolumes) -> str:
        """What is wrong with a volume of a pod at *row*, or ""; the attempt fails with it.

        Not checked if no volume is wanted or no driver has a limit. Upstream: Filter(), the
        existing pods.
        """
        csi_node = self._listers.get("CSINode", self._table.name(row))
        if csi_node is None or not self._driver_limits(csi_node):
            return ""
        if not self._wanted_at(csi_node, asked):
            return ""
        faults = (self._held_fault(other.pod) for other in self._table.pods[row].values())
        return next(filter(None, faults), "")

    def _held_fault(self, pod: Pod) -> str:
        for volume in pod.volumes:
            name, is_own = claim_of(pod.name, volume)
            fault = "" if name else _inline_fault(volume)
            claim = self._listers.claim(f"{pod.namespace}/{name}") if is_own else None
            if claim is not None:
                fault = ownership_fault(claim, pod)
            if fault:
                return fault
        return ""

    def excess(self, row: int, asked: WantedVolumes) -> Excess | None:
        """The first driver that would pass its limit on the node at *row*, or None."""
        csi_node = self._listers.get("CSINode", self._table.name(row))
        limits = self._limits(row, csi_node)
        wanted = self._wanted_at(csi_node, asked)
        least = min((limits[driver] for driver in wanted.values() if driver in limits), default=-1)
        if least < 0 or len(wanted) + self._at_most(row) <= least:
            return None
        portworx = self._is_portworx_migrated(csi_node)
        attached: dict[str, str] = {}
        for other in self._table.pods[row].values():
            if other.pod.volumes:
                attached.update(self._of_pod(other, portworx=portworx))
        added: dict[str, int] = {}
        for unique, driver in wanted.items():
            # Upstream: a volume that only a VolumeAttachment holds counts twice.
            if unique not in attached:
                added[driver] = added.get(driver, 0) + 1
        held: dict[str, str] = {}
        if self._is_modern:
            held = {
                unique: driver
                for unique, driver in self._attachments(self._table.name(row))
                if unique not in attached
            }
        for driver in sorted(added):
            limit = limits.get(driver)
            if limit is None:
                continue
            idle = _count(held, driver)
            count = _count(attached, driver) + idle
            if count + added[driver] > limit:
                name = driver.removeprefix(_LIMIT_PREFIX)
                return Excess(name, count, idle, added[driver], limit)
        return None

    def _wanted_at(self, csi_node: ApiObject | None, asked: WantedVolumes) -> dict[str, str]:
        if asked.without_portworx is asked.volumes or self._is_portworx_migrated(csi_node):
            return asked.volumes
        return asked.without_portworx

    def _is_portworx_migrated(self, csi_node: ApiObject | None) -> bool:
        if self._migrates_portworx:
            # Upstream: utils.go isCSIMigrationOn(), no plugin without a CSINode.
            return csi_node is not None
        return is_migrated_on_node(_PORTWORX, csi_node)

    def _at_most(self, row: int) -> int:
        """An upper bound of the attached volumes; cheap, and usually far below the limits."""
        used = sum(len(other.pod.volumes) for other in self._table.pods[row].values())
        held = self._listers.attachment_count(self._table.name(row)) if self._is_modern else 0
        return used + held

    def _of_pod(self, pod: PodInfo, *, portworx: bool) -> dict[str, str]:
        """The pod's CSI volumes: unique name → driver. Missing claims do not count."""
        found: dict[str, str] = {}
        for volume in pod.pod.volumes:
            name, _ = claim_of(pod.pod.name, volume)
            if name:
                claim = self._listers.claim(f"{pod.pod.namespace}/{name}")
                if claim is None:
                    continue
                driver, handle = self._driver_of(claim, portworx=portworx)
            elif self._is_modern:
                driver, handle = _migrated(volume, None, portworx=portworx)
            else:
                continue
            if driver and handle:
                found[f"{driver}/{handle}"] = driver if self._is_modern else limit_key(driver)
        return found

    def _driver_of(self, claim: PersistentVolumeClaim, *, portworx: bool) -> tuple[str, str]:
        """The CSI driver and volume handle behind a claim; ("", "") when it is not CSI.

        An unbound claim counts by its class's provisioner. Upstream: getCSIDriverInfo().
        """
        volume = self._listers.volume(claim.volume_name) if claim.volume_name else None
        if volume is None:
            return self._driver_of_class(claim, portworx=portworx)
        source: Mapping[str, Any] = volume.spec.get("csi") or {}
        if not source and self._is_modern:
            return _migrated(volume.spec, volume.labels, portworx=portworx)
        return str(source.get("driver") or ""), str(source.get("volumeHandle") or "")

    def _driver_of_class(self, claim: PersistentVolumeClaim, *, portworx: bool) -> tuple[str, str]:
        """Upstream: getCSIDriverInfoFromSC()."""
        storage_class = self._listers.storage_class(claim_class(claim))
        if storage_class is None:
            return "", ""
        driver = storage_class.provisioner
        if driver in IN_TREE:
            if not self._is_modern or not _is_migrated(driver, portworx=portworx):
                return "", ""
            driver = IN_TREE[driver].driver
        return driver, f"unbound-{claim.key}"

    def _attachments(self, node: str) -> Iterable[tuple[str, str]]:
        """What VolumeAttachments hold at *node*. Upstream: getNodeVolumeAttachmentInfo()."""
        for attachment in self._listers.attachments_at(node):
            source: Mapping[str, Any] = attachment.spec.get("source") or {}
            driver = str(attachment.spec.get("attacher") or "")
            volume = self._listers.volume(str(source.get("persistentVolumeName") or ""))
            handle = "" if volume is None else _handle(volume)
            if driver and handle:
                yield f"{driver}/{handle}", driver

    def _limits(self, row: int, csi_node: ApiObject | None) -> dict[str, int]:
        """The driver's limits take precedence over the node's. Upstream: getVolumeLimits()."""
        reported = {} if csi_node is None else self._driver_limits(csi_node)
        if self._is_modern:
            return reported
        units = self._table.node(row).allocatable_units
        return {name: units[name] for name in units if name.startswith(_LIMIT_PREFIX)} | reported

    def _driver_limits(self, csi_node: ApiObject) -> dict[str, int]:
        limits: dict[str, int] = {}
        for driver in csi_node.spec.get("drivers") or ():
            allocatable: Mapping[str, Any] = driver.get("allocatable") or {}
            count = allocatable.get("count")
            if count is not None:
                name = driver["name"] if self._is_modern else limit_key(driver["name"])
                limits[name] = int(count)
        return limits


def _faults_met(state: CycleState) -> list[str]:
    return cast("list[str]", state.data.setdefault(_FAULTS, []))


def _code_of(state: CycleState, fault: str) -> int:
    faults = _faults_met(state)
    if fault not in faults:
        faults.append(fault)
    return _MET + faults.index(fault)


def limit_key(driver: str) -> str:
    """The resource name of a driver's limit on a node. Upstream: GetCSIAttachLimitKey()."""
    if len(_LIMIT_PREFIX) + len(driver) < _LONGEST_KEY:
        return _LIMIT_PREFIX + driver
    hashed = hashlib.sha1(driver.encode(), usedforsecurity=False).hexdigest()
    return f"{_LIMIT_PREFIX}{driver[:23]}{hashed[:16]}"


def _is_migrated(plugin: str, *, portworx: bool) -> bool:
    """Upstream: utils.go isCSIMigrationOn()."""
    return plugin in _MIGRATED and (portworx or plugin != _PORTWORX)


def _migrated(
    spec: Mapping[str, Any], labels: Mapping[str, str] | None, *, portworx: bool
) -> tuple[str, str]:
    plugin = in_tree_plugin(spec)
    if plugin is None or not _is_migrated(plugin, portworx=portworx):
        return "", ""
    return IN_TREE[plugin].driver, csi_handle(plugin, spec, labels)


def _inline_fault(volume: Mapping[str, Any]) -> str:
    """Why a pod's own disk cannot be counted, or "". Upstream: checkAttachableInlineVolume()."""
    plugin = in_tree_plugin(volume)
    fault = translation_fault(plugin, volume) if plugin in _MIGRATED else ""
    return fault and f"converting volume({volume.get('name')}) from inline to csi: {fault}"


def _handle(volume: PersistentVolume) -> str:
    source: Mapping[str, Any] = volume.spec.get("csi") or {}
    return str(source.get("volumeHandle") or "")


def _count(volumes: Mapping[str, str], driver: str) -> int:
    return sum(holder == driver for holder in volumes.values())
