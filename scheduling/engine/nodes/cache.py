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

Every other move is refused with a CacheError and told to the listener. Upstream:
pkg/scheduler/internal/cache/cache.go, interface.go (v1.16, v1.20), pkg/scheduler/backend/cache (v1.34).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, Protocol, runtime_checkable

from kscope.sim.objects.pod_resources import ResourceRules
from scheduling.engine.nodes.node_info import NodeInfo
from scheduling.engine.nodes.node_tree import NodeTree, NodeTreeError, zone_key
from scheduling.engine.pods.pod_info import PodInfo

if TYPE_CHECKING:
    from kscope.sim.objects.objects import Node, Pod

CachePlace = Literal["", "assumed", "added"]
CacheMove = Literal[
    "assume", "finish_binding", "confirm", "forget", "expire", "add", "update", "remove"
]

_CORRUPTED = "Schedulercache is corrupted and can badly affect scheduling decisions"


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRules:
    """How the scheduler cache of one version behaves. Durations are nanoseconds."""

    resources: ResourceRules
    assume_ttl: int
    """How long an assumed pod stays after its binding finished, if no update confirms it; 0 is for ever."""
    clean_period: int
    """How often the cache looks for assumed pods that have expired."""
    beta_zones_only: bool
    """Only the beta labels say in which zone a node is."""
    confirm_replaces_pod: bool
    """The confirmed pod replaces the assumed one; otherwise the node keeps the assumed one."""
    removes_assumed: bool
    """A pod that was deleted before it was confirmed can be removed."""
    update_adds_to_tree: bool
    """An update of a node that was never added puts it into the node tree."""
    relists_after_any_change: bool
    """Any change of a node makes the snapshot list the nodes anew, which may change their order."""
    errors_name_pod: bool
    """Errors name the pod beside its uid."""
    missing_uid_error: str
    """The error for a pod without a uid."""


class CacheError(Exception):
    """A *move* that the pod's state, or the absence of the node, does not allow.

    `fatal` marks what upstream ends its process over: its view of the cluster is broken.
    """

    def __init__(self, message: str, *, move: str = "", fatal: bool = False) -> None:
        super().__init__(message)
        self.move = move
        self.fatal = fatal


class Clock(Protocol):
    """Whoever knows the virtual time, such as the event loop."""

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        ...


class CacheListener(Protocol):
    """Hears of every move of a pod in the cache, after it happened, and of every refusal."""

    def cache_moved(
        self, pod_key: str, move: CacheMove, place_to: CachePlace, node_name: str
    ) -> None:
        """The pod is now in *place_to* ("" is not in the cache), counted on the node."""
        ...

    def cache_refused(self, pod_key: str, move: CacheMove, reason: str) -> None:
        """The move was refused and nothing changed."""
        ...


class NodeObserver(Protocol):
    """Keeps a table of nodes in step with the cache.

    Hears of known nodes only: pods that came before their node are told after node_set, and with
    node_removed all pods of the node are gone.
    """

    def node_set(self, node: Node) -> None:
        """The node is new or changed."""
        ...

    def node_removed(self, node_name: str) -> None:
        """The node is gone, and its pods with it."""
        ...

    def pod_added(self, node_name: str, pod: PodInfo) -> None:
        """The pod counts on the node from now on."""
        ...

    def pod_removed(self, node_name: str, pod: PodInfo) -> None:
        """The pod counts no more."""
        ...


