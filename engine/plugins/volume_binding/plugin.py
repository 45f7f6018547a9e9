"""The plugin VolumeBinding: refuses nodes on which the pod's claims can have no volumes.

Bound claims need their volume's node affinity; unbound claims of delayed classes need a free
volume that can be reached, or a class that can provision one at the node. `volume_finder` looks
for them. Upstream: plugins/volumebinding/volume_binding.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np

from engine.framework import names
from engine.framework.columns.cells import Trait
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import (
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    Code,
    CycleState,
    Detail,
    Plugin,
    PodVolumes,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed, sign_volumes
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Sentence, enumerated, say, verbatim
from engine.objects.objects import PersistentVolumeClaim, Pod, claim_of
from engine.objects.selectors import NodeSelector
from engine.plugins.volume_binding.arguments import check_arguments
from engine.plugins.volume_binding.events import EVENTS
from engine.plugins.volume_binding.facts import explain_binding, labels_renamed
from engine.plugins.volume_binding.reasons import (
    REASON_BIND_CONFLICT,
    REASON_NO_SPACE,
    REASON_NODE_CONFLICT,
    REASON_NOT_EXIST,
    REASON_UNBOUND_IMMEDIATE,
)
from engine.plugins.volume_binding.volume_finder import (
    BIND_CONFLICT,
    NO_SPACE,
    ClaimPlans,
    FinderRules,
    Plans,
    PodClaims,
    VolumeFinder,
    plan_at,
)
from engine.storage.translation import in_tree_plugin, translation_fault

# The keys in the state of a cycle: the plans, and why a bound in-tree volume cannot be translated.
_PLANS = f"{names.VOLUME_BINDING}/plans"
_FAULT = f"{names.VOLUME_BINDING}/fault"

# The reasons of one node, as bits.
_NOT_EXIST, _NODE_CONFLICT, _UNTRANSLATED = 1, 2, 16


class VolumeBinding(Plugin):
    """Refuses nodes on which the pod's claims can have no volumes."""

    name: ClassVar[str] = names.VOLUME_BINDING
    family: ClassVar[str] = "volume"
    needs_volumes: ClassVar[bool] = True
    check_arguments = staticmethod(check_arguments)
    unprepared = Unprepared(filter="not found", reserve="not found")

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._listers = handle.listers
        rules = FinderRules(
            translates=arguments.get("translates", True),
            finds_faults=True,
            knows_lost=arguments.get("knows_lost_claims", True),
            awaits_own=arguments.get("awaits_own_claims", True),
        )
        self._finder = VolumeFinder(handle.table, handle.listers, rules)

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Sort the claims out; unbound immediate ones are not the scheduler's to bind."""
        pod = state.pod
        if not pod.pod.claim_names:
            return PRE_FILTER_SKIP
        claims, error = self._finder.pod_claims(pod)
        if error:
            return _rejected(error, self.name)
        if claims.immediate:
            return _rejected(REASON_UNBOUND_IMMEDIATE, self.name)
        state.data[self.name] = claims
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterable[Sentence]:
        """See `Keeps`. Upstream: stateData.podVolumeClaims."""
        return cast("PodClaims", state.data[self.name]).kept()

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod has claims; what is kept for such claims is up to date then."""
        if self.pre_filter(state).status.code is Code.SKIP:
            return False
        claims: PodClaims | None = state.data.get(self.name)
        if claims is not None:
            self._finder.planned(claims)
        return True

    def look(self, state: CycleState) -> list[Trait] | None:
        """Rows differ in whether they have a volume for the claim, where there is one to bind."""
        claims: PodClaims | None = state.data.get(self.name)
        if claims is None or claims.bound or claims.plans is None:
            return None
        state.data[_PLANS] = [claims.plans]
        return claims.plans.traits()

    def fits_row(self, state: CycleState, row: int) -> bool:
        """Whether `filter` accepts *row*; after `look`."""
        plans: list[ClaimPlans] = state.data[_PLANS]
        return plans[0].accepts(row)

    def pre_score_cells(self, state: CycleState, rows: IntArray, cell_sizes: IntArray) -> bool:
        """It scores nothing."""
        return False

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The reasons as bits."""
        claims: PodClaims = state.data[self.name]
        if claims.delayed:
            codes, plans = self._finder.unbound(claims, rows)
            state.data.setdefault(_PLANS, []).append(plans)
        else:
            codes = np.zeros(len(rows), np.int64)
        if claims.bound:
            conflict, missing = self._finder.bound_conflicts(claims.bound)
            codes |= np.where(conflict[rows], _NODE_CONFLICT, _NOT_EXIST if missing else 0)
            failing, why = self._finder.untranslated(claims.bound)
            if why:
                state.data[_FAULT] = why
                codes[failing[rows]] = _UNTRANSLATED
        return codes

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """What has to be bound and provisioned when the pod goes to the node at *row*."""
        plans: list[Plans] | None = state.data.get(_PLANS)
        return plan_at(plans, row)

    def explain(self, state: CycleState, code: int) -> Status:
        """All reasons together; no eviction frees a volume."""
        if code == _UNTRANSLATED:
            return Status(Code.ERROR, (str(state.data[_FAULT]),), self.name)
        reasons = tuple(
            reason
            for bit, reason in (
                (_NODE_CONFLICT, REASON_NODE_CONFLICT),
                (BIND_CONFLICT, REASON_BIND_CONFLICT),
                (NO_SPACE, REASON_NO_SPACE),
                (_NOT_EXIST, REASON_NOT_EXIST),
            )
            if code & bit
        )
        return Status(Code.UNRESOLVABLE, reasons, self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """Which claims or volumes are in the way."""
        claims: PodClaims = state.data[self.name]
        if code == _UNTRANSLATED:
            return Detail(text=verbatim(str(state.data[_FAULT])))
        if code & _NODE_CONFLICT:
            return self._conflict_detail(claims.bound, row)
        if code & _NOT_EXIST:
            return Detail(text=say("bound to a volume that does not exist"))
        keys = tuple([claim.key for claim in claims.delayed])
        return _no_storage(keys) if code & NO_SPACE else _no_volume(keys)

    def _conflict_detail(self, bound: Iterable[PersistentVolumeClaim], row: int) -> Detail:
        for claim in bound:
            offer = self._listers.volumes.offer(claim.volume_name)
            reach = None if offer is None else self._finder.reach(offer)
            if offer is None or reach is None:
                continue
            if not reach[row]:
                return _out_of_reach(offer.name, claim.name, offer.affinity)
        return Detail(text=say("volume out of reach"))

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_binding(case)

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """See `Proposes`."""
        return labels_renamed(refusals)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return sign_volumes(pod)

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return EVENTS


@lru_cache(maxsize=512)
def _no_volume(claims: tuple[str, ...]) -> Detail:
    """The evidence that no free volume can be reached; nodes share one."""
    text = say("no volume for {claims}", claims=enumerated(claims))
    return Detail(text=text, numbers={"claims": [*claims]})


@lru_cache(maxsize=512)
def _no_storage(claims: tuple[str, ...]) -> Detail:
    """The evidence that no class can provision at the node; nodes share one."""
    text = say("not enough free storage {claims}", claims=enumerated(claims))
    return Detail(text=text, numbers={"claims": [*claims]})


@lru_cache(maxsize=512)
def _out_of_reach(volume: str, claim: str, affinity: NodeSelector | None) -> Detail:
    """The evidence that a claim's volume lies elsewhere; nodes share one."""
    text = say("volume {volume} of {claim} is out of reach", volume=volume, claim=claim)
    return Detail(text=text, numbers={"volume": volume, "needs": str(affinity)})


def volumes_may_fail(pod: PodInfo, handle: Handle, nominated: Nominated) -> bool:
    """Whether plugins may fail on a disk of this pod, or of another on its node; v1.34 only."""
    if not pod.pod.volumes:
        return False
    if handle.table.volume_users.pods_at_fault or nominated.concern(pod):
        return True
    return holds_untranslatable(pod.pod, handle.listers)


def holds_untranslatable(pod: Pod, listers: Listers) -> bool:
    """Whether the pod has an in-tree disk, its own or a claim's, that no CSI driver can take over."""
    for own in pod.volumes:
        name, _ = claim_of(pod.name, own)
        spec: Mapping[str, Any] = own
        labels: Mapping[str, str] | None = None
        if name:
            claim = listers.claim(f"{pod.namespace}/{name}")
            volume = None if claim is None else listers.volume(claim.volume_name)
            if volume is None:
                continue
            spec, labels = volume.spec, volume.labels
        plugin = in_tree_plugin(spec)
        if plugin is not None and translation_fault(plugin, spec, labels):
            return True
    return False


def _rejected(reason: str, plugin: str) -> PreFilterResult:
    return PreFilterResult(status=Status(Code.UNRESOLVABLE, (reason,), plugin))
