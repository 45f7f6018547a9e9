"""The packets of a trace: tracks, slices that begin and end on them, instants, and flows between these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kscope.exports.perfetto.wire import fixed64, message, number, text

# Trace, TracePacket
_PACKET, _TIMESTAMP, _SEQUENCE, _TRACK_EVENT, _FLAGS, _DESCRIPTOR = 1, 8, 10, 11, 13, 60
_ONE_SEQUENCE, _STATE_CLEARED = 1, 1
# TrackDescriptor, ProcessDescriptor
_UUID, _NAME, _PROCESS, _PARENT, _ORDERING = 1, 2, 3, 5, 11
_PID, _PROCESS_NAME = 1, 6
_BY_NAME: Final = 1
# TrackEvent, DebugAnnotation
_ANNOTATION, _TYPE, _TRACK, _CATEGORY, _EVENT_NAME, _FLOW, _LAST_FLOW = 4, 9, 11, 22, 23, 47, 48
_KEY, _INTEGER, _TEXT = 10, 4, 6
BEGIN, END, INSTANT = 1, 2, 3


class Packets:
    """Writes packets, and gives each track its number at its first use."""

    def __init__(self) -> None:
        self._tracks: dict[tuple[str, str], int] = {}
        self._processes: dict[str, int] = {}
        self._numbers = 0
        self._is_begun = False

    def process(self, name: str) -> tuple[int, bytes]:
        """The track of a process, and the packet that describes it, if it is new."""
        known = self._processes.get(name)
        if known is not None:
            return known, b""
        self._numbers += 1
        uuid = self._processes[name] = self._numbers
        process = number(_PID, len(self._processes)) + text(_PROCESS_NAME, name)
        described = number(_UUID, uuid) + message(_PROCESS, process) + number(_ORDERING, _BY_NAME)
        return uuid, self._packet(message(_DESCRIPTOR, described))

    def track(self, process: str, name: str) -> tuple[int, bytes]:
        """A track of a process, and the packets that describe it, if it is new."""
        known = self._tracks.get((process, name))
        if known is not None:
            return known, b""
        parent, before = self.process(process)
        self._numbers += 1
        uuid = self._tracks[process, name] = self._numbers
        described = number(_UUID, uuid) + text(_NAME, name) + number(_PARENT, parent)
        return uuid, before + self._packet(message(_DESCRIPTOR, described))

    def event(
        self,
        kind: int,
        track: int,
        at: int,
        name: str = "",
        *,
        category: str = "",
        notes: Mapping[str, Any] | None = None,
        flows: Sequence[int] = (),
        last_flows: Sequence[int] = (),
    ) -> bytes:
        """Something that happens on a track at virtual time *at*, in ns; before 0 counts as 0."""
        parts = [number(_TYPE, kind), number(_TRACK, track)]
        parts += [text(_EVENT_NAME, name)] if name else []
        parts += [text(_CATEGORY, category)] if category else []
        parts += [_note(key, value) for key, value in (notes or {}).items()]
        parts += [fixed64(_FLOW, flow) for flow in flows]
        parts += [fixed64(_LAST_FLOW, flow) for flow in last_flows]
        return self._packet(number(_TIMESTAMP, max(at, 0)) + message(_TRACK_EVENT, b"".join(parts)))

    def _packet(self, content: bytes) -> bytes:
        head = number(_SEQUENCE, _ONE_SEQUENCE)
        if not self._is_begun:
            self._is_begun = True
            head += number(_FLAGS, _STATE_CLEARED)
        return message(_PACKET, head + content)


def _note(key: str, value: Any) -> bytes:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    content = number(_INTEGER, value) if is_number else text(_TEXT, str(value))
    return message(_ANNOTATION, text(_KEY, key) + content)
