"""What a node knows of the containers of a pod. They run on while the kubelet does not.

waiting ──▶ creating ──▶ running ──▶ terminated ──▶ creating …
              │  ▲                       └──▶ backing off (CrashLoopBackOff) ──▶ creating …
              ▼  │
             no image (ErrImagePull, ImagePullBackOff)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from engine.kernel.loop import Timer
from engine.kubelet.containers.probe import Probe
from engine.objects.manifest_parts import items
from engine.objects.objects import Manifest, Pod
from engine.objects.scripts.matching import Part, container_identity
from engine.objects.scripts.script import ContainerRun


class Role(Enum):
    """What a container is in its pod."""

    INIT = "init container"
    # An init container with restartPolicy Always.
    SIDECAR = "sidecar"
    MAIN = "container"


class State(Enum):
    """The state of a container; the kubelet shows all but RUNNING and TERMINATED as waiting."""

    WAITING = "waiting"
    CREATING = "creating"
    NO_IMAGE = "no image"
    RUNNING = "running"
    TERMINATED = "terminated"
    BACKING_OFF = "backing off"


@dataclass(slots=True)
class FailedPulls:
    """How the last pulls of an image have failed; times are virtual ns."""

    # What the last one said, and what a container says that waits for another.
    error: str = ""
    waits: str = ""
    # When it failed, and how long the next one waits from then on.
    failed_at: int = 0
    backoff: int = 0
    # Whether the kubelet has looked at the container since, without another pull.
    is_waiting: bool = False


class Container:
    """One container of a pod. `started_clock` is in ns since EPOCH, other times are virtual ns."""

    __slots__ = (
        "backed_off_at",
        "backoff",
        "end_at",
        "end_run",
        "ended",
        "ended_at",
        "is_over",
        "is_ready",
        "is_started",
        "last",
        "part",
        "pulling",
        "probes",
        "restarts",
        "role",
        "spec",
        "started_at",
        "started_clock",
        "state",
        "timer",
        "was_created",
    )

    def __init__(self, spec: Manifest, role: Role, part: Part) -> None:
        self.spec = spec
        self.role = role
        self.part = part
        self.state = State.WAITING
        self.restarts = 0
        self.was_created = False
        self.is_ready = False
        self.is_started = False
        # It has ended, and is not started again.
        self.is_over = False
        self.started_at = self.started_clock = 0
        # How and when its run ends, once that is known.
        self.end_run = ContainerRun()
        self.end_at: int | None = None
        # The `terminated` of the run that has ended, and of the one before the present one.
        self.ended: Manifest | None = None
        self.last: Manifest | None = None
        # The wait that the next restart has after the last end, in ns, and when that was set.
        self.backoff = 0
        self.backed_off_at = self.ended_at = 0
        # How pulls of its image have failed, as long as there is none.
        self.pulling = FailedPulls()
        self.timer: Timer | None = None
        self.probes: list[Probe] = []

    @property
    def name(self) -> str:
        """Its name in the pod."""
        return str(self.spec.get("name") or "")

    @property
    def exit_code(self) -> int | None:
        """The code with which its last run ended; None where it has not ended."""
        return None if self.ended is None else self.ended["exitCode"]

    @property
    def has_succeeded(self) -> bool:
        """Whether it has ended with 0, and stays so."""
        return self.state is State.TERMINATED and self.exit_code == 0

    def forget_waits(self) -> None:
        """A new kubelet knows of no backoff."""
        self.backoff, self.pulling = 0, FailedPulls()
        if self.state in (State.CREATING, State.BACKING_OFF, State.NO_IMAGE):
            self.state = State.WAITING if self.ended is None else State.TERMINATED

    def cancel(self) -> None:
        """Drop what is due for it."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        self.cancel_probes()

    def cancel_probes(self) -> None:
        """Probe it no more."""
        for probe in self.probes:
            probe.cancel()

    def identity(self, uid: str) -> str:
        """The id of its run as a runtime names it, in the pod with this *uid*."""
        return container_identity(f"{uid}/{self.name}/{self.restarts}", self.part.entry)


class PodContainers:
    """The containers of one pod, in the order in which they start."""

    __slots__ = ("began_at", "containers")

    def __init__(self, containers: list[Container]) -> None:
        self.containers = containers
        # When the kubelet began with the pod: probes are due a whole number of periods later.
        self.began_at = 0

    def of(self, *roles: Role) -> list[Container]:
        """Those with one of the *roles*."""
        return [each for each in self.containers if each.role in roles]

    @property
    def mains_began(self) -> bool:
        """Whether any of the pod's containers proper was ever created."""
        return any(each.was_created for each in self.of(Role.MAIN))

    def cancel(self) -> None:
        """Drop what is due for them."""
        for each in self.containers:
            each.cancel()


def roles_of(pod: Pod) -> Iterator[tuple[Manifest, Role]]:
    """The containers of the spec of *pod* with their roles, in the order in which they start."""
    for spec in items(pod.spec, "initContainers"):
        yield spec, Role.SIDECAR if spec.get("restartPolicy") == "Always" else Role.INIT
    for spec in items(pod.spec, "containers"):
        yield spec, Role.MAIN
