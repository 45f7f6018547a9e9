"""The DaemonSet controller: one pod on every node that fits. Upstream: pkg/controller/daemon."""

from contextlib import suppress
from typing import ClassVar, Final

from engine.api_server.admission.admission import TEMPLATE_GENERATION
from engine.api_server.store.watches import WatchEvent
from engine.controllers.node_lifecycle.taints import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    NETWORK_UNAVAILABLE,
    NOT_READY,
    PID_PRESSURE,
    UNREACHABLE,
    UNSCHEDULABLE,
)
from engine.controllers.shared.controller import (
    Controller,
    ControllerContext,
    generation_of,
)
from engine.controllers.shared.expectations import Expectations
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_of
from engine.controllers.shared.pods import count_of, is_available, time_of
from engine.controllers.shared.selection import selector_of
from engine.controllers.workloads.creation import batches
from engine.controllers.workloads.revisions import REVISION_LABEL, Revisions
from engine.kernel.errors import ApiError, Forbidden, NotFound
from engine.kernel.units import MINUTE, SECOND
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.pods.conditions import is_ready
from engine.objects.pods.tolerations import NO_EXECUTE, NO_SCHEDULE, untolerated
from engine.objects.selectors import NodeSelector
from engine.storage.ports import WARNING, EventSink

GENERATION_LABEL: Final = "pod-template-generation"

# A pod that failed is replaced after a delay that grows: 1 s doubling to 15 min.
_FAILED_BACKOFF: Final = SECOND
_FAILED_BACKOFF_MAX: Final = 15 * MINUTE