@runtime_checkable
class ReplacingObserver(NodeObserver, Protocol):
    """An observer that spares itself taking a pod out and putting its like back in."""

    def pod_replaced(self, node_name: str, old: Pod, new: PodInfo) -> None:
        """A newer version of the pod that counts, matches and claims exactly as the old one."""
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
    """Pods by uid, nodes with the one that changed last first.

    `started_at` is the phase of the periodic clean-up.
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
    ) -> None:
        self.rules = rules
        self.resource_rules = rules.resources
        self.tree = NodeTree()
        self._clock = clock
        self._started_at = started_at
        self._ttl = rules.assume_ttl if assume_ttl is None else assume_ttl
        self._listener = listener
        self._observer = observer
        self._replacing = observer if isinstance(observer, ReplacingObserver) else None
        self._pods: dict[str, PodState] = {}
        # The uids of the assumed pods by namespace/name. Only to be looked at from outside.
        self.assumed: dict[str, str] = {}
        # The deadlines of assumed pods, which are given out in rising order.
        self._deadlines: dict[str, int] = {}
        # Upstream's doubly linked list; the most recently changed node stands at the end.
        self._nodes: OrderedDict[str, NodeInfo] = OrderedDict()
        self._generation = 0

    # -- pods ------------------------------------------------------------------------------------

    def assume_pod(self, info: PodInfo) -> None:
        """Count the pod on `info.node_name` although nobody has confirmed that it is there.

        Raises:
            CacheError: the pod is in the cache already, or has no uid.
        """
        uid = info.uid or self._uid(info, "assume")
        if uid in self._pods:
            self._refuse(info, "assume", "{pod} is in the cache, so can't be assumed")
        self._count(info)
        self._pods[uid] = PodState(info, assumed=True)
        self.assumed[info.key] = uid
        if self._listener is not None:
            self._tell(info, "assume", "assumed")

    def finish_binding(self, info: PodInfo) -> None:
        """The binding was written: from now on an assumed pod may expire. Others are ignored."""
        state = self._pods.get(info.uid or self._uid(info, "finish_binding"))
        if state is not None and state.assumed:
            state.binding_finished = True
            if self._ttl:
                state.deadline = self._clock.now + self._ttl
                self._deadlines.pop(info.uid, None)
                self._deadlines[info.uid] = state.deadline
            if self._listener is not None:
                self._tell(state.info, "finish_binding", "assumed")

    def forget_pod(self, info: PodInfo) -> None:
        """The assumption came to nothing.

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
        self._tell(state.info, "forget", "")

    def add_pod(self, info: PodInfo) -> None:
        """The watch shows the pod on a node: an assumed one is confirmed, an unknown one added.

        Raises:
            CacheError: the pod was added before.
        """
        uid = info.uid or self._uid(info, "add")
        state = self._pods.get(uid)
        if state is None:
            # New to this scheduler, or expired before it was confirmed.
            self._count(info)
            self._pods[uid] = PodState(info, assumed=False)
            self._tell(info, "add", "added")
            return
        if not state.assumed:
            self._refuse(info, "add", "{pod} was already in added state")
        if state.info.node_name != info.node_name:
            # Somebody else put it elsewhere.
            self._discount(state.info)
            self._count(info)
        elif self.rules.confirm_replaces_pod:
            self._replace(state.info, info)
        state.info = info
        self._confirmed(state)

    def confirm_pod(self, pod: Pod) -> bool:
        """As `add_pod`, for an assumed pod that is confirmed as it was assumed; else False."""
        state = self._pods.get(pod.uid)
        if state is None or not state.assumed or not self.rules.confirm_replaces_pod:
            return False
        if not self._renew(state.info, pod):
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
        self._replace(old, info)
        state.info = info
        self._tell(info, "update", "added")

    def renew_pod(self, pod: Pod) -> None:
        """As `update_pod`, for a newer version of which nothing is counted that has changed.

        It goes to the end of its node's list all the same. Upstream: updatePod().
        """
        state = self._pods.get(pod.uid)
        if state is None or state.assumed:
            return
        if self._renew(state.info, pod):
            self._tell(state.info, "update", "added")
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
        self._tell(state.info, "remove", "")

    def cleanup_assumed_pods(self) -> list[PodInfo]:
        """Each second: drop the assumed pods whose time is up. Returns them."""
        now = self._clock.now
        expired: list[PodState] = []
        for uid, deadline in self._deadlines.items():
            if deadline >= now:
                break
            expired.append(self._pods[uid])
        for state in expired:
            self._drop(state)
            self._tell(state.info, "expire", "")
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

    def add_node(self, node: Node) -> NodeInfo:
        """The watch shows a new node. Pods may have been there before it."""
        name = node.name
        info = self._nodes.get(name)
        if info is None:
            info = self._new_node_info(name)
        self._nodes.move_to_end(name)
        self.tree.add(name, self._zone(node))
        return self._set_node(info, node)

    def update_node(self, node: Node, old: Node | None = None) -> NodeInfo:
        """The watch shows a changed node; *old*, by default what is known, says where it was.

        Before v1.20 a node that was never added enters the tree only when its zone has changed.
        """
        known = self._nodes.get(node.name)
        if known is None:
            known = self._new_node_info(node.name)
            if self.rules.update_adds_to_tree:
                self.tree.add(node.name, self._zone(node))
        self._nodes.move_to_end(node.name)
        old = old or known.node
        self.tree.update(
            node.name, "" if old is None else self._zone(old), node.name, self._zone(node)
        )
        return self._set_node(known, node)

    def remove_node(self, node: Node) -> None:
        """The watch shows that the node is gone. Its entry stays as a ghost while pods are on it.

        Raises:
            CacheError: the node is not in the cache.
        """
        info = self._nodes.get(node.name)
        if info is None:
            raise CacheError(f"node {node.name} is not found", move="remove_node")
        known = info.node is not None
        info.node = None
        info.generation = self._next_generation()
        if info.pods:
            self._nodes.move_to_end(node.name)
        else:
            del self._nodes[node.name]
        if known and self._observer is not None:
            self._observer.node_removed(node.name)
        try:
            self.tree.remove(node.name, self._zone(node))
        except NodeTreeError as error:
            raise CacheError(str(error)) from error

    # -- looking ---------------------------------------------------------------------------------

    def node(self, name: str) -> NodeInfo | None:
        """The entry of the node; a ghost, if its `node` is None."""
        return self._nodes.get(name)

    def nodes(self) -> list[NodeInfo]:
        """Every entry, ghosts too, the one that changed last first."""
        return list(reversed(self._nodes.values()))

    def pod(self, uid: str) -> PodState | None:
        """The pod's state, if it is in the cache."""
        return self._pods.get(uid)

    def is_assumed(self, key: str) -> bool:
        """Is a pod of this namespace/name assumed and not confirmed yet?"""
        return key in self.assumed

    def place_of(self, uid: str) -> CachePlace:
        """Where the pod stands in its state machine; "" when it is not in the cache."""
        state = self._pods.get(uid)
        if state is None:
            return ""
        return "assumed" if state.assumed else "added"

    def pods(self) -> list[PodState]:
        """Every pod, in order of arrival."""
        return list(self._pods.values())

    def pods_on(self, name: str) -> list[PodInfo]:
        """The pods counted on this node, in upstream's order; only to be looked at."""
        entry = self._nodes.get(name)
        return entry.pods if entry is not None else []

    # -- helpers ---------------------------------------------------------------------------------

    def _count(self, info: PodInfo) -> None:
        name = info.node_name
        entry = self._nodes.get(name)
        if entry is None:
            entry = self._new_node_info(name)
        entry.add_pod(info)
        entry.generation = self._generation = self._generation + 1
        self._nodes.move_to_end(name)
        if self._observer is not None and entry.node is not None:
            self._observer.pod_added(name, info)

    def _discount(self, info: PodInfo) -> None:
        """Take the pod of this uid from `info.node_name`."""
        name = info.node_name
        entry = self._nodes.get(name)
        if entry is None:
            raise CacheError(f"node {name} is not found")
        counted = entry.remove_pod(info.uid)
        if counted is None:
            raise CacheError(f"no corresponding pod {info.pod.name} in pods of node {name}")
        entry.generation = self._next_generation()
        if not entry.pods and entry.node is None:
            del self._nodes[name]
        else:
            self._nodes.move_to_end(name)
        if self._observer is not None and entry.node is not None:
            self._observer.pod_removed(name, counted)

    def _replace(self, old: PodInfo, new: PodInfo) -> None:
        """Take the old version out and put the new one in, or do what amounts to the same.

        Where pods share a port it does not: the pod takes what another has given up for both.
        """
        entry = self._nodes.get(new.node_name)
        if entry is None or (entry.shares_ports and new.ports) or not _alike(old, new):
            self._discount(old)
            self._count(new)
            return
        counted = entry.replace_pod(new)
        if counted is None:
            raise CacheError(f"no corresponding pod {old.pod.name} in pods of node {entry.name}")
        self._note_replaced(entry)
        observer = self._observer
        if observer is not None and entry.node is not None:
            if self._replacing is not None:
                self._replacing.pod_replaced(entry.name, counted.pod, new)
            else:
                observer.pod_removed(entry.name, counted)
                observer.pod_added(entry.name, new)

    def _renew(self, info: PodInfo, pod: Pod) -> bool:
        """As `_replace`, in place, by a version of which all that is read off it is known.

        False, with nothing changed, where that will not do.
        """
        old, entry = info.pod, self._nodes.get(info.node_name)
        if (
            entry is None
            or (entry.shares_ports and info.ports)
            or (self._replacing is None and self._observer is not None)
            or pod.node_name != info.node_name
            or pod.deletion_timestamp != old.deletion_timestamp
            or not info.is_made_like(pod)
            or entry.replace_pod(info) is None
        ):
            return False
        info.pod = pod
        self._note_replaced(entry)
        if self._replacing is not None and entry.node is not None:
            self._replacing.pod_replaced(entry.name, old, info)
        return True

    def _note_replaced(self, entry: NodeInfo) -> None:
        # As one change for each, the version that goes and the one that comes.
        self._generation += 2
        entry.generation = self._generation
        self._nodes.move_to_end(entry.name)

    def _confirmed(self, state: PodState) -> None:
        state.assumed = False
        state.deadline = None
        self._no_longer_assumed(state.info)
        if self._listener is not None:
            self._tell(state.info, "confirm", "added")

    def _drop(self, state: PodState, told: PodInfo | None = None) -> None:
        uid = state.info.uid
        self._discount(told or state.info)
        del self._pods[uid]
        if state.assumed:
            self._no_longer_assumed(state.info)

    def _no_longer_assumed(self, info: PodInfo) -> None:
        if self._deadlines:
            self._deadlines.pop(info.uid, None)
        if self.assumed.get(info.key) == info.uid:
            del self.assumed[info.key]

    def _new_node_info(self, name: str) -> NodeInfo:
        info = self._nodes[name] = NodeInfo(name, self._next_generation())
        return info

    def _set_node(self, info: NodeInfo, node: Node) -> NodeInfo:
        was_ghost = info.node is None
        info.node = node
        info.generation = self._next_generation()
        observer = self._observer
        if observer is not None:
            observer.node_set(node)
            if was_ghost:
                for pod in info.pods:
                    observer.pod_added(info.name, pod)
        return info

    def _zone(self, node: Node) -> str:
        return zone_key(node.labels, beta_only=self.rules.beta_zones_only)

    def _next_generation(self) -> int:
        self._generation += 1
        return self._generation

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

    def _tell(self, info: PodInfo, move: CacheMove, place_to: CachePlace) -> None:
        if self._listener is not None:
            self._listener.cache_moved(info.key, move, place_to, info.node_name)


def _alike(old: PodInfo, new: PodInfo) -> bool:
    """Does the newer version count and match exactly as the old one?"""
    if old.pod.template is new.pod.template and old.resources is new.resources:
        # The same spec but for the node, and the same labels.
        return (
            old.node_name == new.node_name
            and old.uid == new.uid
            and old.pod.deletion_timestamp == new.pod.deletion_timestamp
        )
    return (
        old.node_name == new.node_name
        and old.uid == new.uid
        and (old.resources is new.resources or old.resources == new.resources)
        and old.ports == new.ports
        and (old.affinity is new.affinity or old.affinity == new.affinity)
        and old.priority == new.priority
        and old.pod.labels == new.pod.labels
        and old.pod.claim_names == new.pod.claim_names
        and old.pod.deletion_timestamp == new.pod.deletion_timestamp
    )
