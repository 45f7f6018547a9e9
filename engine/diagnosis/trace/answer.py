"""What a timeline shows, as plain values. Times are virtual nanoseconds."""

from dataclasses import dataclass, field
from typing import Any, Literal

from engine.diagnosis.trace.lane import Bar

RowKind = Literal[
    "section",
    "path",
    "pod",
    "claim",
    "operation",
    "node",
    "group",
    "stages",
    "stage",
    "event",
    "component",
    "kind",
]


@dataclass(frozen=True, slots=True)
class Area:
    """Counts for each part of the window, as runs: a length, its value, the next length, …

    Empty where there was nothing: how many pods waited, ran and left, or how many events there were.
    """

    waiting: tuple[int, ...] = ()
    running: tuple[int, ...] = ()
    leaving: tuple[int, ...] = ()
    events: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """Kubernetes Events within one pixel: the first of them, and how many."""

    at: int
    seq: int
    events: int


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the chosen pod's life: an attempt, its binding, its start.

    `first` and `last` are seqs: its events are those of the pod between them. `decided` is the kind of the
    event that ended an attempt, `node` where it led, `victims` whom it evicted, `blocker` what refused it.
    """

    name: Literal["queue", "attempt", "bind", "start", "after"]
    number: int | None
    start: int
    end: int | None
    first: int
    last: int | None
    decided: str = ""
    decided_seq: int | None = None
    message: str = ""
    node: str = ""
    victims: tuple[str, ...] = ()
    blocker: Any = None


@dataclass(frozen=True, slots=True)
class Told:
    """An event of a stage that is open."""

    seq: int
    at: int
    kind: str
    object: str
    component: str
    message: str
    kubernetes: bool
    by: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: `key` is what it is about, `kind` how it looks.

    `count` is how many rows or events are in it: of so many (`of`) after a search; of attempts `of`
    is how many failed. `since` is when it first was. `waited` and `sums` are nanoseconds up to the
    event asked for. A group or component has an `area`, a row of one object `bars`, and
    `nominated` while a pod was nominated to a node.
    """

    key: str
    kind: RowKind
    name: str
    count: int = 0
    of: int = 0
    is_open: bool = False
    in_path: bool = False
    chosen: bool = False
    since: int = 0
    state: str = ""
    waited: int = 0
    sums: dict[str, int] = field(default_factory=dict[str, int])
    bars: tuple[Bar, ...] = ()
    nominated: tuple[Bar, ...] = ()
    marks: tuple[Mark, ...] = ()
    area: Area | None = None
    stage: Stage | None = None
    event: Told | None = None


@dataclass(frozen=True, slots=True)
class Arrow:
    """What led to what along the path of the chosen pod, from one row to another."""

    word: Literal["evicts", "room", "binds", "bound", "attached", "mounted", ""]
    from_row: str
    from_at: int
    to_row: str
    to_at: int


@dataclass(frozen=True, slots=True)
class Waited:
    """How long a pod has waited."""

    pod: str
    waited: int


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts for 160 equal parts of the whole run."""

    waiting: tuple[int, ...]
    running: tuple[int, ...]
    leaving: tuple[int, ...]
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """The rows `first` … of `total`, drawn for a window of time of `width` pixels.

    `seq`, at `at`, is the event up to which sums are taken; what begins later is ahead of it. `read`,
    at `read_at`, is how far the run was read: a long one takes several answers, until it is `head`.
    """

    seq: int
    at: int
    read: int
    read_at: int
    head: int
    head_at: int
    start: int
    end: int
    width: int
    total: int
    first: int
    rows: tuple[Row, ...]
    arrows: tuple[Arrow, ...]
    overview: Overview
    longest: tuple[Waited, ...]
