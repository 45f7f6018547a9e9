"""What a run may take: events, objects, virtual time and memory; and what is said when it is used up.

Events, objects and time are held to at the boundary of two steps of the engine, so that the place
where a run stops is a function of its history and its budget. Memory is measured from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Literal, Self

from engine.api_server.validation.report import Report
from engine.kernel.sentences import (
    NOTHING,
    Sentence,
    count_phrase,
    enumerated,
    grouped,
    said_by,
    say,
    say_count,
    together,
)
from engine.kernel.units import HOUR, MINUTE, SECOND
from engine.objects.documents import Path
from engine.objects.values import quantity
from engine.objects.values.durations import parse_duration
from engine.objects.values.shown import shown

Part = Literal["events", "objects", "time", "memory"]
PARTS: Final[tuple[Part, ...]] = ("events", "objects", "time", "memory")
_MIB: Final = 1024 * 1024
# What the database keeps of each.
MOST: Final = 2**62
# What an object takes, twice over: 6 to 8 KiB as measured with 155,000 and 565,000 objects.
_OBJECT_BYTES: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may take.

    `objects` may be in the cluster at once, `time` is ns of virtual time since the beginning,
    `memory` bytes of the process that computes the run.
    """

    events: int = 2_000_000
    objects: int = 100_000
    time: int = 30 * 24 * HOUR
    memory: int = 2048 * _MIB

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The budget that a run of a scenario in JSON form begins with.

        A large cluster may double, in objects and in memory; what the scenario itself asks for is
        never more than that.
        """
        budget, many = cls(), len(document.get("objects") or ())
        objects = max(budget.objects, 2 * many)
        memory = max(budget.memory, _OBJECT_BYTES * many)
        asked: Mapping[str, int] = document.get("budget") or {}
        return replace(budget, **{"objects": objects, "memory": memory, **asked})

    def to_dict(self) -> dict[str, int]:
        """By part."""
        return asdict(self)

    def changed(self, wanted: Mapping[str, int | None]) -> Self:
        """The same with the parts of *wanted* that are not None."""
        return replace(self, **{part: each for part, each in wanted.items() if each is not None})


@dataclass(frozen=True, slots=True)
class Stop:
    """That a run has used up one part of its budget, and the *reason* in words for people."""

    part: Part
    reason: Sentence

    @classmethod
    def at(cls, part: Part, limit: int, detail: Sentence = NOTHING) -> Self:
        """The stop of a run at its budget *limit* for *part*; *detail* is a sentence of its own."""
        reason = say(
            "Stopped at {amount}, the budget of this run.", amount=amount_text(part, limit)
        )
        return cls(part, together(reason, detail))

    @property
    def message(self) -> Sentence:
        """The reason, and what to do about it."""
        return together(self.reason, say("Raise it to go on."))


def amount_text(part: str, amount: int) -> Sentence:
    """An amount as people write it: "200,000 events", "2 h of virtual time", "512 MiB of memory"."""
    if part == "time":
        return say("{amount} of virtual time", amount=_duration_text(amount))
    if part == "memory":
        return say("{value} MiB of memory", value=grouped(amount // _MIB))
    if part == "objects":
        return say_count("{count} object", "{count} objects", amount, count=grouped(amount))
    return say_count("{count} event", "{count} events", amount, count=grouped(amount))


_DAYS: Final = count_phrase("{count} day", "{count} days")
_HOURS: Final = count_phrase("{count} h", "{count} h")
_MINUTES: Final = count_phrase("{count} min", "{count} min")


def _duration_text(time: int) -> Sentence:
    for unit, name in ((24 * HOUR, _DAYS), (HOUR, _HOURS), (MINUTE, _MINUTES)):
        if time % unit == 0 and time > unit:
            return name.say(time // unit, count=grouped(time // unit))
    return say("{seconds} s", seconds=format(time / SECOND, ",g"))


def read_amount(part: str, value: Any) -> int:
    """The text of an amount of a part: a number, for time a duration, for memory a quantity.

    Raises ValueError.
    """
    if part == "time":
        amount = parse_duration(value)
    elif part == "memory" and isinstance(value, str):
        amount = quantity.value(value)
    elif isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(say("expected a whole number, found {found}", found=shown(value)))
    else:
        amount = value
    if not 0 < amount <= MOST:
        raise ValueError(
            say("{found} is not between 1 and {most}", found=shown(value), most=grouped(MOST))
        )
    return amount


def parse_budget(raw: Any, path: Path, report: Report) -> dict[str, int]:
    """The parts that a scenario asks for, which may only be less than what it would get anyway."""
    if raw is None:
        return {}
    if not isinstance(raw, dict):
        report.add(path, raw, say("expected a mapping, found {found}", found=shown(raw)))
        return {}
    usual, found = Budget().to_dict(), dict[str, int]()
    parts: dict[str, Any] = raw  # pyright: ignore[reportUnknownVariableType]
    for name, value in parts.items():
        where = (*path, name)
        if name not in PARTS:
            report.add(where, value, say("unknown field; known are {list}", list=enumerated(PARTS)))
            continue
        try:
            found[name] = read_amount(name, value)
        except ValueError as error:
            report.add(where, value, said_by(error))
            continue
        if found[name] > usual[name]:
            most = amount_text(name, usual[name])
            report.add(
                where,
                value,
                say("a scenario may ask for at most {most}; a run can be given more", most=most),
            )
    return found
