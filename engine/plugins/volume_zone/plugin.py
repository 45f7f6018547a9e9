"""Zone labels of bound volumes. Upstream: plugins/volumezone/volume_zone.go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from engine.framework.pods.signing import Signed, sign_volumes
from engine.framework.registrations import Registration
from engine.kernel.sentences import Sentence, enumerated, say, verbatim
from engine.objects.phases import claim_class
from engine.plugins.arguments import no_arguments
from engine.plugins.volume_zone.events import EVENTS
from engine.plugins.volume_zone.facts import explain_zone
from engine.plugins.volume_zone.topologies import (
    BETA_REGION,
    BETA_ZONE,
    REGION,
    TOPOLOGY_LABELS,
    ZONE,
    Topology,
    volume_topologies,
)

REASON_CONFLICT = "node(s) had no available volume zone"

_GA_LABEL = {BETA_ZONE: ZONE, BETA_REGION: REGION}


class VolumeZone(Plugin):
    """Refuses nodes in another zone or region than a bound volume's labels say."""

    name: ClassVar[str] = names.VOLUME_ZONE
    family: ClassVar[str] = "volume zone"
    needs_volumes: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Collect the labels of all bound volumes."""
        found = self._topologies(state)
        if isinstance(found, Status):
            return PreFilterResult(status=found)
        if not found:
            return PRE_FILTER_SKIP
        state.data[self.name] = found
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: where each bound volume is."""
        for key, values, volume in cast("list[Topology]", state.data[self.name]):
            yield say(
                "{volume}: {key} in {values}",
                volume=volume,
                key=key,
                values=enumerated(sorted(values)),
            )

    def _topologies(self, state: CycleState) -> list[Topology] | Status:
        """The labels of all bound volumes, or what is wrong with a claim.

        Upstream: getPVbyPod().
        """
        topologies: list[Topology] = []
        pod = state.pod.pod
        for volume in pod.volumes:
            source = volume.get("persistentVolumeClaim")
            if not source:
                continue
            found, error = self._of_claim(f"{pod.namespace}/{source['claimName']}")
            if error:
                return Status(Code.UNRESOLVABLE, (error,), self.name)
            topologies.extend(found)
        return topologies

    def concerns(self, state: CycleState) -> bool:
        """Whether a bound volume of the pod has such labels, or a claim has a fault."""
        return self.pre_filter(state).status.code is not Code.SKIP

    def _of_claim(self, key: str) -> tuple[list[Topology], str]:
        """Upstream: getPVbyPod(), one claim of it."""
        claim = self._listers.claim(key)
        if claim is None:
            return [], f'persistentvolumeclaim "{key.partition("/")[2]}" not found'
        if not claim.volume_name:
            class_name = claim_class(claim)
            if not class_name:
                return [], "PersistentVolumeClaim had no pv name and storageClass name"
            storage_class = self._listers.storage_class(class_name)
            if storage_class is None:
                return [], f'storageclass.storage.k8s.io "{class_name}" not found'
            if storage_class.binding_mode == "WaitForFirstConsumer":
                return [], ""
            return [], "PersistentVolume had no name"
        volume = self._listers.volume(claim.volume_name)
        if volume is None:
            return [], f'persistentvolume "{claim.volume_name}" not found'
        return volume_topologies(volume), ""

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """1 + the place of the first topology that does not agree.

        If PreFilter did not run, the labels are collected here; a fault of a claim then refuses
        every node.
        """
        topologies = cast("list[Topology] | Status | None", state.data.get(self.name))
        if topologies is None:
            topologies = state.data[self.name] = self._topologies(state)
        if isinstance(topologies, Status):
            return np.ones(len(rows), np.int64)
        codes = np.zeros(len(rows), np.int64)
        for place, row in enumerate(rows.tolist()):
            codes[place] = zone_conflict(topologies, self._table.node(row).labels)
        return codes

    def explain(self, state: CycleState, code: int) -> Status:
        """The zone, or what is wrong with a claim."""
        found = state.data.get(self.name)
        if isinstance(found, Status):
            return found
        return Status(Code.UNRESOLVABLE, (REASON_CONFLICT,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The label on both sides."""
        found = cast("list[Topology] | Status", state.data[self.name])
        if isinstance(found, Status):
            return Detail(text=verbatim(found.message))
        key, values, volume = found[code - 1]
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

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_zone(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return sign_volumes(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS


def zone_conflict(topologies: list[Topology], labels: Mapping[str, str]) -> int:
    """1 + the place of the first topology a node with *labels* misses, or 0.

    A node without any zone or region label is taken to reach everything.
    """
    if not any(key in labels for key in TOPOLOGY_LABELS):
        return 0
    for place, (key, values, _) in enumerate(topologies, 1):
        found = labels.get(key)
        if found is None and key in _GA_LABEL:
            found = labels.get(_GA_LABEL[key])
        if found is None or found not in values:
            return place
    return 0
