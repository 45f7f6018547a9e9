"""What a container has printed by some time, and what a command in it answers."""

import heapq
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from engine.objects.scripts.script import CommandAnswer, LogLine, Script


class Printed(NamedTuple):
    """A line, and when it was printed, in ns since EPOCH."""

    at: int
    text: str


def printed_lines(script: Script, started: int, since: int, until: int) -> Iterator[Printed]:
    """The lines that were printed from *since* on and before *until*, in order; ns since EPOCH.

    *started* is when the container started. A text of several lines is printed at once.
    """
    streams = [_times(line, started, since, until) for line in script.logs]
    for at, place in heapq.merge(*(_placed(times, i) for i, times in enumerate(streams))):
        for text in script.logs[place].text.splitlines() or [""]:
            yield Printed(at, text)


def _placed(times: Iterator[int], place: int) -> Iterator[tuple[int, int]]:
    return ((at, place) for at in times)


def _times(line: LogLine, started: int, since: int, until: int) -> Iterator[int]:
    at = started + line.at
    if line.every and at < since:
        at += -((at - since) // line.every) * line.every
    while at < until:
        if at >= since:
            yield at
        if not line.every:
            return
        at += line.every


def answer_to(script: Script, command: list[str]) -> CommandAnswer | None:
    """What *command* answers: the first entry whose pattern its words match; None for none."""
    words = " ".join(command)
    for answer in script.commands or ():
        if fnmatchcase(words, answer.command):
            return answer
    return None
