"""Faults: what a scenario lets go wrong, and the API server's part of it.

A fault is one mapping with exactly one of the fields of KINDS; docs/scenario-format.md lists them.
The store's part is here: writes that are refused or slow, watches that lag.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from engine.kernel.errors import ApiError, Conflict, Invalid
from engine.kernel.rng import Stream
from engine.objects.objects import ApiObject
from engine.objects.values.durations import parse_duration

# Each kind of fault with the fields that go with it.
KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "fail": ("volume", "node", "claim", "kind", "by", "times", "probability", "reason", "text"),
    "slow": ("kind", "delay", "times", "probability"),
    "absent": (),
    "no_resizer": (),
    "full": (),
    "offline": (),
    "unregister": ("node",),
    "register": ("node",),
    "missing": (),
    "present": (),
    "place": ("zone",),
    "anywhere": (),
    "lag": ("delay",),
    "cut": ("of",),
    "mend": (),
    "vanish": (),
    "die": (),
    "revive": (),
    "restart": (),
    "heal": (),
}
WRITE: Final = "write"
# The event of a write that is refused, and the author of which pages show it.
WRITE_REFUSED: Final = "WriteRefused"
PV_CONTROLLER: Final = "pv-controller"
PROVISION: Final = "provision"
DELETE: Final = "delete"
# Calls into a volume driver, by the names of their latencies.
DRIVER_CALLS: Final[Mapping[str, tuple[str, ...]]] = {
    "attach": ("Attach",),
    "detach": ("Detach",),
    "mount_device": ("MountDevice",),
    "mount": ("SetUp",),
    "unmount": ("TearDown",),
    "unmount_device": ("UnmountDevice",),
}
# Calls into a driver of devices, by the names of their latencies.
PREPARE_DEVICES: Final = "prepare_devices"
READY_DEVICES: Final = "ready_devices"
# Which of the fields of KINDS["fail"] go with what fails.
FAIL_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    WRITE: ("kind", "by", "times", "probability", "reason", "text"),
    PROVISION: ("claim", "node", "times", "probability", "text"),
    DELETE: ("volume", "times", "probability", "text"),
    **dict.fromkeys(DRIVER_CALLS, ("volume", "node", "times", "probability", "text")),
    PREPARE_DEVICES: ("claim", "node", "times", "probability", "text"),
    READY_DEVICES: ("claim", "times", "probability", "text"),
}
# The components whose writes can fail or be slow; a user's own writes cannot.
AUTHORS: Final = (
    "pv-controller",
    "pvc-protection",
    "pv-protection",
    "vac-protection",
    "attach-detach",
    "csi-attacher",
    "external-provisioner",
    "scheduler",
    "deployment-controller",
    "replicaset-controller",
    "statefulset-controller",
    "daemonset-controller",
    "job-controller",
    "resourcequota-controller",
    "disruption-controller",
    "ephemeral-volume-controller",
    "garbage-collector",
    "namespace-controller",
    "external-resizer",
    "node-controller",
    "pod-garbage-collector",
    "kubelet",
)
REASONS: Final[Mapping[str, type[ApiError]]] = {"Conflict": Conflict, "InternalError": ApiError}
# Components that run in one process, and fall together with it.
PROCESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "kube-controller-manager": (
        "pv-controller",
        "attach-detach",
        "volume-expand",
        "pvc-protection",
        "pv-protection",
        "vac-protection",
        "namespace-controller",
        "deployment-controller",
        "replicaset-controller",
        "statefulset-controller",
        "daemonset-controller",
        "job-controller",
        "resourcequota-controller",
        "disruption-controller",
        "ephemeral-volume-controller",
        "pod-garbage-collector",
        "garbage-collector",
        "node-controller",
        "taint-controller",
    ),
}
# What can be restarted besides kubelets and schedulers: a process, or a component by itself.
RESTARTABLE: Final = (
    *PROCESSES,
    *PROCESSES["kube-controller-manager"],
    "external-provisioner",
    "external-resizer",
    "csi-attacher",
)
_CHANCES: Final = 1_000_000
# More never happens in a run; what is beyond 64 bits a database gives back as another number.
MOST_TIMES: Final = 2**31 - 1


class Wrong(NamedTuple):
    """What is wrong with a fault: the field ("" for the fault as a whole), its value, and why."""

    field: str
    value: Any
    why: str

    def __str__(self) -> str:
        return f"{self.field} is {self.value!r}: {self.why}" if self.field else self.why


def check(fault: Any) -> Wrong | None:
    """What is wrong with *fault*, or None."""
    if not isinstance(fault, dict):
        return Wrong("", fault, "a fault is a mapping")
    given = cast("dict[str, Any]", fault)
    kinds = [kind for kind in KINDS if kind in given]
    if len(kinds) != 1:
        return Wrong("", given, f"a fault has exactly one of {', '.join(KINDS)}")
    kind = kinds[0]
    if not isinstance(given[kind], str) or not given[kind]:
        return Wrong(kind, given[kind], "expected a name")
    return (
        _check_texts(kind, given)
        or _check_kind(kind, given)
        or _check_fields(kind, given)
        or _check_amounts(given)
        or _check_delay(kind, given)
    )


def _check_texts(kind: str, given: Mapping[str, Any]) -> Wrong | None:
    for name, value in given.items():
        if name in (kind, "times", "probability", "delay") or isinstance(value, str):
            continue
        return Wrong(name, value, "expected a text")
    return None


def _check_kind(kind: str, given: Mapping[str, Any]) -> Wrong | None:
    named = given[kind]
    if kind == "fail" and named not in FAIL_FIELDS:
        return Wrong(kind, named, f"must be one of {', '.join(FAIL_FIELDS)}")
    if kind == "slow" and named not in AUTHORS:
        return Wrong(kind, named, f"must be one of {', '.join(AUTHORS)}")
    if kind == "cut" and given.get("of", "scheduler") != "scheduler":
        return Wrong("of", given["of"], "must be scheduler, or be left out for everybody")
    if kind == "place" and not given.get("zone"):
        return Wrong("zone", given.get("zone"), "place needs a zone")
    if kind == "fail" and named == WRITE:
        if given.get("by", "") not in AUTHORS:
            return Wrong("by", given.get("by"), f"must be one of {', '.join(AUTHORS)}")
        if given.get("reason", "Conflict") not in REASONS:
            return Wrong("reason", given["reason"], f"must be one of {', '.join(REASONS)}")
    return None


def _check_fields(kind: str, given: Mapping[str, Any]) -> Wrong | None:
    known = FAIL_FIELDS[given[kind]] if kind == "fail" else KINDS[kind]
    for name, value in given.items():
        if name == kind:
            continue
        if name not in known:
            which = f"{kind}: {given[kind]}" if kind == "fail" else kind
            fields = f"; known are {', '.join(known)}" if known else ""
            return Wrong(name, value, f"does not go with {which}{fields}")
    return None


def _check_amounts(given: Mapping[str, Any]) -> Wrong | None:
    times, probability = given.get("times", 1), given.get("probability", 0)
    if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MOST_TIMES:
        return Wrong("times", times, f"expected a number from 1 to {MOST_TIMES}")
    if isinstance(probability, bool) or not isinstance(probability, int | float):
        return Wrong("probability", probability, "expected a number from 0 to 1")
    if not 0 <= probability <= 1:
        return Wrong("probability", probability, "expected a number from 0 to 1")
    return None


def _check_delay(kind: str, given: Mapping[str, Any]) -> Wrong | None:
    if "delay" not in KINDS[kind]:
        return None
    if kind == "slow" and "delay" not in given:
        return Wrong("delay", None, "slow needs a delay")
    try:
        parse_duration(given.get("delay", 0))
    except ValueError as wrong:
        return Wrong("delay", given["delay"], str(wrong))
    return None


def invalid(fault: Any) -> None:
    """Raises Invalid when *fault* is not a fault."""
    wrong = check(fault)
    if wrong is not None:
        raise Invalid(str(wrong))


def chance(stream: Stream, probability: float) -> bool:
    """Whether something of that probability happens this time."""
    return stream.below(_CHANCES) < round(probability * _CHANCES)


@dataclass(slots=True)
class Strikes:
    """How often something goes wrong: the next `left` times (None: always), with a probability.

    With a probability of 0 it happens for certain.
    """

    left: int | None
    probability: float

    @classmethod
    def of(cls, fault: Mapping[str, Any], always: bool = False) -> "Strikes":
        """As a checked *fault* says: once, if it says neither times nor probability."""
        probability = fault.get("probability", 0)
        left = fault.get("times", None if probability or always else 1)
        return cls(left, probability)

    def strikes(self, stream: Stream) -> bool:
        """Whether it happens this time."""
        if self.is_over or (self.probability and not chance(stream, self.probability)):
            return False
        if self.left is not None:
            self.left -= 1
        return True

    @property
    def is_over(self) -> bool:
        """Whether it never happens again."""
        return self.left == 0


@dataclass(slots=True)
class ClaimFault:
    """Lets a driver fail for a claim on a node, or for a volume; "" stands for any.

    `key` is that of the claim, or the name of the volume.
    """

    key: str
    node: str
    strikes: Strikes
    text: str
    stream: Stream

    @classmethod
    def of(cls, fault: Mapping[str, Any], stream: Stream) -> "ClaimFault":
        """As a checked *fault* says."""
        return cls(
            key=fault.get("claim") or fault.get("volume") or "",
            node=fault.get("node") or "",
            strikes=Strikes.of(fault),
            text=fault.get("text") or "injected fault",
            stream=stream,
        )

    def strikes_key(self, key: str, node: str) -> bool:
        """Whether this attempt for *key* on *node* fails."""
        if self.key not in ("", key) or self.node not in ("", node):
            return False
        return self.strikes.strikes(self.stream)


@dataclass(slots=True)
class ClaimFaults:
    """The faults of one kind of call that may still strike."""

    waiting: list[ClaimFault] = field(default_factory=list[ClaimFault])

    def strike(self, key: str, node: str = "") -> str | None:
        """Why the call for *key* on *node* fails this time, or None."""
        for fault in self.waiting:
            if fault.strikes_key(key, node):
                self.waiting = [each for each in self.waiting if not each.strikes.is_over]
                return fault.text
        return None


@dataclass(slots=True)
class WriteFault:
    """Refuses writes of one author."""

    by: str
    kind: str
    strikes: Strikes
    refusal: type[ApiError]
    text: str


@dataclass(slots=True)
class SlowWrites:
    """Lets writes of one author take *delay* ns."""

    by: str
    kind: str
    strikes: Strikes
    delay: int


@dataclass(slots=True)
class Cut:
    """Watches of one kind that have broken: by latency, and what they knew of what they miss.

    `known` maps keys to the last state heard of, None for what was not there.
    """

    kind: str
    watchers: dict[int, list[Any]]
    known: dict[str, ApiObject | None]


class ApiFaults:
    """What is wrong with the API server: consulted by the store at every write and delivery.

    `slows` says whether any write was ever slow: until then no write has to ask how slow.
    """

    __slots__ = ("cuts", "_lags", "missed", "_slow", "_stream", "_writes", "on_refusal", "slows")

    def __init__(self, stream: Stream, on_refusal: Callable[[str, str, str], None]) -> None:
        self._stream = stream
        self._writes: list[WriteFault] = []
        self._slow: list[SlowWrites] = []
        self._lags: dict[str, int] = {}
        # Broken watches, by kind.
        self.cuts: dict[str, list[Cut]] = {}
        # The ids of objects of which a broken watch has ever missed a write.
        self.missed: dict[str, None] = {}
        self.slows = False
        # Called with the object's id, the author and the text of what was refused.
        self.on_refusal = on_refusal

    def refuse(self, fault: Mapping[str, Any]) -> None:
        """Let writes fail from now on as a checked *fault* says."""
        self._writes.append(
            WriteFault(
                by=fault["by"],
                kind=fault.get("kind") or "",
                strikes=Strikes.of(fault),
                refusal=REASONS[fault.get("reason", "Conflict")],
                text=fault.get("text") or "injected fault",
            )
        )

    def slow(self, fault: Mapping[str, Any]) -> None:
        """Let writes take their time from now on as a checked *fault* says.

        It takes the place of what was said before of the same author and kind; a delay of 0 ends it.
        """
        by, kind = fault["slow"], fault.get("kind") or ""
        self._slow = [one for one in self._slow if (one.by, one.kind) != (by, kind)]
        delay = parse_duration(fault["delay"])
        if delay:
            self.slows = True
            self._slow.append(SlowWrites(by, kind, Strikes.of(fault, always=True), delay))

    def lag(self, kind: str, delay: int) -> None:
        """Let watches of *kind* deliver *delay* ns later than usual; 0 ends it."""
        if delay:
            self._lags[kind] = delay
        else:
            self._lags.pop(kind, None)

    def cut(self, kind: str, watchers: dict[int, list[Any]]) -> None:
        """Let *watchers* of *kind*, by latency, hear nothing any more."""
        before = self.cuts.setdefault(kind, [])
        deaf = {
            latency: [
                one
                for one in found
                if not any(one in cut.watchers.get(latency, ()) for cut in before)
            ]
            for latency, found in watchers.items()
        }
        before.append(Cut(kind, deaf, {}))

    def hearing(
        self, latency: int, watchers: list[Any], new: ApiObject, old: ApiObject | None
    ) -> list[Any]:
        """Those of *watchers* that hear of a write; the others will when they list again."""
        for cut in self.cuts.get(new.kind, ()):
            self.missed[new.id] = None
            cut.known.setdefault(new.key, old)
            deaf = cut.watchers.get(latency, ())
            watchers = [one for one in watchers if one not in deaf]
        return watchers

    def delay(self, kind: str) -> int:
        """How much later watches of *kind* deliver."""
        return self._lags.get(kind, 0)

    def slowness(self, kind: str, by: str) -> int:
        """How long this write takes, in ns."""
        for place, slow in enumerate(self._slow):
            if slow.by == by and slow.kind in ("", kind) and slow.strikes.strikes(self._stream):
                if slow.strikes.is_over:
                    del self._slow[place]
                return slow.delay
        return 0

    def write(self, kind: str, entity: str, by: str) -> None:
        """Raises the refusal when this write is to fail."""
        for place, fault in enumerate(self._writes):
            if fault.by != by or fault.kind not in ("", kind):
                continue
            if not fault.strikes.strikes(self._stream):
                continue
            if fault.strikes.is_over:
                del self._writes[place]
            self.on_refusal(entity, by, fault.text)
            raise fault.refusal(fault.text)
