"""The informers that all workload controllers share, with pods by owner, namespace and node."""

from collections.abc import Iterator
from typing import Any

from kscope.sim.informer import Informer
from kscope.sim.objects import ApiObject, Node, PersistentVolumeClaim, Pod
from kscope.sim.store import ObjectStore, WatchEvent
from scheduling.engine.workloads.owners import controller_of, owner_keys, ref_key

# Kinds that others refer to are heard of first.
_KINDS = (
    "Namespace",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "PodDisruptionBudget",
    "ControllerRevision",
)


class WorkloadListers:
    """One stale copy of the cluster for all workload controllers. Upstream: SharedInformerFactory."""

    def __init__(self, store: ObjectStore, latency: int = 0) -> None:
        self.nodes: Informer[Node] = Informer(store, "Node", latency)
        self._of: dict[str, Informer[ApiObject]] = {
            kind: Informer(store, kind, latency) for kind in _KINDS
        }
        self.claims: Informer[PersistentVolumeClaim] = Informer(
            store, "PersistentVolumeClaim", latency
        )
        self.pods: Informer[Pod] = Informer(store, "Pod", latency)
        self._by_owner: dict[str, dict[str, None]] = {}
        self._by_namespace: dict[str, dict[str, None]] = {}
        self._by_node: dict[str, dict[str, None]] = {}
        self.pods.on_event(self._index)

    def of(self, kind: str) -> Informer[ApiObject]:
        """The informer of one of the controllers' own kinds."""
        return self._of[kind]

    def informers(self) -> list[Informer[Any]]:
        """All of them."""
        return [self.nodes, *self._of.values(), self.claims, self.pods]

    def in_namespace(self, kind: str, namespace: str) -> list[ApiObject]:
        """The objects of *kind* in *namespace*."""
        found = self._of[kind]
        return [obj for obj in found if obj.namespace == namespace] if len(found) else []

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

    def orphans_in(self, namespace: str) -> list[Pod]:
        """The pods of *namespace* that nobody controls."""
        return self._pods(self._by_owner.get(f"/{namespace}"))

    def _pods(self, keys: dict[str, None] | None) -> list[Pod]:
        found = [self.pods.get(key) for key in keys or ()]
        return [pod for pod in found if pod is not None]

    def _index(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
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
        """All that may have changed of where the pod is found is its node."""
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
    owner = f"/{pod.namespace}" if ref is None else ref_key(ref, pod.namespace)
    places = [("owner", owner), ("namespace", pod.namespace)]
    node = pod.spec.get("nodeName")
    return [*places, ("node", node)] if node else places
