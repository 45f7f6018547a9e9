"""Node lifecycle: taints that follow the conditions of a node.

`taint_manager` evicts pods because of them. Upstream:
pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from contextlib import suppress
from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.api_server.store.workqueue import WorkQueue
from engine.controllers.node_lifecycle.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NODE_CONTROLLER,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
    no_execute_taints,
    same_taint,
)
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.ticker import Ticker
from engine.kernel.errors import ApiError
from engine.kernel.units import SECOND, timestamp
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.pods.tolerations import NO_EXECUTE, NO_SCHEDULE
from engine.storage.ports import NORMAL, WARNING, EventSink

MONITOR_PERIOD: Final = 5 * SECOND

# One node in ten seconds per zone; none at all where most of a small zone is not ready.
EVICTION_INTERVAL: Final = 10 * SECOND
SLOW_EVICTION_INTERVAL: Final = 100 * SECOND
LARGE_ZONE: Final = 50
UNHEALTHY_ZONE_PERCENT: Final = 55

_BY_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): MEMORY_PRESSURE,
    ("DiskPressure", "True"): DISK_PRESSURE,
    ("NetworkUnavailable", "True"): NETWORK_UNAVAILABLE,
    ("PIDPressure", "True"): PID_PRESSURE,
}
_OURS: Final = (*_BY_CONDITION.values(), UNSCHEDULABLE)


# The message of the kubelet's conditions once it no longer posts them.
_SILENT: Final = "Kubelet stopped posting node status."

_OLD_LABELS: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class NodeLifecycleController:
    """Taints nodes by condition at once (NoSchedule) and with the next 5 s tick (NoExecute)."""

    AUTHOR: ClassVar[str] = NODE_CONTROLLER
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "ticker")
    # The conditions that a kubelet posts.
    POSTED: ClassVar[tuple[str, ...]] = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        self._context = context
        self._loop = context.loop
        self._store = context.store
        self._listers = context.listers
        self._rules = context.rules
        self._events = events
        self._queue = WorkQueue(
            context.loop, self._work, answers=context.store.answers.of(self.AUTHOR)
        )
        self.ticker = Ticker(context.loop, MONITOR_PERIOD, self._monitor)
        self._known: dict[str, None] = {}
        # Zone → when its next node may be tainted.
        self._next_in_zone: dict[str, int] = {}
        # Whether the taint of some node waits until other nodes recover.
        self._is_held_back = False
        # A node that was silent before counts as silent from the controller's start on.
        self._started = context.loop.now
        if context.silent_nodes:
            self.ticker.arm()
        self._listers.nodes.on_event(self._on_node)

    def restarted(self, context: ControllerContext) -> "NodeLifecycleController":
        """The same controller in a new process, which knows nothing yet."""
        return NodeLifecycleController(context, self._events)

    def _on_node(self, event: WatchEvent) -> None:
        node = event.new
        assert isinstance(node, Node)
        if event.type == "DELETED":
            self._context.silent_nodes.pop(node.name, None)
            if self._is_held_back or node.name in self._known:
                self.ticker.arm()
            return
        if any(_no_schedule_swap(node)) or (self._rules.taints_new_nodes and _old_labels(node)):
            self._queue.add_after(node.name, self._context.latencies.draw("node_taint"))
        if self._rules.taints_new_nodes and node.name not in self._known:
            self.ticker.arm()
        if self._is_held_back or _no_execute_wanted(node) is not None:
            self.ticker.arm()

    # At once

    def _work(self, name: str) -> None:
        try:
            self._taint_by_condition(name)
        except ApiError:
            self._queue.add_rate_limited(name)
        else:
            self._queue.forget(name)

    def _taint_by_condition(self, name: str) -> None:
        """Upstream: doNoScheduleTaintingPass()."""
        node = self._listers.nodes.get(name)
        if node is None:
            return
        self._swap(node, *_no_schedule_swap(node))
        if self._rules.taints_new_nodes and _old_labels(node):
            delay = self._context.latencies.draw("node_labels")
            if delay:
                self._loop.call_after(delay, self._label, name)
            else:
                self._label(name)

    def _label(self, name: str) -> None:
        """Keep the old names of the os and arch labels. Upstream: reconcileNodeLabels()."""
        node = self._store.find("Node", name)
        if node is None:
            return
        missing = _old_labels(node)
        if missing:
            self._store.patch("Node", name, {"metadata": {"labels": missing}}, by=self.AUTHOR)

    # At the tick

    def _monitor(self) -> None:
        """Upstream: monitorNodeHealth(), doNoExecuteTaintingPass()."""
        self._mark_silent_nodes()
        nodes = self._known_nodes()
        if self._rules.taints_new_nodes:
            self._register(nodes)
        zones = Zones(nodes)
        self._is_held_back = bool(nodes) and zones.all_unwell
        self._loop.tried_each(self._taint_at_tick, nodes, zones)

    def _taint_at_tick(self, node: Node, zones: "Zones") -> None:
        """Upstream: doNoExecuteTaintingPass()."""
        ours = _no_execute_ours(node)
        if zones.all_unwell:
            self._swap_at_tick(node, [], ours)
            return
        wanted = _wanted_no_execute_taints(node)
        removed = [t for t in ours if not any(same_taint(t, each) for each in wanted)]
        added = [t for t in wanted if not any(same_taint(t, each) for each in ours)]
        if removed or not added or self._may_taint(node, zones):
            self._swap_at_tick(node, added, removed)

    def _swap_at_tick(self, node: Node, added: list[Manifest], removed: list[Manifest]) -> None:
        """As `_swap`; a write that is refused is repeated at the next tick."""
        try:
            self._swap(node, added, removed)
        except ApiError:
            self.ticker.arm()

    def _mark_silent_nodes(self) -> None:
        for name, since in self._context.silent_nodes.items():
            node = self._store.find("Node", name)
            if isinstance(node, Node):
                self._loop.tried(self._mark_silent, node, since)

    def _mark_silent(self, node: Node, since: int) -> None:
        """After the grace period a node's state is unknown. Upstream: tryUpdateNodeHealth()."""
        if _is_unknown(node):
            return
        if self._loop.now <= max(since, self._started) + self._rules.monitor_grace:
            self.ticker.arm()
            return
        was_ready = node.is_ready
        now = timestamp(self._loop.clock)
        status = {"conditions": _unknown_conditions(node, self.POSTED, now)}
        try:
            self._store.patch(
                "Node",
                node.name,
                {"status": status},
                by=self.AUTHOR,
                event="NodeStatusUnknown",
                message=_SILENT,
            )
        except ApiError:
            self.ticker.arm()
            return
        if was_ready:
            message = f"Node {node.name} status is now: NodeNotReady"
            self._events.event(node, NORMAL, "NodeNotReady", message)
            self._loop.tried_each(self._mark_not_ready, self._listers.pods_on(node.name))

    def _mark_not_ready(self, pod: Pod) -> None:
        """Upstream: controller_utils.go, MarkPodsNotReady()."""
        live = self._store.find("Pod", pod.key)
        if live is None or live.uid != pod.uid:
            return
        conditions: list[Manifest] = live.status.get("conditions") or []
        if not any(_is_ready_condition(each) for each in conditions):
            return
        now = timestamp(self._loop.clock)
        marked = [
            {**each, "status": "False", "lastTransitionTime": now}
            if _is_ready_condition(each)
            else each
            for each in conditions
        ]
        patch: Manifest = {"status": {"conditions": marked}}
        with suppress(ApiError):
            self._store.patch("Pod", pod.key, patch, by=self.AUTHOR, event="PodNotReady")
            if self._rules.warns_pods_of_node:
                self._events.event(pod, WARNING, "NodeNotReady", "Node is not ready")

    def _known_nodes(self) -> list[Node]:
        """The nodes that count in their zones: one whose state cannot be read counts in none."""
        return [node for node in self._listers.nodes if self._loop.tried(self._is_readable, node)]

    def _is_readable(self, node: Node) -> bool:
        """Whether its zone and its state can be read; an exception says no."""
        zone_of(node)
        is_unwell(node)
        return True

    def _may_taint(self, node: Node, zones: "Zones") -> bool:
        """Take the zone's turn, or arm the next tick to try again."""
        zone = zone_of(node)
        interval = zones.interval(zone)
        if interval is None:
            self._is_held_back = True
            return False
        if self._loop.now < self._next_in_zone.get(zone, 0):
            self.ticker.arm()
            return False
        self._next_in_zone[zone] = self._loop.now + interval
        return True

    def _register(self, nodes: list[Node]) -> None:
        """Emit Events for nodes that were created or deleted since the last tick."""
        names = {node.name for node in nodes}
        self._loop.tried_each(self._register_one, nodes)
        for name in [name for name in self._known if name not in names]:
            del self._known[name]
            gone = Node({"kind": "Node", "metadata": {"name": name}})
            message = f"Node {name} event: Removing Node {name} from Controller"
            self._events.event(gone, NORMAL, "RemovingNode", message)

    def _register_one(self, node: Node) -> None:
        if node.name not in self._known:
            self._known[node.name] = None
            message = f"Node {node.name} event: Registered Node {node.name} in Controller"
            self._events.event(node, NORMAL, "RegisteredNode", message)

    def _swap(self, node: Node, added: list[Manifest], removed: list[Manifest]) -> None:
        """Upstream: controllerutil.SwapNodeControllerTaint(), on the newest version."""
        live = self._store.find("Node", node.name)
        if live is None or not (added or removed):
            return
        assert isinstance(live, Node)
        changed = [*removed, *added]
        kept = [t for t in live.taints if not any(same_taint(t, each) for each in changed)]
        now = timestamp(self._loop.clock)
        taints = [*kept, *({**taint, "timeAdded": now} for taint in added)]
        what = [f"+{t['key']}:{t['effect']}" for t in added]
        what += [f"-{t['key']}:{t['effect']}" for t in removed]
        self._store.patch(
            "Node",
            node.name,
            {"spec": {"taints": taints or None}},
            by=self.AUTHOR,
            event="NodeTainted" if added else "NodeUntainted",
            message=" ".join(what),
        )


