"""The taint manager: evicts pods from nodes with a NoExecute taint that they do not tolerate.

Upstream: pkg/controller/nodelifecycle/scheduler/taint_manager.go.
"""

from typing import ClassVar, Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.node_lifecycle.taints import NODE_CONTROLLER, no_execute_taints
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.deletion import delete
from engine.kernel.errors import ApiError, NotFound
from engine.kernel.loop import Timer
from engine.kernel.units import MILLISECOND, nanoseconds
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.pods.conditions import disruption_target, with_condition
from engine.objects.pods.tolerations import tolerates
from engine.storage.ports import NORMAL, EventSink

# How often, and how soon again, a pod's deletion is tried.
_RETRIES: Final = 5


_RETRY: Final = 10 * MILLISECOND
# In place of seconds: some taint is not tolerated at all.
_NOT_TOLERATED: Final = -1


class TaintManager:
    """Evicts pods from nodes with NoExecute taints, each when its tolerations run out."""

    AUTHOR: ClassVar[str] = "taint-controller"
    PARTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        self._loop = context.loop
        self._store = context.store
        self._listers = context.listers
        self._rules = context.rules
        self._events = events
        # Pod key → when its eviction was scheduled, and the timer of its eviction.
        self._scheduled: dict[str, tuple[int, Timer]] = {}
        self._listers.nodes.on_event(self._on_node)
        self._listers.pods.on_event(self._on_pod)

    def restarted(self, context: ControllerContext) -> "TaintManager":
        """The same controller in a new process, which knows nothing yet."""
        return TaintManager(context, self._events)

    def _on_node(self, event: WatchEvent) -> None:
        node, old = event.new, event.old
        assert isinstance(node, Node)
        if event.type == "DELETED":
            return
        if isinstance(old, Node) and no_execute_taints(old) == no_execute_taints(node):
            return
        if not no_execute_taints(node) and (old is None or event.type == "ADDED"):
            return
        for pod in self._listers.pods_on(node.name):
            self._loop.tried(self._decide, pod, no_execute_taints(node))

    def _on_pod(self, event: WatchEvent) -> None:
        pod, old = event.new, event.old
        assert isinstance(pod, Pod)
        if event.type == "DELETED":
            self._cancel(pod, silently=not self._rules.reports_spared_pods)
            return
        if not pod.node_name:
            return
        if isinstance(old, Pod) and event.type == "MODIFIED":
            same = old.spec.get("tolerations") == pod.spec.get("tolerations")
            if same and old.node_name == pod.node_name:
                return
        node = self._listers.nodes.get(pod.node_name)
        if node is not None and (no_execute_taints(node) or pod.key in self._scheduled):
            self._decide(pod, no_execute_taints(node))

    def _decide(self, pod: Pod, taints: list[Manifest]) -> None:
        """Upstream: processPodOnNode()."""
        if not taints:
            self._cancel(pod)
            return
        seconds = _tolerated_for(pod, taints, numbers=self._rules.compares_tolerations)
        if seconds is None:
            self._cancel(pod)
            return
        scheduled = self._scheduled.get(pod.key)
        if scheduled and scheduled[0] < self._loop.now and seconds != _NOT_TOLERATED:
            # Upstream compares both of its times with the same toleration: what is scheduled stays,
            # however short the time that is left by now.
            return
        # A deletion that waits is cancelled, with its Event, and another one follows.
        self._cancel(pod)
        at = self._loop.now + nanoseconds(max(0, seconds))
        self._scheduled[pod.key] = self._loop.now, self._loop.call_at(at, self._evict, pod)

    def _cancel(self, pod: Pod, *, silently: bool = False) -> None:
        scheduled = self._scheduled.pop(pod.key, None)
        if scheduled is None:
            return
        scheduled[1].cancel()
        if silently:
            return
        message = f"Cancelling deletion of Pod {pod.key}"
        self._events.event(pod, NORMAL, "TaintManagerEviction", message)

    def _evict(self, pod: Pod) -> None:
        self._scheduled.pop(pod.key, None)
        self._loop.tried(self._delete_marked, pod)

    def _delete_marked(self, pod: Pod) -> None:
        live = self._store.find("Pod", pod.key)
        if live is None or live.uid != pod.uid or live.deletion_timestamp:
            return
        message = f"Marking for deletion Pod {pod.key}"
        self._events.event(live, NORMAL, "TaintManagerEviction", message)
        self._delete(pod, _RETRIES)

    def _delete(self, pod: Pod, tries: int) -> None:
        """Upstream: deletePodHandler(), which gives up after *tries*."""
        live = self._store.find("Pod", pod.key)
        if live is None or live.uid != pod.uid:
            return
        try:
            if self._rules.disruption_conditions:
                self._mark(live)
            delete(
                self._store,
                live,
                by=NODE_CONTROLLER,
                message="its tolerations of the node's taints have run out",
            )
        except NotFound:
            return
        except ApiError:
            if tries > 1:
                self._loop.call_after(_RETRY, self._delete_again, pod, tries - 1)

    def _delete_again(self, pod: Pod, tries: int) -> None:
        self._loop.tried(self._delete, pod, tries)

    def _mark(self, pod: ApiObject) -> None:
        message = "Taint manager: deleting due to NoExecute taint"
        made = disruption_target("DeletionByTaintManager", message, self._loop.clock)
        patch: Manifest = {"status": {"conditions": with_condition(pod, made)}}
        self._store.patch("Pod", pod.key, patch, by=NODE_CONTROLLER, event="PodDisrupted")


def _tolerated_for(pod: Pod, taints: list[Manifest], *, numbers: bool) -> int | None:
    """For how many seconds *pod* may stay; None without limit, `_NOT_TOLERATED` not at all.

    Upstream: GetMatchingTolerations(), getMinTolerationTime().
    """
    given: list[Manifest] = pod.spec.get("tolerations") or []
    limits: list[int] = []
    for taint in taints:
        fitting = next((each for each in given if tolerates(each, taint, numbers=numbers)), None)
        if fitting is None:
            return _NOT_TOLERATED
        if fitting.get("tolerationSeconds") is not None:
            limits.append(max(0, fitting["tolerationSeconds"]))
    return min(limits, default=None)
