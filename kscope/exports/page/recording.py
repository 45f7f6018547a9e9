"""What the file holds of a run, written as it comes: events, states to begin from, attempts.

    events ──▶ a part for each CHUNK of them
           └─▶ folded into a state, of which a part is written now and then: pages fold on from there

The state is kept, and the events as they are written: the size of the file bounds them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import orjson

from engine.diagnosis.inside.together import TogetherTrace
from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from engine.kernel.view import Changes, State, fold
from engine.versions.shown.choices import version_choices
from kscope.exports.encoder import ExportError, parsed
from kscope.exports.page.document import document_around, part
from kscope.exports.page.insides import Cycles, Follow, Times, follow
from kscope.exports.page.lanes import Lanes
from kscope.exports.page.looks import Looks
from kscope.exports.page.paths import KeptRecord, paths_at_end

CHUNK: Final = 500
MOST_BYTES: Final = 50_000_000
# Of these, what went on inside takes so many at most, and cycles so many of them; it leaves some room.
MOST_INSIDE: Final = 12_000_000
_MOST_OF_CYCLES: Final = 8_000_000
_ROOM_LEFT: Final = 500_000
BUCKETS: Final = 120
MARKS: Final = 200
# Events that are worth a mark above the transport.
MARKED: Final = (
    *("CommandRejected", "NodeCreated", "NodeDeleted", "NodeCordoned", "NodeUncordoned"),
    *("PodNominated", "Preempted", "ClaimLost", "VolumeFailed", "ProvisioningFailed"),
)
# A state is written after so many events, once they are so much larger than it is: folding stays
# short, and states take a fifth of the file at most.
_LEAST_BETWEEN: Final = 2_000
_TIMES: Final = 4
# What can be left out, in the order in which it is least missed.
PARTS: Final = ("inside", "evidence", "data", "why")
_ATTEMPT: Final = ("pod", "number", "seq", "at", "cycle", "result", "node")
_HELD_ATTEMPTS: Final = 1_000


class Recording:
    """Writes the file; each call returns the bytes that are ready. Raises ExportError where it is too large.

    What happened before *since*, in ns of virtual time, is only the state that it begins with;
    *without* are those of PARTS that it does not hold.
    """

    def __init__(
        self,
        name: str,
        *,
        since: int = 0,
        without: frozenset[str] = frozenset(),
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._head, self._foot = document_around(name)
        self._since, self._without, self._most = since, without, most_bytes
        self._state: State = {}
        self._lanes, self._record, self._cycles = Lanes(), KeptRecord(), Cycles()
        self._base = self._seq = self._at = 0
        self._ats = array("q")
        self._marks: dict[str, list[dict[str, Any]]] = {}
        self._waiting: list[bytes] = []
        self._first = self._first_at = 0
        self._begun = False
        self._since_frame = self._events_since_frame = self._frame_size = 0
        self._attempts: list[list[Any]] = []
        self._count = 0
        self._sizes: dict[str, int] = dict.fromkeys(
            ("page", "events", "evidence", "states", "lanes", "why", "inside"), 0
        )

    @property
    def size(self) -> int:
        """The bytes that were written."""
        return sum(self._sizes.values())

    @property
    def held(self) -> int:
        """How many events it holds so far."""
        return len(self._ats)

    @property
    def base(self) -> int:
        """The event after which it begins."""
        return self._base

    def follow(self, waiting: Sequence[str], select: str = "") -> Follow | None:
        """What a second play is to follow; None where nothing of it is wanted. See `insides.follow`."""
        if "inside" in self._without:
            return None
        return follow(self._cycles, self._state, waiting=waiting, select=select)

    @property
    def holds_evidence(self) -> bool:
        """Whether the evidence of attempts is wanted."""
        return "evidence" not in self._without

    def begin(self) -> bytes:
        """What comes before everything else."""
        return self._counted("page", self._head)

    def events(self, rows: Iterable[EventRow]) -> bytes:
        """Go on with the history."""
        pieces: list[bytes] = []
        for row in rows:
            changes: Changes = parsed(row.changes)
            if row.at >= self._since:
                pieces += self._kept(row)
            else:
                self._base = row.seq
            fold(self._state, changes)
            self._lanes.take(row, changes)
            self._seq, self._at = row.seq, row.at
        return b"".join(pieces)

    def attempts(self, attempts: Iterable[Mapping[str, Any]]) -> bytes:
        """Go on with scheduling attempts, each with its evidence or with None."""
        pieces: list[bytes] = []
        for each in attempts:
            if each["at"] < self._since:
                continue
            listed = [each[name] for name in _ATTEMPT]
            evidence = each["evidence"] if self.holds_evidence else None
            if evidence is not None:
                written = part("evidence", evidence, data_attempt=self._count)
                pieces.append(self._counted("evidence", written))
            self._attempts.append(listed)
            self._count += 1
            if len(self._attempts) == _HELD_ATTEMPTS:
                pieces.append(self._listed())
        return b"".join(pieces)

    def finish(
        self,
        run: Mapping[str, Any],
        whys: Mapping[str, Any],
        *,
        unanswered: int = 0,
        written_by: str = "",
        looks: Looks | None = None,
        inside: tuple[Follow, TogetherTrace] | None = None,
    ) -> bytes:
        """The rest: the facts about the run, the answers *whys* by entity id, how many are missing.

        *inside* is what was followed, and the trace of a second play of the same run.
        """
        pieces = [*self._opened(self._at), self._chunk(), self._listed()]
        facts = {**run, "head": self._seq, "is_recorded": True, "may_change": False, "exports": []}
        facts["answered"] = [*whys]
        head_at = max(int(run.get("head_at") or 0), self._at)
        heading = {
            "format": 1,
            "base": self._base,
            "head": self._seq,
            "histogram": self._histogram(head_at),
            "left_out": [name for name in PARTS if name in self._without],
            "unanswered": unanswered,
            "written_by": written_by,
            "cycles": {"held": [], "of": len(self._cycles.all)},
            "insides": [],
        }
        profile = str(run.get("profile", ""))
        facts["stuck"] = len(looks.triage["groups"]) if looks else None
        has = [
            {"name": each.name, "has": each.has}
            for each in version_choices()
            if each.name == profile
        ]
        pieces.append(self._counted("lanes", part("lanes", self._lanes.to_dict(self._base))))
        paths = {}
        if "why" not in self._without:
            paths = paths_at_end(self._lanes.trace, self._record, self._seq, head_at)
        pieces.append(self._counted("why", part("paths", paths)))
        pieces.append(self._counted("why", part("whys", whys)))
        told = {"first-look": looks.first_look, "triage": looks.triage} if looks else None
        pieces.append(self._counted("why", part("looks", told)))
        if inside is not None:
            pieces += self._insides(*inside, profile, heading)
        ending = part("run", {**facts, "head_at": head_at}, id="run-data")
        ending += part("versions", has, id="versions")
        ending += part("heading", heading, id="heading")
        pieces.append(self._counted("page", ending + self._foot))
        return b"".join(pieces)

    def _insides(
        self, followed: Follow, trace: TogetherTrace, version: str, heading: dict[str, Any]
    ) -> Iterator[bytes]:
        """What went on inside, as far as there is room; *heading* gets to know of what."""
        room = min(MOST_INSIDE, self._most - self.size - len(self._foot) - _ROOM_LEFT)
        first = self.size
        for began, answer in followed.cycles_told(trace, version):
            written = part("cycle", answer, data_seq=began.seq)
            if self.size - first + len(written) > min(room, _MOST_OF_CYCLES):
                break
            heading["cycles"]["held"].append([began.seq, began.number, began.entity])
            yield self._counted("inside", written)
        times = Times(self._base, self._ats)
        for entity, answer in followed.objects_told(trace, version, times):
            written = part("inside", answer, data_place=len(heading["insides"]))
            if self.size - first + len(written) > room:
                break
            heading["insides"].append(entity)
            yield self._counted("inside", written)

    def _kept(self, row: EventRow) -> Iterable[bytes]:
        """The pieces that are ready with one event more."""
        yield from self._opened(row.at)
        if not self._waiting:
            self._first, self._first_at = row.seq, row.at
        text = _event(row, has_data="data" not in self._without)
        self._waiting.append(text)
        self._ats.append(row.at)
        if "why" not in self._without:
            self._record.take(row)
        if "inside" not in self._without:
            self._cycles.take(row)
        self._note_mark(row)
        self._since_frame += len(text)
        self._events_since_frame += 1
        if len(self._waiting) >= CHUNK:
            yield self._chunk()

    def _opened(self, at: int) -> Iterable[bytes]:
        """The state that the recording begins with, and later ones, each before the event that is next."""
        is_due = (
            self._events_since_frame >= _LEAST_BETWEEN
            and self._since_frame > _TIMES * self._frame_size
        )
        if self._begun and not is_due:
            return
        is_first, self._begun = not self._begun, True
        began = max(self._at, self._since) if is_first and self._since else self._at
        frame = part("keyframe", self._state, data_seq=self._seq, data_at=min(began, at))
        self._frame_size, self._since_frame, self._events_since_frame = len(frame), 0, 0
        yield self._counted("states", frame)

    def _chunk(self) -> bytes:
        if not self._waiting:
            return b""
        events = orjson.Fragment(b"[" + b",\n".join(self._waiting) + b"]")
        self._waiting.clear()
        written = part("events", events, data_first=self._first, data_at=self._first_at)
        return self._counted("events", written)

    def _listed(self) -> bytes:
        if not self._attempts:
            return b""
        listed = part("attempts", self._attempts)
        self._attempts.clear()
        return self._counted("evidence", listed)

    def _note_mark(self, row: EventRow) -> None:
        """What there is at the beginning of a run is no news."""
        if row.kind in MARKED and row.at > 0:
            kept = self._marks.setdefault(row.kind, [])
            if len(kept) < MARKS:
                kept.append({"at": row.at, "kind": row.kind, "seq": row.seq})

    def _histogram(self, end: int) -> dict[str, Any]:
        """As the resource `histogram` has it: events for each equal part of the time, and the marks."""
        end = max(end, 1)
        starts = [-(-end * bucket // BUCKETS) for bucket in range(1, BUCKETS)]
        places = [0, *(bisect_left(self._ats, start) for start in starts), len(self._ats)]
        marks = sorted((each for kept in self._marks.values() for each in kept), key=_seq)
        counts = [later - earlier for earlier, later in pairwise(places)]
        return {"from": 0, "to": end, "counts": counts, "marks": marks[:MARKS]}

    def _counted(self, what: str, piece: bytes) -> bytes:
        self._sizes[what] += len(piece)
        if self.size > self._most:
            raise ExportError(self._too_large())
        return piece

    def _too_large(self) -> str:
        """What would make it smaller, the largest part first."""
        parts = sorted(self._sizes.items(), key=lambda each: -each[1])
        shares = ", ".join(f"{name} {size / 1e6:.0f} MB" for name, size in parts if size > 5e5)
        # What went on inside takes only what room there is.
        left = [name for name in PARTS[1:] if name not in self._without]
        helps = [f"leave out {' or '.join(left)} (without)"] if left else []
        helps += ["begin later (since)", "end earlier (at)"]
        return (
            f"The page would have more than {self._most / 1e6:.0f} MB: at {self._at / SECOND:.1f} s "
            f"of the run it has {shares}. {', '.join(helps[:-1]).capitalize()}, or {helps[-1]}."
        )


def _seq(mark: Mapping[str, Any]) -> int:
    return int(mark["seq"])


def _event(row: EventRow, *, has_data: bool) -> bytes:
    """An event as pages get it. Without its evidence it still says whether it is an Event of Kubernetes."""
    event: dict[str, Any] = dict(zip(EventRow._fields[:7], row[:7], strict=True))
    event["changes"] = orjson.Fragment(row.changes) if row.changes else None
    if has_data or not row.data:
        event["data"] = orjson.Fragment(row.data) if row.data else None
    else:
        event["data"] = {"event": True} if parsed(row.data).get("event") is True else None
    return orjson.dumps(event)