class Zones:
    """How many nodes each zone has at one tick, and how many of them are unwell."""

    def __init__(self, nodes: list[Node]) -> None:
        self._count: dict[str, int] = {}
        self._unwell: dict[str, int] = {}
        for node in nodes:
            zone = zone_of(node)
            self._count[zone] = self._count.get(zone, 0) + 1
            self._unwell[zone] = self._unwell.get(zone, 0) + is_unwell(node)

    @property
    def all_unwell(self) -> bool:
        """Whether no node is ready: then the controller itself is probably cut off."""
        return self._count == self._unwell

    def interval(self, zone: str) -> int | None:
        """The ns between two evicted nodes of *zone*; None where nothing is evicted at all.

        Upstream: ComputeZoneState(), ReducedQPSFunc(), HealthyQPSFunc().
        """
        count, unwell = self._count[zone], self._unwell[zone]
        is_partly_down = 2 < unwell < count and unwell * 100 >= UNHEALTHY_ZONE_PERCENT * count
        if not is_partly_down:
            return EVICTION_INTERVAL
        return None if count <= LARGE_ZONE else SLOW_EVICTION_INTERVAL


def zone_of(node: Node) -> str:
    """Upstream: GetZoneKey()."""
    return f"{node.region}:{node.zone}"


def _is_unknown(node: Node) -> bool:
    conditions: list[Manifest] = node.status.get("conditions") or []
    return any(each.get("type") == "Ready" and each["status"] == "Unknown" for each in conditions)


