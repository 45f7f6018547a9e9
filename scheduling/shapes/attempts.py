"""Scheduling attempts and their evidence: docs/evidence.md."""

from typing import Any, Literal, NotRequired, TypedDict

from kscope.runs.web.shapes.open import Detail


class ListedAttempt(TypedDict):
    """A scheduling attempt, without its evidence."""

    id: int
    pod: str
    """NAMESPACE/NAME"""
    number: int
    """which attempt of the pod, from 1"""
    seq: int
    """of the event that recorded it"""
    at: int
    """virtual nanoseconds"""
    cycle: int
    """number of its scheduling cycle"""
    result: str
    node: str


class FilterRefusal(TypedDict):
    """Why a filter refuses a node."""

    plugin: str
    code: NotRequired[str]
    reasons: list[str]
    """upstream's, verbatim"""
    text: NotRequired[str]
    """cpu 250m short"""
    detail: NotRequired[Detail]
    """the numbers"""
    short: NotRequired[int]
    """how much is missing of `unit`"""
    unit: NotRequired[str]


class Verdict(FilterRefusal):
    """The first filter that refuses a node, and the others that would."""

    failing: NotRequired[list[str]]
    """every filter that would refuse the node, in order"""
    also: NotRequired[dict[str, FilterRefusal]]
    """each of the others, by its name"""


class Prefiltered(TypedDict):
    """A plugin that rejected the pod before any node was looked at."""

    plugin: str
    code: NotRequired[str]
    reasons: list[str]


class Sampling(TypedDict):
    """How many nodes are looked at."""

    wanted: int
    """the search stops after so many feasible nodes"""
    start: int
    """where the next one begins"""


class NodeScore(TypedDict):
    """What a node got."""

    total: int
    plugins: dict[str, list[int]]
    """by plugin: raw, normalised, weighted"""


class PluginAnswer(TypedDict):
    """What a plugin that is not in-tree answered at an extension point."""

    plugin: str
    code: str
    reasons: list[str]
    timeout: NotRequired[int | None]
    """of Permit, in ns"""


class ComparedNode(TypedDict):
    """A node on which pods would be evicted."""

    victims: list[str]
    reprieved: list[str]
    pdb_violations: int
    costs: dict[str, int | None]
    """by rung; the last one is a start time in ns, null for a pod that has not started"""


class Rung(TypedDict):
    """A step of the comparison."""

    rung: str
    left: list[str]
    """the nodes that are left after it"""


class PreemptionEvidence(TypedDict):
    """How preemption chose."""

    node: str | None
    victims: list[str]
    message: str
    candidates: dict[str, ComparedNode]
    """by node"""
    rungs: list[Rung]
    hopeless: dict[str, list[str]]
    """by node: why evictions do not help"""


class VolumeRound(TypedDict):
    """The volumes that are bound before the pod (v1.11)."""

    node: str
    bind: dict[str, str]
    """claim to volume"""
    provision: dict[str, str]
    """claim to node"""


class Evidence(TypedDict):
    """The record of one attempt: docs/evidence.md."""

    pod: str
    number: int
    cycle: int
    result: str
    node: str | None
    message: str
    """upstream's, verbatim"""
    filters: list[str]
    """the profile's, in their order"""
    nodes: list[str]
    evaluated: int
    """how many nodes were looked at"""
    feasible: int
    """how many fitted"""
    verdicts: dict[str, Verdict]
    """by node; one that is absent fits"""
    not_evaluated: list[str]
    skipped: list[str]
    """plugins that skip this pod"""
    prefilter: NotRequired[Prefiltered]
    sampling: NotRequired[Sampling]
    node_hint: NotRequired[str]
    """the node that OpportunisticBatching had tried first"""
    scores: dict[str, NodeScore]
    """by node"""
    weights: NotRequired[dict[str, int]]
    """by plugin"""
    not_scored: NotRequired[list[str]]
    tied: list[str]
    tie_break: NotRequired[str]
    """how one of the tied nodes was chosen: name, turn or random"""
    extension_points: NotRequired[dict[str, list[PluginAnswer]]]
    volume_binding: NotRequired[VolumeRound]
    preemption: PreemptionEvidence | None


class ShadowDecisionAnswer(TypedDict):
    """What a client decided, and what the simulation would have."""

    seq: int
    at: int
    """virtual nanoseconds"""
    pod: str
    """NAMESPACE/NAME"""
    sentence: str
    verdict: Literal["agrees", "tied", "differs", "stale"]
    node: str | None
    """that the client chose; null where it said that the pod fits nowhere"""
    chosen: str
    """by the simulation; empty for none"""
    best: list[str]
    """the first ten nodes with the best score"""
    tied: int
    """how many have the best score"""
    feasible: int
    score: int | None
    score_of_node: int | None
    message: str | None
    """the client's"""
    expected_message: str | None
    """the simulation's"""
    instead_of: int | None
    """seq of an earlier verdict on the same decision"""
    sampled: NotRequired[int]
    """how many nodes in a row the client seems to have tried"""


class WrittenField(TypedDict):
    """A field in which a client wrote something else than the simulation would have."""

    field: str
    written: NotRequired[Any]
    """by the client; null where the field is not there. Absent where it may be secret"""
    expected: NotRequired[Any]
    """by the simulation"""


class ShadowWriteAnswer(TypedDict):
    """What a client wrote in the place of a controller, and what the simulation would have."""

    seq: int
    at: int
    """virtual nanoseconds"""
    object: str
    """that was written: KIND/NAMESPACE/NAME"""
    sentence: str
    verdict: Literal["agrees", "differs", "stale"]
    controller: str
    """a name of external_controllers"""
    of: str
    """NAMESPACE/NAME of what the controller was at"""
    verb: Literal["create", "update", "delete"]
    fields: list[WrittenField]
    """the first ten in which it differs"""
    expected: list[str]
    """the first ten writes of the simulation, where it would not have written this object"""
    unseen: str | None
    """the change that a client may not have seen yet, for a stale write"""
    unseen_ms: int | None
    """how long before the write that was, in virtual milliseconds"""


class Checks(TypedDict):
    """Whether the parts of a run agree with each other."""

    run: int
    seq: int
    checks: list[str]
    findings: list[str]
    """sentences; none when all is well"""
