"""What each object was when, for the lanes of the timeline: states and the events that brought them.

The engine folds events into a trace (engine/diagnosis/trace/trace.py); pages lay its lanes out in
windows. The trace takes some 25 bytes for each event.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.diagnosis.trace.lane import Lane
from engine.diagnosis.trace.states import STATES, WAITS
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

    def to_dict(self) -> dict[str, Any]:
        """As static/js/offline/lanes.js reads it: a lane is [seqs, codes of states, seqs of its Events]."""
        trace = self.trace
        return {
            "states": [*STATES],
            "waits": sorted(WAITS),
            "pods": _lanes(trace.pods),
            "nominated": _lanes(trace.nominated),
            "claims": _lanes(trace.claims),
            "operations": _lanes(trace.operations),
            "nodes": _lanes(trace.nodes),
            "groups": {name: [*group.pods] for name, group in trace.groups.items()},
            "on_node": {
                node: [[*tally.seqs], [*tally.running]] for node, tally in trace.on_node.items()
            },
            "kinds": [[*key, [*seqs]] for key, seqs in trace.kinds.items()],
        }


def _lanes(lanes: Mapping[str, Lane]) -> dict[str, Any]:
    return {key: [[*lane.seqs], [*lane.codes], [*lane.events]] for key, lane in lanes.items()}
