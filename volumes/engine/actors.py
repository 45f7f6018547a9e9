"""The storage half of a cluster, put together: the PV controller and the kubelets."""

from kscope.sim.latency import Latencies
from kscope.sim.loop import EventLoop
from kscope.sim.objects import ApiObject
from kscope.sim.recorder import Recorder
from kscope.sim.store import ObjectStore
from kscope.sim.units import SECOND
from volumes.engine import writer
from volumes.engine.attach_detach import COMPONENT as ATTACH_DETACH
from volumes.engine.attach_detach import AttachDetachController, CsiAttacher
from volumes.engine.expansion import CONTROLLER as EXPAND_CONTROLLER
from volumes.engine.expansion import RESIZER, ExpandController, ExternalResizers
from volumes.engine.external_provisioner import AUTHOR as EXTERNAL_PROVISIONER
from volumes.engine.external_provisioner import DriverFaults, ExternalProvisioners
from volumes.engine.kubelet.pod_lifecycle import Kubelets
from volumes.engine.kubernetes_events import SpamFilter
from volumes.engine.migration import ALL_MIGRATED, IN_TREE, NO_MIGRATION
from volumes.engine.ports import InformerListers, StoreVolumeApi
from volumes.engine.protection import ClaimProtection, VolumeProtection
from volumes.engine.provisioner import (
    CloudDiskPlugin,
    HostPathPlugin,
    NodeZones,
    PluginRegistry,
    VolumePlugin,
)
from volumes.engine.pv_controller import PersistentVolumeController
from volumes.engine.recycler import PodRecyclers

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
        faults: DriverFaults | None = None,
    ) -> None:
        watch = latencies.draw("watch")
        listers = InformerListers(store, watch)
        self.pv_controller = PersistentVolumeController(
            loop,
            StoreVolumeApi(store, PV_CONTROLLER),
            listers,
            SpamFilter(loop, RecordedEvents(recorder, PV_CONTROLLER)),
            plugins=PluginRegistry(_in_tree_plugins(profile, store, listers, latencies)),
            migration=ALL_MIGRATED if profile == "v1.34" else NO_MIGRATION,
            rules=_RULES[profile],
            answer_delay=latencies.draw("api_write"),
        )
        listers.volume_informer.on_event(self.pv_controller.on_volume_event)
        listers.claim_informer.on_event(self.pv_controller.on_claim_event)
        # Its caches are filled once the informers have heard of everything, before its workers begin;
        # else a claim would be Lost whose volume is only next in the queue.
        loop.call_after(watch, self.pv_controller.start, _RESYNC - watch)
        self.provisioners = ExternalProvisioners(
            loop,
            store,
            listers,
            RecordedEvents(recorder, EXTERNAL_PROVISIONER),
            latencies,
            faults=faults,
            watch_latency=watch,
        )
        self.expand_controller = ExpandController(
            loop, listers, RecordedEvents(recorder, EXPAND_CONTROLLER)
        )
        self.resizers = ExternalResizers(
            loop,
            store,
            listers,
            RecordedEvents(recorder, RESIZER),
            RecordedEvents(recorder, KUBELET),
            latencies,
            faults.absent if faults else (),
        )
        self.claim_protection = ClaimProtection(loop, store, listers)
        self.volume_protection = VolumeProtection(loop, store, listers)
        self.kubelets = Kubelets(
            loop,
            store,
            recorder,
            latencies,
            events=RecordedEvents(recorder, KUBELET),
            watch_latency=watch,
        )
        plugins = self.kubelets.volumes.plugins
        self.attach_detach = AttachDetachController(
            loop,
            store,
            recorder,
            plugins,
            events=RecordedEvents(recorder, ATTACH_DETACH),
            watch_latency=watch,
        )
        self.csi_attacher = CsiAttacher(loop, store, plugins, watch_latency=watch)


def _in_tree_plugins(
    profile: str, store: ObjectStore, listers: InformerListers, latencies: Latencies
) -> list[VolumePlugin]:
    """The controller's own plugins. Those of the clouds have gone to CSI by v1.34."""
    plugins: list[VolumePlugin] = [HostPathPlugin(latencies, PodRecyclers(store))]
    if profile != "v1.34":
        zones = NodeZones(listers.node_informer)
        plugins += [
            CloudDiskPlugin(name, known.source, zones, latencies) for name, known in IN_TREE.items()
        ]
    return plugins
