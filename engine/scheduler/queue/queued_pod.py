"""A pod as the queue knows it: the pod and the history of its attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from engine.framework.pods.pod_info import PodInfo
    from engine.objects.objects import Pod

Place = Literal["", "gated", "active", "backoff", "unschedulable", "in_flight"]


class QueuedPodInfo:
    """A pod in the queue, or in flight. Times in nanoseconds. Upstream: framework.QueuedPodInfo.

    `timestamp` is when the pod entered the queue last, which orders activeQ among equals;
    `backoff_expiration` is None while nothing has been worked out. The plugin sets are dicts, for
    their order: those that rejected the pod, and those that asked it to wait (Pending).
    """

    __slots__ = (
        "attempts",
        "backoff_expiration",
        "consecutive_errors_count",
        "gating_plugin",
        "initial_attempt_timestamp",
        "key",
        "pending_plugins",
        "place",
        "pod_info",
        "since",
        "timestamp",
        "unschedulable_count",
        "unschedulable_plugins",
    )

    def __init__(
        self, pod_info: PodInfo, timestamp: int, initial_attempt_timestamp: int | None = None
    ) -> None:
        self.pod_info = pod_info
        self.key = pod_info.key
        self.timestamp = timestamp
        self.attempts = 0
        self.initial_attempt_timestamp = initial_attempt_timestamp
        self.unschedulable_plugins: dict[str, None] = {}
        self.pending_plugins: dict[str, None] = {}
        self.gating_plugin = ""
        self.unschedulable_count = 0
        self.consecutive_errors_count = 0
        self.backoff_expiration: int | None = None
        # Where the queue keeps it, and since when: what a page shows, not what the queue asks.
        self.place: Place = ""
        self.since = timestamp

    @property
    def pod(self) -> Pod:
        """The newest version of the pod that the queue has seen."""
        return self.pod_info.pod

    @property
    def gated(self) -> bool:
        """Does a PreEnqueue plugin hold the pod back?"""
        return self.gating_plugin != ""

    def update(self, pod: Pod) -> None:
        """Take a newer version of the pod; history stays."""
        self.pod_info = self.pod_info.updated(pod)

    def rejected_by(self, *plugins: str, pending: tuple[str, ...] = ()) -> None:
        """Note the plugins that rejected the pod in this attempt. Call it before it is put back."""
        for plugin in plugins:
            self.unschedulable_plugins[plugin] = None
        for plugin in pending:
            self.pending_plugins[plugin] = None

    def __repr__(self) -> str:
        return f"QueuedPodInfo({self.key!r}, {self.place!r}, attempts={self.attempts})"
