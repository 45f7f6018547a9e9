"""The node controller of v1.11, which deletes the pods of a node that is lost by itself.

    ready ── not ready, or unheard of ──▶ unwell ── for five minutes ──▶ queued in its zone
                                             ▲                               │ the zone's turn
      ready again: all is forgotten ─────────┴───────────── evicted ◀────────┘

A zone takes one node in ten seconds, more slowly or not at all while most of it is unwell. While
no node is ready nothing is evicted, and when some are ready again, the five minutes start again.
Taints by condition and taint based evictions are alpha there. The taint manager is on, however,
and acts on NoExecute taints that users put on a node.

Upstream: v1.11 pkg/controller/nodelifecycle/node_lifecycle_controller.go, monitorNodeStatus(),
doEvictionPass(); pkg/controller/util/node/controller_utils.go, DeletePods().
"""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.node_lifecycle.node_lifecycle import (
    NodeLifecycleController,
    Zones,
    is_unwell,
    zone_of,
)
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.deletion import delete
from engine.controllers.shared.selection import selector_of
from engine.controllers.shared.ticker import Ticker
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.units import MILLISECOND, MINUTE
from engine.objects.objects import Node, Pod
from engine.storage.ports import NORMAL, EventSink

POD_EVICTION_TIMEOUT: Final = 5 * MINUTE
# Upstream: scheduler.NodeEvictionPeriod.
EVICTION_PERIOD: Final = 100 * MILLISECOND

NODE_LOST: Final = "NodeLost"


