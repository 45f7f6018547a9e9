"""What is stuck in a cluster that was brought: docs/why-pending.md."""

from typing import Literal, NotRequired, TypedDict

from kscope.runs.web.shapes.open import CommandBody
from kscope.runs.web.shapes.scenarios import IntakeReport

Kind = Literal["pending", "placed-but-stuck", "claim", "workload-refused", "node", "terminating"]


class NodeCheck(TypedDict):
    """One check on one node with its margin."""

    plugin: str
    node: str
    text: str
    unit: str
    requested: int | None
    """milli-CPU, bytes or counts of `unit`"""
    free: int | None
    allocatable: int | None
    short: int | None


class GroupChange(TypedDict):
    """A change for all of a group."""

    text: str
    kind: str
    places: int | None
    """how many of the group's pods it places; null where no scheduler can show it"""
    of: int | None
    loses: str
    """what is lost by it; empty for nothing"""
    shared: str
    """whom else it concerns; empty for nobody"""
    note: str
    commands: list[CommandBody]
    """in order, for runs/<id>/commands/ of a fork; none where no command can"""


class WorkloadCount(TypedDict):
    """How many pods of a workload wait."""

    workload: str
    waiting: int
    running: int
    of: int


class NodesByReason(TypedDict):
    """Nodes that one reason keeps a pod off."""

    reason: str
    nodes: list[str]
    count: int
    is_closest: bool
    detail: str
    check: NodeCheck | None
    pod: str


class WhatBecame(TypedDict):
    """What has become of objects since the run was played."""

    of: int
    go_on: int
    gone: int


class Superseded(TypedDict):
    """What has become of the objects of a group since the run was played."""

    at: int
    """virtual nanoseconds"""
    text: str
    pods: NotRequired[WhatBecame]
    claims: NotRequired[WhatBecame]
    nodes: NotRequired[WhatBecame]


class Group(TypedDict):
    """Objects that one cause holds."""

    kind: Kind
    cause: str
    by: str
    """the object that causes it"""
    observed: str
    predicted: str
    contradicts: bool
    """a healthy model would let them go on"""
    since: str
    """RFC 3339; or empty"""
    pods: list[str]
    pods_missing: int
    """pods that were refused before they existed"""
    claims: list[str]
    nodes: list[str]
    workloads: list[str]
    namespaces: list[str]
    objects: list[str]
    facts: list[str]
    """entity ids of what the cause rests on"""
    changes: list[GroupChange]
    because: list[str]
    conclusion: str
    short: str
    workload_counts: list[WorkloadCount]
    nodes_by_reason: list[NodesByReason]
    assumed: list[str]
    """a sentence for each placeholder that the cause rests on"""
    superseded: NotRequired[Superseded]


class TriedTogether(TypedDict):
    """The best change of a group, as it was tried together with those of others."""

    group: int
    """its place, from 0"""
    text: str
    places: int


class Together(TypedDict):
    """The best changes of several groups in one trial."""

    changes: list[TriedTogether]
    places: int
    of: int
    note: str


class SharedCause(TypedDict):
    """An object that several groups rest on."""

    object: str
    groups: list[int]
    """their places, from 0"""
    sentence: str


class Happening(TypedDict):
    """Something that changed about when pods began to wait."""

    at: str
    """RFC 3339"""
    text: str


class Finding(TypedDict):
    """What was looked at, and what was found."""

    what: str
    found: str


class Triage(TypedDict):
    """What is stuck, by cause."""

    instant: str
    """of the files, RFC 3339; or empty"""
    profile: str
    headline: str
    groups: list[Group]
    """the largest first"""
    looked_at: dict[str, int]
    """how many objects, by kind"""
    notes: list[str]
    shared_causes: list[SharedCause]
    together: Together | None
    happened: list[Happening]
    looked_for: list[Finding]
    not_counted: list[Finding]
    questions: list[str]
    """what the files leave open"""
    assumed: list[str]
    is_whole: bool
    """whether changes were tried"""


class KindRead(TypedDict):
    """The objects of one kind, and their state as it is printed."""

    kind: str
    number: int
    state: str


class VersionFollowed(TypedDict):
    """The version of Kubernetes that is followed."""

    profile: str
    proposed: str
    because: str


class Assumption(TypedDict):
    """What is taken for granted, as the files do not say it."""

    what: str
    text: str
    source: str
    act: Literal["files", ""]
    """how it can be replaced"""


class CauseInShort(TypedDict):
    """A cause in short."""

    kind: Kind
    cause: str
    by: str
    holds: str
    pods: int
    since: str
    contradicts: bool
    held: list[str]
    """entity ids"""


class DrawnNode(TypedDict):
    """A node and its pods by state."""

    name: str
    state: Literal["ready", "not ready", "unknown", ""]
    note: str
    memory: int | None
    """percent of what is allocatable that is requested"""
    runs: int
    placed: int
    terminating: int


class DrawnZone(TypedDict):
    """The nodes of a zone."""

    zone: str
    nodes: list[DrawnNode]


class Picture(TypedDict):
    """The cluster as it stands."""

    zones: list[DrawnZone]
    waiting: int
    """pods that wait for a node"""


class Comparison(TypedDict):
    """How far the model agrees with the files on one subject."""

    subject: str
    same: int
    of: int
    """compared"""
    all: int
    """that exist"""


class FirstLook(TypedDict):
    """The cluster as its files say it stands."""

    run: int
    instant: str
    read: list[KindRead]
    version: VersionFollowed
    assumed: list[Assumption]
    headline: str
    causes: list[CauseInShort]
    picture: Picture
    trust: list[Comparison]
    report: IntakeReport | None
