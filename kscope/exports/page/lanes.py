"""What each object was when, for the lanes of the timeline: states and the events that brought them.

The engine folds events into a trace (engine/diagnosis/trace/trace.py); pages lay its lanes out in
windows. The trace takes some 25 bytes for each event.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from engine.diagnosis.trace.lane import Lane
from engine.diagnosis.trace.states import RUNS, STATES, WAITS
from engine.diagnosis.trace.trace import Trace
from engine.kernel.recorder import EventRow
from engine.kernel.view import Changes
from kscope.exports.encoder import parsed


class Lanes:
    """The lanes of a run; it is given every event."""

    def __init__(self) -> None:
        self.trace = Trace()

    def take(self, row: EventRow, changes: Changes) -> None:
        """Go on with the next event, and the changes that it holds."""
        is_event = parsed(row.data).get("event") is True
        self.trace.take(row.at, row.kind, row.object, row.component, is_event, changes)

    def to_dict(self, base: int = 0) -> dict[str, Any]:
        """As static/js/offline/lanes.js reads it: a lane is [seqs, codes of states, seqs of its Events].

        What an object was at event *base* is what it begins with; what came before is left out.
        """
        trace = self.trace
        return {
            "states": [*STATES],
            "waits": sorted(WAITS),
            "runs": sorted(RUNS),
            "pods": _lanes(trace.pods, base),
            "nominated": _lanes(trace.nominated, base),
            "claims": _lanes(trace.claims, base),
            "operations": _lanes(trace.operations, base),
            "nodes": _lanes(trace.nodes, base),
            "groups": {name: [*group.pods] for name, group in trace.groups.items()},
            "on_node": {
                node: [*_since(base, tally.seqs, tally.running)]
                for node, tally in trace.on_node.items()
            },
            "kinds": [
                [*key, later] for key, seqs in trace.kinds.items() if (later := _after(base, seqs))
            ],
        }


def _lanes(lanes: Mapping[str, Lane], base: int) -> dict[str, Any]:
    return {
        key: [*_since(base, lane.seqs, lane.codes), _after(base, lane.events)]
        for key, lane in lanes.items()
    }


def _since(
    base: int, seqs: Sequence[int], values: Sequence[int]
) -> tuple[Sequence[int], Sequence[int]]:
    """What there was at event *base*, and all that came later."""
    first = max(bisect_right(seqs, base) - 1, 0)
    return [max(seq, base) for seq in seqs[first:]], [*values[first:]]


def _after(base: int, seqs: Sequence[int]) -> list[int]:
    return [*seqs[bisect_right(seqs, base) :]]
