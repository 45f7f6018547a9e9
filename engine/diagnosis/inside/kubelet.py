"""Steps of a kubelet: its ticks, and the ends of its operations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from engine.diagnosis.inside.answer import Ended, Step, Tick, Try
from engine.diagnosis.inside.made import Made
from engine.diagnosis.inside.trace import VolumeEntry, VolumesTrace
from engine.diagnosis.inside.upstream import OPERATIONS
from engine.kubelet.volume_manager.trace_steps.rounds import (
    KubeletState,
    OperationAsked,
    OperationEnded,
    PodSeen,
    Round,
)

# Of a tick that saw more pods, those are left out with which nothing was done.
MOST_PODS = 40

_INSIDE = {
    "findAndAddNewPods": "processPodVolumes",
    "findAndRemoveDeletedPods": "deleteProcessedPod",
}


@dataclass(slots=True)
class KubeletSteps:
    """Makes steps of those that the kubelets wrote down, in order; `tries` has each try of an operation."""

    trace: VolumesTrace
    made: Made
    tries: list[Try] = field(default_factory=list[Try])
    _states: dict[str, KubeletState] = field(default_factory=dict[str, KubeletState])
    # By node, the step of its latest tick, while nothing else has happened to the node.
    _latest: dict[str, Step] = field(default_factory=dict[str, Step])
    _began: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    def round(self, entry: VolumeEntry, tick: Round) -> Iterator[Step]:
        """The step of a tick, if it did something that is asked for."""
        before = self._states.get(entry.entity)
        self._states[entry.entity] = tick.state
        self._latest.pop(entry.entity, None)
        for one in tick.asked:
            if one.is_new:
                self._began[entry.entity, one.volume] = entry.at
        if not self._concerns(tick, before):
            return
        step = self.made.step(
            entry,
            "kubelet",
            _function(tick),
            stack=_stack(tick),
            tick=self._tick(tick, before),
        )
        self._latest[entry.entity] = step
        yield step

    def ended(self, entry: VolumeEntry, end: OperationEnded, steps: list[Step]) -> Iterator[Step]:
        """The step of an operation's end; one that ends in the tick that asked for it belongs there."""
        before = self._states.get(entry.entity)
        self._states[entry.entity] = end.state
        if not self._is_of_asked(end.volume, end.state, before) and not self._is_node:
            return
        self.tries.append(self._try(entry, end, before))
        latest = self._latest.get(entry.entity)
        if latest is not None and latest.at == entry.at and latest.tick is not None:
            place = steps.index(latest)
            tick = replace(
                self._state_shown(end.state, before),
                pods=latest.tick.pods,
                asked=latest.tick.asked,
                ended=(*latest.tick.ended, _ended(end)),
                before=latest.tick.before,
            )
            steps[place] = self._latest[entry.entity] = replace(latest, seq=entry.seq, tick=tick)
            return
        stack = ["backoff"] if end.error else []
        yield self.made.step(
            entry,
            "kubelet",
            OPERATIONS.get(end.operation, end.operation),
            stack=[OPERATIONS[end.operation], *stack] if end.operation in OPERATIONS else stack,
            outcome="fails" if end.error else "succeeds",
            error=end.error,
            tick=replace(self._state_shown(end.state, before), ended=(_ended(end),)),
        )

    @property
    def _is_node(self) -> bool:
        return bool(self.trace.asked.node)

    def _concerns(self, tick: Round, before: KubeletState | None) -> bool:
        if not tick.did_something:
            return False
        if self._is_node:
            return True
        if any(pod.done and pod.pod in self.trace.pods for pod in tick.pods):
            return True
        return any(
            one.is_new and self._is_of_asked(one.volume, tick.state, before) for one in tick.asked
        )

    def _is_of_asked(self, volume: str, state: KubeletState, before: KubeletState | None) -> bool:
        """Whether the volume of that unique name is one of those that are asked for."""
        return any(self._concerns_row(held.volumes.get(volume)) for held in (state, before) if held)

    def _concerns_row(self, row: Mapping[str, Any] | None) -> bool:
        if row is None:
            return False
        asked = self.trace
        users = {**row.get("desired", {}), **row.get("mounts", {})}
        if asked.asked.pod:
            return any(pod in asked.pods for pod in users) or row["name"] in asked.volumes
        return row["name"] in asked.volumes

    def _tick(self, tick: Round, before: KubeletState | None) -> Tick:
        shown = self._state_shown(tick.state, before)
        return replace(shown, pods=_fewer(tick.pods), asked=_new_first(tick.asked))

    def _state_shown(self, state: KubeletState, before: KubeletState | None) -> Tick:
        old: Mapping[str, Any] = before.volumes if before is not None else {}
        names = dict.fromkeys([*state.volumes, *old])
        shown = [
            name
            for name in names
            if self._concerns_row(state.volumes.get(name))
            or state.volumes.get(name) != old.get(name)
            or not _is_equal(state.volumes.get(name))
        ]
        return Tick(
            pods=(),
            asked=(),
            ended=(),
            volumes={name: state.volumes[name] for name in shown if name in state.volumes},
            before={name: old[name] for name in shown if name in old},
            equal=len(names) - len(shown),
            desired=sum("desired" in row for row in state.volumes.values()),
            mounted=sum("mounts" in row for row in state.volumes.values()),
            processed=len(state.processed_pods),
            has_added_pods=state.has_added_pods,
            in_use=len(state.volumes_in_use),
        )

    def _try(self, entry: VolumeEntry, end: OperationEnded, before: KubeletState | None) -> Try:
        held = [state.volumes for state in (end.state, before) if state is not None]
        rows: list[Any] = [volumes[end.volume] for volumes in held if end.volume in volumes]
        name: str = rows[0]["name"] if rows else end.volume
        return Try(
            entry.entity.partition("/")[2],
            name,
            self._began.get((entry.entity, end.volume), entry.at),
            entry.at,
            end.operation,
            end.error,
            end.failures,
            end.delay,
            end.retry_at,
        )


def _function(tick: Round) -> str:
    """Of what a tick did the function that changed most: the populator's if it did anything."""
    for pod in tick.pods:
        if pod.done:
            return pod.function
    return next(one.function for one in tick.asked if one.is_new)


def _stack(tick: Round) -> list[str]:
    function = _function(tick)
    inside = _INSIDE.get(function)
    return [function, inside] if inside else [function]


def _is_equal(row: Mapping[str, Any] | None) -> bool:
    """Whether a volume is desired and mounted for the same pods, and nothing is under way."""
    if row is None or row.get("operations"):
        return False
    mounted = {pod for pod, state in row.get("mounts", {}).items() if state == "VolumeMounted"}
    return mounted == set(row.get("desired", {}))


def _ended(end: OperationEnded) -> Ended:
    return Ended(
        end.operation, end.volume, end.pod, end.error, end.failures, end.delay, end.retry_at
    )


def _fewer(pods: Sequence[PodSeen]) -> tuple[PodSeen, ...]:
    if len(pods) <= MOST_PODS:
        return tuple(pods)
    return tuple(pod for pod in pods if pod.done)[:MOST_PODS]


def _new_first(asked: Iterable[OperationAsked]) -> tuple[OperationAsked, ...]:
    return tuple(one for one in asked if one.is_new)
