"""What a run recorded, as REST gives it."""

from typing import Literal, NotRequired, TypedDict

from kscope.runs.web.shapes.open import Attributes, Changes, CommandBody, EventData, Manifest


class Event(TypedDict):
    """One event of a run: docs/events.md."""

    seq: int
    at: int
    """virtual nanoseconds"""
    kind: str
    object: str
    """the entity id: pod/shop/web-3"""
    component: str
    cause: int | None
    """seq of the event that led to it"""
    message: str
    data: EventData | None
    changes: Changes | None
    by: NotRequired[str]
    """of an eviction: the pod for whose sake it was"""


class StateAt(TypedDict):
    """The view state after an event."""

    seq: int
    at: int
    """virtual nanoseconds"""
    state: dict[str, Attributes]
    """by entity id"""
    events: list[Event]
    """the newest up to there, oldest first"""


class StateChange(TypedDict):
    """What leads from the view state after one event to that after another, on or back."""

    origin: int
    """the event that was given as `from`"""
    seq: int
    at: int
    """virtual nanoseconds"""
    changes: Changes
    """one merge patch (RFC 7386) on the view state; null removes an entity"""
    events: list[Event]
    """the newest up to seq, oldest first"""


class Mark(TypedDict):
    """An event that is worth a mark in a drawing."""

    at: int
    kind: str
    seq: int


class Counters(TypedDict):
    """What the board's small charts draw: docs/streaming.md."""

    seq: int
    since: int
    """virtual nanoseconds; nothing before is counted"""
    samples: list[list[int]]
    """each [at, bound, active, backoff, unschedulable]"""


class ListedObject(TypedDict):
    """An object at an instant."""

    id: str
    """the entity id: pod/shop/web-3"""
    seq: int
    """the event that wrote it last"""
    manifest: Manifest


class Difference(TypedDict):
    """An object that is otherwise after the later of two events."""

    id: str
    change: Literal["created", "deleted", "modified"]
    before: Attributes | None
    after: Attributes | None
    patch: Attributes | None
    """a merge patch (RFC 7386) that leads from before to after; null where it was created or deleted"""


class CommandAnswer(TypedDict):
    """A command that somebody sent to a run, and what came of it."""

    id: int
    verb: str
    object: str
    status: Literal["pending", "applied", "rejected"]
    seq: int | None
    """of the event that says what came of it"""
    at: int | None
    """virtual nanoseconds"""
    position: int | None
    """the step of the engine after which it was carried out"""
    reason: str
    """why it was rejected"""
    body: CommandBody


class Remark(TypedDict):
    """What is wrong with a text, or worth knowing of it."""

    message: str
    line: int
    """from 1; 0: of the whole text"""
    field: str
    """a path: spec.nodeName"""


class Asked(TypedDict):
    """What a text asks for; no command where there is a problem."""

    commands: list[CommandBody]
    problems: list[Remark]
    notes: list[Remark]


class FaultField(TypedDict):
    """A field of a fault."""

    name: str
    names: str
    """what its value names: node, driver, …"""
    type: Literal["integer", "number", "text"]
    choices: list[str]
    open: bool
    """whether other values than the choices may be given"""
    required: bool


class FaultForm(TypedDict):
    """A kind of fault that a run can be given."""

    kind: str
    does: str
    fixed: dict[str, str]
    """fields that are as they are"""
    fields: list[FaultField]
