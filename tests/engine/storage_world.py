"""A storage control plane for tests: the store, the PV controller and its neighbours."""

from typing import Any

from engine.api_server.store.store import ObjectStore
from engine.controllers.expansion import ExpandController
from engine.controllers.persistent_volumes.context import ControllerContext
from engine.controllers.persistent_volumes.in_tree.host_path import HostPathPlugin
from engine.controllers.persistent_volumes.in_tree.registry import PluginRegistry
from engine.controllers.persistent_volumes.pv_controller import PersistentVolumeController
from engine.controllers.persistent_volumes.rules import ControllerRules
from engine.controllers.protection import ClaimProtection, VolumeProtection
from engine.csi_sidecars.context import SidecarContext
from engine.csi_sidecars.driver_faults import DriverFaults
from engine.csi_sidecars.external_provisioner import ExternalProvisioners
from engine.csi_sidecars.external_resizer import ExternalResizers
from engine.kernel.latency import Latencies, Latency
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim, from_manifest
from engine.objects.phases import protected
from engine.storage.kubernetes_events import SpamFilter
from engine.storage.migration import ALL_MIGRATED
from engine.storage.ports import InformerListers, StoreVolumeApi
from engine.versions.registry import VERSIONS
from tests.builders import claim, csi_node, node, pod, storage_class, volume
from tests.builders.nodes import HOSTNAME

GI = 1024**3
Json = dict[str, Any]


class SeenEvents:
    """Kubernetes Events, in order."""

    def __init__(self, loop: EventLoop) -> None:
        self._loop = loop
        self.seen: list[tuple[int, str, str, str]] = []

    def event(
        self,
        obj: ApiObject,
        type: str,
        reason: str,
        message: str,
        retry_at: int | None = None,
        missed: int = 0,
    ) -> None:
        self.seen.append((self._loop.now, obj.id, reason, message))

    @property
    def reasons(self) -> list[str]:
        return [reason for _, _, reason, _ in self.seen]


class Storage:
    def __init__(
        self,
        *,
        rules: ControllerRules = VERSIONS["v1.34"].controller,
        watch: int = MILLISECOND,
        provision: int = SECOND,
        recycle: int | None = None,
        faults: DriverFaults | None = None,
        plugins: PluginRegistry | None = None,
        seed: int = 1,
    ) -> None:
        self.loop = EventLoop()
        self.recorder = Recorder(self.loop)
        self.store = ObjectStore(self.loop, self.recorder, seed)
        self.events = SeenEvents(self.loop)
        latencies: dict[str, Latency] = {
            "provision": Latency("fixed", provision),
            "delete_volume": Latency("fixed", provision),
            "recycle": Latency("fixed", provision if recycle is None else recycle),
        }
        self.latencies = Latencies(latencies, Streams(seed))
        self.listers = InformerListers(self.store, watch)
        self.controller = PersistentVolumeController(
            ControllerContext(
                loop=self.loop,
                api=StoreVolumeApi(self.store, "pv-controller"),
                listers=self.listers,
                events=SpamFilter(self.loop, self.events),
                plugins=plugins or PluginRegistry([HostPathPlugin(self.latencies)]),
                rules=rules,
                answer_delay=2 * MILLISECOND,
            )
        )
        self.listers.volume_informer.on_event(self.controller.on_volume_event)
        self.listers.claim_informer.on_event(self.controller.on_claim_event)
        self.claim_protection = ClaimProtection(self.loop, self.store, self.listers)
        self.volume_protection = VolumeProtection(self.loop, self.store, self.listers)
        sidecar = SidecarContext(self.loop, self.store, self.listers, self.latencies)
        self.provisioners = ExternalProvisioners(sidecar, self.events, faults=faults)
        expanding = VERSIONS["v1.34"].storage.expanding_event
        self.expander = ExpandController(
            self.loop, self.store, self.listers, self.events, expanding, ALL_MIGRATED
        )
        self.resizers = ExternalResizers(
            sidecar,
            self.events,
            self.events,
            faults.absent if faults else (),
            faults=faults,
        )
        self.controller.start(15 * SECOND)

    def create(self, *manifests: Json) -> None:
        for manifest in manifests:
            self.store.create(protected(from_manifest(manifest)), by="test")

    def run(self, seconds: float) -> None:
        self.loop.run(self.loop.now + round(seconds * SECOND))

    def claim(self, name: str) -> PersistentVolumeClaim:
        found = self.store.get("PersistentVolumeClaim", f"default/{name}")
        assert isinstance(found, PersistentVolumeClaim)
        return found

    def volume(self, name: str) -> PersistentVolume:
        found = self.store.get("PersistentVolume", name)
        assert isinstance(found, PersistentVolume)
        return found

    def facts(self, *objects: str) -> list[tuple[str, str]]:
        """(kind, component) of the recorded events, of these objects or of all."""
        return [
            (event.kind, event.component)
            for event in self.recorder.pending
            if not objects or event.object in objects
        ]


def make_volume(name: str, size: str = "1Gi", **fields: Any) -> Json:
    """A volume that the controller has not looked at yet."""
    return {**volume(name, size=size, **fields), "status": {"phase": "Pending"}}


def make_claim(name: str, size: str = "1Gi", **fields: Any) -> Json:
    """A claim that the controller has not looked at yet."""
    return {**claim(name, size=size, **fields), "status": {"phase": "Pending"}}


def make_class(name: str, provisioner: str, mode: str = "Immediate", **fields: Any) -> Json:
    """A class whose volumes are deleted with their claims, unless *fields* say otherwise."""
    return storage_class(name, provisioner, mode=mode, **{"reclaimPolicy": "Delete", **fields})


def make_pod(name: str, *claims: str, node: str = "", phase: str = "Pending") -> Json:
    """A pod with these claims, on *node* if any."""
    bound = {"nodeName": node} if node else {}
    return pod(name, claims=claims, phase=phase, **bound)


def make_node(name: str, zone: str = "") -> Json:
    """A node with the label for its hostname."""
    return node(name, zone, labels={HOSTNAME: name})


def make_csi_node(name: str, driver: str, *keys: str) -> Json:
    """A driver on a node, by whose labels *keys* its volumes are reachable; by none without."""
    made = csi_node(name, driver)
    made["spec"]["drivers"][0]["topologyKeys"] = list(keys)
    return made
