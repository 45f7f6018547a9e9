"""Puts together the entries of one sync or one call, and leaves out what did nothing."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine.controllers.attach_detach.trace_steps.decisions import AttachDecided, AttachEnded
from engine.controllers.persistent_volumes.trace_steps.branches import TREES, tree_of, way_to
from engine.controllers.persistent_volumes.trace_steps.syncs import (
    BranchTaken,
    Provisioned,
    SyncBegan,
    SyncEnded,
    Wrote,
)
from engine.diagnosis.inside.answer import Line, Step, Taken, Tree, VolumesInside, Write
from engine.diagnosis.inside.caches import SCHEDULER, Held
from engine.diagnosis.inside.kubelet import KubeletSteps
from engine.diagnosis.inside.made import Made
from engine.diagnosis.inside.trace import VolumeEntry, VolumesTrace
from engine.diagnosis.inside.upstream import OPERATIONS as KUBELET_OPERATIONS
from engine.kernel.trace import minor_of
from engine.kubelet.volume_manager.trace_steps.rounds import OperationEnded, Round
from engine.storage.binding.trace_steps import VolumesAssumed, VolumesLooked, VolumesWritten

MOST_STEPS: Final = 400

# A sync that ends there without a write has done nothing.
_IDLE: Final = frozenset({"all_well", "bound_properly", "unused", "reserved", "retain"})
_QUIET: Final = frozenset({"attached already", "running", "backing off"})
# By the line that starts one, an operation beside the controller.
_OPERATIONS: Final = {
    "in_tree": "provisionClaimOperation",
    "external": "provisionClaimOperation",
    "delete": "deleteVolumeOperation",
    "recycle": "recycleVolumeOperation",
}
# Which functions of the scheduler's binder run.
_SCHEDULER: Final = {
    "AssumePodVolumes": ("AssumePodVolumes",),
    "BindPodVolumes": ("BindPodVolumes", "bindAPIUpdate"),
    "checkBindings": ("BindPodVolumes", "checkBindings"),
}
# What bind writes. Upstream: pv_controller.go bind().
_OF_BIND: Final = frozenset({"VolumePreBound", "VolumeBound", "ClaimBindCompleted", "ClaimBound"})
# Within syncClaim and syncVolume, the functions above a line.
_WITHIN: Final = {
    "bound": "syncBoundClaim",
    "unbound": "syncUnboundClaim",
    "find_match": "findBestMatchForClaim",
    "found": "bind",
    "bind_again": "bind",
    "all_well": "bind",
    "named_free": "bind",
    "named_reserved": "bind",
    "provision": "provisionClaim",
    "claim_gone": "reclaimVolume",
    "not_needed": "reclaimVolume",
    "unbind": "unbindVolume",
}


def inside_volumes(trace: VolumesTrace, version: str) -> VolumesInside:
    """The answer made of *trace* in a run of *version*, such as "v1.36"."""
    maker = _Steps(trace, Made(version))
    steps = maker.all()
    minor = minor_of(version)
    trees = (
        Tree(
            function,
            tuple(Line(one.id, one.depth, one.kind, one.text) for one in tree_of(function, minor)),
        )
        for function in TREES
    )
    return VolumesInside(
        version=version,
        entity=trace.asked.entity,
        claims=tuple(trace.claims),
        volumes=tuple(trace.volumes),
        pods=tuple(trace.pods),
        trees=tuple(trees),
        steps=tuple(steps[-MOST_STEPS:]),
        tries=tuple(maker.kubelet.tries),
        left_out=max(0, len(steps) - MOST_STEPS),
    )


@dataclass(slots=True)
class _Sync:
    """A sync that has begun."""

    function: str
    before: Sequence[Held]
    taken: list[BranchTaken] = field(default_factory=list[BranchTaken])
    writes: list[Write] = field(default_factory=list[Write])


class _Steps:
    def __init__(self, trace: VolumesTrace, made: Made) -> None:
        self._trace = trace
        self._made = made
        self.kubelet = KubeletSteps(trace, made)
        self._steps: list[Step] = []
        self._sync: _Sync | None = None
        self._before: Sequence[Held] = ()
        # By the claim, the volume that the scheduler chose last.
        self._chosen: dict[str, str] = {}
        # By the claim or volume, the function that was started beside the controller last.
        self._operations: dict[str, str] = {}
        self._handlers: dict[type, Callable[[VolumeEntry, Any], Iterator[Step]]] = {
            SyncBegan: self._began,
            BranchTaken: self._branched,
            Wrote: self._wrote,
            SyncEnded: self._ended,
            Provisioned: self._provisioned,
            VolumesAssumed: self._assumed,
            VolumesWritten: self._binding_written,
            VolumesLooked: self._checked,
            AttachDecided: self._attach_decided,
            AttachEnded: self._attach_ended,
            Round: self.kubelet.round,
            OperationEnded: self._operation_ended,
        }

    def all(self) -> list[Step]:
        """Each step, in order, those that only repeat one counted there."""
        for entry in self._trace.volume_entries:
            handler = self._handlers.get(type(entry.step))
            if handler is not None:
                for step in handler(entry, entry.step):
                    self._add(step)
            if entry.held:
                self._before = entry.held
        return self._steps

    def _add(self, step: Step) -> None:
        place = next(
            (at for at in range(len(self._steps) - 1, -1, -1) if _is_same(self._steps[at], step)),
            None,
        )
        if place is None or not _only_repeats(self._steps[place:], step):
            self._steps.append(step)
        else:
            first = self._steps[place]
            self._steps[place] = replace(first, repeated=first.repeated + 1, last_at=step.at)

    # The PV controller

    def _began(self, entry: VolumeEntry, began: SyncBegan) -> Iterator[Step]:
        self._sync = _Sync(began.function, entry.held)
        return iter(())

    def _branched(self, entry: VolumeEntry, taken: BranchTaken) -> Iterator[Step]:
        if taken.leaf in _OPERATIONS:
            self._operations[entry.entity] = _OPERATIONS[taken.leaf]
        if self._sync is not None:
            self._sync.taken.append(taken)
        return iter(())

    def _wrote(self, entry: VolumeEntry, wrote: Wrote) -> Iterator[Step]:
        write = Write(entry.entity, wrote.kind, wrote.version, wrote.error)
        if self._sync is not None:
            self._sync.writes.append(write)
            return
        # An operation beside the controller, or the sync of a claim that is not followed.
        name = self._operations.get(entry.entity, "provisionClaimOperation")
        stack = ["syncClaim", "bind"] if wrote.kind in _OF_BIND else [name]
        yield self._made.step(
            entry,
            "pv",
            stack[0],
            stack=stack,
            outcome="refused" if wrote.error else "written",
            writes=[write],
            error=wrote.error,
        )

    def _ended(self, entry: VolumeEntry, end: SyncEnded) -> Iterator[Step]:
        sync, self._sync = self._sync, None
        if sync is None:
            return
        leaf = sync.taken[-1].leaf if sync.taken else ""
        is_deletion = sync.function.startswith("delete")
        if not (sync.writes or end.error or is_deletion) and (not leaf or leaf in _IDLE):
            return
        yield self._made.step(
            entry,
            "pv",
            sync.function,
            stack=_stack(sync),
            outcome=leaf,
            taken=[
                Taken(one.function, tuple(way_to(one.function, one.leaf)), one.read)
                for one in sync.taken
            ],
            writes=sync.writes,
            error=end.error,
            queued_again=end.queued_again,
            before=sync.before,
        )

    def _provisioned(self, entry: VolumeEntry, one: Provisioned) -> Iterator[Step]:
        wrote = Write(f"volume/{one.volume}", "VolumeProvisioned", one.version, one.error)
        yield self._made.step(
            entry,
            "provisioner" if one.is_external else "pv",
            "provisionClaimOperation",
            stack=["external provisioner" if one.is_external else "provisionClaimOperation"],
            outcome="fails" if one.error else "provisioned",
            says={"driver": one.driver, "volume": one.volume},
            writes=[] if one.error else [wrote],
            error=one.error,
        )

    # The scheduler: a step for each claim of its pod

    def _assumed(self, entry: VolumeEntry, one: VolumesAssumed) -> Iterator[Step]:
        cached = {(each.kind, each.name): each.informer_version or "" for each in one.caches}
        self._chosen |= {bind.claim: bind.volume for bind in one.bind}
        for claim in [*(bind.claim for bind in one.bind), *one.provision]:
            volume = "" if claim in one.provision else self._chosen[claim]
            key = volume or claim
            version = cached.get(("volume" if volume else "claim", key), "")
            before = [*self._before, Held(SCHEDULER, key, f"rv {version}")]
            yield from self._of_claim(
                entry,
                claim,
                "AssumePodVolumes",
                "assumed",
                says=_says(entry, one.node, volume),
                before=before,
            )

    def _binding_written(self, entry: VolumeEntry, one: VolumesWritten) -> Iterator[Step]:
        """The writes of volumes, then those of claims; after an error the rest is not written."""
        claims = {volume: claim for claim, volume in self._chosen.items()}
        for written in one.written:
            is_volume = written.kind == "volume"
            claim = claims.get(written.name, "") if is_volume else written.name
            kind = "VolumePreBound" if is_volume else "ClaimNodeSelected"
            entity = f"{written.kind}/{written.name}"
            error = "" if _has_version(entry, entity, written.version) else one.error
            yield from self._of_claim(
                entry,
                claim,
                "BindPodVolumes",
                "refused" if error else "written",
                says=_says(entry, "", written.name if is_volume else ""),
                writes=[Write(entity, kind, written.version, error)],
                error=error,
            )

    def _checked(self, entry: VolumeEntry, one: VolumesLooked) -> Iterator[Step]:
        outcome = "fails" if one.error else "bound" if one.is_bound else "waits"
        for claim in self._trace.claims:
            if any(each.kind == "claim" and each.name == claim for each in one.caches):
                says = _says(entry, "", self._chosen.get(claim, ""))
                yield from self._of_claim(
                    entry, claim, "checkBindings", outcome, says=says, error=one.error
                )

    def _of_claim(
        self, entry: VolumeEntry, claim: str, function: str, outcome: str, **more: Any
    ) -> Iterator[Step]:
        if claim not in self._trace.claims:
            return
        # The scheduler has no part in what the PV controller did meanwhile.
        before = [held for held in more.pop("before", self._before) if held.whose == SCHEDULER]
        yield self._made.step(
            replace(entry, entity=f"claim/{claim}"),
            "scheduler",
            function,
            stack=_SCHEDULER[function],
            outcome=outcome,
            before=before,
            **more,
        )

    # Attach/detach and kubelets

    def _attach_decided(self, entry: VolumeEntry, one: AttachDecided) -> Iterator[Step]:
        if one.decision not in _QUIET and self._concerns(one.volume):
            yield self._made.step(
                entry,
                "attach",
                one.function,
                stack=[one.function],
                outcome=one.decision,
                says={"volume": one.volume, "others": list(one.others)},
            )

    def _attach_ended(self, entry: VolumeEntry, one: AttachEnded) -> Iterator[Step]:
        if self._concerns(one.volume):
            function = KUBELET_OPERATIONS[one.operation]
            yield self._made.step(
                entry,
                "attach",
                function,
                stack=[function, "backoff"] if one.error else [function],
                outcome="fails" if one.error else "succeeds",
                says={
                    "operation": one.operation,
                    "volume": one.volume,
                    "failures": one.failures,
                    "delay": one.delay,
                },
                error=one.error,
            )

    def _concerns(self, volume: str) -> bool:
        return bool(self._trace.asked.node) or volume in self._trace.volumes

    def _operation_ended(self, entry: VolumeEntry, end: OperationEnded) -> Iterator[Step]:
        return self.kubelet.ended(entry, end, self._steps)


def _stack(sync: _Sync) -> list[str]:
    """The functions that were running at the end of the sync, from the outermost in."""
    stack = [sync.function]
    for taken in sync.taken:
        if taken.function != stack[-1] and taken.function != sync.function:
            stack.append(taken.function)
        stack += [
            _WITHIN[line]
            for line in way_to(taken.function, taken.leaf)
            if line in _WITHIN and _WITHIN[line] != stack[-1]
        ]
    return list(dict.fromkeys(stack))


def _says(entry: VolumeEntry, node: str, volume: str) -> dict[str, Any]:
    pod = entry.entity.partition("/")[2]
    says = {"pod": pod, "node": node, "volume": volume}
    return {name: value for name, value in says.items() if value}


def _has_version(entry: VolumeEntry, entity: str, version: str) -> bool:
    """Whether the API server has that version: what was refused was not written."""
    return any(one.entity == entity and one.api_server == version for one in entry.known)


def _is_same(one: Step, other: Step) -> bool:
    return (one.part, one.entity, one.function) == (other.part, other.entity, other.function)


def _only_repeats(since: Sequence[Step], step: Step) -> bool:
    """Whether *step* only says again what the first of *since* said, and nothing of its part between."""
    first = since[0]
    if first.writes or step.writes or step.tick is not None:
        return False
    if (first.outcome, first.error, first.says) != (step.outcome, step.error, step.says):
        return False
    return all(one.part != step.part or one is first for one in since)
