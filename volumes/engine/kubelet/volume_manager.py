"""Volumes of pods on their nodes (interim: claims bound, then one mount latency)."""

from typing import Any

from kscope.sim.loop import EventLoop
from kscope.sim.objects import Node, Pod
from kscope.sim.recorder import Recorder
from kscope.sim.store import ObjectStore, WatchEvent
from volumes.engine.kubelet.latencies import Latencies
from volumes.engine.ports import EventSink


class VolumeManagers:
    """Mounts the volumes of pods."""

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        latencies: Latencies,
        *,
        events: EventSink | None = None,
    ) -> None:
        self._loop = loop
        self._store = store
        self._recorder = recorder
        self._latencies = latencies
        self._kubelets: Any = None
        self._waiting: dict[str, Pod] = {}
        store.watch("PersistentVolumeClaim", self._claim_changed)

    def connect(self, kubelets: Any) -> None:
        self._kubelets = kubelets

    def add_pod(self, pod: Pod) -> None:
        self._waiting[pod.uid] = pod
        self._try(pod)

    def _claim_changed(self, event: WatchEvent) -> None:
        for pod in [*self._waiting.values()]:
            if event.new.name in pod.claim_names and event.new.namespace == pod.namespace:
                self._try(pod)

    def _try(self, pod: Pod) -> None:
        for name in pod.claim_names:
            claim = self._store.find("PersistentVolumeClaim", f"{pod.namespace}/{name}")
            if claim is None or claim.status.get("phase") != "Bound":
                return
        del self._waiting[pod.uid]
        self._loop.call_after(self._latencies.draw("mount"), self._mounted, pod)

    def _mounted(self, pod: Pod) -> None:
        self._recorder.record("VolumesMounted", pod.id, "kubelet", f"on {pod.node_name}")
        self._kubelets.volumes_mounted(pod.uid)

    def adopt_pod(self, pod: Pod, *, mounted: bool) -> None: ...
    def remove_pod(self, pod: Pod) -> bool:
        self._waiting.pop(pod.uid, None)
        return True

    def reprocess_pod(self, pod: Pod) -> None: ...
    def pod_terminated(self, pod: Pod) -> None: ...
    def node_gone(self, node: str) -> None: ...
    def node_changed(self, node: Node) -> None: ...
    def kubelet_stopped(self, node: str) -> None: ...
    def kubelet_started(self, node: str) -> None: ...
