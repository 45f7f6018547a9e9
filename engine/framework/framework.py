"""The scheduling framework's vocabulary: codes, statuses, cycle state and extension points.

Plugins answer for many nodes at once. Nodes are rows of the `NodeTable`; `rows` below is always an
array of row numbers. At Filter a plugin returns one small int per row: 0 means "fits", any other
number is the plugin's own code. `explain` turns a code into a `Status`, and `detail` into the
numbers behind it. At Score a plugin returns one int64 per row. `simple.py` has a shorter way to
write a plugin, for one node at a time.

Upstream: pkg/scheduler/framework/interface.go.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, cast, runtime_checkable

import numpy as np

from engine.framework.asked_once import AskedOnce
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import Sentence

if TYPE_CHECKING:
    from engine.framework.nodes.nominated import Reserved
    from engine.framework.pods.pod_info import PodInfo
    from engine.framework.pods.pod_template import PodTemplate, SpreadConstraint
    from engine.objects.objects import Pod

MAX_NODE_SCORE = 100
FITS = 0


class Code(enum.Enum):
    """What a plugin's answer means for the scheduling cycle."""

    SUCCESS = "Success"
    ERROR = "Error"
    UNSCHEDULABLE = "Unschedulable"
    # No eviction of pods can help.
    UNRESOLVABLE = "UnschedulableAndUnresolvable"
    WAIT = "Wait"
    SKIP = "Skip"
    PENDING = "Pending"

    @property
    def is_rejection(self) -> bool:
        """Whether the plugin refuses the pod; an error, in contrast, fails the attempt."""
        return self in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)


