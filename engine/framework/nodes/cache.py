"""The scheduler's cache: what it believes is on each node, its own unconfirmed decisions included.

```
                   assume                  add (confirmed by the watch)
     (initial) ──────────────▶ assumed ─────────────────────────────────▶ added ◀──┐ update
         │ ▲                   │     │                                     │    └──┘
         │ └───── forget ──────┘     │ binding finished, and 30 s later    │ remove
         │                           ▼ still not confirmed                 ▼
         │                        (expired) ──── add ──▶ added         (deleted)
         └──────────────────────── add ───────────────▶ added
```

Every other move is refused with a CacheError and reported to the listener. Upstream:
pkg/scheduler/internal/cache/cache.go, interface.go (v1.16, v1.20), pkg/scheduler/backend/cache (v1.34).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NoReturn, Protocol

from engine.framework.nodes.cache_rules import CacheError, CacheRules
from engine.framework.nodes.cached_nodes import CachedNodes, Clock, NodeObserver, cached_node_of
from engine.framework.nodes.node_info import NodeInfo
from engine.framework.nodes.node_tree import NodeTree
from engine.framework.pods.pod_info import PodInfo
from engine.framework.trace_steps.nodes import (
    Assumed,
    BindingFinished,
    CachedNode,
    Forgotten,
    SnapshotTaken,
    TreeListed,
    ZoneNodes,
)

if TYPE_CHECKING:
    from engine.objects.objects import Node, Pod

CachePlace = Literal["", "assumed", "added"]
CacheMove = Literal[
    "assume", "finish_binding", "confirm", "forget", "expire", "add", "update", "remove"
]

_CORRUPTED = "Schedulercache is corrupted and can badly affect scheduling decisions"


class CacheListener(Protocol):
    """Receives every move of a pod in the cache after it happened, and every refusal."""

    def cache_moved(
        self, pod_key: str, move: CacheMove, place_to: CachePlace, node_name: str
    ) -> None:
        """The pod is now in *place_to* ("" is not in the cache), counted on the node."""
        ...

    def cache_refused(self, pod_key: str, move: CacheMove, reason: str) -> None:
        """The move was refused and nothing changed."""
        ...


class PodState:
    """What the cache knows of one pod. `deadline` is None while it cannot expire."""

    __slots__ = ("assumed", "binding_finished", "deadline", "info")

    def __init__(self, info: PodInfo, *, assumed: bool) -> None:
        self.info = info
        self.assumed = assumed
        self.binding_finished = False
        self.deadline: int | None = None


class SchedulerCache:
    """The pods by uid with their state, and the nodes that they count on (`CachedNodes`).

    `started_at` is the phase of the periodic clean-up. A trace hears that it is *scheduler*'s.
    """

    def __init__(
        self,
        clock: Clock,
        rules: CacheRules,
        *,
        listener: CacheListener | None = None,
        observer: NodeObserver | None = None,
        assume_ttl: int | None = None,
        started_at: int = 0,
        scheduler: str = "",
    ) -> None:
        self.rules = rules
        self.resource_rules = rules.resources
        self._nodes = CachedNodes(rules, observer, clock, scheduler)
        self._clock = clock
        self._started_at = started_at
        self._ttl = rules.assume_ttl if assume_ttl is None else assume_ttl
        self._listener = listener
        self._pods: dict[str, PodState] = {}
        # The uids of the assumed pods by namespace/name. Read-only for callers.
        self.assumed: dict[str, str] = {}
        # The deadlines of assumed pods, in rising order.
        self._deadlines: dict[str, int] = {}

    # -- pods ------------------------------------------------------------------------------------

    def assume_pod(self, info: PodInfo) -> None:
        """Count the pod on `info.node_name` before the watch confirms that it is there.

        Raises:
            CacheError: the pod is in the cache already, or has no uid.
        """
        uid = info.uid or self._uid(info, "assume")
        if uid in self._pods:
            self._refuse(info, "assume", "{pod} is in the cache, so can't be assumed")
        name = info.node_name
        before = None if self._clock.trace is None else self.cached_node(name)
        self._nodes.count(info)
        self._pods[uid] = PodState(info, assumed=True)
        self.assumed[info.key] = uid
        if before is not None:
            self._write_step(info, Assumed(name, before, self.cached_node(name)))
        if self._listener is not None:
            self._report(info, "assume", "assumed")

    def finish_binding(self, info: PodInfo) -> None:
        """The binding was written: from now on an assumed pod may expire. Others are ignored."""
        state = self._pods.get(info.uid or self._uid(info, "finish_binding"))
        if state is not None and state.assumed:
            state.binding_finished = True
            if self._ttl:
                state.deadline = self._clock.now + self._ttl
                self._deadlines.pop(info.uid, None)
                self._deadlines[info.uid] = state.deadline
            if self._clock.trace is not None:
                self._write_step(info, BindingFinished(info.node_name, state.deadline))
            if self._listener is not None:
                self._report(state.info, "finish_binding", "assumed")

    def forget_pod(self, info: PodInfo) -> None:
        """Take out an assumed pod that will not be bound.

        Raises:
            CacheError: the pod is not assumed, or on another node.
        """
        state = self._pods.get(self._uid(info, "forget"))
        if state is not None and state.info.node_name != info.node_name:
            self._refuse(
                info,
                "forget",
                f"{{pod}} was assumed on {info.node_name} but assigned to {state.info.node_name}",
            )
        if state is None or not state.assumed:
            self._refuse(info, "forget", "{pod} wasn't assumed so cannot be forgotten")
        self._drop(state, info)
        if self._clock.trace is not None:
            self._write_step(info, Forgotten(info.node_name))
        self._report(state.info, "forget", "")

    def add_pod(self, info: PodInfo) -> None:
        """The watch shows the pod on a node: an assumed one is confirmed, an unknown one added.

        Raises:
            CacheError: the pod was added before.
        """
        uid = info.uid or self._uid(info, "add")
        state = self._pods.get(uid)
        if state is None:
            # New to this scheduler, or expired before it was confirmed.
            self._nodes.count(info)
            self._pods[uid] = PodState(info, assumed=False)
            self._report(info, "add", "added")
            return
        if not state.assumed:
            self._refuse(info, "add", "{pod} was already in added state")
        if state.info.node_name != info.node_name:
            # Another scheduler bound it to another node.
            self._nodes.discount(state.info)
            self._nodes.count(info)
        elif self.rules.confirm_replaces_pod:
            self._nodes.replace(state.info, info)
        state.info = info
        self._confirmed(state)

    def confirm_pod(self, pod: Pod) -> bool:
        """As `add_pod`, for an assumed pod that is confirmed as it was assumed; else False."""
        state = self._pods.get(pod.uid)
        if state is None or not state.assumed or not self.rules.confirm_replaces_pod:
            return False
        if not self._nodes.renew(state.info, pod):
            return False
        self._confirmed(state)
        return True

    def update_pod(self, old: PodInfo, info: PodInfo) -> None:
        """The watch shows a newer version of an added pod; *old* is taken from its node.

        Raises:
            CacheError: the pod is not added, or *old* is not where it is said to be; fatal when the
                newer version is said to be on another node.
        """
        state = self._pods.get(self._uid(old, "update"))
        if state is None or state.assumed:
            self._refuse(
                info, "update", "{pod} is not added to scheduler cache, so cannot be updated"
            )
        if state.info.node_name != info.node_name:
            self._refuse(info, "update", _CORRUPTED, fatal=True)
        self._nodes.replace(old, info)
        state.info = info
        self._report(info, "update", "added")

    def renew_pod(self, pod: Pod) -> None:
        """As `update_pod`, for a newer version that counts the same as the old one.

        It goes to the end of its node's list all the same. Upstream: updatePod().
        """
        state = self._pods.get(pod.uid)
        if state is None or state.assumed:
            return
        if self._nodes.renew(state.info, pod):
            self._report(state.info, "update", "added")
        else:
            self.update_pod(state.info, state.info.updated(pod))

    def remove_pod(self, info: PodInfo) -> None:
        """The watch shows that the pod is gone from its node.

        Raises:
            CacheError: the pod is not added; fatal when it is on another node.
        """
        state = self._pods.get(self._uid(info, "remove"))
        if state is None or (state.assumed and not self.rules.removes_assumed):
            self._refuse(
                info,
                "remove",
                "{pod} is not found in scheduler cache, so cannot be removed from it",
            )
        if state.info.node_name != info.node_name and (
            info.node_name or not self.rules.removes_assumed
        ):
            self._refuse(info, "remove", _CORRUPTED, fatal=True)
        self._drop(state)
        self._report(state.info, "remove", "")

    def cleanup_assumed_pods(self) -> list[PodInfo]:
        """Each second: drop the assumed pods whose deadline has passed. Returns them."""
        now = self._clock.now
        expired: list[PodState] = []
        for uid, deadline in self._deadlines.items():
            if deadline >= now:
                break
            expired.append(self._pods[uid])
        for state in expired:
            self._drop(state)
            self._report(state.info, "expire", "")
        return [state.info for state in expired]

    @property
    def may_expire(self) -> bool:
        """Whether any assumed pod has a deadline."""
        return bool(self._deadlines)

    def next_expiry(self) -> int | None:
        """The tick at which cleanup_assumed_pods() next has something to do; None for never."""
        deadline = next(iter(self._deadlines.values()), None)
        if deadline is None:
            return None
        # Strictly after the deadline.
        at = max(deadline + 1, self._clock.now)
        return at + (self._started_at - at) % self.rules.clean_period

    # -- nodes -----------------------------------------------------------------------------------

    @property
    def tree(self) -> NodeTree:
        """The names of the nodes by zone."""
        return self._nodes.tree

    def add_node(self, node: Node) -> NodeInfo:
        """The watch shows a new node."""
        return self._nodes.add(node)

    def update_node(self, node: Node, old: Node | None = None) -> NodeInfo:
        """The watch shows a changed node; see `CachedNodes.update`."""
        return self._nodes.update(node, old)

    def remove_node(self, node: Node) -> None:
        """The watch shows that the node is gone.

        Raises:
            CacheError: the node is not in the cache.
        """
        self._nodes.remove(node)

    def node(self, name: str) -> NodeInfo | None:
        """The entry of the node; a ghost, if its `node` is None."""
        return self._nodes.get(name)

    def nodes(self) -> list[NodeInfo]:
        """Every entry, ghosts too, the one that changed last first."""
        return self._nodes.newest_first()

    def pods_on(self, name: str) -> list[PodInfo]:
        """The pods counted on this node, in upstream's order. Do not change the list."""
        return self._nodes.pods_on(name)

    def take_snapshot(self) -> None:
        """A cycle begins: bring its snapshot up to date. See `CachedNodes.take_snapshot`."""
        self._nodes.take_snapshot()

    def snapshot_step(self) -> SnapshotTaken:
        """What `take_snapshot` would copy now."""
        return self._nodes.snapshot_step()

    def cached_node(self, name: str) -> CachedNode:
        """The entry of the node; of generation 0 where there is none."""
        entry = self._nodes.get(name)
        return CachedNode(name, 0, 0) if entry is None else cached_node_of(entry)

    def cached_nodes(self) -> tuple[CachedNode, ...]:
        """Every entry, the one that changed last first."""
        return tuple(cached_node_of(entry) for entry in self._nodes.newest_first())

    def tree_step(self) -> TreeListed:
        """The nodes by zone."""
        zones = self._nodes.tree.zones().items()
        return TreeListed(tuple(ZoneNodes(zone, tuple(nodes)) for zone, nodes in zones))

    # -- looking ---------------------------------------------------------------------------------

    def pod(self, uid: str) -> PodState | None:
        """The pod's state, if it is in the cache."""
        return self._pods.get(uid)

    def is_assumed(self, key: str) -> bool:
        """Whether a pod of this namespace/name is assumed and not confirmed yet."""
        return key in self.assumed

    def place_of(self, uid: str) -> CachePlace:
        """The state of the pod; "" when it is not in the cache."""
        state = self._pods.get(uid)
        if state is None:
            return ""
        return "assumed" if state.assumed else "added"

    def pods(self) -> list[PodState]:
        """Every pod, in order of arrival."""
        return list(self._pods.values())

    # -- helpers ---------------------------------------------------------------------------------

    def _write_step(self, info: PodInfo, step: object) -> None:
        trace = self._clock.trace
        if trace is not None and trace.follows(info.pod.id):
            trace.add(info.pod.id, step)

    def _confirmed(self, state: PodState) -> None:
        state.assumed = False
        state.deadline = None
        self._no_longer_assumed(state.info)
        if self._listener is not None:
            self._report(state.info, "confirm", "added")

    def _drop(self, state: PodState, on: PodInfo | None = None) -> None:
        uid = state.info.uid
        self._nodes.discount(on or state.info)
        del self._pods[uid]
        if state.assumed:
            self._no_longer_assumed(state.info)

    def _no_longer_assumed(self, info: PodInfo) -> None:
        if self._deadlines:
            self._deadlines.pop(info.uid, None)
        if self.assumed.get(info.key) == info.uid:
            del self.assumed[info.key]

    def _uid(self, info: PodInfo, move: CacheMove) -> str:
        if not info.uid:
            self._refuse(info, move, self.rules.missing_uid_error)
        return info.uid

    def _refuse(
        self, info: PodInfo, move: CacheMove, reason: str, *, fatal: bool = False
    ) -> NoReturn:
        named = f"pod {info.uid}({info.key})" if self.rules.errors_name_pod else f"pod {info.uid}"
        message = reason.replace("{pod}", named)
        if self._listener is not None:
            self._listener.cache_refused(info.key, move, message)
        raise CacheError(message, move=move, fatal=fatal)

    def _report(self, info: PodInfo, move: CacheMove, place_to: CachePlace) -> None:
        if self._listener is not None:
            self._listener.cache_moved(info.key, move, place_to, info.node_name)
