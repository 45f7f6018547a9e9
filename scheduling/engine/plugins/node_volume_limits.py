"""How many CSI volumes a node can attach. Upstream: plugins/nodevolumelimits/csi.go."""

from __future__ import annotations

from typing import Any, ClassVar, cast

import numpy as np

from kscope.sim.objects import PersistentVolumeClaim
from scheduling.engine import names
from scheduling.engine.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    Code,
    CycleState,
    Detail,
    IntArray,
    Plugin,
    PreFilterResult,
    Status,
)
from scheduling.engine.handle import Arguments, Handle
from scheduling.engine.listers import Listers
from scheduling.engine.node_table import NodeTable
from scheduling.engine.pod_info import PodInfo
from volumes.engine.phases import claim_class

REASON_MAX_VOLUMES = "node(s) exceed max volume count"


class NodeVolumeLimits(Plugin):
    """Refuses nodes whose CSI drivers could not attach the pod's volumes too."""

    name: ClassVar[str] = names.NODE_VOLUME_LIMITS
    needs_volumes: ClassVar[bool] = True

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._drivers: frozenset[str] = frozenset()
        self._drivers_generation = -1

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Only claims count."""
        return PRE_FILTER_OK if state.pod.pod.claim_names else PRE_FILTER_SKIP

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 where a driver's limit would be passed, 2 where a claim is missing."""
        wanted = csi_volumes(self._listers, state.pod)
        state.data[self.name] = wanted
        codes = np.zeros(len(rows), np.int64)
        if not wanted or self._limited_drivers().isdisjoint(wanted.values()):
            return codes
        for place, row in enumerate(rows.tolist()):
            if over_limit(self._table, self._listers, row, wanted) is not None:
                codes[place] = 1
        return codes

    def _limited_drivers(self) -> frozenset[str]:
        """The drivers that any node sets a limit for."""
        generation = self._listers.generation.get("CSINode", 0)
        if generation != self._drivers_generation:
            self._drivers_generation = generation
            self._drivers = frozenset(
                driver
                for csi_node in self._listers.all("CSINode")
                for driver in _limits(self._listers, csi_node.name)
            )
        return self._drivers

    def explain(self, state: CycleState, code: int) -> Status:
        """Evicting users of other volumes helps."""
        return Status(Code.UNSCHEDULABLE, (REASON_MAX_VOLUMES,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The driver, its limit and how many it has."""
        wanted = cast("dict[str, str]", state.data[self.name])
        over = over_limit(self._table, self._listers, row, wanted)
        if over is None:
            return Detail(text="too many volumes")
        driver, attached, added, limit = over
        short = attached + added - limit
        numbers = {"driver": driver, "attached": attached, "added": added, "limit": limit}
        text = f"{driver}: {attached} of {limit} volumes attached, {added} more wanted"
        return Detail(text=text, short=short, unit="volumes", numbers=numbers)


def csi_volumes(listers: Listers, pod: PodInfo) -> dict[str, str]:
    """The pod's CSI volumes: unique name → driver. Upstream: filterAttachableVolumes()."""
    found: dict[str, str] = {}
    for name in pod.pod.claim_names:
        claim = listers.claim(f"{pod.pod.namespace}/{name}")
        if claim is None:
            continue
        driver, volume_handle = _driver_of(listers, claim)
        if driver and volume_handle:
            found[f"{driver}/{volume_handle}"] = driver
    return found


def _driver_of(listers: Listers, claim: PersistentVolumeClaim) -> tuple[str, str]:
    """The CSI driver and volume handle behind a claim; ("", "") when it is not CSI.

    An unbound claim counts by its class's provisioner. Upstream: getCSIDriverInfo().
    """
    volume = listers.volume(claim.volume_name) if claim.volume_name else None
    if volume is None:
        storage_class = listers.storage_class(claim_class(claim))
        if storage_class is None:
            return "", ""
        return storage_class.provisioner, f"unbound-{claim.key}"
    source: dict[str, Any] = volume.spec.get("csi") or {}
    return str(source.get("driver") or ""), str(source.get("volumeHandle") or "")


def over_limit(
    table: NodeTable, listers: Listers, row: int, wanted: dict[str, str]
) -> tuple[str, int, int, int] | None:
    """(driver, attached, added, limit) of a driver that would pass its limit, or None."""
    limits = _limits(listers, table.name(row))
    if not limits:
        return None
    attached: dict[str, str] = {}
    for other in table.pods[row].values():
        if other.pod.claim_names:
            attached.update(csi_volumes(listers, other))
    added: dict[str, int] = {}
    for unique, driver in wanted.items():
        if unique not in attached:
            added[driver] = added.get(driver, 0) + 1
    for driver in sorted(added):
        limit = limits.get(driver)
        if limit is None:
            continue
        count = sum(holder == driver for holder in attached.values())
        if count + added[driver] > limit:
            return driver, count, added[driver], limit
    return None


def _limits(listers: Listers, node_name: str) -> dict[str, int]:
    csi_node = listers.get("CSINode", node_name)
    if csi_node is None:
        return {}
    limits: dict[str, int] = {}
    for driver in csi_node.spec.get("drivers") or ():
        allocatable: dict[str, Any] = driver.get("allocatable") or {}
        count = allocatable.get("count")
        if count is not None:
            limits[driver["name"]] = int(count)
    return limits
