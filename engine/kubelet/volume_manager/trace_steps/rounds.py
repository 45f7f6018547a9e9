"""The steps of one tick: a round of the populator, then one of the reconciler.

`RoundNotes` are handed through the two loops, which write down what they do; see
`engine.kernel.trace`. Upstream: pkg/kubelet/volumemanager.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.storage.operations.backoff import Start


@dataclass(frozen=True, slots=True)
class PodSeen:
    """A pod that the populator saw in *function* of upstream.

    *found* is what it read, *done* whether it added or removed something, and *what* it did, or why
    it left the pod as it is.
    """

    function: str
    pod: str
    found: str
    what: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class OperationAsked:
    """The reconciler asked for an operation in *function* of upstream; *answer* is what it got."""

    function: str
    operation: str
    volume: str
    pod: str
    answer: str

    @property
    def is_new(self) -> bool:
        """Whether something began, or an error was met."""
        return self.answer not in (Start.RUNNING.value, Start.BACKING_OFF.value)


@dataclass(slots=True)
class RoundNotes:
    """Collects what one tick does. *key_of* gives the "namespace/name" of a pod by its uid."""

    key_of: Callable[[str], str]
    pods: list[PodSeen] = field(default_factory=list[PodSeen])
    asked: list[OperationAsked] = field(default_factory=list[OperationAsked])

    def saw(self, function: str, pod: str, found: str, what: str, *, done: bool = False) -> None:
        """The populator saw a pod."""
        self.pods.append(PodSeen(function, pod, found, what, done))

    def asks(
        self, function: str, operation: str, volume: str, uid: str, answer: Start | str | None
    ) -> None:
        """The reconciler asked for an operation, and got an answer: a Start, an error, or nothing."""
        text = answer.value if isinstance(answer, Start) else answer or "done"
        pod = self.key_of(uid) if uid else ""
        self.asked.append(OperationAsked(function, operation, volume, pod, text))


@dataclass(frozen=True, slots=True)
class KubeletState:
    """What a kubelet holds after the step: both states side by side, as on the node's page."""

    processed_pods: tuple[str, ...]
    has_added_pods: bool
    next_removal_at: int
    volumes: Mapping[str, Any]
    volumes_in_use: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Round:
    """One tick of the loops of a node."""

    pods: tuple[PodSeen, ...]
    asked: tuple[OperationAsked, ...]
    state: KubeletState

    @property
    def did_something(self) -> bool:
        """Whether it changed the desired state, or asked for something new."""
        return any(pod.done for pod in self.pods) or any(one.is_new for one in self.asked)


@dataclass(frozen=True, slots=True)
class OperationEnded:
    """An operation of a node ended. After an *error* it waits *delay* ns, and then for a tick.

    *failures* counts those in a row.
    """

    operation: str
    volume: str
    pod: str
    error: str
    failures: int
    delay: int
    retry_at: int | None
    state: KubeletState
