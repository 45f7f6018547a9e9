"""The kubelets of the cluster: they watch nodes and pods, run, and fail.

One object serves all nodes: a node on which nothing happens costs nothing.
"""

from typing import cast

from engine.api_server.store.watches import WatchEvent
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.kubelet.csi_node_updater import CSINodeUpdater
from engine.kubelet.device_preparation import DevicePreparation
from engine.kubelet.node_status import NodeStatusReporter
from engine.kubelet.pod_workers import PodWorkers
from engine.kubelet.readiness import Ability, readiness
from engine.kubelet.volume_manager.all_nodes import VolumeManagers
from engine.kubelet.volume_manager.state import VolumeManagerOptions
from engine.kubelet.worker import Worker
from engine.objects.objects import Node, Pod
from engine.objects.pods.pod_resources import NEWEST, ResourceRules


class Kubelets:
    """Gives the pods of each node to its kubelet, while that runs; every write is by "kubelet".

    *rules* and *options* are those of the kubelets' version, by default the newest.
    """

    def __init__(
        self,
        context: KubeletContext,
        *,
        rules: ResourceRules | None = None,
        options: VolumeManagerOptions | None = None,
        announces_resizes: bool = True,
    ) -> None:
        self._loop = context.loop
        self._store = context.store
        self._pods = PodWorkers(
            context,
            rules or NEWEST,
            options or VolumeManagerOptions(),
            announces_resizes=announces_resizes,
        )
        self._nodes: dict[str, Node] = {}
        # Pods of nodes whose kubelet does not run, or that do not exist, by node and uid.
        self._orphans: dict[str, dict[str, Pod]] = {}
        self._down: dict[str, None] = {}
        # Nodes whose condition says that their kubelet is silent, or synchronises no pod.
        self._away: dict[str, None] = {}
        # The nodes that are down and have no power.
        self._off: dict[str, None] = {}
        updates = self.volumes.options.updates_limits
        self._limits = CSINodeUpdater(context, self) if updates else None
        self._node_status = NodeStatusReporter(context, self.volumes, self._down)
        context.store.watch("Node", self.observe_node, context.watch_latency)
        context.store.watch("Pod", self.observe_pod, context.watch_latency)

    @property
    def volumes(self) -> VolumeManagers:
        """The volume managers of all nodes."""
        return self._pods.volumes

    @property
    def devices(self) -> DevicePreparation:
        """The work of the drivers of devices on all nodes."""
        return self._pods.devices

    @property
    def workers(self) -> dict[str, Worker]:
        """What the kubelets know of each pod, by uid."""
        return self._pods.workers

    # Watches

    def heal(self, pod: Pod) -> None:
        """Play on as if the containers of *pod*, which its files show failing, were healthy."""
        self._pods.heal(pod)

    def observe_node(self, event: WatchEvent) -> None:
        """Take a watch event of a node."""
        node = cast("Node", event.new)
        if event.type == "DELETED":
            self._nodes.pop(node.name, None)
            self._away.pop(node.name, None)
            self._machine_gone(node.name)
            self.volumes.node_gone(node.name)
            return
        self._nodes[node.name] = node
        self._follow_condition(node.name)
        if event.type == "ADDED" and not self._is_idle(node.name):
            self._loop.tried_each(self._add, self._orphans.pop(node.name, {}).values())
        self.volumes.node_changed(node)

    def observe_pod(self, event: WatchEvent) -> None:
        """Take a watch event of a pod."""
        pod = event.new
        if not isinstance(pod, Pod) or not pod.node_name:
            return
        node = pod.node_name
        uid = pod.uid
        worker = self._pods.workers.get(uid)
        if event.type == "DELETED":
            self._forget_orphan(node, uid)
            if worker is not None:
                self._pods.remove(worker, pod)
        elif node not in self._nodes or self._is_idle(node):
            if worker is None:
                self._orphans.setdefault(node, {})[uid] = pod
            else:
                worker.pod = pod
        elif worker is None:
            self._add(pod)
        else:
            self._pods.update(worker, event.old, pod)

    def _is_idle(self, node: str) -> bool:
        """Whether nothing is done on *node* because its kubelet is not there, or cannot work."""
        return node in self._down or node in self._away

    def _follow_condition(self, node: str) -> None:
        """Let the kubelet of *node* do what the newest condition Ready says that it can.

        A watch may be late: what it tells of may be over since the kubelet has reported again.
        """
        found = self._store.find("Node", node)
        if not isinstance(found, Node):
            return
        ability, message = readiness(found)
        self._pods.network_is(node, message if ability is Ability.NO_NETWORK else "")
        is_away = ability in (Ability.SILENT, Ability.NO_RUNTIME)
        if is_away and node not in self._away:
            self._away[node] = None
            if node not in self._down:
                self._stop(node)
        elif node in self._away and not is_away:
            del self._away[node]
            if node not in self._down:
                self._start(node)

    def is_running(self, node: str) -> bool:
        """Whether the kubelet of *node* does its work."""
        return node in self._nodes and not self._is_idle(node)

    # Faults

    def stop_kubelet(self, node: str) -> None:
        """The kubelet of *node* dies: nothing it has begun is finished, its containers run on."""
        self._down[node] = None
        self._stop(node)

    def _stop(self, node: str) -> None:
        self._pods.kubelet_stopped(node)
        self.volumes.kubelet_stopped(node)

    def start_kubelet(self, node: str) -> None:
        """The kubelet of *node* starts with empty caches and takes over what it finds there.

        One of which nothing was heard reports again. One without container runtime does nothing yet.
        """
        self._down.pop(node, None)
        if self.is_silent(node):
            self._start(node)
            self._node_status.report(node)
        elif node not in self._away:
            self._start(node)

    def _start(self, node: str) -> None:
        self._away.pop(node, None)
        # A kubelet that restarts without having been stopped does not finish what it had begun.
        running = self._pods.take_workers(node)
        # Mounts are found on disk before any pod is synced.
        self.volumes.kubelet_started(node)
        self._orphans.pop(node, None)
        for pod in self._store.pods_on(node):
            if node in self._nodes:
                self._loop.tried(self._add, pod, running.get(pod.uid))

    def is_silent(self, node: str) -> bool:
        """Whether nothing is heard of *node*, as its condition says."""
        found = self._store.find("Node", node)
        return isinstance(found, Node) and readiness(found).ability is Ability.SILENT

    def is_off(self, node: str) -> bool:
        """Whether *node* has no power."""
        return node in self._off

    def stop_machine(self, node: str) -> None:
        """*node* loses its power: nothing runs there any more, and nothing is mounted."""
        self._machine_gone(node)
        self.volumes.node_gone(node)
        self._down[node] = self._off[node] = None

    def start_machine(self, node: str) -> None:
        """*node* has power again: its kubelet reports, and starts the pods of the node again."""
        self._down.pop(node, None)
        self._start(node)
        self._off.pop(node, None)
        self._node_status.report(node)

    def _add(self, pod: Pod, before: Worker | None = None) -> None:
        if self._loop.held and self._loop.is_held(COMPONENT, pod.key):
            self._loop.call_at(self._loop.held[COMPONENT, pod.key], self._add_held, pod.key)
            return
        node = self._nodes[pod.node_name]
        if pod.node_name in self._off:
            self._pods.add_after_boot(pod, node)
        else:
            self._pods.add(pod, node, before=before)

    def _add_held(self, key: str) -> None:
        """Take the pod whose sync has failed unexpectedly again."""
        pod = self._store.find("Pod", key)
        if not isinstance(pod, Pod) or pod.node_name not in self._nodes:
            return
        if not self._is_idle(pod.node_name) and pod.uid not in self._pods.workers:
            self._add(pod)

    def _forget_orphan(self, node: str, uid: str) -> None:
        waiting = self._orphans.get(node)
        if waiting is not None:
            waiting.pop(uid, None)
            if not waiting:
                del self._orphans[node]

    def _machine_gone(self, node: str) -> None:
        for uid, worker in self._pods.take_workers(node).items():
            self._orphans.setdefault(node, {})[uid] = worker.pod
        self._down.pop(node, None)
        self._off.pop(node, None)
