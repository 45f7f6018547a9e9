"""The scheduling framework's vocabulary: codes, statuses, cycle state and extension points.

Plugins are columnar. At the Filter point a plugin answers for many nodes at once with a small
int per node: 0 means "fits", anything else is the plugin's own code, which `explain` decodes into
a `Status` and `detail` into the numbers behind it. At the Score point it answers with an int64
per node. Nodes are rows of the `NodeTable`; `rows` below is always an array of row numbers.

Upstream: pkg/scheduler/framework/interface.go.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, cast, runtime_checkable

import numpy as np

from scheduling.engine.nodes.arrays import IntArray

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Pod
    from scheduling.engine.pods.pod_info import PodInfo
    from scheduling.engine.pods.pod_template import PodTemplate

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
        """Whether the pod is refused, rather than the attempt having failed."""
        return self in (Code.UNSCHEDULABLE, Code.UNRESOLVABLE, Code.PENDING)


@dataclass(frozen=True, slots=True)
class Status:
    """A plugin's answer: a code, its reasons verbatim, and the plugin that gave it."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @property
    def is_success(self) -> bool:
        """Whether the plugin agrees."""
        return self.code is Code.SUCCESS

    @property
    def message(self) -> str:
        """All reasons in one line."""
        return ", ".join(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """As evidence."""
        return {"plugin": self.plugin, "code": self.code.value, "reasons": list(self.reasons)}


SUCCESS = Status()
SKIP = Status(Code.SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreFilterResult:
    """What PreFilter found: a status, and the only nodes worth looking at (None: all)."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None


PRE_FILTER_OK = PreFilterResult()
PRE_FILTER_SKIP = PreFilterResult(status=SKIP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """The evidence behind one node's refusal.

    `text` is a short human sentence ("cpu 250m short"), `short` how much is missing in `unit`,
    `numbers` everything else worth showing.
    """

    text: str
    short: int | None = None
    unit: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class CycleState:
    """What the plugins know about the pod of the current cycle.

    `data` holds one value per plugin, written at PreFilter or PreScore and, like everything else
    here, gone when the cycle ends.
    """

    pod: PodInfo
    template: PodTemplate
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    skip_filter: set[str] = field(default_factory=set[str])
    skip_score: set[str] = field(default_factory=set[str])


# Under this name a cycle's state keeps what each extension point's plugins said.
RECORD: Final = "extension points"

Record = dict[str, list[dict[str, Any]]]


def record_of(state: CycleState) -> Record:
    """What the plugins of each extension point said in this cycle, for the evidence."""
    return cast("Record", state.data.setdefault(RECORD, {}))


# Upstream: framework.PodsToActivateKey.
PODS_TO_ACTIVATE: Final = "kubernetes.io/pods-to-activate"


def pods_to_activate(state: CycleState) -> dict[str, Pod]:
    """Pods, by key, that a plugin wants tried once this one has a place; to be added to.

    They are moved to activeQ when the scheduling cycle has gone well, and those that were added
    since when the binding cycle has. Upstream: framework.PodsToActivate.
    """
    return cast("dict[str, Pod]", state.data.setdefault(PODS_TO_ACTIVATE, {}))


def fork_state(state: CycleState, extensions: Iterable[PreFilterExtensions]) -> CycleState:
    """*state* again, with separate copies of what *extensions* change. Upstream: Clone()."""
    data = dict(state.data)
    for plugin in extensions:
        if plugin.name in data:
            data[plugin.name] = plugin.clone_state(data[plugin.name])
    return CycleState(state.pod, state.template, data, state.skip_filter, state.skip_score)


class Plugin:
    """Base of all plugins; a subclass implements the extension points it takes part in.

    `is_local` promises that filter and score look at nothing but the pod's template and the row
    itself, so that results are kept per template and recomputed for changed rows only.
    `is_static` promises more: that they look at the node's labels, spec and images, not at the
    pods on it.
    """

    name: ClassVar[str] = ""
    is_local: ClassVar[bool] = False
    is_static: ClassVar[bool] = False
    # Of the scores it is given, its normalize goes by the lowest and the highest only.
    normalizes_by_range: ClassVar[bool] = False
    # Takes part only for pods that have volumes.
    needs_volumes: ClassVar[bool] = False
    # Some code of its filter stands for an error, which ends the attempt whatever other nodes say.
    # Every node is then looked at in every cycle.
    may_fail: ClassVar[bool] = False


@runtime_checkable
class PreFilterPlugin(Protocol):
    """Looks at the pod, before any node."""

    name: ClassVar[str]

    def pre_filter(self, state: CycleState) -> PreFilterResult:
        """Prepare this cycle; SKIP leaves the plugin's filter out.

        UNRESOLVABLE ends the cycle; UNSCHEDULABLE does so when all others were asked, and lets
        preemption look at every node (v1.34). Anything else but SUCCESS fails the attempt.
        """
        ...


@runtime_checkable
class PreFilterExtensions(Protocol):
    """Keeps a cycle's state right while pods are put on or taken off a node on trial."""

    name: ClassVar[str]

    def update_state(self, state: CycleState, other: PodInfo, row: int, delta: int) -> None:
        """*other* was added to (`delta` 1) or removed from (-1) the node at *row*."""
        ...

    def clone_state(self, data: object) -> object:
        """A copy of what the plugin keeps under its name, to be changed on its own."""
        ...


@runtime_checkable
class FilterPlugin(Protocol):
    """Says which nodes cannot take the pod."""

    name: ClassVar[str]
    is_local: ClassVar[bool]

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """A code per row; FITS where the node can take the pod."""
        ...

    def explain(self, state: CycleState, code: int) -> Status:
        """The status that *code* stands for."""
        ...

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The numbers behind *code* at *row*."""
        ...


@runtime_checkable
class PreScorePlugin(Protocol):
    """Looks at the feasible nodes before they are scored."""

    name: ClassVar[str]

    def pre_score(self, state: CycleState, rows: IntArray) -> Status:
        """Prepare scoring; SKIP leaves the plugin's score out, anything else fails the attempt."""
        ...


@runtime_checkable
class ScorePlugin(Protocol):
    """Ranks the feasible nodes."""

    name: ClassVar[str]
    is_local: ClassVar[bool]

    def score(self, state: CycleState, rows: IntArray) -> IntArray:
        """A raw score per row."""
        ...


@runtime_checkable
class NormalizeScorePlugin(Protocol):
    """Brings raw scores into 0..MAX_NODE_SCORE."""

    def normalize(self, state: CycleState, rows: IntArray, scores: IntArray) -> IntArray:
        """The normalised scores of *rows*, whose raw scores are *scores*."""
        ...


@runtime_checkable
class PreEnqueuePlugin(Protocol):
    """Says whether a pod may enter the active queue at all."""

    name: ClassVar[str]

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Success, or why the pod has to wait outside."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PostFilterResult:
    """What a PostFilter plugin came to: with a node, the pod is nominated to it.

    The *victims* there are evicted for it. Upstream: framework.PostFilterResult.
    """

    status: Status
    node: str = ""
    victims: tuple[PodInfo, ...] = ()


@runtime_checkable
class PostFilterPlugin(Protocol):
    """Tries to make room for a pod that fits nowhere."""

    name: ClassVar[str]

    def post_filter(self, state: CycleState, statuses: Mapping[str, Status]) -> PostFilterResult:
        """SUCCESS and UNRESOLVABLE end the round; *statuses* are those of the refused nodes."""
        ...


@runtime_checkable
class ReservePlugin(Protocol):
    """Takes and gives back what a placement uses besides the node."""

    name: ClassVar[str]

    def reserve(self, state: CycleState, node: str) -> Status:
        """Assume what the pod needs on *node*."""
        ...

    def unreserve(self, state: CycleState, node: str) -> None:
        """Undo reserve; must work when reserve was never called."""
        ...


@runtime_checkable
class PermitPlugin(Protocol):
    """Lets the pod go on to its node, or not, or not yet."""

    name: ClassVar[str]

    def permit(self, state: CycleState, node: str) -> tuple[Status, int]:
        """SUCCESS, a refusal, or WAIT with the longest time to wait in ns (at most 15 minutes)."""
        ...


@runtime_checkable
class PreBindPlugin(Protocol):
    """Does what has to be done before the pod is bound."""

    name: ClassVar[str]

    def pre_bind(self, state: CycleState, node: str) -> Status:
        """Anything but SUCCESS sends the pod round again."""
        ...


@runtime_checkable
class BindPlugin(Protocol):
    """Binds the pod."""

    name: ClassVar[str]

    def bind(self, state: CycleState, node: str) -> Status:
        """SUCCESS binds the pod: its node is then written. SKIP leaves it to the next plugin."""
        ...


@runtime_checkable
class PostBindPlugin(Protocol):
    """Hears of a pod that was bound."""

    name: ClassVar[str]

    def post_bind(self, state: CycleState, node: str) -> None:
        """The pod is bound to *node*."""
        ...


@dataclass(slots=True)
class PodVolumes:
    """What has to be done for a pod's claims on one node: claim key → volume, or → node."""

    bind: dict[str, str] = field(default_factory=dict[str, str])
    provision: dict[str, str] = field(default_factory=dict[str, str])


@runtime_checkable
class VolumePlanner(Protocol):
    """Knows what has to be bound and provisioned when the pod of a cycle goes to a node."""

    def plan(self, state: CycleState, row: int) -> PodVolumes:
        """The plan for the node at *row*, which the filter accepted."""
        ...


def default_normalize(scores: IntArray, highest: int, *, reverse: bool) -> IntArray:
    """Scale so that the largest raw score becomes *highest*; *reverse* turns the order round.

    Upstream: plugins/helper/normalize_score.go DefaultNormalizeScore().
    """
    peak = int(scores.max()) if len(scores) else 0
    if peak <= 0:
        return np.full_like(scores, highest) if reverse else scores
    scaled = scores * highest // peak
    return highest - scaled if reverse else scaled
