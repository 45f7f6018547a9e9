"""A run in motion, small enough for a page: who was in which state when, and what each attempt found.

Times are milliseconds of virtual time. Nodes, pods and states are named by their places in the lists.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engine.diagnosis.trace.lane import Lane
from engine.diagnosis.trace.states import STATES
from engine.diagnosis.trace.trace import Trace
from engine.kernel.recorder import Event
from engine.kernel.units import MILLISECOND
from engine.scheduler.cycle.attempt import SchedulingAttempt

_NO_NODE = -1


def replay_of(
    trace: Trace, events: Sequence[Event], attempts: Iterable[SchedulingAttempt]
) -> dict[str, Any]:
    """What a page needs to replay a run, as JSON.

    `states` are the names of states, `nodes` [name, since when, until when or null], `pods` [name,
    then for each of its states: state, since when, event, node or -1], and `attempts` [since when,
    event, pod, node or -1, a letter for each of `nodes`, the total scores of those that fit, what
    PreFilter said where it refused the pod]. The letter is + where the pod fits, - where it does
    not, and . where nobody looked.
    """
    lanes = {name: lane for name, lane in trace.pods.items() if lane.seqs}
    nodes = [_node(name, lane, trace) for name, lane in sorted(trace.nodes.items()) if lane.seqs]
    places = {str(name): number for number, (name, _, _) in enumerate(nodes)}
    pods = {name.removeprefix("pod/"): number for number, name in enumerate(lanes)}
    homes = _homes(events, places)
    return {
        "end": trace.ats[-1] // MILLISECOND,
        "states": [*STATES],
        "nodes": nodes,
        "pods": [_pod(name, lane, homes.get(name, ()), trace) for name, lane in lanes.items()],
        "attempts": [
            _attempt(each, pods, places) for each in attempts if each.evidence is not None
        ],
    }


def _node(name: str, lane: Lane, trace: Trace) -> list[str | int | None]:
    left = trace.ats[lane.seqs[-1] - 1] // MILLISECOND if lane.codes[-1] == 0 else None
    return [name.removeprefix("node/"), trace.ats[lane.seqs[0] - 1] // MILLISECOND, left]


def _homes(events: Iterable[Event], places: Mapping[str, int]) -> dict[str, list[tuple[int, int]]]:
    """By pod: since which event it was on which node."""
    homes: dict[str, list[tuple[int, int]]] = {}
    for event in events:
        for entity, patch in (event.changes or {}).items():
            node: str = (patch.get("node") or patch.get("assumed") or "") if patch else ""
            if entity.startswith("pod/") and node in places:
                homes.setdefault(entity, []).append((event.seq, places[node]))
    return homes


def _pod(name: str, lane: Lane, homes: Sequence[tuple[int, int]], trace: Trace) -> list[str | int]:
    found: list[str | int] = [name.removeprefix("pod/")]
    ends = [*lane.seqs[1:], trace.seq + 1]
    for code, seq, end in zip(lane.codes, lane.seqs, ends, strict=True):
        known = [node for since, node in homes if since < end]
        found += [code, trace.ats[seq - 1] // MILLISECOND, seq, known[-1] if known else _NO_NODE]
    return found


def _attempt(
    attempt: SchedulingAttempt, pods: Mapping[str, int], places: Mapping[str, int]
) -> list[Any]:
    evidence = attempt.evidence or {}
    names = evidence.get("nodes", ())
    unseen = {*evidence.get("not_evaluated", ()), *(places.keys() - {*names})}
    refused: Mapping[str, Any] = evidence.get("verdicts") or {}
    scores: Mapping[str, Any] = evidence.get("scores") or {}
    marks = ["." if name in unseen else "-" if name in refused else "+" for name in places]
    return [
        attempt.at // MILLISECOND,
        attempt.seq,
        pods[attempt.pod],
        places.get(attempt.node, _NO_NODE),
        "".join(marks),
        [scores[name]["total"] for name in places if name in scores],
        ", ".join(evidence.get("prefilter", {}).get("reasons", ())),
    ]
