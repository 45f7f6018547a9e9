"""What a kubelet knows of one pod. Upstream: pkg/kubelet/pod_workers.go.

bound ──admitted──▶ preparing ──volumes mounted, devices prepared──▶ starting ──▶ running ──▶ finished
  └──refused──▶ finished (Failed)    └────────── deleted ──────────┴──▶ stopping ──▶ unmounting
                                                                            └──▶ gone
"""

from enum import Enum

from engine.kernel.loop import Timer
from engine.objects.objects import Manifest, Pod


class Stage(Enum):
    """The stage in the life of a pod on its node."""

    PREPARING = "preparing"
    STARTING = "starting"
    RUNNING = "running"
    FINISHED = "finished"
    STOPPING = "stopping"
    UNMOUNTING = "unmounting"


class Worker:
    """A pod on its node: its stage, and the timers and the status that are due."""

    __slots__ = (
        "allocated",
        "deadline",
        "failure",
        "has_devices",
        "holds",
        "node",
        "pod",
        "resizing",
        "sending",
        "stage",
        "timer",
        "unsent",
    )

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self.node = pod.node_name
        self.stage = Stage.PREPARING
        # Why its containers fail, as its files show it: they stay so. "" for no failure.
        self.failure = ""
        self.timer: Timer | None = None
        self.deadline: Timer | None = None
        # The status that the API server has refused, and when it is sent again.
        self.unsent: Manifest = {}
        self.sending: Timer | None = None
        self.holds = False
        # Whether the devices of its resource claims are prepared on the node.
        self.has_devices = False
        # The pod as its node has given it resources, where its spec asks for others; and when a
        # resize is carried out.
        self.allocated: Pod | None = None
        self.resizing: Timer | None = None

    @property
    def has_running_containers(self) -> bool:
        """Whether its containers may still be using its volumes."""
        return self.stage in (Stage.STARTING, Stage.RUNNING, Stage.STOPPING)

    def die(self) -> None:
        """Its kubelet has ended: nothing is done or written any more."""
        self.cancel_timers()
        self.cancel_resize()
        if self.sending is not None:
            self.sending.cancel()

    def cancel_timers(self) -> None:
        """Steps that were due for the pod are dropped."""
        self.cancel_deadline()
        if self.timer is not None:
            self.timer.cancel()
        self.timer = None

    def cancel_deadline(self) -> None:
        """The pod may run on."""
        if self.deadline is not None:
            self.deadline.cancel()
        self.deadline = None

    def cancel_resize(self) -> None:
        """A resize that was allocated is not carried out."""
        if self.resizing is not None:
            self.resizing.cancel()
        self.resizing = None
