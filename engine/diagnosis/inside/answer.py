"""The answer about the inside of what looks after volumes: docs/inside.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.controllers.persistent_volumes.trace_steps.branches import Kind
from engine.diagnosis.inside.caches import Known
from engine.kubelet.volume_manager.trace_steps.rounds import OperationAsked, PodSeen

Part = Literal["pv", "scheduler", "provisioner", "attach", "kubelet"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A function of upstream that was running: its file and its name."""

    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a function drawn as a tree; one with a greater *depth* belongs to it."""

    id: str
    depth: int
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A function of the PV controller as a tree, in the run's version."""

    function: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Taken:
    """The way that a sync took through a tree: the ids of its lines, and what was read at which."""

    function: str
    way: tuple[str, ...]
    read: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Write:
    """A write of an object, by the kind of its event; with an *error* it was refused."""

    entity: str
    kind: str
    version: str
    error: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A value in a component's memory before the step and after it."""

    whose: str
    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Ended:
    """An operation of a kubelet, or of the attach/detach controller, that ended.

    After an *error*, the one so many in a row, nothing is tried for *delay* ns.
    """

    operation: str
    volume: str
    pod: str
    error: str
    failures: int
    delay: int
    retry_at: int | None


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick of a kubelet did, and the two states of the world before it and after it.

    *volumes* and *before* are as on the node's page, by unique name; without the *equal* ones, which
    are as they should be and did not change. The rest are sizes.
    """

    pods: tuple[PodSeen, ...]
    asked: tuple[OperationAsked, ...]
    ended: tuple[Ended, ...]
    volumes: Mapping[str, Any]
    before: Mapping[str, Any]
    equal: int
    desired: int
    mounted: int
    processed: int
    has_added_pods: bool
    in_use: int


@dataclass(frozen=True, slots=True)
class Step:
    """A sync, a call or a tick that did something.

    *id* stays the same as the run goes on. *seq* is the newest event when it ended. *outcome* is the
    line where a sync ended, or a word. It happened *repeated* times more, until *last_at*, with the
    same outcome.
    """

    id: str
    at: int
    seq: int
    part: Part
    entity: str
    function: str
    outcome: str
    says: Mapping[str, Any]
    stack: tuple[Frame, ...]
    taken: tuple[Taken, ...]
    writes: tuple[Write, ...]
    error: str
    queued_again: bool
    repeated: int
    last_at: int
    known: tuple[Known, ...]
    memory: tuple[Changed, ...]
    tick: Tick | None


@dataclass(frozen=True, slots=True)
class Try:
    """One try of a kubelet's operation on a volume, and what follows from it."""

    node: str
    volume: str
    began: int
    ended: int
    operation: str
    error: str
    failures: int
    delay: int
    retry_at: int | None


@dataclass(frozen=True, slots=True)
class VolumesInside:
    """What was asked for, whom that concerned, and the steps in order; the oldest may be left out."""

    version: str
    entity: str
    claims: tuple[str, ...]
    volumes: tuple[str, ...]
    pods: tuple[str, ...]
    trees: tuple[Tree, ...]
    steps: tuple[Step, ...]
    tries: tuple[Try, ...]
    left_out: int
