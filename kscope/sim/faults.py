"""Faults: what a scenario lets go wrong, and the API server's part of it.

A fault is one mapping with exactly one of the fields of KINDS; docs/scenario-format.md lists them.
The store's part is here: writes that are refused, watches that lag.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from kscope.sim.errors import ApiError, Conflict, Invalid
from kscope.sim.rng import Stream

# Each kind of fault with the fields that go with it.
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "fail": ("volume", "node", "claim", "kind", "by", "times", "probability", "reason", "text"),
    "absent": (),
    "no_resizer": (),
    "full": (),
    "place": ("zone",),
    "lag": ("delay",),
    "vanish": (),
    "restart": (),
}
WRITE: Final = "write"
PROVISION: Final = "provision"
# Calls into a volume driver, by the names of their latencies.
DRIVER_CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "attach": ("Attach",),
    "detach": ("Detach",),
    "mount_device": ("MountDevice",),
    "mount": ("SetUp",),
    "unmount": ("TearDown",),
    "unmount_device": ("UnmountDevice",),
}
# The authors that try again when a write is refused; nobody else's writes are made to fail.
RETRYING: Final = (
    "pv-controller",
    "external-provisioner",
    "scheduler",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
)
REASONS: Final[Mapping[str, type[ApiError]]] = {"Conflict": Conflict, "InternalError": ApiError}
_CHANCES: Final = 1_000_000


def check(fault: Any) -> str:
    """What is wrong with *fault*, or ""."""
    if not isinstance(fault, dict):
        return "a fault is a mapping"
    given = cast("dict[str, Any]", fault)
    kinds = [kind for kind in KINDS if kind in given]
    if len(kinds) != 1:
        return f"a fault has exactly one of {', '.join(KINDS)}"
    kind = kinds[0]
    for name in given:
        if name != kind and name not in KINDS[kind]:
            return f"{kind} does not go with {name!r}"
    if not isinstance(given[kind], str) or not given[kind]:
        return f"{kind} needs a name"
    if kind == "fail":
        return _check_fail(given)
    if kind == "place" and not given.get("zone"):
        return "place needs a zone"
    return ""


def _check_fail(fault: Mapping[str, Any]) -> str:
    calls = (WRITE, PROVISION, *DRIVER_CALLS)
    if fault["fail"] not in calls:
        return f"fail is {fault['fail']!r}; it must be one of {', '.join(calls)}"
    times, probability = fault.get("times", 1), fault.get("probability", 0)
    if isinstance(times, bool) or not isinstance(times, int) or times < 1:
        return "times is a number from 1 on"
    if isinstance(probability, bool) or not isinstance(probability, int | float):
        return "probability is a number from 0 to 1"
    if not 0 <= probability <= 1:
        return "probability is a number from 0 to 1"
    if fault["fail"] == PROVISION and not fault.get("claim"):
        return "fail: provision needs a claim, as namespace/name"
    if fault["fail"] == WRITE:
        if fault.get("by", "") not in RETRYING:
            return f"by must be one of {', '.join(RETRYING)}"
        if fault.get("reason", "Conflict") not in REASONS:
            return f"reason must be one of {', '.join(REASONS)}"
    return ""


def chance(stream: Stream, probability: float) -> bool:
    """Whether something of that probability happens this time."""
    return stream.below(_CHANCES) < round(probability * _CHANCES)


@dataclass(slots=True)
class WriteFault:
    """Refuses writes of one author: the next `left` ones, or each with a probability."""

    by: str
    kind: str
    left: int
    probability: float
    refusal: type[ApiError]
    text: str


class ApiFaults:
    """What is wrong with the API server: consulted by the store at every write and delivery."""

    __slots__ = ("_lags", "_stream", "_writes", "told")

    def __init__(self, stream: Stream, told: Callable[[str, str, str], None]) -> None:
        self._stream = stream
        self._writes: list[WriteFault] = []
        self._lags: dict[str, int] = {}
        # Called with the kind's entity, the author and the text of what was refused.
        self.told = told

    def refuse(self, fault: Mapping[str, Any]) -> None:
        """Let writes fail from now on as a checked *fault* says."""
        self._writes.append(
            WriteFault(
                by=fault["by"],
                kind=fault.get("kind") or "",
                left=fault.get("times", 1),
                probability=fault.get("probability", 0),
                refusal=REASONS[fault.get("reason", "Conflict")],
                text=fault.get("text") or "injected fault",
            )
        )

    def lag(self, kind: str, delay: int) -> None:
        """Let watches of *kind* deliver *delay* ns later than usual; 0 ends it."""
        if delay:
            self._lags[kind] = delay
        else:
            self._lags.pop(kind, None)

    def delay(self, kind: str) -> int:
        """How much later watches of *kind* deliver."""
        return self._lags.get(kind, 0)

    def write(self, kind: str, entity: str, by: str) -> None:
        """Raises the refusal when this write is to fail."""
        for place, fault in enumerate(self._writes):
            if fault.by != by or fault.kind not in ("", kind):
                continue
            if fault.probability:
                if not chance(self._stream, fault.probability):
                    continue
            elif fault.left > 1:
                fault.left -= 1
            else:
                del self._writes[place]
            self.told(entity, by, fault.text)
            raise fault.refusal(fault.text)


def invalid(fault: Any) -> None:
    """Raises Invalid when *fault* is none."""
    wrong = check(fault)
    if wrong:
        raise Invalid(wrong)
