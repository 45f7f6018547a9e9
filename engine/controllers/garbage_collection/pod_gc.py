"""Pod garbage collection: pods of nodes that are gone or out of service, and too many that ended.

Upstream: pkg/controller/podgc/gc_controller.go.
"""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.deletion import DeleteOptions, delete
from engine.controllers.shared.pods import time_of
from engine.controllers.shared.ticker import Ticker
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.units import SECOND
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.pods.conditions import disruption_target, with_condition

PERIOD: Final = 20 * SECOND
QUARANTINE: Final = 40 * SECOND
TERMINATED_THRESHOLD: Final = 12_500

_NODE_GONE: Final = "PodGC: node no longer exists"


class PodGarbageCollector:
    """Looks every 20 s, while there is something to collect."""

    AUTHOR: ClassVar[str] = "pod-garbage-collector"
    PARTS: ClassVar[tuple[str, ...]] = ("ticker",)

    def __init__(self, context: ControllerContext) -> None:
        self._loop = context.loop
        self._store = context.store
        self._listers = context.listers
        self._rules = context.rules
        self.ticker = Ticker(context.loop, PERIOD, self._collect)
        # Node that is gone → when that was seen first.
        self._quarantine: dict[str, int] = {}
        self._terminated: dict[str, None] = {}
        self._has_nodes = False
        self._listers.nodes.on_event(self._on_node)
        self._listers.pods.on_event(self._on_pod)

    def restarted(self, context: ControllerContext) -> "PodGarbageCollector":
        """The same controller in a new process, which knows nothing yet."""
        return PodGarbageCollector(context)

    def _on_node(self, event: WatchEvent) -> None:
        if not self._has_nodes:
            self._has_nodes = True
            self._arm_if_lost()
        node = event.new
        assert isinstance(node, Node)
        if event.type == "DELETED":
            if self._listers.pods_on(node.name):
                self.ticker.arm()
        elif self._is_out_of_service(node) and self._forced_pods(node):
            self.ticker.arm()

    def _arm_if_lost(self) -> None:
        """A cluster without any node is a partial one: only with a node can others be missing."""
        if any(self._listers.nodes.get(name) is None for name in self._listers.nodes_with_pods()):
            self.ticker.arm()

    def _on_pod(self, event: WatchEvent) -> None:
        pod = event.new
        assert isinstance(pod, Pod)
        if event.type == "DELETED":
            self._terminated.pop(pod.key, None)
            return
        if pod.is_terminated:
            self._terminated[pod.key] = None
            if len(self._terminated) > TERMINATED_THRESHOLD:
                self.ticker.arm()
        name = pod.node_name
        if not name or not self._has_nodes:
            return
        node = self._listers.nodes.get(name)
        if node is None or (_is_to_force(pod) and self._is_out_of_service(node)):
            self.ticker.arm()

    def _is_out_of_service(self, node: Node) -> bool:
        """Whether the pods that are terminating on *node* are deleted by force.

        Upstream: the feature gate NodeOutOfServiceVolumeDetach, locked on in 1.28.
        """
        return self._rules.heeds_out_of_service and node.is_out_of_service and not node.is_ready

    def _forced_pods(self, node: Node) -> list[Pod]:
        return [pod for pod in self._listers.pods_on(node.name) if _is_to_force(pod)]

    def _pods_to_force(self, node: Node) -> list[Pod]:
        return self._forced_pods(node) if self._is_out_of_service(node) else []

    def _collect(self) -> None:
        self._collect_terminated()
        self._collect_terminating()
        self._collect_orphans()

    def _collect_terminated(self) -> None:
        excess = len(self._terminated) - TERMINATED_THRESHOLD
        if excess <= 0:
            return
        found = [self._listers.pods.get(key) for key in self._terminated]
        oldest = sorted((pod for pod in found if pod is not None), key=_age)
        for pod in oldest[:excess]:
            self._loop.tried(self._delete, pod, "too many terminated pods")

    def _collect_terminating(self) -> None:
        """Upstream: gcTerminating()."""
        if not self._rules.heeds_out_of_service:
            return
        found: list[Pod] = []
        for name in self._listers.nodes_with_pods():
            node = self._listers.nodes.get(name)
            if node is not None:
                found += self._loop.tried(self._pods_to_force, node) or ()
        for pod in sorted(found, key=_age):
            self._loop.tried(self._delete, pod, f"its node {pod.node_name} is out of service")

    def _collect_orphans(self) -> None:
        now = self._loop.now
        lost = [
            name
            for name in self._listers.nodes_with_pods()
            if self._listers.nodes.get(name) is None
        ]
        self._quarantine = {n: at for n, at in self._quarantine.items() if n in lost}
        for name in lost:
            since = self._quarantine.setdefault(name, now)
            if now - since < QUARANTINE:
                continue
            del self._quarantine[name]
            if self._store.find("Node", name) is None:
                for pod in self._listers.pods_on(name):
                    self._loop.tried(self._delete, pod, f"its node {name} is gone", _NODE_GONE)
        if self._quarantine:
            self.ticker.arm()

    def _delete(self, pod: Pod, message: str, disruption: str = "") -> None:
        """Delete *pod* by force; *disruption* is the message of its condition DisruptionTarget.

        Upstream: markFailedAndDeletePodWithCondition().
        """
        try:
            if self._rules.disruption_conditions and not pod.is_terminated:
                self._fail(pod, disruption)
            delete(
                self._store,
                pod,
                by=self.AUTHOR,
                options=DeleteOptions(grace_seconds=0),
                message=message,
            )
        except NotFound:
            return
        except ApiError:
            self.ticker.arm()

    def _fail(self, pod: Pod, disruption: str) -> None:
        """Since 1.26 the pod is first marked as failed, with the reason why it was disrupted, if any."""
        status: Manifest = {"phase": "Failed"}
        if disruption:
            made = disruption_target("DeletionByPodGC", disruption, self._loop.clock)
            status["conditions"] = with_condition(pod, made)
        self._store.patch("Pod", pod.key, {"status": status}, by=self.AUTHOR, event="PodFailed")


def _is_to_force(pod: Pod) -> bool:
    """Whether *pod* is terminating, and a deletion by force would still change something."""
    if not pod.deletion_timestamp:
        return False
    return not pod.is_terminated or bool(pod.metadata.get("deletionGracePeriodSeconds"))


def _age(pod: Pod) -> tuple[int, str]:
    return time_of(pod.creation_timestamp), pod.name
