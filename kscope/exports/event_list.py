"""The Kubernetes Events of a run as an EventList of v1, as `kubectl get events -o json` prints them.

What was said of one object with the same words is one Event with a count. An Event that was not seen
again for an hour, which is as long as an API server keeps one, is written and forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from engine.kernel.recorder import EventRow
from engine.kernel.units import HOUR
from engine.objects.kubernetes_events import Life, Said, core_event
from kscope.exports.encoder import Heading, parsed

_Key = tuple[str, str, str, str, str]


class EventList:
    """Writes the list; an Event about a pod names its scheduler and its node as Kubernetes does."""

    def __init__(self, heading: Heading) -> None:
        self._ahead = heading.ahead
        self._said: dict[_Key, Said] = {}
        self._lives: dict[str, Life] = {}
        self._is_first = True

    def begin(self) -> bytes:
        """See Encoder."""
        return b'{"kind":"EventList","apiVersion":"v1","metadata":{},"items":[\n'

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        return b"".join(piece for row in rows for piece in self._event(row))

    def end(self) -> bytes:
        """See Encoder."""
        left = b"".join(map(self._item, self._said.values()))
        self._said.clear()
        return left + b"\n]}\n"

    def _event(self, row: EventRow) -> Iterator[bytes]:
        self._note_lives(parsed(row.changes))
        data = parsed(row.data)
        if data.get("event") is not True:
            return
        yield from self._forgotten(row.at)
        message = data.get("note") or row.message
        reason, kind = data.get("reason") or row.kind, data.get("type") or "Normal"
        key = row.object, reason, row.component, message, kind
        known = self._said.pop(key, None)
        at = row.at + self._ahead
        first = (
            (row.seq, at, 0) if known is None else (known.first_seq, known.first_at, known.count)
        )
        self._said[key] = Said(*key, first[0], row.seq, first[1], at, first[2] + 1)

    def _forgotten(self, now: int) -> Iterator[bytes]:
        """What was seen longest ago stands first."""
        while self._said:
            key, oldest = next(iter(self._said.items()))
            if oldest.last_at - self._ahead >= now - HOUR:
                return
            del self._said[key]
            yield self._item(oldest)

    def _note_lives(self, changes: dict[str, Any]) -> None:
        for entity, patch in changes.items():
            if patch is None:
                self._lives.pop(entity, None)
            elif entity.startswith("pod/") and ("scheduler" in patch or patch.get("node")):
                before = self._lives.get(entity) or Life("", "", "", 0)
                scheduler = patch.get("scheduler") or before.scheduler
                self._lives[entity] = Life("", scheduler, patch.get("node") or before.node, 0)

    def _item(self, said: Said) -> bytes:
        comma, self._is_first = (b"" if self._is_first else b",\n"), False
        return comma + orjson.dumps(core_event(said, self._lives.get(said.object)))
