"""The volume managers of all nodes; a node has one from its first volume to its last."""

from typing import Any

from engine.api_server.store.watches import WatchEvent
from engine.kubelet.context import KubeletContext
from engine.kubelet.volume_manager.manager import NodeVolumeManager
from engine.kubelet.volume_manager.state import PodWorkers, VolumeManagerOptions
from engine.kubelet.volume_manager.waiting import expected_volumes
from engine.objects.objects import Node, PersistentVolume, Pod
from engine.storage.plugins.simulated import SimulatedPlugins


class VolumeManagers:
    """Passes pods, claims, volumes and nodes on to the volume manager of the node they concern."""

    def __init__(
        self,
        context: KubeletContext,
        workers: PodWorkers,
        options: VolumeManagerOptions | None = None,
    ) -> None:
        self._context = context
        self._workers = workers
        self.options = options or VolumeManagerOptions()
        self.plugins = SimulatedPlugins(
            context.latencies,
            context.store,
            context.outside,
            migrates=self.options.migrates_in_tree,
            out_of_reach=self.options.out_of_reach,
        )
        self.nodes: dict[str, NodeVolumeManager] = {}
        # By claim, the pods on nodes that use it, by uid.
        self._users: dict[str, dict[str, Pod]] = {}
        store, latency = context.store, context.watch_latency
        store.watch("PersistentVolumeClaim", self.observe_claim, latency)
        store.watch("PersistentVolume", self.observe_volume, latency)

    def observe_claim(self, event: WatchEvent) -> None:
        """A claim was written: the pods that use it may be able to go on."""
        if event.new.key in self._users:
            self._reprocess_users(event.new.key)

    def observe_volume(self, event: WatchEvent) -> None:
        """A volume was written: the pods that use its claim may be able to go on, or see it grow."""
        volume = event.new
        assert isinstance(volume, PersistentVolume), f"{volume.id} is no volume"
        if volume.claim_key in self._users:
            self._reprocess_users(volume.claim_key)

    def _reprocess_users(self, claim: str) -> None:
        self._context.loop.tried_each(self._reprocess_user, [*self._users[claim].values()])

    def _reprocess_user(self, pod: Pod) -> None:
        manager = self.nodes.get(pod.node_name)
        known = manager.get_pod_by_uid(pod.uid) if manager is not None else None
        if manager is not None and known is not None:
            manager.reprocess_pod(known)

    # Pods, from the kubelets

    def add_pod(self, pod: Pod) -> None:
        """A pod whose containers wait for its volumes."""
        if not expected_volumes(pod):
            self._workers.volumes_mounted(pod.uid)
            return
        self._index(pod)
        self._manager(pod.node_name).add_pod(pod)

    def adopt_pod(self, pod: Pod, *, mounted: bool) -> None:
        """A pod that runs already; with *mounted* its volumes are taken to be mounted."""
        if expected_volumes(pod):
            self._index(pod)
            self._manager(pod.node_name).adopt_pod(pod, mounted=mounted)

    def reprocess_pod(self, pod: Pod) -> None:
        """A pod was changed."""
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].reprocess_pod(pod)

    def pod_terminated(self, pod: Pod) -> None:
        """A pod has Succeeded or Failed."""
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].update_pod(pod)

    def stop_pod(self, pod: Pod) -> bool:
        """The containers of a deleted pod have ended; True when no volume of it is mounted."""
        manager = self.nodes.get(pod.node_name)
        return manager is None or manager.stop_pod(pod)

    def forget_pod(self, pod: Pod) -> None:
        """The pod object is gone."""
        for name in pod.claim_names:
            users = self._users.get(f"{pod.namespace}/{name}")
            if users is not None:
                users.pop(pod.uid, None)
                if not users:
                    del self._users[f"{pod.namespace}/{name}"]
        if pod.node_name in self.nodes:
            self.nodes[pod.node_name].forget_pod(pod)

    # Nodes

    def node_changed(self, node: Node) -> None:
        """The node was written."""
        if node.name in self.nodes:
            self.nodes[node.name].node_changed()

    def in_use(self, node: str) -> list[str]:
        """What the node's status should report as in use."""
        return self.nodes[node].volumes_in_use() if node in self.nodes else []

    def node_gone(self, node: str) -> None:
        """The machine ends, and with it everything that was mounted there."""
        manager = self.nodes.pop(node, None)
        if manager is not None:
            manager.lose_mounts()

    def kubelet_stopped(self, node: str) -> None:
        """The kubelet of *node* ends."""
        if node in self.nodes:
            self.nodes[node].stop()

    def kubelet_started(self, node: str) -> None:
        """The kubelet of *node* starts."""
        if node in self.nodes:
            self.nodes[node].restart()

    def held_view(self, node: str) -> dict[str, Any]:
        """What the view must show of the volumes of *node*, by volume."""
        return self.nodes[node].held_view() if node in self.nodes else {}

    # From the volume managers; see manager.Owner

    def volumes_mounted(self, uid: str) -> None:
        """Every volume of the pod is mounted."""
        self._workers.volumes_mounted(uid)

    def volumes_unmounted(self, uid: str) -> None:
        """No volume of the pod is mounted any more."""
        self._workers.volumes_unmounted(uid)

    def volumes_over_limit(self, pod: Pod, drivers: list[str], message: str) -> None:
        """The node cannot attach a volume of the pod."""
        self._workers.volumes_over_limit(pod, drivers, message)

    def has_running_containers(self, uid: str) -> bool:
        """Whether containers of the pod still run."""
        return self._workers.has_running_containers(uid)

    def drop_if_idle(self, manager: NodeVolumeManager) -> None:
        """Drop a manager whose node has no volume, and needs none, any more."""
        if manager.is_idle and self.nodes.get(manager.node) is manager:
            del self.nodes[manager.node]

    def _index(self, pod: Pod) -> None:
        for name in pod.claim_names:
            self._users.setdefault(f"{pod.namespace}/{name}", {})[pod.uid] = pod

    def _manager(self, node: str) -> NodeVolumeManager:
        manager = self.nodes.get(node)
        if manager is None:
            manager = self.nodes[node] = NodeVolumeManager(
                self._context, node, self.plugins, self, self.options
            )
        return manager
