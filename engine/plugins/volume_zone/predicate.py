"""Zones of volumes before v1.18. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from typing import Any, ClassVar, cast

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
from engine.kernel.sentences import say, verbatim
from engine.objects.phases import claim_class
from engine.plugins.classic import ERROR_PLUGIN
from engine.plugins.volume_zone.facts import explain_zone
from engine.plugins.volume_zone.topologies import Topology, volume_topologies

REASON_ZONE = "node(s) had no available volume zone"
BETA_LABELS = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


class NoVolumeZoneConflict(Plugin):
    """Zone labels of bound volumes; only the beta labels were known.

    Upstream: VolumeZoneChecker.predicate().
    """

    name: ClassVar[str] = names.NO_VOLUME_ZONE_CONFLICT
    family: ClassVar[str] = "volume zone"
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
                    text=say(
                        "volume {volume} is in {key}={values}",
                        volume=volume,
                        key=key,
                        values=verbatim(",".join(allowed)),
                    ),
                    numbers={"volume": volume, "key": key, "values": allowed},
                )
        return Detail(text=verbatim(error))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_zone(case)
