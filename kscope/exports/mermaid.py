"""The story of one pod as a sequence diagram of Mermaid, which Markdown of many places draws."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from engine.kernel.recorder import EventRow
from engine.kernel.units import SECOND
from kscope.exports.encoder import ExportError, Heading, parsed
from kscope.exports.states import Attempts

# Mermaid refuses texts of more than 50,000 characters.
_MOST_CHARACTERS: Final = 45_000
_LONGEST_MESSAGE: Final = 160
# What is written in a pod's status on the way, and says nothing of its own.
_SILENT: Final = ("PodConditionUpdated", "PodConfirmed", "PodObserved", "PodReleased", "PodUpdated")
_SPECIAL: Final = re.compile(r"[#;<>{}\"`%]")


class Mermaid:
    """Keeps what was said of the pod, of its claims, and of those whom it preempted."""

    def __init__(self, heading: Heading) -> None:
        if not heading.pod:
            raise ExportError("a diagram shows one pod, and none was named")
        self._pod, self._heading = heading.pod, heading
        self._names: dict[str, str] = {}
        self._about = {heading.pod}
        self._attempts = Attempts()
        self._steps: list[str] = []
        self._characters = self._left_out = 0
        self._is_there = False

    def begin(self) -> bytes:
        """See Encoder."""
        return b""

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        for row in rows:
            self._event(row)
        return b""

    def end(self) -> bytes:
        """See Encoder. Raises ExportError for a pod that the run never had."""
        name = self._pod.removeprefix("pod/")
        if not self._is_there:
            raise ExportError(f"the run has no pod {name}")
        lines = ["sequenceDiagram", f"    title {_plain(name)}, {_plain(self._heading.profile)}"]
        lines += [
            f"    participant {short} as {_plain(long)}" for long, short in self._names.items()
        ]
        lines += [f"    {step}" for step in self._steps]
        if self._left_out:
            lines.append(f"    Note over {self._short(self._pod)}: {self._left_out:,} more events")
        return ("\n".join(lines) + "\n").encode()

    def _event(self, row: EventRow) -> None:
        pod = ""
        if row.component == "scheduler":
            pod = self._attempts.take(row.seq, row.kind, row.object, row.cause)
        if row.object == self._pod:
            self._is_there = True
            self._note_claims(row)
        is_victim = pod == self._pod and row.object.startswith("pod/")
        if row.object in self._about or (is_victim and row.kind == "PodEvicted"):
            for step in self._said(row, is_victim=is_victim and row.object != self._pod):
                self._keep(step)

    def _note_claims(self, row: EventRow) -> None:
        found = parsed(row.changes).get(self._pod) or {}
        namespace = self._pod.split("/")[1]
        self._about |= {f"claim/{namespace}/{name}" for name in found.get("claims") or ()}

    def _said(self, row: EventRow, *, is_victim: bool) -> Iterator[str]:
        if row.kind in _SILENT:
            return
        arrow = "-x" if is_victim or row.kind.endswith("Deleted") else "->>"
        places = f"{self._short(row.component)}{arrow}{self._short(row.object)}"
        yield f"{places}: {row.at / SECOND:.3f} s {row.kind}{_detail(row)}"

    def _keep(self, step: str) -> None:
        if self._characters + len(step) > _MOST_CHARACTERS:
            self._left_out += 1
            return
        self._characters += len(step) + 5
        self._steps.append(step)

    def _short(self, name: str) -> str:
        """The name by which steps call a participant."""
        return self._names.setdefault(name, f"p{len(self._names)}")


def _detail(row: EventRow) -> str:
    message = row.message
    if len(message) > _LONGEST_MESSAGE:
        message = f"{message[:_LONGEST_MESSAGE]}…"
    return f": {_plain(message)}" if message else ""


def _plain(text: str) -> str:
    """A text in which nothing means anything to Mermaid."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", " ".join(text.split()))