class DaemonSetController(Controller):
    """Keeps one pod of every DaemonSet on each node that it fits."""

    AUTHOR: ClassVar[str] = "daemonset-controller"
    KIND: ClassVar[str] = "DaemonSet"

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._expectations = Expectations(context.loop)
        self._revisions = Revisions(context.store, context.listers, self.AUTHOR)
        # DaemonSet/node → failures, and when the last replacement was made.
        self._failures: dict[str, tuple[int, int]] = {}
        self._listers.of("DaemonSet").on_event(self._on_set)
        self._listers.nodes.on_event(self._on_node)
        # Pods matter only if there is a DaemonSet.
        only_with = self._listers.of("DaemonSet")
        self._listers.pods.on_event(self._on_pod, plain=False, only_with=only_with)

    def await_creation(self, key: str) -> None:
        """See Controller."""
        self._expectations.expect(key, 1, [])

    # Watch events

    def _on_set(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._expectations.forget(event.new.key)
        self._queue.add(event.new.key)

    def _on_node(self, event: WatchEvent) -> None:
        old, new = event.old, event.new
        if event.type == "DELETED":
            return  # As upstream; the pod garbage collector's work brings the sets back here.
        if isinstance(old, Node) and isinstance(new, Node):
            same = old.labels == new.labels and old.taints == new.taints
            if event.type == "MODIFIED" and same:
                return
        for each in self._listers.of("DaemonSet"):
            self._queue.add(each.key)

    def _on_pod(self, event: WatchEvent) -> None:
        owner = self._owner_of(event.new)
        if owner is None:
            if controller_of(event.new) is None and event.type != "DELETED":
                self._queue_selecting(self.KIND, event.new)
            return
        if event.type == "ADDED":
            self._expectations.created(owner.key)
        if event.type == "DELETED" or event.new.deletion_timestamp:
            self._expectations.deleted(owner.key, event.new.key)
        self._queue.add(owner.key)

    # Syncing

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncDaemonSet()."""
        owner = self._listers.of("DaemonSet").get(key)
        if owner is None:
            return
        if selector_of(owner).empty:
            message = "This daemon set is selecting all pods. A non-empty selector is required."
            self._events.event(owner, WARNING, "SelectingAll", message)
            return
        if owner.deletion_timestamp:
            return
        revision = self._revisions.newest(owner)
        label = revision.labels.get(REVISION_LABEL) or revision.name.rpartition("-")[2]
        by_node = self._pods_by_node(owner)
        if self._expectations.satisfied(key):
            try:
                busy = self._manage(owner, by_node, label)
            except Forbidden:
                if self._rules.failed_daemons_count:
                    self._update_status(owner, by_node, label)
                raise
            if not busy:
                busy = self._roll(owner, by_node, label)
            if busy:
                # The writes take time; the status counts the pods that the watches deliver by then.
                self._queue.add_after(key, 2 * self._context.watch_latency)
                return
            live = {label_of(pod) for pods in by_node.values() for pod in pods}
            names = {f"{owner.name}-{each}" for each in live}
            self._revisions.trim(owner, {revision.name, *names})
        self._update_status(owner, by_node, label)

    def _pods_by_node(self, owner: ApiObject) -> dict[str, list[Pod]]:
        found: dict[str, list[Pod]] = {}
        for pod in self._claim_pods(owner, selector_of(owner)):
            found.setdefault(_target_node(pod), []).append(pod)
        return found

    def _manage(self, owner: ApiObject, by_node: dict[str, list[Pod]], label: str) -> bool:
        """Create missing pods and delete surplus ones; whether there was anything to do.

        Upstream: manage(), podsShouldBeOnNode().
        """
        needing: list[str] = []
        removed: list[Pod] = []
        for node in self._listers.nodes:
            should_run, may_stay = self._should_run_on(owner, node)
            pods = by_node.get(node.name, [])
            if should_run and not pods:
                needing.append(node.name)
            elif may_stay:
                removed += self._surplus(owner, node.name, pods, needing)
            else:
                removed += [pod for pod in pods if not pod.deletion_timestamp]
        for name, pods in by_node.items():
            if self._listers.nodes.get(name) is None:
                # Not scheduled, and it never will be: the node it is meant for is gone.
                removed += [p for p in pods if not p.node_name and not p.deletion_timestamp]
        self._carry_out(owner, needing, removed, label)
        return bool(needing or removed)

    def _surplus(
        self, owner: ApiObject, node: str, pods: list[Pod], needing: list[str]
    ) -> list[Pod]:
        living: list[Pod] = []
        removed: list[Pod] = []
        for pod in pods:
            if pod.deletion_timestamp:
                continue
            if pod.phase != "Failed":
                living.append(pod)
            elif self._may_replace(owner, node):
                message = (
                    f"Found failed daemon pod {pod.namespace}/{pod.name} on node {node}, "
                    "will try to kill it"
                )
                self._events.event(owner, WARNING, "FailedDaemonPod", message)
                removed.append(pod)
        living.sort(key=_age)
        return removed + living[1:]

    def _may_replace(self, owner: ApiObject, node: str) -> bool:
        """Whether the backoff of a failed pod on *node* has passed; else look again when it has."""
        key = f"{owner.key}/{node}"
        failures, at = self._failures.get(key, (0, 0))
        now = self._loop.now
        wait = min(_FAILED_BACKOFF << min(failures, 10), _FAILED_BACKOFF_MAX) if failures else 0
        if failures and now - at > 2 * _FAILED_BACKOFF_MAX:
            failures, wait = 0, 0
        if now < at + wait:
            self._queue.add_after(owner.key, at + wait - now)
            return False
        self._failures[key] = failures + 1, now
        return True

    def _carry_out(
        self, owner: ApiObject, needing: list[str], removed: list[Pod], label: str
    ) -> None:
        if not needing and not removed:
            return
        self._expectations.expect(owner.key, len(needing), [pod.key for pod in removed])
        refused = self._create_on(owner, needing, label)
        refused = refused or self._delete_pods(owner, removed, self._expectations)
        if refused is not None:
            raise refused

    def _create_on(self, owner: ApiObject, nodes: list[str], label: str) -> ApiError | None:
        """Create pods in growing batches until one has a refusal; returns the last refusal."""
        refused: ApiError | None = None
        tried = 0
        for size in batches(len(nodes)):
            for node in nodes[tried : tried + size]:
                try:
                    self._create_pod(owner, self._template(owner, node, label))
                except ApiError as refusal:
                    self._expectations.created(owner.key)
                    refused = refusal
            tried += size
            if refused is not None:
                self._expectations.created(owner.key, len(nodes) - tried)
                break
        return refused

    def _template(self, owner: ApiObject, node: str, label: str) -> Manifest:
        template: Manifest = part(owner.spec, "template")
        metadata: Manifest = part(template, "metadata")
        labels: Manifest = {**part(metadata, "labels"), REVISION_LABEL: label}
        generation = _template_generation(owner)
        if generation:
            labels[GENERATION_LABEL] = generation
        return {
            **template,
            "metadata": {**metadata, "labels": labels},
            "spec": daemon_spec(part(template, "spec"), node),
        }

    # Rolling update

    def _roll(self, owner: ApiObject, by_node: dict[str, list[Pod]], label: str) -> bool:
        """Delete old pods, as many as may be unavailable. Upstream: update.go, rollingUpdate()."""
        strategy: Manifest = part(owner.spec, "updateStrategy")
        if strategy.get("type") == "OnDelete":
            return False
        gone: list[Pod] = []
        candidates: list[Pod] = []
        unavailable = desired = 0
        seconds = owner.spec.get("minReadySeconds") or 0
        for node in self._listers.nodes:
            if not self._should_run_on(owner, node)[0]:
                continue
            desired += 1
            pods = [p for p in by_node.get(node.name, []) if not p.deletion_timestamp]
            old = [pod for pod in pods if self._is_old(owner, pod, label)]
            if not any(is_available(pod, seconds, self._loop.clock) for pod in pods):
                unavailable += 1
                gone += old
            else:
                candidates += old
        allowed = part(strategy, "rollingUpdate").get("maxUnavailable", 1)
        most = max(1, count_of(allowed, desired, round_up=True))
        gone += candidates[: max(0, most - unavailable)]
        if not gone:
            return False
        self._carry_out(owner, [], gone, label)
        return True

    def _should_run_on(self, owner: ApiObject, node: Node) -> tuple[bool, bool]:
        return should_run_on(owner, node, numbers=self._rules.compares_tolerations)

    def _is_old(self, owner: ApiObject, pod: Pod, label: str) -> bool:
        """Upstream: IsPodUpdated(); the hash or the template generation must be the newest."""
        if label_of(pod) == label:
            return False
        generation = _template_generation(owner)
        return not generation or pod.labels.get(GENERATION_LABEL) != generation

    # Status

    def _update_status(self, owner: ApiObject, by_node: dict[str, list[Pod]], label: str) -> None:
        """Upstream: updateDaemonSetStatus()."""
        counts = dict.fromkeys(
            (
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
            ),
            0,
        )
        seconds = owner.spec.get("minReadySeconds") or 0
        for node in self._listers.nodes:
            pods = by_node.get(node.name, [])
            if not self._should_run_on(owner, node)[0]:
                counts["numberMisscheduled"] += bool(pods)
                continue
            counts["desiredNumberScheduled"] += 1
            if not pods:
                continue
            counts["currentNumberScheduled"] += 1
            pod = min(pods, key=_age)
            counts["numberReady"] += is_ready(pod)
            counts["numberAvailable"] += is_available(pod, seconds, self._loop.clock)
            counts["updatedNumberScheduled"] += not self._is_old(owner, pod, label)
        status: Manifest = {
            **owner.status,
            **counts,
            "numberUnavailable": counts["desiredNumberScheduled"] - counts["numberAvailable"],
            "observedGeneration": generation_of(owner),
        }
        always = tuple(counts)[:4]
        status = {k: v for k, v in status.items() if v or k in always}
        if status != {**dict.fromkeys(always, 0), **owner.status}:
            with suppress(NotFound):
                self._write_status(owner, status)


def should_run_on(owner: ApiObject, node: Node, *, numbers: bool = False) -> tuple[bool, bool]:
    """Whether a pod of *owner* should run on *node*, and whether one there may stay.

    Upstream: nodeShouldRunDaemonPod().
    """
    spec: Manifest = part(owner.spec, "template", "spec")
    if spec.get("nodeName") not in (None, "", node.name):
        return False, False
    selector: Manifest = part(spec, "nodeSelector")
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False, False
    affinity: Manifest = part(spec, "affinity", "nodeAffinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not NodeSelector.parse(required).matches(node.labels, node.name):
        return False, False
    tolerations = _tolerations(spec)
    if untolerated(node.taints, tolerations, (NO_SCHEDULE, NO_EXECUTE), numbers=numbers) is None:
        return True, True
    return False, untolerated(node.taints, tolerations, (NO_EXECUTE,), numbers=numbers) is None


def daemon_spec(spec: Manifest, node: str) -> Manifest:
    """*spec* made for *node*: bound to it by affinity, with a daemon's tolerations.

    Upstream: util/daemonset_util.go, ReplaceDaemonSetPodNodeNameNodeAffinity().
    """
    term = {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}],
    }
    affinity: Manifest = part(spec, "affinity")
    by_node: Manifest = {
        **part(affinity, "nodeAffinity"),
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
    }
    return {
        **spec,
        "affinity": {**affinity, "nodeAffinity": by_node},
        "tolerations": _tolerations(spec),
    }


def _tolerations(spec: Manifest) -> list[Manifest]:
    """Upstream: AddOrUpdateDaemonPodTolerations()."""
    own = [
        *((key, NO_EXECUTE) for key in (NOT_READY, UNREACHABLE)),
        *((key, NO_SCHEDULE) for key in (DISK_PRESSURE, MEMORY_PRESSURE, PID_PRESSURE)),
        (UNSCHEDULABLE, NO_SCHEDULE),
    ]
    if spec.get("hostNetwork"):
        own.append((NETWORK_UNAVAILABLE, NO_SCHEDULE))
    added = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in own]
    given: list[Manifest] = spec.get("tolerations") or []
    return [*given, *(each for each in added if each not in given)]


def _target_node(pod: Pod) -> str:
    """The node it is on, or is meant for. Upstream: util.GetTargetNodeName()."""
    if pod.node_name:
        return pod.node_name
    affinity: Manifest = part(pod.spec, "affinity", "nodeAffinity")
    required: Manifest = part(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return field["values"][0]
    return ""


def label_of(pod: Pod) -> str:
    """The hash of the template that *pod* was made of."""
    return pod.labels.get(REVISION_LABEL) or ""


def _template_generation(owner: ApiObject) -> str:
    return owner.annotations.get(TEMPLATE_GENERATION) or ""


def _age(pod: Pod) -> tuple[int, str]:
    return time_of(pod.creation_timestamp), pod.name
