"""Claims and their volumes before v1.18. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from collections.abc import Iterable
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
    PodVolumes,
    PreFilterResult,
    Status,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import Sentence, enumerated, say, verbatim
from engine.plugins.classic import ERROR_PLUGIN
from engine.plugins.volume_binding.facts import explain_binding
from engine.plugins.volume_binding.reasons import (
    REASON_BIND_CONFLICT,
    REASON_NODE_CONFLICT_1_16,
    REASON_UNBOUND_1_11,
    REASON_UNBOUND_IMMEDIATE,
)
from engine.plugins.volume_binding.volume_finder import (
    FinderRules,
    Plans,
    PodClaims,
    VolumeFinder,
    plan_at,
)


class CheckVolumeBinding(Plugin):
    """Claims, with the reasons of these versions; an unbound immediate claim is an error."""

    name: ClassVar[str] = names.CHECK_VOLUME_BINDING
    family: ClassVar[str] = "volume"
    needs_volumes: ClassVar[bool] = True

    _NODE_CONFLICT, _BIND_CONFLICT, _ERROR = 1, 2, 4

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        in_rounds = bool(arguments.get("in_rounds"))
        provisions = bool(arguments.get("provisions", True))
        rules = FinderRules(
            prebound_is_bound=in_rounds,
            provisions=provisions,
            counts_room=False,
            # v1.11 reads the annotation only if it writes it. Upstream: shouldDelayBinding().
            delays_selected=not (in_rounds and provisions),
            provisions_selected=not in_rounds,
        )
        self._finder = VolumeFinder(handle.table, handle.listers, rules)
        self._unbound = REASON_UNBOUND_1_11 if in_rounds else REASON_UNBOUND_IMMEDIATE

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Classify the claims; their errors show on each node that passes the predicates before."""
        if not any(volume.get("persistentVolumeClaim") for volume in state.pod.pod.volumes):
            return PRE_FILTER_SKIP
        state.data[self.name] = self._finder.pod_claims(state.pod)
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterable[Sentence]:
        """See `Keeps`. Upstream: getPodVolumes()."""
        claims, error = cast("tuple[PodClaims, str]", state.data[self.name])
        return (verbatim(error),) if error else claims.kept()

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The failures as bits."""
        claims, error = cast("tuple[PodClaims, str]", state.data[self.name])
        codes = np.zeros(len(rows), np.int64)
        if error or claims.immediate:
            return codes + self._ERROR
        if claims.bound:
            conflict, missing = self._finder.bound_conflicts(claims.bound)
            codes |= np.where(conflict[rows], self._NODE_CONFLICT, self._ERROR if missing else 0)
        if claims.delayed:
            unbound, plans = self._finder.unbound(claims, rows)
            codes |= np.where(unbound != 0, self._BIND_CONFLICT, 0)
            cast("list[Plans]", state.data.setdefault(f"{self.name}/plans", [])).append(plans)
        return codes

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """What has to be bound and provisioned when the pod goes to the node at *row*."""
        return plan_at(cast("list[Plans] | None", state.data.get(f"{self.name}/plans")), row)

    def explain(self, state: CycleState, code: int) -> Status:
        """Conflicts are refusals, everything else an error of the attempt."""
        if code & self._ERROR:
            return Status(Code.ERROR, (self._error(state),), ERROR_PLUGIN)
        reasons: list[str] = []
        if code & self._NODE_CONFLICT:
            reasons.append(REASON_NODE_CONFLICT_1_16)
        if code & self._BIND_CONFLICT:
            reasons.append(REASON_BIND_CONFLICT)
        return Status(Code.UNRESOLVABLE, tuple(reasons), self.name)

    def _error(self, state: CycleState) -> str:
        claims, error = cast("tuple[PodClaims, str]", state.data[self.name])
        if error:
            return error
        if claims.immediate:
            return self._unbound
        _, missing = self._finder.bound_conflicts(claims.bound)
        return f'could not find v1.PersistentVolume "{missing}"'

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The claims in question, or the fault that ends the attempt."""
        claims, _ = cast("tuple[PodClaims, str]", state.data[self.name])
        if code & self._ERROR:
            return Detail(text=verbatim(self._error(state)))
        if code & self._NODE_CONFLICT:
            volumes = [claim.volume_name for claim in claims.bound]
            text = say("out of reach: {volumes}", volumes=enumerated(volumes))
            return Detail(text=text, numbers={"volumes": volumes})
        keys = [claim.key for claim in (*claims.delayed, *claims.immediate)]
        text = say("no volume for {claims}", claims=enumerated(keys))
        return Detail(text=text, numbers={"claims": keys})

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_binding(case)
