"""The plugin DynamicResources: a node fits if the pod's resource claims can have devices on it.

Upstream: plugins/dynamicresources/dynamicresources.go (v1.36).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, cast

import numpy as np

from engine.framework import names
from engine.framework.arithmetic import Term, Terms
from engine.framework.columns.cells import Trait
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.framework import (
    FITS,
    MAX_NODE_SCORE,
    PRE_FILTER_OK,
    PRE_FILTER_SKIP,
    SUCCESS,
    Code,
    CycleState,
    Detail,
    Plugin,
    PostFilterResult,
    PreFilterResult,
    Status,
    default_normalize,
)
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import Signed
from engine.framework.registrations import Registration
from engine.framework.unprepared import Unprepared
from engine.kernel.sentences import Phrase, Sentence, enumerated, phrase, say, verbatim
from engine.objects.manifest_parts import items
from engine.objects.objects import ApiObject, Pod
from engine.plugins.dynamic_resources.allocation.allocated_devices import AllocatedDevices
from engine.plugins.dynamic_resources.allocation.claims import ClaimMissing, claims_of
from engine.plugins.dynamic_resources.allocation.device_holders import DeviceHolders, devices_held
from engine.plugins.dynamic_resources.allocation.devices import DeviceClass, DeviceID
from engine.plugins.dynamic_resources.allocation.extended import Mapped, claim_for
from engine.plugins.dynamic_resources.allocation.requests import ClaimRequests
from engine.plugins.dynamic_resources.allocation.search.allocator import (
    AllocationError,
    InvalidPools,
)
from engine.plugins.dynamic_resources.allocation.search.obstacles import DeviceObstacle, obstacles
from engine.plugins.dynamic_resources.arguments import check_arguments
from engine.plugins.dynamic_resources.events import events_of
from engine.plugins.dynamic_resources.facts import explain_devices
from engine.plugins.dynamic_resources.kept_searches import (
    CANNOT_ALLOCATE,
    INVALID_POOLS,
    preference,
)
from engine.plugins.dynamic_resources.pod_reader import PodReader
from engine.plugins.dynamic_resources.prepared import NodeAllocation, Prepared
from engine.plugins.dynamic_resources.protocol import PostFilterAnswer

REASON_CANNOT_ALLOCATE: Final = "cannot allocate all claims"
REASON_NOT_AVAILABLE: Final = "resourceclaim not available on the node"
# Devices provide some of the pod's extended resources, but nothing on the node provides another.
REASON_CANNOT_FIT: Final = "cannot fit resource"
REASON_LEFT_OVER: Final = "cannot schedule extended resource claim"
# Codes beside those of `kept_searches`.
_NOT_AVAILABLE: Final = 2
_CANNOT_FIT: Final = 4
_LEFT_OVER: Final = 5
# A code from here on is the place of an error among those of the cycle.
_FIRST_ERROR: Final = 16


class DynamicResources(Plugin):
    """Finds devices for the pod's claims on each node; prefers earlier alternatives."""

    name: ClassVar[str] = names.DYNAMIC_RESOURCES
    formula: ClassVar[str] = "raw × 100 ÷ highest"
    family: ClassVar[str] = "devices"
    check_arguments = staticmethod(check_arguments)
    # What PostFilter answers where there is nothing that it could deallocate.
    idle_answer: ClassVar[str] = "no new claims to deallocate"
    unprepared = Unprepared(filter="not found", reserve="not found", post_filter="not found")

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._pods = PodReader(handle, arguments)
        self._holders = DeviceHolders(handle.listers)

    @property
    def claims(self) -> Mapping[str, ApiObject]:
        """All resource claims by key."""
        return self._pods.claims

    @property
    def allocated(self) -> AllocatedDevices:
        """The devices of all claims."""
        return self._pods.allocated

    @property
    def awaits_conditions(self) -> bool:
        """Whether a pod is bound only when its devices have their binding conditions."""
        return self._pods.awaits_conditions

    def device_class(self, name: str) -> DeviceClass | None:
        """The class of that name, or None."""
        return self._pods.device_class(name)

    # -- before the nodes ------------------------------------------------------------------------

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Keeps a pod waiting whose claims are not there yet."""
        if not pod.pod.spec.get("resourceClaims"):
            return SUCCESS
        try:
            claims_of(pod.pod, self.claims)
        except ClaimMissing as missing:
            return Status(Code.UNRESOLVABLE, (str(missing),), self.name)
        return SUCCESS

    def concerns(self, state: CycleState) -> bool:
        """Whether the pod asks for devices; what is kept for such claims is up to date then."""
        if not self.asks_for_devices(state.pod):
            return False
        self.pre_filter(state)
        return True

    def asks_for_devices(self, pod: PodInfo) -> bool:
        """By a claim, or by an extended resource that a class stands for."""
        return bool(pod.pod.spec.get("resourceClaims") or self._pods.extended(pod))

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """SKIP for a pod without claims."""
        if not self.asks_for_devices(state.pod):
            return PRE_FILTER_SKIP
        try:
            prepared = self._pods.read(state.pod)
        except ClaimMissing as missing:
            status = Status(Code.UNRESOLVABLE, (str(missing),), self.name)
            return PreFilterResult(status=status)
        if prepared is None:
            return PRE_FILTER_SKIP
        state.data[self.name] = prepared
        return PRE_FILTER_OK

    def kept(self, state: CycleState) -> Iterator[Sentence]:
        """See `Keeps`: the claims, and what devices may provide beside them."""
        prepared = cast("Prepared", state.data[self.name])
        for claim in prepared.claims:
            yield say("claim {claim}", claim=claim.key)
        yield say("claims to allocate: {count}", count=len(prepared.to_allocate))
        for name, amount in prepared.extended.items():
            yield say("{resource} {amount} that devices may provide", resource=name, amount=amount)

    # -- what is kept from pod to pod --------------------------------------------------------------

    def keeps_searches(self, pod: PodInfo) -> bool:
        """Whether the searches for the pod's claims are kept for the next pod."""
        return self._pods.keeps_searches(self._pods.extended(pod))

    def ends_with_error(self, state: CycleState) -> bool:
        """Whether the search ends with an error on some node, which fails the attempt."""
        prepared = self.prepared(state)
        if prepared is None or not prepared.needs_devices:
            return False
        return prepared.kept is None or bool(prepared.kept.failed)

    def look(self, state: CycleState) -> list[Trait] | None:
        """Rows differ in whether they have devices for all claims, and in their score."""
        prepared = self.prepared(state)
        if prepared is None or prepared.kept is None or prepared.selectors or prepared.never_ready:
            return None
        return None if prepared.kept.failed else [Trait(tally=prepared.kept.tally)]

    def fits_row(self, state: CycleState, row: int) -> bool:
        """Whether `filter` accepts *row*; after `look`."""
        prepared = cast("Prepared", state.data[self.name])
        return prepared.kept is not None and bool(prepared.kept.tally.counts.item(row))

    def pre_score_cells(self, state: CycleState, rows: IntArray, cell_sizes: IntArray) -> bool:
        """Only alternatives give nodes different scores."""
        prepared = self.prepared(state)
        return prepared is not None and prepared.prefers

    # -- the nodes -------------------------------------------------------------------------------

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """The first obstacle on each node."""
        prepared = self.prepared(state)
        if prepared is None:
            return np.zeros(len(rows), np.int64)
        codes = self._search_codes(state, prepared, rows)
        could_fit = codes == FITS
        for place, selector in prepared.selectors.items():
            self._reject(prepared, place, codes, could_fit & ~self._table.matching(selector)[rows])
        for place in prepared.never_ready:
            self._reject(prepared, place, codes, could_fit)
        return codes

    def _reject(self, prepared: Prepared, place: int, codes: IntArray, apart: BoolArray) -> None:
        """The claim at *place* is not available on the nodes *apart*."""
        if apart.any():
            prepared.unavailable[place] = None
            codes[apart] = _NOT_AVAILABLE

    def _search_codes(self, state: CycleState, prepared: Prepared, rows: IntArray) -> IntArray:
        """Whether there are devices for all claims."""
        if prepared.left_over is not None:
            return np.full(len(rows), _LEFT_OVER, np.int64)
        if prepared.kept is not None and not prepared.kept.failed:
            return prepared.kept.codes[rows]
        if prepared.allocator is None:
            return np.zeros(len(rows), np.int64)
        return np.array([self._search(state, prepared, row) for row in rows.tolist()], np.int64)

    def _search(self, state: CycleState, prepared: Prepared, row: int) -> int:
        if self._lacks_resource(prepared, row):
            return _CANNOT_FIT
        try:
            found = self._allocate(state, prepared, row)
        except InvalidPools:
            return INVALID_POOLS
        except AllocationError as error:
            prepared.errors.append(str(error))
            return _FIRST_ERROR + len(prepared.errors) - 1
        if found is None:
            return CANNOT_ALLOCATE
        prepared.by_node[self._table.name(row)] = found
        return FITS

    def _lacks_resource(self, prepared: Prepared, row: int) -> bool:
        """Whether neither the node nor any class has one of the extended resources.

        NodeResourcesFit says so first, unless it ignores the resource.
        Upstream: filterExtendedResources().
        """
        unknown = [name for name in prepared.extended if name not in prepared.classes]
        if not unknown:
            return False
        allocatable = self._table.node(row).allocatable_units
        return any(name not in allocatable for name in unknown)

    def _allocate(self, state: CycleState, prepared: Prepared, row: int) -> NodeAllocation | None:
        """What the pod would get. Raises AllocationError."""
        assert prepared.allocator is not None, "the pod asks for no devices"
        node = self._table.node(row)
        claims, mapped, has_extended_claim = self._requested(state.pod.pod, prepared, row)
        devices = prepared.allocator.allocate(claims, node.name, node.labels)
        if devices is None:
            return None
        return NodeAllocation(claims, devices, has_extended_claim, mapped)

    def choose(self, state: CycleState, row: int) -> None:
        """The pod goes to *row*: find out now what it gets there, before anything else changes."""
        prepared = self.prepared(state)
        if prepared is None or prepared.allocator is None:
            return
        if self._table.name(row) not in prepared.by_node:
            self._search(state, prepared, row)

    def _requested(
        self, pod: Pod, prepared: Prepared, row: int
    ) -> tuple[tuple[ClaimRequests, ...], tuple[Mapped, ...], bool]:
        """The claims to allocate on a node; the last one may be for extended resources."""
        from_devices = self._from_devices(prepared, row)
        if not prepared.extended or not (from_devices or prepared.claims):
            return prepared.to_allocate, (), False
        claim, mapped = claim_for(pod, from_devices)
        return (*prepared.to_allocate, claim), mapped, True

    def _from_devices(self, prepared: Prepared, row: int) -> dict[str, DeviceClass]:
        """The extended resources that the node does not have itself."""
        return {
            name: prepared.classes[name]
            for name in prepared.extended
            if name in prepared.classes
            and not self._table.allocatable[self._table.resource(name)][row]
        }

    def explain(self, state: CycleState, code: int) -> Status:
        """The reason; an error of a claim or a class ends the attempt."""
        if code >= _FIRST_ERROR:
            prepared = cast("Prepared", state.data[self.name])
            return Status(Code.ERROR, (prepared.errors[code - _FIRST_ERROR],), self.name)
        reason = {
            CANNOT_ALLOCATE: REASON_CANNOT_ALLOCATE,
            _NOT_AVAILABLE: REASON_NOT_AVAILABLE,
            INVALID_POOLS: str(InvalidPools()),
            _CANNOT_FIT: REASON_CANNOT_FIT,
            _LEFT_OVER: REASON_LEFT_OVER,
        }[code]
        return Status(Code.UNRESOLVABLE, (reason,), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """What speaks against each device of the node."""
        prepared = self.prepared(state)
        if code != CANNOT_ALLOCATE or prepared is None or prepared.allocator is None:
            return Detail(text=verbatim(self.explain(state, code).message))
        node = self._table.node(row)
        claims, _, _ = self._requested(state.pod.pod, prepared, row)
        held = devices_held(self.allocated.held)

        def holder(device: DeviceID) -> str:
            return held.get(device) or self._holders.holder(device)

        found = obstacles(prepared.allocator, claims, node.name, node.labels, holder)
        return Detail(text=_summary(found), numbers={"devices": [each.to_dict() for each in found]})

    # -- scores ----------------------------------------------------------------------------------

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """More for earlier alternatives. Upstream: computeScore()."""
        prepared = self.prepared(state)
        if prepared is None:
            return np.zeros(len(rows), np.int64)
        if prepared.kept is not None and not prepared.kept.failed:
            counts = prepared.kept.tally.counts[rows].astype(np.int64)
            return np.where(counts > 0, counts - 1 + prepared.allocated_preference, 0)
        found = [prepared.by_node.get(self._table.name(row)) for row in rows.tolist()]
        scores = [
            0
            if one is None
            else preference(one.claims, one.devices) + prepared.allocated_preference
            for one in found
        ]
        return np.array(scores, np.int64)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """See `Arithmetic`: the alternatives of claims that have devices, and of the others."""
        (raw,) = self.score(state, np.array([row], np.int64)).tolist()
        prepared = self.prepared(state)
        if prepared is None or not raw:
            return Terms((), raw)
        given = prepared.allocated_preference
        return Terms.sum_of(
            (
                Term(say("allocated alternatives"), given),
                Term(say("alternatives found here"), raw - given),
            )
        )

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The best node gets all."""
        return default_normalize(scores, MAX_NODE_SCORE, reverse=False)

    # -- after them ------------------------------------------------------------------------------

    def prepared(self, state: CycleState) -> Prepared | None:
        """What is known of the pod's claims in this cycle; None for a pod without any."""
        return cast("Prepared | None", state.data.get(self.name))

    def post_filter(self, state: CycleState, statuses: Mapping[str, Status]) -> PostFilterResult:
        """See `PostFilterPlugin`. What becomes of the claim is left to who asks for the answer."""
        message = self.answer_post_filter(state).message
        return PostFilterResult(status=Status(Code.UNSCHEDULABLE, (message,), self.name))

    def answer_post_filter(self, state: CycleState) -> PostFilterAnswer:
        """A claim that an earlier attempt left over is deleted; another one may be deallocated.

        Upstream takes any of the claims that would help; this takes the first.
        """
        prepared = self.prepared(state)
        if prepared is None:
            return PostFilterAnswer(self.idle_answer)
        pod = state.pod.pod
        for place in sorted(prepared.unavailable):
            claim = prepared.claims[place]
            users = items(claim.status, "reservedFor")
            if all(each.get("uid") == pod.uid for each in users) and len(users) <= 1:
                return PostFilterAnswer("deallocation of ResourceClaim completed", claim)
        if prepared.left_over is not None:
            message = "deletion of ResourceClaim completed"
            return PostFilterAnswer(message, deletes=prepared.left_over)
        return PostFilterAnswer("still not schedulable")

    def pre_bind_error(self, state: CycleState, node: str) -> str:
        """Why the pod cannot be bound, although there are devices; "" if it can.

        Upstream: patchPodExtendedResourceClaimStatus(), which asks for what the node has itself.
        """
        prepared = self.prepared(state)
        found = None if prepared is None else prepared.by_node.get(node)
        return "" if found is None else self.mapping_error(state.pod.key, found)

    def mapping_error(self, pod: str, found: NodeAllocation) -> str:
        """The same for what the pod would get."""
        if not found.has_extended_claim or found.mapped:
            return ""
        return f"nil or empty request mappings, no update of pod {pod} ExtendedResourceClaimStatus"

    def explain_refusals(self, case: Case) -> Explanation:
        """See `Explains`."""
        return explain_devices(case)

    def sign_pod(self, pod: PodInfo) -> Signed:
        """See `SignPlugin`."""
        return None if pod.pod.spec.get("resourceClaims") else ()

    def events_to_register(self) -> Sequence[Registration]:
        """See `EnqueueExtensions`."""
        return events_of(self)


_SUMMARY: Final[Mapping[str, Phrase]] = {
    "class": phrase("{count} not of the class"),
    "selector": phrase("{count} not selected"),
    "allocated": phrase("{count} allocated"),
    "taint": phrase("{count} tainted"),
    "capacity": phrase("{count} without room"),
    "none": phrase("{count} free"),
}


def _summary(found: Sequence[DeviceObstacle]) -> Sentence:
    """The devices for the first request, counted by what speaks against them."""
    if not found:
        return say("no device")
    first = [each for each in found if each.request == found[0].request]
    counts = Counter(each.kind for each in first)
    parts = [text.say(count=counts[kind]) for kind, text in _SUMMARY.items() if counts[kind]]
    return say(
        "devices for {request}: {counts}", request=first[0].request, counts=enumerated(parts)
    )
