"""Why an object is as it is, and what would help: docs/why-pending.md."""

from typing import Any, Literal, NotRequired, TypedDict

from kscope.runs.web.shapes.open import CommandBody
from scheduling.shapes.triage import Group, NodeCheck


class Fact(TypedDict):
    """A field of an object, and what follows from it."""

    object: str
    """the entity id: volume/data-1"""
    field: str
    """a path in its manifest: spec.taints[0]"""
    value: Any
    """what stands there"""
    compared_with: Any
    text: str


class Cause(TypedDict):
    """One thing that stands in the way."""

    severity: Literal["blocks", "narrows", "delays", "notes"]
    sentence: str
    plugin: str
    reasons: list[str]
    """upstream's, verbatim"""
    nodes: list[str]
    where: str
    """the nodes for people: n1–n4, n7"""
    only: list[str]
    """nodes that nothing else keeps the pod off"""
    check: NodeCheck | None
    """the closest miss"""
    why: str
    """how it came about"""
    because: list[Fact]


class Outlook(TypedDict):
    """What becomes of the pod when nothing is changed."""

    node: str
    at: int | None
    """virtual nanoseconds"""
    sentence: str


class Fix(TypedDict):
    """A change after which the object goes on: one tried for it alone, or one for all of its group."""

    kind: str
    """label, toleration, requests, volume, node, pair, …"""
    text: str
    note: str
    shown: Literal["fork", "decision"]
    """carried out in a fork, or only decided again"""
    command: NotRequired[CommandBody]
    """to be posted to runs/<id>/commands/ of a fork"""
    then: NotRequired[CommandBody | None]
    """to be posted after it, where only two changes together do"""
    more: NotRequired[list[CommandBody]]
    """further commands of the change, in order"""
    node: NotRequired[str]
    """where the pod went when this was tried"""
    at: NotRequired[int | None]
    """when it was bound there, virtual nanoseconds"""
    places: NotRequired[int | None]
    """for a group: how many of its pods it places"""
    of: NotRequired[int | None]
    loses: NotRequired[str]
    """for a group: what is lost by it"""
    shared: NotRequired[str]
    """for a group: whom else it concerns"""
    commands: NotRequired[list[CommandBody]]
    """for a group: what carries it out, in order"""


class ReplacedBy(TypedDict):
    """What took the place of a fact when the run was played."""

    t: int
    """virtual nanoseconds"""
    seq: int
    text: str


class ObservedFact(TypedDict):
    """What the files say of an object."""

    text: str
    at: str
    """when it was seen, RFC 3339; or empty"""
    source: str
    """a field of the manifest, or Event of COMPONENT"""
    superseded_by: ReplacedBy | None


class Diagnosis(TypedDict):
    """Why an object is as it is, and what would change that."""

    run: int
    seq: int
    pod: str
    """NAMESPACE/NAME of a pod"""
    object: str
    """the entity id: claim/shop/data"""
    profile: str
    at: int
    """virtual nanoseconds"""
    state: str
    """where the pod stands: active, gated, placed, …"""
    sentence: str
    outcome: str
    """what is reached: it is bound to data-1; empty if it is not"""
    causes: list[Cause]
    check: NodeCheck | None
    outlook: Outlook | None
    fixes: list[Fix]
    """from the smallest change on"""
    tried: dict[str, int]
    """changes tried, by kind"""
    conclusion: str
    instant: NotRequired[str]
    """of a cluster that was brought: of its files, RFC 3339"""
    observed: NotRequired[list[str]]
    """what the files say of it"""
    observed_facts: NotRequired[list[ObservedFact]]
    predicted: NotRequired[str]
    """what a healthy model would do with it"""
    is_played: NotRequired[bool]
    """predicted is what a fork does in the next minute; false: the cluster is too large, and it is what
    the schedulers decide at the instant"""
    contradicts: NotRequired[bool]
    """it would go on, although it is stuck in the files"""
    contradiction: NotRequired[str]
    groups: NotRequired[list[Group]]
    """the causes that hold it, with the changes for all that they hold"""
    assumed: NotRequired[list[str]]
    """a sentence for each placeholder that the answer rests on"""