def _unknown_conditions(node: Node, posted: tuple[str, ...], now: str) -> list[Manifest]:
    """The node's conditions after it has not posted its status for too long."""
    conditions: list[Manifest] = node.status.get("conditions") or []
    others = [each for each in conditions if each.get("type") not in posted]
    made = {
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": _SILENT,
        "lastTransitionTime": now,
    }
    return [*others, *({"type": kind, **made} for kind in posted)]


def _is_ready_condition(condition: Manifest) -> bool:
    return condition.get("type") == "Ready" and condition.get("status") == "True"


def _no_schedule_swap(node: Node) -> tuple[list[Manifest], list[Manifest]]:
    """The NoSchedule taints to add and to remove, so that they match the node's conditions."""
    wanted = [_taint(key, NO_SCHEDULE) for key in _condition_taints(node)]
    ours = [
        taint
        for taint in node.taints
        if taint.get("effect") == NO_SCHEDULE and taint.get("key") in _OURS
    ]
    added = [t for t in wanted if not any(same_taint(t, each) for each in ours)]
    removed = [t for t in ours if not any(same_taint(t, each) for each in wanted)]
    return added, removed


def _old_labels(node: ApiObject) -> Manifest:
    """The old names of the os and arch labels that it lacks."""
    return {
        old: node.labels[new]
        for new, old in _OLD_LABELS.items()
        if new in node.labels and node.labels.get(old) != node.labels[new]
    }


def _taint(key: str, effect: str) -> Manifest:
    return {"key": key, "effect": effect}


def _condition_taints(node: Node) -> list[str]:
    conditions: list[Manifest] = node.status.get("conditions") or []
    keys = [
        _BY_CONDITION[pair]
        for each in conditions
        if (pair := (each.get("type", ""), each.get("status", ""))) in _BY_CONDITION
    ]
    return [*keys, UNSCHEDULABLE] if node.unschedulable else keys


def _no_execute_ours(node: Node) -> list[Manifest]:
    return [
        taint for taint in no_execute_taints(node) if taint.get("key") in (NOT_READY, UNREACHABLE)
    ]


def is_unwell(node: Node) -> bool:
    """Whether it is not ready, or has stopped posting its status."""
    return bool(_wanted_no_execute_taints(node))


def _wanted_no_execute_taints(node: Node) -> list[Manifest]:
    keys = (NOT_READY, UNREACHABLE)
    return [_taint(key, NO_EXECUTE) for key in _condition_taints(node) if key in keys]


def _no_execute_wanted(node: Node) -> list[Manifest] | None:
    """The NoExecute taints by condition; None when the node has just these."""
    wanted, ours = _wanted_no_execute_taints(node), _no_execute_ours(node)
    return None if [t["key"] for t in wanted] == [t["key"] for t in ours] else wanted
