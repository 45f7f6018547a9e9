"""A label selector as kubectl takes it: `app=web,tier in (a,b),!old`."""

from __future__ import annotations

import re
from typing import Final

from engine.objects.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement
from kscope.program.speech.errors import ProgramError

_KEY: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUAL: Final = re.compile(rf"({_KEY})\s*(==?|!=)\s*({_VALUE})", re.ASCII)
_SET: Final = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)", re.ASCII)
_THERE: Final = re.compile(rf"(!?)\s*({_KEY})", re.ASCII)
_PART: Final = re.compile(r"[^,()]+(?:\([^()]*\))?")


def parsed_selector(text: str) -> tuple[Requirement, ...]:
    """The requirements of a selector; none for "". Raises ProgramError."""
    if not text:
        return ()
    if _PART.sub("", text).replace(",", "").strip():
        raise _broken(text)
    return tuple(_requirement(part.strip()) for part in _PART.findall(text) if part.strip())


def _requirement(part: str) -> Requirement:
    if match := _EQUAL.fullmatch(part):
        return Requirement(match[1], NOT_IN if match[2] == "!=" else IN, (match[3],))
    if match := _SET.fullmatch(part):
        values = tuple(each.strip() for each in match[3].split(","))
        return Requirement(match[1], IN if match[2] == "in" else NOT_IN, values)
    if match := _THERE.fullmatch(part):
        return Requirement(match[2], DOES_NOT_EXIST if match[1] else EXISTS)
    raise _broken(part)


def _broken(text: str) -> ProgramError:
    return ProgramError(f"{text!r} is no label selector", helps=["app=web or 'tier in (a,b)'"])
