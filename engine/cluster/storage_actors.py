"""The storage components of a cluster: volume controllers, CSI sidecars, kubelets."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from engine.api_server.store import process
from engine.api_server.store.store import ObjectStore
from engine.controllers.attach_detach.context import Context
from engine.controllers.attach_detach.controller import AttachDetachController
from engine.controllers.attach_detach.csi_attacher import CsiAttacher
from engine.controllers.attach_detach.names import ATTACHER
from engine.controllers.attach_detach.names import COMPONENT as ATTACH_DETACH
from engine.controllers.expansion import CONTROLLER as EXPAND_CONTROLLER
from engine.controllers.expansion import ExpandController
from engine.controllers.persistent_volumes.context import ControllerContext
from engine.controllers.persistent_volumes.in_tree.cloud_disk import CloudDiskPlugin, NodeZones
from engine.controllers.persistent_volumes.in_tree.host_path import HostPathPlugin, NfsPlugin
from engine.controllers.persistent_volumes.in_tree.plugin import VolumePlugin
from engine.controllers.persistent_volumes.in_tree.recycler import PodRecyclers
from engine.controllers.persistent_volumes.in_tree.registry import PluginRegistry
from engine.controllers.persistent_volumes.pv_controller import PersistentVolumeController
from engine.controllers.persistent_volumes.rules import ControllerRules
from engine.controllers.protection import (
    AttributesClassProtection,
    ClaimProtection,
    VolumeProtection,
)
from engine.csi_sidecars.context import SidecarContext
from engine.csi_sidecars.driver_faults import DriverFaults
from engine.csi_sidecars.external_modifier import VolumeModifier
from engine.csi_sidecars.external_provisioner import AUTHOR as EXTERNAL_PROVISIONER
from engine.csi_sidecars.external_provisioner import ExternalProvisioners
from engine.csi_sidecars.external_resizer import RESIZER, ExternalResizers
from engine.kernel.latency import Latencies
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.kernel.units import SECOND
from engine.kernel.view import Attributes
from engine.kubelet.container_rules import ContainerRules
from engine.kubelet.context import KubeletContext
from engine.kubelet.kubelets import Kubelets
from engine.kubelet.volume_manager.state import VolumeManagerOptions
from engine.objects.outside import Outside
from engine.objects.pods.pod_resources import ResourceRules
from engine.objects.scripts.script import Script
from engine.storage.binding.binder import BinderRules
from engine.storage.kubernetes_events import RecordedEvents, SpamFilter
from engine.storage.migration import ALL_MIGRATED, IN_TREE, NO_MIGRATION
from engine.storage.ports import InformerListers, StoreVolumeApi
from engine.storage.rules import StorageRules

PV_CONTROLLER = "pv-controller"
KUBELET = "kubelet"

# The first resync comes one period after the controller's start. Upstream: 15 s.
_RESYNC = 15 * SECOND


class StorageVersion(Protocol):
    """What the storage components need to know of a version of Kubernetes."""

    @property
    def containers(self) -> ContainerRules:
        """How the Events of kubelets about containers are worded."""
        ...

    @property
    def storage(self) -> StorageRules:
        """The rules of the components here."""
        ...

    @property
    def controller(self) -> ControllerRules:
        """The rules of the PV controller."""
        ...

    @property
    def binder(self) -> BinderRules:
        """The rules by which claims and nodes are matched."""
        ...

    @property
    def resources(self) -> ResourceRules:
        """The rules by which kubelets count the requests of pods."""
        ...


class VolumeActors:
    """Creates and restarts the storage components. They communicate only through the store."""

    def __init__(
        self,
        *,
        loop: EventLoop,
        store: ObjectStore,
        recorder: Recorder,
        latencies: Latencies,
        version: StorageVersion,
        faults: DriverFaults | None = None,
        outside: Outside | None = None,
        scripts: Sequence[Script] = (),
        streams: Streams | None = None,
    ) -> None:
        """*scripts* are what containers do by the scenario; what they draw comes from *streams*."""
        self._loop = loop
        self._outside = outside or Outside()
        self._store = store
        self._recorder = recorder
        self._latencies = latencies
        self._rules = version.storage
        self._controller_rules = version.controller
        self._migration = ALL_MIGRATED if version.storage.migrates_in_tree else NO_MIGRATION
        self.driver_faults = faults or DriverFaults()
        self._watch = watch = latencies.draw("watch")
        listers = InformerListers(store, watch)
        # The listers of each component; all have the same ones until one is restarted.
        self._listers_of = dict.fromkeys(_ATTRIBUTES, listers)
        self.pv_controller = self._new_pv_controller(listers)
        self.provisioners = self._new_provisioners(listers)
        self.expand_controller = self._new_expand_controller(listers)
        self.resizers = self._new_resizers(listers, self.driver_faults.absent)
        self.claim_protection = ClaimProtection(
            loop, store, listers, tells_unused=self._rules.tells_unused_claims
        )
        self.volume_protection = VolumeProtection(loop, store, listers)
        self.class_protection = (
            AttributesClassProtection(loop, store, listers)
            if self._rules.modifies_volumes
            else None
        )
        self.kubelets = Kubelets(
            KubeletContext(
                loop,
                store,
                recorder,
                latencies,
                self._events(KUBELET),
                watch,
                self._outside,
                tuple(scripts),
                streams or Streams(0),
                version.containers,
            ),
            rules=version.resources,
            options=VolumeManagerOptions(
                reconstructs_all=self._rules.reconstructs_all,
                mounts_protected=self._rules.mounts_protected_claims,
                names_unprocessed=self._rules.names_unprocessed_volumes,
                migrates_in_tree=self._rules.migrates_in_tree,
                out_of_reach=version.binder.out_of_reach,
                updates_limits=self._rules.updates_limits,
            ),
            announces_resizes=version.storage.announces_resizes,
        )
        self.attach_detach = self._new_attach_detach()
        self.csi_attacher = self._new_csi_attacher()

    # Restarts

    def has(self, author: str) -> bool:
        """Whether a component writes as *author* and can be restarted."""
        return author in _ATTRIBUTES and getattr(self, _ATTRIBUTES[author]) is not None

    def restart(self, authors: Sequence[str]) -> None:
        """Restart the components that write as *authors*, together in a new process."""
        listers = InformerListers(self._store, self._watch)
        for author in authors:
            attribute, before = _ATTRIBUTES[author], self._listers_of[author]
            old: Any = getattr(self, attribute)
            process.end(old, self._loop, self._store, before)
            self._store.answers.forget(author)
            setattr(self, attribute, self._renewed(old, listers))
            self._listers_of[author] = listers
            if not any(before is one for one in self._listers_of.values()):
                process.end_listers(before, self._loop, self._store)

    def components(self) -> dict[str, Any]:
        """The components by the author of their writes."""
        return {author: getattr(self, name) for author, name in _ATTRIBUTES.items()}

    def end(self, author: str) -> None:
        """Let the component do nothing any more, until it is restarted."""
        old: Any = getattr(self, _ATTRIBUTES[author])
        process.end(old, self._loop, self._store, self._listers_of[author])

    def _renewed(self, old: Any, listers: InformerListers) -> Any:
        """The component after a restart; the faults of its driver stay."""
        if isinstance(old, PersistentVolumeController):
            return self._new_pv_controller(listers)
        if isinstance(old, ExternalProvisioners):
            provisioners = self._new_provisioners(listers)
            provisioners.retries = old.retries
            return provisioners
        if isinstance(old, ExpandController):
            return self._new_expand_controller(listers)
        if isinstance(old, ExternalResizers):
            return self._new_resizers(listers, old.absent)
        if isinstance(old, AttachDetachController):
            old.stop()
            controller = self._new_attach_detach()
            controller.continue_view(old)
            return controller
        if isinstance(old, CsiAttacher):
            return self._new_csi_attacher()
        assert isinstance(old, ClaimProtection | VolumeProtection | AttributesClassProtection)
        return type(old)(self._loop, self._store, listers)

    def held_view(self, node: str) -> Attributes:
        """The attributes that the view must show of the volumes of *node*."""
        held = {
            "volumes": self.kubelets.volumes.held_view(node),
            "attachments": self.attach_detach.held_view(node),
        }
        return {name: shown for name, shown in held.items() if shown}

    # The components

    def _events(self, component: str) -> RecordedEvents:
        return RecordedEvents(self._recorder, component, self._loop, self._store)

    def _new_pv_controller(self, listers: InformerListers) -> PersistentVolumeController:
        loop, rules = self._loop, self._rules
        context = ControllerContext(
            loop=loop,
            api=StoreVolumeApi(self._store, PV_CONTROLLER),
            listers=listers,
            events=SpamFilter(loop, self._events(PV_CONTROLLER)),
            plugins=PluginRegistry(
                _in_tree_plugins(rules, self._store, listers, self._latencies, self.driver_faults)
            ),
            migration=self._migration,
            rules=self._controller_rules,
            answer_delay=self._latencies.draw("api_write"),
            answers=self._store.answers.of(PV_CONTROLLER),
            delays=self._latencies,
        )
        controller = PersistentVolumeController(context)
        listers.volume_informer.on_event(controller.on_volume_event)
        listers.claim_informer.on_event(controller.on_claim_event)
        # The caches are filled when the informers have every object, before the workers start;
        # otherwise a claim would become Lost although its volume is the next one in the queue.
        loop.call_after(self._watch, controller.start, _RESYNC - self._watch)
        return controller

    def _new_provisioners(self, listers: InformerListers) -> ExternalProvisioners:
        return ExternalProvisioners(
            self._sidecar_context(listers),
            self._events(EXTERNAL_PROVISIONER),
            faults=self.driver_faults,
            holds_volumes=self._rules.provisioners_hold_volumes,
            watch_latency=self._watch,
            outside=self._outside,
        )

    def _new_expand_controller(self, listers: InformerListers) -> ExpandController:
        return ExpandController(
            self._loop,
            self._store,
            listers,
            self._events(EXPAND_CONTROLLER),
            self._rules.expanding_event,
            self._migration,
        )

    def _new_resizers(self, listers: InformerListers, absent: tuple[str, ...]) -> ExternalResizers:
        context, events = self._sidecar_context(listers), self._events(RESIZER)
        modifier = None
        if self._rules.modifies_volumes:
            modifier = VolumeModifier(context, events, RESIZER, self._watch)
        return ExternalResizers(
            context, events, self._events(KUBELET), absent, modifier, self.driver_faults
        )

    def _sidecar_context(self, listers: InformerListers) -> SidecarContext:
        return SidecarContext(self._loop, self._store, listers, self._latencies)

    def _new_attach_detach(self) -> AttachDetachController:
        context = Context(
            self._loop,
            self._store,
            self._recorder,
            self.kubelets.volumes.plugins,
            self._events(ATTACH_DETACH),
        )
        return AttachDetachController(
            context,
            watch_latency=self._watch,
            # Upstream: processVolumeAttachments().
            recovers_attachments=self._rules.recovers_attachments,
            spares_healthy_nodes=self._rules.healthy_nodes_keep_volumes,
            heeds_out_of_service=self._rules.heeds_out_of_service,
            keeps_terminated=self._rules.keeps_terminated_volumes,
        )

    def _new_csi_attacher(self) -> CsiAttacher:
        plugins = self.kubelets.volumes.plugins
        return CsiAttacher(
            self._loop,
            self._store,
            plugins,
            watch_latency=self._watch,
            reports_codes=self._rules.updates_limits,
        )


_ATTRIBUTES: Final[Mapping[str, str]] = {
    PV_CONTROLLER: "pv_controller",
    ATTACH_DETACH: "attach_detach",
    EXPAND_CONTROLLER: "expand_controller",
    ClaimProtection.AUTHOR: "claim_protection",
    VolumeProtection.AUTHOR: "volume_protection",
    AttributesClassProtection.AUTHOR: "class_protection",
    EXTERNAL_PROVISIONER: "provisioners",
    RESIZER: "resizers",
    ATTACHER: "csi_attacher",
}


def _in_tree_plugins(
    rules: StorageRules,
    store: ObjectStore,
    listers: InformerListers,
    latencies: Latencies,
    faults: DriverFaults,
) -> list[VolumePlugin]:
    """The in-tree volume plugins; migrated ones are left to their CSI drivers."""
    recyclers = PodRecyclers(store)
    plugins: list[VolumePlugin] = [
        HostPathPlugin(latencies, recyclers, faults),
        NfsPlugin(latencies, recyclers, faults),
    ]
    if not rules.migrates_in_tree:
        zones = NodeZones(listers.node_informer)
        plugins += [
            CloudDiskPlugin(name, known.source, zones, latencies, faults)
            for name, known in IN_TREE.items()
        ]
    return plugins