class EvictingNodeController(NodeLifecycleController):
    """Looks at the nodes every 5 s and deletes the pods of those that are lost."""

    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "ticker", "_passes")
    POSTED: ClassVar[tuple[str, ...]] = ("OutOfDisk", "MemoryPressure", "DiskPressure", "Ready")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        """As NodeLifecycleController's."""
        # Unwell nodes: how they are, and since when, as far as was seen here.
        self._unwell: dict[str, tuple[str, int]] = {}
        # Zone → nodes whose pods are to go, in turn.
        self._waiting: dict[str, dict[str, None]] = {}
        # Those that have had their turn, or wait for it.
        self._chosen: dict[str, None] = {}
        # Zone → how long to wait between two nodes; None: no node is evicted.
        self._intervals: dict[str, int | None] = {}
        self._all_were_unwell = False
        self._passes = Ticker(context.loop, EVICTION_PERIOD, self._eviction_pass)
        super().__init__(context, events)

    def restarted(self, context: ControllerContext) -> "EvictingNodeController":
        """See NodeLifecycleController."""
        return EvictingNodeController(context, self._events)

    def _on_node(self, event: WatchEvent) -> None:
        node = event.new
        assert isinstance(node, Node)
        if event.type == "DELETED":
            self._context.silent_nodes.pop(node.name, None)
            self._forget(node)
        elif is_unwell(node) or node.name in self._unwell:
            self.ticker.arm()
        # A node that comes or goes may change the state of its zone, or of the whole cluster.
        if self._unwell:
            self.ticker.arm()

    def _monitor(self) -> None:
        """Upstream: monitorNodeStatus()."""
        self._mark_silent_nodes()
        nodes = self._known_nodes()
        zones = Zones(nodes)
        self._loop.tried_each(self._look_at, nodes)
        self._handle_disruption(nodes, zones)
        if not self._all_were_unwell:
            due = [self._due(name) for name in self._unwell if name not in self._chosen]
            if due:
                self.ticker.arm(min(due))
        if any(self._waiting.values()):
            self._passes.arm()

    def _look_at(self, node: Node) -> None:
        if not is_unwell(node):
            self._forget(node)
            return
        status = _ready_status(node)
        if self._unwell.get(node.name, ("", 0))[0] != status:
            self._unwell[node.name] = status, self._loop.now
        if self._loop.now > self._due(node.name) and node.name not in self._chosen:
            self._chosen[node.name] = None
            self._waiting.setdefault(zone_of(node), {})[node.name] = None

    def _due(self, name: str) -> int:
        """When a node will have been unwell for too long: counted from its last sign of life."""
        status, since = self._unwell[name]
        silent = self._context.silent_nodes.get(name)
        if status == "Unknown" and silent is not None:
            since = min(since, max(silent, self._started))
        return since + POD_EVICTION_TIMEOUT

    def _forget(self, node: Node) -> None:
        """Upstream: cancelPodEviction()."""
        self._unwell.pop(node.name, None)
        self._chosen.pop(node.name, None)
        self._waiting.get(zone_of(node), {}).pop(node.name, None)

    def _handle_disruption(self, nodes: list[Node], zones: Zones) -> None:
        """Upstream: handleDisruption()."""
        all_unwell = bool(nodes) and zones.all_unwell
        if all_unwell and not self._all_were_unwell:
            self._waiting.clear()
            self._chosen.clear()
        elif self._all_were_unwell and not all_unwell:
            now = self._loop.now
            self._unwell = {name: (status, now) for name, (status, _) in self._unwell.items()}
            self._started = now
        self._all_were_unwell = all_unwell
        self._intervals = {
            zone_of(node): None if all_unwell else zones.interval(zone_of(node)) for node in nodes
        }

    # Evictions

    def _eviction_pass(self) -> None:
        """Upstream: doEvictionPass(); one node of each zone that is due."""
        for zone, waiting in self._waiting.items():
            interval = self._intervals.get(zone)
            if not waiting or interval is None:
                continue
            allowed = self._next_in_zone.get(zone, 0)
            if self._loop.now >= allowed:
                self._next_in_zone[zone] = allowed = self._loop.now + interval
                self._evict_first(waiting)
            if waiting:
                # The first tick at which it may go on.
                self._passes.arm(allowed - 1)

    def _evict_first(self, waiting: dict[str, None]) -> None:
        name = next(iter(waiting))
        # It leaves its place first, so that an exception holds up no other node of the zone.
        del waiting[name]
        if not self._delete_pods(name):
            # It comes last now, and at its next turn.
            waiting[name] = None

    def _delete_pods(self, name: str) -> bool:
        """Whether no deletion was refused. Upstream: DeletePods()."""
        pods = sorted(self._listers.pods_on(name), key=_key)
        node = self._listers.nodes.get(name)
        if pods and node is not None:
            message = f"Node {name} event: Deleting all Pods from Node {name}."
            self._events.event(node, NORMAL, "DeletingAllPods", message)
        return all(self._loop.tried(self._delete_one, pod, name) is not False for pod in pods)

    def _delete_one(self, pod: Pod, node: str) -> bool:
        """Whether it was not refused."""
        live = self._store.find("Pod", pod.key)
        try:
            if isinstance(live, Pod) and live.node_name == node:
                self._delete_pod(live, node)
        except ApiError:
            return False
        return True

    def _delete_pod(self, pod: Pod, node: str) -> None:
        if pod.status.get("reason") != NODE_LOST:
            text = f"Node {node} which was running pod {pod.name} is unresponsive"
            patch = {"status": {"reason": NODE_LOST, "message": text}}
            self._store.patch("Pod", pod.key, patch, by=self.AUTHOR, event="PodLost", message=text)
        if pod.deletion_timestamp or self._is_of_a_daemon_set(pod):
            return
        message = f"Marking for deletion Pod {pod.name} from Node {node}"
        self._events.event(pod, NORMAL, "NodeControllerEviction", message)
        text = f"node {node} has been lost for too long"
        try:
            delete(self._store, pod, by=self.AUTHOR, message=text)
        except NotFound:
            return

    def _is_of_a_daemon_set(self, pod: Pod) -> bool:
        """Whether some DaemonSet selects it. Upstream: GetPodDaemonSets()."""
        return any(
            not selector_of(each).empty and selector_of(each).matches(pod.labels)
            for each in self._listers.of("DaemonSet").selecting(pod.namespace, pod.labels)
        )


def _key(pod: Pod) -> str:
    return pod.key


def _ready_status(node: Node) -> str:
    return next(
        (
            str(each.get("status"))
            for each in node.status.get("conditions") or ()
            if each.get("type") == "Ready"
        ),
        "",
    )
