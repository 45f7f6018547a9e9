"""What pods waited for until the end of a run, and what the timeline shows above its lanes of each.

The events are kept for it as they are written: the file bounds how many there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any, Final

from engine.diagnosis.path.critical_path import critical_path
from engine.diagnosis.path.shorter import changes_of
from engine.diagnosis.trace.chosen import Chosen
from engine.diagnosis.trace.stages import with_victims
from engine.diagnosis.trace.trace import Trace
from engine.kernel.recorder import Event, EventRow
from kscope.exports.encoder import parsed

# Of those that waited longest.
MOST: Final = 300


class KeptRecord:
    """The events that the file holds; a Record of engine/diagnosis/path."""

    def __init__(self) -> None:
        self._rows: list[EventRow] = []
        self._of_object: dict[str, list[int]] = {}
        self._of_kind: dict[str, list[int]] = {}

    def take(self, row: EventRow) -> None:
        """Go on with the next event."""
        place = len(self._rows)
        # Nobody looks at the evidence; without it the file bounds what is kept, whatever is left out.
        self._rows.append(row._replace(data=None))
        self._of_object.setdefault(row.object, []).append(place)
        self._of_kind.setdefault(row.kind, []).append(place)

    def of_object(self, entity: str) -> list[Event]:
        """See Record."""
        return [self._event(place) for place in self._of_object.get(entity, ())]

    def of_kind(self, kind: str, message: str, *, after: int, to: int) -> list[Event]:
        """See Record."""
        return [
            self._event(place)
            for place in self._of_kind.get(kind, ())
            if after < self._rows[place].seq <= to and self._rows[place].message.startswith(message)
        ]

    def causes(self, seq: int, *, after: int) -> list[Event]:
        """See Record."""
        found: list[Event] = []
        first = self._rows[0].seq if self._rows else 0
        cause: int | None = seq
        while cause is not None and cause >= first and (cause > after or not found):
            found.append(self._event(cause - first))
            cause = found[-1].cause
        return found[::-1]

    def _event(self, place: int) -> Event:
        row = self._rows[place]
        return Event(*row[:7], data=None, changes=parsed(row.changes) or None)


def paths_at_end(trace: Trace, record: KeptRecord, seq: int, at: int) -> dict[str, dict[str, Any]]:
    """By entity id, of the pods that waited longest: path, rows, arrows and stages.

    `path` is as the resource `path` of a pod has it, the others as static/js/offline/lanes.js reads
    them.
    """
    return dict(islice(_paths(trace, record, seq, at), MOST))


def _paths(
    trace: Trace, record: KeptRecord, seq: int, at: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    waits = {pod: lane.waited(seq, at, trace.ats) for pod, lane in trace.pods.items()}
    for pod in sorted(waits, key=lambda each: (-waits[each], each)):
        path = critical_path(record, pod, now=at)
        if path is None:
            continue
        changes = changes_of(record, path.pod, path.steps, born=path.born)
        chosen = Chosen(trace, record, pod, now=at)
        yield (
            pod,
            {
                "path": {
                    "seq": seq,
                    **path.to_dict(),
                    "shorter": [change.to_dict() for change in changes],
                },
                "rows": chosen.rows,
                "arrows": [asdict(each) for each in chosen.arrows],
                "stages": [asdict(with_victims(record, each)) for each in chosen.stages],
            },
        )
