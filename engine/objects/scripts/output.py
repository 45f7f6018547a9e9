"""What a container has printed by some time, and what a command in it answers."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from engine.objects.scripts.filling import Filling
from engine.objects.scripts.script import CommandAnswer, HttpAnswer, LogLine, Script

_MOST_LINES: Final = 50_000
# Upstream: the kubelet's containerLogMaxSize.
_MOST_BYTES: Final = 10 * 1024 * 1024


# What fills the places of a line that is printed at a time, in ns since EPOCH: the same one as long as
# nothing has changed.
FillingAt = Callable[[int], Filling]


class Printed(NamedTuple):
    """A line, and when it was printed, in ns since EPOCH."""

    at: int
    text: str


def printed_lines(
    script: Script, started: int, since: int, until: int, filling_at: FillingAt
) -> Iterator[Printed]:
    """The lines that were printed from *since* on and before *until*, in order; ns since EPOCH.

    *started* is when the container started. A text of several lines is printed at once. Of lines that
    come again and again, the oldest are gone: a kubelet rotates the log of a container, too.
    """
    most = _MOST_LINES // max(1, sum(line.every > 0 for line in script.logs))
    # The same text is printed again and again, as long as nothing in it has changed.
    known: dict[tuple[int, int], list[str]] = {}
    streams = [_times(line, started, since, until, most) for line in script.logs]
    for at, place in heapq.merge(*(_placed(times, i) for i, times in enumerate(streams))):
        filling = filling_at(at)
        name = place, id(filling)
        if name not in known:
            known[name] = _texts(script.logs[place], filling)
        for text in known[name]:
            yield Printed(at, text)


def _texts(line: LogLine, filling: Filling) -> list[str]:
    """What is printed as one line, or as several; nothing where its condition does not hold."""
    if not filling.holds(line.condition):
        return []
    return filling.text(line.text).splitlines() or [""]


def _placed(times: Iterator[int], place: int) -> Iterator[tuple[int, int]]:
    return ((at, place) for at in times)


def _times(line: LogLine, started: int, since: int, until: int, most: int) -> Iterator[int]:
    """When the line is printed, at most the last *most* times, and in _MOST_BYTES."""
    at = started + line.at
    if line.every:
        most = max(1, min(most, _MOST_BYTES // (len(line.text) + 1)))
        first = max(since, until - most * line.every)
        if at < first:
            at += -((at - first) // line.every) * line.every
    while at < until:
        if at >= since:
            yield at
        if not line.every:
            return
        at += line.every


def answer_to(script: Script, command: list[str], filling: Filling) -> CommandAnswer | None:
    """What *command* answers: the first entry whose pattern its words match; None for none."""
    words = " ".join(command)
    for answer in script.commands or ():
        if fnmatchcase(words, answer.command) and filling.holds(answer.condition):
            stdout, stderr = filling.text(answer.stdout), filling.text(answer.stderr)
            return replace(answer, stdout=stdout, stderr=stderr)
    return None


def http_answer_to(script: Script, path: str, filling: Filling) -> HttpAnswer | None:
    """What a server answers to a request for *path*; None where it has nothing there."""
    for answer in script.http or ():
        if fnmatchcase(path, answer.path) and filling.holds(answer.condition):
            return replace(answer, body=filling.text(answer.body))
    return None
