"""The desired-state populator: from pods, claims and volumes to what should be attached where.

Upstream: pkg/controller/volume/attachdetach/{populator,util}, util.ProcessPodVolumes().
"""

from typing import Final

from engine.api_server.store.watches import WatchEvent
from engine.controllers.attach_detach.context import Context, State
from engine.controllers.attach_detach.reconciler_loop import ReconcilerLoop
from engine.controllers.attach_detach.table import discard
from engine.controllers.attach_detach.view import AttachmentsView
from engine.objects.objects import Manifest, PersistentVolume, PersistentVolumeClaim, Pod
from engine.storage.plugins.attachable import is_controller_managed
from engine.storage.plugins.spec import VolumeSpec, unique_volume_name

KEEP_TERMINATED_ANNOTATION: Final = "volumes.kubernetes.io/keep-terminated-pod-volumes"


class DesiredStateOfWorldPopulator:
    """Keeps the desired state up to date from the watches of pods, claims and volumes."""

    __slots__ = (
        "_complete",
        "_desired",
        "_keeps_terminated",
        "_loop",
        "_passes",
        "_plugins",
        "_store",
        "_users",
        "_view",
    )

    def __init__(
        self,
        context: Context,
        state: State,
        passes: ReconcilerLoop,
        view: AttachmentsView,
        *,
        keeps_terminated: bool = False,
    ) -> None:
        """With *keeps_terminated* a node can ask to keep the volumes of pods that have ended."""
        self._keeps_terminated = keeps_terminated
        self._loop = context.loop
        self._store = context.store
        self._plugins = context.plugins
        self._desired = state.desired
        self._passes = passes
        self._view = view
        # By claim, the pods on nodes that use it, by uid.
        self._users: dict[str, dict[str, Pod]] = {}
        # Uids of pods all of whose volumes were found the last time.
        self._complete: dict[str, None] = {}

    def observe_pod(self, event: WatchEvent) -> None:
        """Handle a watch event of a pod."""
        pod = event.new
        assert isinstance(pod, Pod), f"{pod.id} is no pod"
        if not pod.node_name or not pod.volumes:
            return
        if event.type == "DELETED" or self._is_done_with_volumes(pod):
            self._delete_pod(pod)
            return
        for name in pod.claim_names:
            self._users.setdefault(f"{pod.namespace}/{name}", {})[pod.uid] = pod
        self._add_pod(pod)

    def observe_claim(self, event: WatchEvent) -> None:
        """A claim was written: pods that use it may now have a volume."""
        claim, old = event.new, event.old
        if claim.key not in self._users or event.type == "DELETED":
            return
        if claim.status.get("phase") == "Bound":
            was_bound = old is not None and old.status.get("phase") == "Bound"
            self._add_users(claim.key, was_bound and old is not None and old.spec is claim.spec)

    def observe_volume(self, event: WatchEvent) -> None:
        """A volume was written: pods that use its claim may now have it."""
        volume, old = event.new, event.old
        assert isinstance(volume, PersistentVolume), f"{volume.id} is no volume"
        if event.type != "DELETED" and volume.claim_key in self._users:
            self._add_users(volume.claim_key, old is not None and old.spec is volume.spec)

    def _is_done_with_volumes(self, pod: Pod) -> bool:
        # Upstream: DetermineVolumeAction().
        if not pod.is_terminated:
            return False
        if not self._keeps_terminated:
            return True
        node = self._store.find("Node", pod.node_name)
        keeps = node is not None and node.annotations.get(KEEP_TERMINATED_ANNOTATION) == "true"
        return not keeps

    def _delete_pod(self, pod: Pod) -> None:
        for name in pod.claim_names:
            discard(self._users, f"{pod.namespace}/{name}", pod.uid)
        self._complete.pop(pod.uid, None)
        for name in self._desired.delete_pod(pod.uid, pod.node_name):
            self._passes.wake(name)
        self._view.show_soon()

    def _add_users(self, claim: str, is_same: bool) -> None:
        """Add the pods of a claim again; if its spec *is_same*, only those that lack a volume."""
        for uid, pod in [*self._users[claim].items()]:
            if not (is_same and uid in self._complete):
                self._loop.tried(self._add_pod, pod)

    def _add_pod(self, pod: Pod) -> None:
        self._complete.pop(pod.uid, None)
        node = self._store.find("Node", pod.node_name)
        if node is None or not is_controller_managed(node):
            return
        specs = [self._spec_of(pod, pod_volume) for pod_volume in pod.volumes]
        for spec in specs:
            if spec is not None:
                self._add_volume(pod, spec)
        if None not in specs:
            self._complete[pod.uid] = None
        self._view.show_soon()

    def _add_volume(self, pod: Pod, spec: VolumeSpec) -> None:
        plugin = self._plugins.find_by_spec(spec)
        if plugin is None or not plugin.is_attachable(spec):
            return
        name = unique_volume_name(plugin, spec)
        if not self._desired.volume_exists(name, pod.node_name):
            self._passes.wake(name)
        self._desired.add_pod(pod, name, spec, self._loop.now)

    def _spec_of(self, pod: Pod, pod_volume: Manifest) -> VolumeSpec | None:
        """The spec of a pod's volume; None until its claim is bound to one.

        Upstream: util.CreateVolumeSpec().
        """
        source: Manifest | None = pod_volume.get("persistentVolumeClaim")
        name = source["claimName"] if source else f"{pod.name}-{pod_volume['name']}"
        if source is None and "ephemeral" not in pod_volume:
            return VolumeSpec(volume=pod_volume)
        claim = self._store.find("PersistentVolumeClaim", f"{pod.namespace}/{name}")
        if not isinstance(claim, PersistentVolumeClaim) or claim.status.get("phase") != "Bound":
            return None
        volume = self._store.find("PersistentVolume", claim.volume_name)
        if not isinstance(volume, PersistentVolume) or volume.claim_ref is None:
            return None
        if (volume.claim_ref.get("uid") or "") != claim.uid:
            return None
        read_only = bool(source and source.get("readOnly"))
        return VolumeSpec(persistent_volume=volume.raw, read_only=read_only)
