"""The encoder of a Perfetto trace.

    process of a component      what it did, an instant an event; the scheduler's cycles as slices
    process "pods", "claims", … a track an object: its life, and in it a slice for each state
    flows                       from who preempts to each victim, from a claim to its volume

Upstream: perfetto.dev, "Writing TrackEvent Protos Synthetically".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from engine.kernel.recorder import EventRow
from kscope.exports.encoder import Heading, parsed
from kscope.exports.perfetto.packets import BEGIN, END, INSTANT, Packets
from kscope.exports.states import Attempts, States

# The process in which the tracks of each kind of object are.
_PROCESSES: Final = {
    "pod": "pods",
    "claim": "claims",
    "volume": "volumes",
    "node": "nodes",
    "attach": "volumes attached",
    "mount": "volumes mounted",
}
_ENDS: Final = ("PodAssumed", "FailedScheduling", "PodParked", "PodBackedOff", "PodGated")
_EVICTED: Final = "PodEvicted"
_SCHEDULER: Final = "scheduler"


class Perfetto:
    """Writes the trace as the events come; at the end, what is still open ends there."""

    def __init__(self, heading: Heading) -> None:
        self._packets, self._states, self._attempts = Packets(), States(), Attempts()
        self._heading = heading
        # By track how many slices are open, the life of the object first.
        self._open: dict[int, int] = {}
        self._cycles: dict[str, int] = {}
        # The volume to which a flow of each claim leads already.
        self._flowed: dict[str, str] = {}
        self._flows = self._now = 0

    def begin(self) -> bytes:
        """See Encoder."""
        heading = self._heading
        track, described = self._packets.track("run", heading.name)
        notes = {"profile": heading.profile, "seed": heading.seed, "begins": heading.rfc3339(0)}
        return described + self._packets.event(INSTANT, track, 0, heading.name, notes=notes)

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        return b"".join(piece for row in rows for piece in self._event(row))

    def end(self) -> bytes:
        """See Encoder."""
        found = [
            self._packets.event(END, track, self._now)
            for track, count in self._open.items()
            for _ in range(count)
        ]
        self._open.clear()
        return b"".join(found)

    def _event(self, row: EventRow) -> Iterator[bytes]:
        self._now = row.at
        changes = parsed(row.changes)
        yield from self._instant(row)
        if row.component == _SCHEDULER:
            yield from self._cycle(row)
        for key, state in self._states.take(changes):
            yield from self._move(key, state, row)
        if row.component == _SCHEDULER:
            yield from self._preemption(row)
        for entity in changes:
            if entity.startswith("claim/"):
                yield from self._bound(entity)

    def _instant(self, row: EventRow) -> Iterator[bytes]:
        track, described = self._packets.track(row.component, "events")
        yield described
        notes = {"object": row.object, "seq": row.seq, "message": row.message}
        kubernetes = parsed(row.data).get("event") is True
        yield self._packets.event(
            INSTANT,
            track,
            row.at,
            row.kind,
            category="kubernetes" if kubernetes else "kscope",
            notes=notes,
        )

    # -- cycles of the scheduler ---------------------------------------------------------------------

    def _cycle(self, row: EventRow) -> Iterator[bytes]:
        """The time from the start of an attempt to its decision; cycles of one scheduler do not overlap."""
        if row.kind == "AttemptStarted":
            scheduler = (self._states.known.get(row.object) or {}).get("scheduler")
            track, described = self._packets.track(
                _SCHEDULER, f"cycles of {scheduler or 'default-scheduler'}"
            )
            yield described
            if row.object not in self._cycles:
                self._cycles[row.object] = track
                notes = {"seq": row.seq, "message": row.message}
                name = row.object.removeprefix("pod/")
                yield self._begin(track, row.at, name, category="cycle", notes=notes)
        elif row.kind in _ENDS and row.object in self._cycles:
            yield self._end(self._cycles.pop(row.object), row.at)

    def _preemption(self, row: EventRow) -> Iterator[bytes]:
        pod = self._attempts.take(row.seq, row.kind, row.object, row.cause)
        if row.kind == _EVICTED and pod and pod != row.object:
            flow = self._next_flow()
            names = pod.removeprefix("pod/"), row.object.removeprefix("pod/")
            yield from self._mark(pod, f"preempts {names[1]}", flows=[flow])
            yield from self._mark(row.object, f"preempted by {names[0]}", last_flows=[flow])

    # -- tracks of objects -----------------------------------------------------------------------------

    def _move(self, key: str, state: str, row: EventRow) -> Iterator[bytes]:
        kind, _, name = key.partition("/")
        track, described = self._packets.track(_PROCESSES[kind], name)
        yield described
        if self._open.get(track, 0) > 1:
            yield self._end(track, row.at)
        if not state:
            yield self._end(track, row.at)
            self._flowed.pop(key, None)
            return
        if not self._open.get(track):
            yield self._begin(track, row.at, name, category=kind)
        notes = {"seq": row.seq, "kind": row.kind, "message": row.message}
        yield self._begin(track, row.at, state, category="state", notes=notes)

    def _bound(self, claim: str) -> Iterator[bytes]:
        known = self._states.known.get(claim) or {}
        volume = known.get("volume")
        if known.get("phase") != "Bound" or not volume or self._flowed.get(claim) == volume:
            return
        if f"volume/{volume}" not in self._states.known:
            return
        self._flowed[claim] = volume
        flow = self._next_flow()
        yield from self._mark(claim, f"bound to {volume}", flows=[flow])
        name = claim.removeprefix("claim/")
        yield from self._mark(f"volume/{volume}", f"bound to {name}", last_flows=[flow])

    def _mark(self, key: str, name: str, **flows: Any) -> Iterator[bytes]:
        """An instant on the track of an object, from or to which a flow leads."""
        kind, _, rest = key.partition("/")
        track, described = self._packets.track(_PROCESSES[kind], rest)
        yield described
        yield self._packets.event(INSTANT, track, self._now, name, category="flow", **flows)

    def _next_flow(self) -> int:
        self._flows += 1
        return self._flows

    def _begin(self, track: int, at: int, name: str, **more: Any) -> bytes:
        self._open[track] = self._open.get(track, 0) + 1
        return self._packets.event(BEGIN, track, at, name, **more)

    def _end(self, track: int, at: int) -> bytes:
        left = self._open.get(track, 0) - 1
        if left > 0:
            self._open[track] = left
        else:
            self._open.pop(track, None)
        return self._packets.event(END, track, at)
