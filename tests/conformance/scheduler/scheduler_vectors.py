"""What the scheduler's conformance tests share: the vector files, a clock, objects of vectors."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from tests.conformance.vectors import Json, load

_UNITS = {"µs": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND}


@dataclass
class ManualClock:
    """Virtual time that stands still until it is told."""

    now: int = 0
    trace: None = None


def v1_16(name: str) -> Any:
    """A file of scheduler-1.16."""
    return load("scheduler-1.16", name)


def nanoseconds(seconds: float) -> int:
    """Exact nanoseconds of a decimal number of seconds."""
    return int(Fraction(str(seconds)) * SECOND)


def duration(text: str) -> int:
    """Nanoseconds of a Go duration of whole numbers, such as "1ms" or "1m1s"."""
    parts = re.findall(r"(\d+)(µs|ms|s|m)", text)
    if "".join(number + unit for number, unit in parts) != text or not parts:
        raise ValueError(text)
    return sum(int(number) * _UNITS[unit] for number, unit in parts)


def since_start(text: str | None) -> int:
    """Nanoseconds of "T+1.001000s"; 0 for null."""
    return 0 if text is None else nanoseconds(float(text.removeprefix("T+").removesuffix("s")))


def pod(manifest: Json) -> Pod:
    """The pod of a vector's manifest. Unlike a stored pod it may lack a namespace or a uid."""
    return Pod({**manifest, "metadata": {"name": "", **manifest["metadata"]}})


def named(cases: Any) -> list[tuple[str, Any]]:
    """(test[/case], steps and table) of an upstream test file."""
    found: list[tuple[str, Any]] = []
    for test in cases["tests"]:
        if test.get("steps"):
            found.append((test["upstreamTest"], test))
        for case in test.get("cases") or ():
            found.append((f"{test['upstreamTest']}/{case['name']}", {**case, "before": test}))
    return found
