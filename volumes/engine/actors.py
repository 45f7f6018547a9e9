"""The storage half of a cluster, put together: the PV controller and the kubelets."""

from kscope.sim.latency import Latencies
from kscope.sim.loop import EventLoop
from kscope.sim.objects import ApiObject
from kscope.sim.recorder import Recorder
from kscope.sim.store import ObjectStore
from kscope.sim.units import SECOND
from volumes.engine import writer
from volumes.engine.kubelet.pod_lifecycle import Kubelets
from volumes.engine.ports import InformerListers, StoreVolumeApi
from volumes.engine.pv_controller import PersistentVolumeController

PV_CONTROLLER = "pv-controller"
KUBELET = "kubelet"

_RULES = {
    "v1.11": writer.V1_16,
    "v1.16": writer.V1_16,
    "v1.20": writer.V1_20,
    "v1.34": writer.V1_34,
}

# The first resync comes one period after the controller's start. Upstream: 15 s.
_RESYNC = 15 * SECOND


class RecordedEvents:
    """An EventSink: Kubernetes Events of one component go on the record under their reason."""

    __slots__ = ("_component", "_recorder")

    def __init__(self, recorder: Recorder, component: str) -> None:
        self._recorder = recorder
        self._component = component

    def event(self, obj: ApiObject, type: str, reason: str, message: str) -> None:
        """See EventSink."""
        data = {"event": True, "type": type}
        self._recorder.record(reason, obj.id, self._component, message, data)


class VolumeActors:
    """Every component of the storage half; they speak to each other through the store alone."""

    def __init__(
        self,
        *,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        latencies: Latencies,
        profile: str,
    ) -> None:
        watch = latencies.draw("watch")
        listers = InformerListers(store, watch)
        self.pv_controller = PersistentVolumeController(
            loop,
            StoreVolumeApi(store, PV_CONTROLLER),
            listers,
            RecordedEvents(recorder, PV_CONTROLLER),
            rules=_RULES[profile],
        )
        listers.volume_informer.on_event(self.pv_controller.on_volume_event)
        listers.claim_informer.on_event(self.pv_controller.on_claim_event)
        self.pv_controller.start(_RESYNC)
        self.kubelets = Kubelets(
            loop,
            store,
            recorder,
            latencies,
            events=RecordedEvents(recorder, KUBELET),
            watch_latency=watch,
        )