@dataclass(frozen=True, slots=True)
class Status:
    """A plugin's answer: a code, its reasons verbatim, and the plugin that gave it."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the code is SUCCESS."""
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        """All reasons in one line."""
        return ", ".join(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """The status as evidence stores it."""
        return {"plugin": self.plugin, "code": self.code.value, "reasons": list(self.reasons)}


SUCCESS = Status()
SKIP = Status(Code.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreFilterResult:
    """The answer of PreFilter: a status, and the only nodes to look at (None: all)."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


PRE_FILTER_OK = PreFilterResult()
PRE_FILTER_SKIP = PreFilterResult(status=SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The evidence behind one node's refusal.

    `text` is a short sentence ("cpu 250m short"), `short` how much is missing in `unit`,
    `numbers` all other figures that pages show.
    """

    text: Sentence
    short: int | None = None
    unit: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class CycleState:
    """The pod of one scheduling cycle, and what the plugins have prepared for it.

    `data` has one value per plugin, written at PreFilter or PreScore.
    """

    pod: PodInfo
    template: PodTemplate
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    skip_filter: set[str] = field(default_factory=set[str])
    skip_score: set[str] = field(default_factory=set[str])


# The key in `CycleState.data` of the answers at each extension point.
RECORD: Final = "extension points"

Record = dict[str, list[dict[str, Any]]]


def record_of(state: CycleState) -> Record:
    """The answers of the plugins at each extension point in this cycle, for the evidence."""
    return cast("Record", state.data.setdefault(RECORD, {}))


# Upstream: framework.PodsToActivateKey.
PODS_TO_ACTIVATE: Final = "kubernetes.io/pods-to-activate"


def pods_to_activate(state: CycleState) -> dict[str, Pod]:
    """Pods, by key, to be scheduled next; a plugin adds to them.

    They move to activeQ when the scheduling cycle succeeds; those added later, when the binding
    cycle succeeds. Upstream: framework.PodsToActivate.
    """
    return cast("dict[str, Pod]", state.data.setdefault(PODS_TO_ACTIVATE, {}))


def fork_state(state: CycleState, extensions: Iterable[PreFilterExtensions]) -> CycleState:
    """A copy of *state* with separate copies of the data of *extensions*. Upstream: Clone()."""
    data = dict(state.data)
    for plugin in extensions:
        if plugin.name in data:
            data[plugin.name] = plugin.clone_state(data[plugin.name])
    return CycleState(state.pod, state.template, data, state.skip_filter, state.skip_score)


class Plugin:
    """Base of all plugins; a subclass implements the extension points it takes part in.

    `is_local` promises that filter and score depend on nothing but the pod's template and the row.
    Results are then kept per template, and recomputed for changed rows only. `is_static` promises
    in addition that they do not depend on the pods on the node.
    """

    name: ClassVar[str] = ""
    is_local: ClassVar[bool] = False
    is_static: ClassVar[bool] = False
    # How its normalize computes, in terms of raw, lowest and highest; "" without one.
    formula: ClassVar[str] = ""
    # Its normalize depends only on the lowest and the highest of the scores.
    normalizes_by_range: ClassVar[bool] = False
    # Takes part only for pods that have volumes.
    needs_volumes: ClassVar[bool] = False
    # Does not score the nodes of a pod that it does not concern; else all of them get nothing.
    skips_score: ClassVar[bool] = True
    # Some code of its filter means an error, which ends the attempt even if other nodes fit. Every
    # node is then examined in every cycle.
    may_fail: ClassVar[bool] = False
    # False where its arguments keep it from signing any pod; see `SignPlugin`.
    may_sign: bool = True


@runtime_checkable
class PreFilterPlugin(Protocol, metaclass=AskedOnce):
    """Examines the pod before any node."""

    name: ClassVar[str]

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Prepare this cycle; SKIP leaves the plugin's filter out.

        UNRESOLVABLE ends the cycle. UNSCHEDULABLE ends it after all other plugins have run, and
        lets preemption look at every node (v1.34). Anything else but SUCCESS fails the attempt.
        """
        ...


@runtime_checkable
class PreFilterExtensions(Protocol, metaclass=AskedOnce):
    """Updates a cycle's state while pods are put on a node, or taken off, on trial."""

    name: ClassVar[str]

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """*other* was added to (`delta` 1) or removed from (-1) the node at *row*."""
        ...

    def clone_state(self, data: object) -> object:
        """A copy of what the plugin keeps under its name, to be changed on its own."""
        ...


@runtime_checkable
class FilterPlugin(Protocol, metaclass=AskedOnce):
    """Refuses nodes that cannot take the pod."""

    name: ClassVar[str]
    is_local: ClassVar[bool]

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """A code per row; FITS where the node can take the pod."""
        ...

    def explain(self, state: CycleState, code: int) -> Status:
        """The status that *code* means."""
        ...

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The numbers behind *code* at *row*."""
        ...


@runtime_checkable
class CodesRow(Protocol, metaclass=AskedOnce):
    """A filter that can give the code of a single row in plain ints."""

    def code_at(self, state: CycleState, row: int) -> int:
        """The code that `filter` gives *row*."""
        ...


@runtime_checkable
class RoomFilter(Protocol, metaclass=AskedOnce):
    """The filter by which other pods matter through what they request on their node, and no more."""

    name: ClassVar[str]

    def wanted(self, state: CycleState) -> Sequence[tuple[int, int]]:
        """(column, amount) of each request, the same for every pod of a template."""
        ...

    def code_beside(self, state: CycleState, row: int, reserved: Reserved) -> int:
        """The code of the filter for *row*, while what is *reserved* there is taken."""
        ...


@runtime_checkable
class SpreadsByDefault(Protocol, metaclass=AskedOnce):
    """A filter by whose defaults a pod may find a place by that of another."""

    name: ClassVar[str]

    def hard_by_default(self, pod: PodInfo) -> Sequence[SpreadConstraint]:
        """The hard constraints of a pod that has none of its own."""
        ...


def code_at(plugin: FilterPlugin, state: CycleState, row: int) -> int:
    """The code that *plugin* gives *row*."""
    if isinstance(plugin, CodesRow):
        return plugin.code_at(state, row)
    return int(plugin.filter(state, np.array([row], np.int64))[0])


@runtime_checkable
class PreScorePlugin(Protocol, metaclass=AskedOnce):
    """Examines the feasible nodes before they are scored."""

    name: ClassVar[str]

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Prepare scoring; SKIP leaves the plugin's score out, anything else fails the attempt."""
        ...


@runtime_checkable
class ScorePlugin(Protocol, metaclass=AskedOnce):
    """Ranks the feasible nodes."""

    name: ClassVar[str]
    is_local: ClassVar[bool]

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """A raw score per row."""
        ...


@runtime_checkable
class NormalizeScorePlugin(Protocol, metaclass=AskedOnce):
    """Brings raw scores into 0..MAX_NODE_SCORE."""

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The normalised scores of *rows*, whose raw scores are *scores*."""
        ...


@runtime_checkable
class PreEnqueuePlugin(Protocol, metaclass=AskedOnce):
    """Decides whether a pod may enter the active queue."""

    name: ClassVar[str]

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """SUCCESS, or why the pod must stay out of the active queue."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFilterResult:
    """The answer of a PostFilter plugin. With a node, the pod is nominated to it.

    The *victims* on that node are evicted. Upstream: framework.PostFilterResult.
    """

    status: Status
    node: str = ""
    victims: tuple[PodInfo, ...] = ()


@runtime_checkable
class PostFilterPlugin(Protocol, metaclass=AskedOnce):
    """Tries to make room for a pod that fits nowhere."""

    name: ClassVar[str]

    def post_filter(self, state: CycleState, statuses: Mapping[str, Status]) -> PostFilterResult:
        """SUCCESS and UNRESOLVABLE end the round; *statuses* are those of the refused nodes."""
        ...


@runtime_checkable
class ReservePlugin(Protocol, metaclass=AskedOnce):
    """Reserves what a placement uses besides the node, and releases it."""

    name: ClassVar[str]

    def reserve(self, state: CycleState, node: str) -> Status:
        """Reserve what the pod needs on *node*."""
        ...

    def unreserve(self, state: CycleState, node: str) -> None:
        """Undo reserve; must work when reserve was never called."""
        ...


@runtime_checkable
class PermitPlugin(Protocol, metaclass=AskedOnce):
    """Lets the pod go on to its node, refuses it, or delays it."""

    name: ClassVar[str]

    def permit(self, state: CycleState, node: str) -> tuple[Status, int]:
        """SUCCESS, a refusal, or WAIT with the longest time to wait in ns (at most 15 minutes)."""
        ...


@runtime_checkable
class PreBindPlugin(Protocol, metaclass=AskedOnce):
    """Does work that must be complete before the pod is bound."""

    name: ClassVar[str]

    def pre_bind(self, state: CycleState, node: str) -> Status:
        """Anything but SUCCESS sends the pod back to the queue."""
        ...


@runtime_checkable
class BindPlugin(Protocol, metaclass=AskedOnce):
    """Binds the pod."""

    name: ClassVar[str]

    def bind(self, state: CycleState, node: str) -> Status:
        """SUCCESS binds the pod: its node is then written. SKIP leaves it to the next plugin."""
        ...


@runtime_checkable
class PostBindPlugin(Protocol, metaclass=AskedOnce):
    """Is called after a pod was bound."""

    name: ClassVar[str]

    def post_bind(self, state: CycleState, node: str) -> None:
        """The pod is bound to *node*."""
        ...


@dataclass(slots=True)
class PodVolumes:
    """What a pod's claims need on one node: claim → volume to bind, or → node to provision on."""

    bind: dict[str, str] = field(default_factory=dict[str, str])
    provision: dict[str, str] = field(default_factory=dict[str, str])


@runtime_checkable
class VolumePlanner(Protocol, metaclass=AskedOnce):
    """Plans which claims to bind and to provision when the pod goes to a node."""

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """The plan for the node at *row*, which the filter accepted."""
        ...


def default_normalize(scores: IntArray, highest: int, *, reverse: bool) -> IntArray:
    """Scale so that the largest raw score becomes *highest*; *reverse* inverts the order.

    Upstream: plugins/helper/normalize_score.go DefaultNormalizeScore().
    """
    peak = int(scores.max()) if len(scores) else 0
    if peak <= 0:
        return np.full_like(scores, highest) if reverse else scores
    scaled = scores * highest // peak
    return highest - scaled if reverse else scaled
