"""Volumes that cannot be shared. Upstream: plugins/volumerestrictions/volume_restrictions.go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Sentence, enumerated, say
from engine.plugins.arguments import no_arguments
from engine.plugins.volume_restrictions.disks import has_disk_conflict, restricted_disks
from engine.plugins.volume_restrictions.events import EVENTS
from engine.plugins.volume_restrictions.facts import explain_claim_in_use

REASON_DISK = "node(s) had no available disk"
REASON_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)

ERROR_UNPREPARED = 'cannot read "PreFilterVolumeRestrictions" from cycleState'

_DISK, _IN_USE, _UNPREPARED = 1, 2, 3


class VolumeRestrictions(Plugin):
    """Refuses a second user of a ReadWriteOncePod claim, and of some in-tree disks per node."""

    name: ClassVar[str] = names.VOLUME_RESTRICTIONS
    needs_volumes: ClassVar[bool] = True
    check_arguments = staticmethod(no_arguments)
    unprepared = Unprepared(reports_itself=True)

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        # ReadWriteOncePod came with v1.22; before, the plugin did not look at claims.
        self._looks_at_claims = bool(arguments.get("looks_at_claims", True))

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Find the ReadWriteOncePod claims and count those in use.

        Nodes are not checked if only nominated pods use these claims.
        """
        pod = state.pod.pod
        exclusive: list[str] = []
        for name in dict.fromkeys(pod.named_claims if self._looks_at_claims else ()):
            claim = self._listers.claim(f"{pod.namespace}/{name}")
            if claim is None:
                reason = f'persistentvolumeclaim "{name}" not found'
                return PreFilterResult(status=Status(Code.UNRESOLVABLE, (reason,), self.name))
            if "ReadWriteOncePod" in claim.access_modes:
                exclusive.append(name)
        users = self._table.volume_users.by_claim
        used = sum(users.get(f"{pod.namespace}/{name}", 0) > 0 for name in exclusive)
        if not used and not restricted_disks(pod):
            return PRE_FILTER_SKIP
        state.data[self.name] = (exclusive, used)
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterable[Sentence]:
        """See `Keeps`: the ReadWriteOncePod claims, and how many of them are in use."""
        exclusive, used = cast("tuple[list[str], int]", state.data[self.name])
        claims = enumerated(exclusive) or say("none")
        return (say("ReadWriteOncePod claims: {claims}; {used} in use", claims=claims, used=used),)

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod has such a disk or a claim in use, or a claim that is not there."""
        return self.pre_filter(state).status.code is not Code.SKIP

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """A claim in use anywhere refuses every node; without PreFilter this is an error."""
        codes = np.zeros(len(rows), np.int64)
        found = cast("tuple[list[str], int] | None", state.data.get(self.name))
        if found is None:
            codes[:] = _UNPREPARED
        elif found[1] > 0:
            codes[:] = _IN_USE
        disks = restricted_disks(state.pod.pod)
        if disks:
            for place, row in enumerate(rows.tolist()):
                if has_disk_conflict(self._table, row, disks):
                    codes[place] = _DISK
        return codes

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """Upstream: updateWithPod(), which compares the claims' names, not their namespaces.

        So a victim in another namespace whose claim has the same name frees this one, too.
        """
        found = state.data.get(self.name)
        if found is None:
            return
        exclusive, used = cast("tuple[list[str], int]", found)
        used += delta * sum(name in exclusive for name in other.pod.named_claims)
        state.data[self.name] = (exclusive, used)

    def clone_state(self, data: object) -> object:
        """Tuples are replaced, never changed."""
        return data

    def explain(self, state: CycleState, code: int) -> Status:
        """Either can be undone by evicting the other user."""
        if code == _UNPREPARED:
            return Status(Code.ERROR, (ERROR_UNPREPARED,), self.name)
        reason = REASON_DISK if code == _DISK else REASON_IN_USE
        return Status(Code.UNSCHEDULABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Which claim is in use."""
        if code == _DISK:
            return Detail(text=say("disk in use on this node"))
        if code == _UNPREPARED:
            return Detail(text=say("{name} takes no part at PreFilter", name=self.name))
        exclusive, _ = cast("tuple[list[str], int]", state.data[self.name])
        text = say("{claims} in use", claims=enumerated(exclusive))
        return Detail(text=text, numbers={"claims": exclusive})

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_claim_in_use(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return sign_volumes(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS
