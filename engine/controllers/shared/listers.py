"""The informers that all workload controllers share, with pods by owner, namespace and node."""

from collections.abc import Iterable, Iterator
from typing import Any

from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.indexes import IndexedInformer, PodsByLabels
from engine.controllers.shared.owners import controller_of, owner_keys, ref_key
from engine.objects.objects import ApiObject, Node, PersistentVolumeClaim, Pod
from engine.objects.selectors import LabelSelector

# Kinds that others refer to are delivered first.
_KINDS = (
    "Namespace",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "CronJob",
    "HorizontalPodAutoscaler",
    "Job",
    "PodDisruptionBudget",
    "ControllerRevision",
    "ResourceQuota",
)


class WorkloadListers:
    """One stale copy of the cluster for all the controllers. Upstream: SharedInformerFactory."""

    def __init__(self, store: ObjectStore, latency: int = 0) -> None:
        self.nodes: Informer[Node] = Informer(store, "Node", latency)
        self._of = {kind: IndexedInformer(store, kind, latency) for kind in _KINDS}
        self.claims: Informer[PersistentVolumeClaim] = Informer(
            store, "PersistentVolumeClaim", latency
        )
        self.pods: Informer[Pod] = Informer(store, "Pod", latency)
        self._by_owner: dict[str, dict[str, None]] = {}
        self._orphans = PodsByLabels()
        # All pods, once somebody has asked.
        self._labelled: PodsByLabels | None = None
        self._by_namespace: dict[str, dict[str, None]] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        self.pods.on_event(self._index)

    def of(self, kind: str) -> IndexedInformer:
        """The informer of one of the controllers' own kinds."""
        return self._of[kind]

    def informers(self) -> list[Informer[Any]]:
        """All of them."""
        return [self.nodes, *self._of.values(), self.claims, self.pods]

    def pods_in(self, namespace: str) -> list[Pod]:
        """The pods of *namespace*."""
        return self._pods(self._by_namespace.get(namespace))

    def pods_on(self, node: str) -> list[Pod]:
        """The pods whose spec names *node*."""
        return self._pods(self._by_node.get(node))

    def nodes_with_pods(self) -> Iterator[str]:
        """The names of nodes, existing or not, that pods name."""
        return iter([*self._by_node])

    def pods_controlled_by(self, owner: ApiObject) -> list[Pod]:
        """The pods that *owner* controls."""
        return [pod for key in owner_keys(owner) for pod in self._pods(self._by_owner.get(key))]

    def pods_matching(self, namespace: str, selector: LabelSelector) -> list[Pod]:
        """The pods of *namespace* that *selector* selects."""
        if self._labelled is None:
            self._labelled = PodsByLabels()
            for found in [*self._by_namespace]:
                for pod in self.pods_in(found):
                    self._labelled.put(pod)
        return self._pods(self._labelled.matching(namespace, selector))

    def orphans_matching(self, namespace: str, selector: LabelSelector) -> list[Pod]:
        """The pods of *namespace* without a controller that *selector* selects."""
        return self._pods(self._orphans.matching(namespace, selector))

    def _pods(self, keys: Iterable[str] | None) -> list[Pod]:
        found = [self.pods.get(key) for key in keys or ()]
        return [pod for pod in found if pod is not None]

    def _index(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        if self._labelled is not None:
            if event.type == "DELETED" or (old is not None and old.uid != new.uid):
                self._labelled.drop(new.key)
            if event.type != "DELETED":
                self._labelled.put(new)
        if event.type == "DELETED" or new.controller is not None:
            self._orphans.drop(new.key)
        else:
            self._orphans.put(new)
        if event.type == "MODIFIED" and old is not None:
            if old.uid == new.uid and old.controller == new.controller:
                self._move(new, old.spec.get("nodeName"), new.spec.get("nodeName"))
                return
            for index, key in _places(old):
                if (index, key) not in _places(new) or old.uid != new.uid:
                    self._drop(index, key, old.key)
        for index, key in _places(new):
            if event.type == "DELETED":
                self._drop(index, key, new.key)
            else:
                self._index_of(index).setdefault(key, {})[new.key] = None

    def _move(self, pod: ApiObject, before: str | None, after: str | None) -> None:
        """Update the index by node: namespace and owner are the same."""
        if before == after:
            return
        if before:
            self._drop("node", before, pod.key)
        if after:
            self._by_node.setdefault(after, {})[pod.key] = None

    def _index_of(self, index: str) -> dict[str, dict[str, None]]:
        if index == "owner":
            return self._by_owner
        return self._by_node if index == "node" else self._by_namespace

    def _drop(self, index: str, key: str, pod: str) -> None:
        held = self._index_of(index)
        if key in held:
            held[key].pop(pod, None)
            if not held[key]:
                del held[key]


def _places(pod: ApiObject) -> list[tuple[str, str]]:
    ref = controller_of(pod)
    places = [("namespace", pod.namespace)]
    if ref is not None:
        places.insert(0, ("owner", ref_key(ref, pod.namespace)))
    node = pod.spec.get("nodeName")
    return [*places, ("node", node)] if node else places
