"""The scheduler's volume binder: from a decision about a pod's claims to bound volumes.

    assume_pod_volumes  the decision enters the caches, so that the next pod sees it
    bind_api_update     it is written to the API server
    check_bindings      it is done when the PV controller has bound every claim

The decision itself, which volume each claim gets on which node, is the VolumeBinding plugin's. A
write that fails leaves what was written before it; what was not yet written leaves the caches.
Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (until 1.20
pkg/controller/volume/scheduling/scheduler_binder.go).
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from engine.kernel.errors import ApiError, NotFound, SimError
from engine.kernel.units import SECOND
from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    claim_of,
)
from engine.objects.phases import SELECTED_NODE, is_claim_fully_bound
from engine.objects.selectors import NodeSelector
from engine.storage.binding.assume_cache import ClaimAssumeCache, VolumeAssumeCache
from engine.storage.binding.trace_steps import (
    CachedVersions,
    ClaimToVolume,
    VolumesAssumed,
    WrittenVersion,
    versions_of,
)
from engine.storage.ephemeral import ownership_fault
from engine.storage.migration import (
    NO_MIGRATION,
    Migration,
    in_tree_plugin_of,
    is_migrated_on_node,
    translated_affinity,
)
from engine.storage.ports import VolumeApi, WriteEvent
from engine.storage.pv_helpers import bind_volume_to_claim
from engine.storage.translation import translation_fault

DEFAULT_BIND_TIMEOUT: Final = 600 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class BinderRules:
    """The texts of the volume binder in one version, and one rule; by default, as in the oldest."""

    error_prefix: str = ""
    """What precedes an error of the binder."""
    out_of_reach: str = "No matching NodeSelectorTerms"
    """The error for a volume that its node cannot reach."""
    timed_out: str = "timed out waiting for the condition"
    """The error when the binding takes too long."""
    provisioning_failed: str = (
        'selectedNode annotation value "{has}" not set to scheduled node "{node}"'
    )
    """The error when a claim loses its selected node."""
    pod_gone: str = 'pod "{key}" does not exist any more'
    """The error when the pod is deleted meanwhile."""
    only_changes: bool = True
    """A decision leaves out volumes that refer to their claim already."""


class BindingError(SimError):
    """Binding cannot go on and the pod has to be scheduled again; the text is upstream's."""


@dataclass(slots=True)
class Binding:
    """A volume chosen for a claim. Upstream: BindingInfo."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


@dataclass(slots=True)
class PodVolumes:
    """What to bind and what to provision for a pod on one node. None: nothing was decided."""

    static_bindings: list[Binding] | None = None
    dynamic_provisions: list[PersistentVolumeClaim] | None = None

    @property
    def has_work(self) -> bool:
        """Whether anything has to be written."""
        return bool(self.static_bindings or self.dynamic_provisions)

    def to_dict(self, node: str) -> dict[str, Any]:
        """As evidence: claim → volume, and claim → node to provision at."""
        return {
            "bind": {b.claim.key: b.volume.name for b in self.static_bindings or ()},
            "provision": {claim.key: node for claim in self.dynamic_provisions or ()},
        }


class BinderListers(Protocol):
    """What the binder looks up besides volumes and claims."""

    def node(self, name: str) -> Node | None:
        """The node, or None."""
        ...

    def pod(self, key: str) -> Pod | None:
        """The pod, or None once it is deleted."""
        ...

    def csi_node(self, name: str) -> ApiObject | None:
        """The CSINode of a node, or None."""
        ...


class VolumeBinder:
    """Assumes what was decided for a pod, writes it, and checks it. Upstream: volumeBinder."""

    def __init__(
        self,
        volumes: VolumeAssumeCache,
        claims: ClaimAssumeCache,
        listers: BinderListers,
        api: VolumeApi,
        *,
        rules: BinderRules,
        migration: Migration = NO_MIGRATION,
    ) -> None:
        self.volumes = volumes
        self.claims = claims
        self.listers = listers
        self.api = api
        self.rules = rules
        self.migration = migration

    # Assume

    def assume_pod_volumes(self, pod: Pod, node_name: str, volumes: PodVolumes) -> bool:
        """Put the decision into the caches; True when there was nothing left to bind.

        *volumes* then holds the objects as they are to be written. Raises SimError, with the caches
        as before, when a cache has a newer object. Upstream: AssumePodVolumes().
        """
        if self.are_pod_volumes_bound(pod):
            return True
        bindings: list[Binding] = []
        provisions: list[PersistentVolumeClaim] = []
        try:
            for binding in volumes.static_bindings or ():
                bound = bind_volume_to_claim(binding.volume, binding.claim)
                if bound is not binding.volume:
                    self.volumes.assume(bound)
                elif self.rules.only_changes:
                    continue
                bindings.append(Binding(bound, binding.claim))
            for claim in volumes.dynamic_provisions or ():
                patch = {"metadata": {"annotations": {SELECTED_NODE: node_name}}}
                selected = claim.patched(patch)
                self.claims.assume(selected)
                provisions.append(selected)
        except SimError:
            self._restore(bindings, provisions)
            raise
        volumes.static_bindings = bindings
        volumes.dynamic_provisions = provisions
        return False

    def are_pod_volumes_bound(self, pod: Pod) -> bool:
        """Whether nothing has to be bound for the pod. Upstream: arePodVolumesBound()."""
        for volume in pod.volumes:
            name, is_own = claim_of(pod.name, volume)
            if not name:
                continue
            claim = self.claims.find(f"{pod.namespace}/{name}")
            if claim is None or not is_claim_fully_bound(claim):
                return False
            if is_own and ownership_fault(claim, pod):
                return False
        return True

    def revert_assumed_pod_volumes(self, volumes: PodVolumes) -> None:
        """Remove the decision from the caches."""
        self._restore(volumes.static_bindings or [], volumes.dynamic_provisions or [])

    def _restore(self, bindings: list[Binding], provisions: list[PersistentVolumeClaim]) -> None:
        for binding in bindings:
            self.volumes.restore(binding.volume.name)
        for claim in provisions:
            self.claims.restore(claim.key)

    # Looking

    def versions(self, pod: Pod) -> tuple[CachedVersions, ...]:
        """The claims of *pod* and their volumes, as the caches hold them."""
        found: list[CachedVersions] = []
        for volume in pod.volumes:
            name, _ = claim_of(pod.name, volume)
            claim = self.claims.find(f"{pod.namespace}/{name}") if name else None
            if claim is not None:
                found.append(versions_of("claim", claim.key, self.claims))
                found += [
                    versions_of("volume", each.name, self.volumes)
                    for each in self.volumes.latest.values()
                    if each.name == claim.volume_name or _is_claimed_by(each, claim)
                ]
        return tuple(found)

    def assumed_step(self, pod: Pod, node: str, volumes: PodVolumes) -> VolumesAssumed:
        """The step for what was assumed for *pod*."""
        return VolumesAssumed(
            node,
            not volumes.has_work,
            tuple(
                ClaimToVolume(one.claim.key, one.volume.name)
                for one in volumes.static_bindings or ()
            ),
            tuple(claim.key for claim in volumes.dynamic_provisions or ()),
            self.versions(pod),
        )

    # Bind

    def bind_api_update(self, pod: Pod, volumes: PodVolumes) -> None:
        """Write what was assumed: the volumes' claimRefs, then the claims' selected nodes.

        *volumes* then holds what the API server answered. Raises ApiError at the first write that
        fails: what is written stays, and what is not leaves the caches. Upstream:
        bindAPIUpdate().
        """
        bindings, provisions = self._decided(pod, volumes)
        written_bindings = written_provisions = 0
        try:
            for binding in bindings:
                record_as = WriteEvent(
                    "VolumePreBound",
                    f"claimRef names {binding.claim.key}",
                    {"pod": pod.key, "claim": binding.claim.key},
                )
                binding.volume = self.api.update_volume(binding.volume, record_as)
                written_bindings += 1
            for place, claim in enumerate(provisions):
                record_as = WriteEvent(
                    "ClaimNodeSelected",
                    f"to be provisioned for {claim.selected_node}",
                    {"pod": pod.key, "node": claim.selected_node},
                )
                provisions[place] = self.api.update_claim(claim, record_as)
                written_provisions += 1
        except ApiError:
            self._restore(bindings[written_bindings:], provisions[written_provisions:])
            raise

    def _decided(
        self, pod: Pod, volumes: PodVolumes
    ) -> tuple[list[Binding], list[PersistentVolumeClaim]]:
        if volumes.static_bindings is None:
            raise BindingError(f'failed to get cached bindings for pod "{pod.key}"')
        if volumes.dynamic_provisions is None:
            raise BindingError(f'failed to get cached claims to provision for pod "{pod.key}"')
        return volumes.static_bindings, volumes.dynamic_provisions

    def check_bindings(self, pod: Pod, node_name: str, volumes: PodVolumes) -> bool:
        """Whether everything is bound by now.

        Looks at the objects of the API server, not at what is assumed. Raises SimError when the pod
        has to be scheduled again. Upstream: checkBindings().
        """
        bindings, provisions = self._decided(pod, volumes)
        node = self.listers.node(node_name)
        if node is None:
            raise NotFound(f'failed to get node "{node_name}": node "{node_name}" not found')
        if self.listers.pod(pod.key) is None:
            raise BindingError(self.rules.pod_gone.format(name=pod.name, key=pod.key))
        for binding in bindings:
            if not self._is_bound(binding, node):
                return False
        return all(self._is_provisioned(claim, node) for claim in provisions)

    def _is_bound(self, binding: Binding, node: Node) -> bool:
        try:
            volume = self.volumes.get_api(binding.volume.name)
            claim = self.claims.get_api(binding.claim.key)
        except NotFound as error:
            raise NotFound(f"failed to check binding: {error}") from error
        if _is_newer(binding.volume, volume):
            # The write has not come back yet.
            return False
        self._require_reachable(volume, node, "failed to translate pv to csi: ")
        ref = volume.claim_ref
        if ref is None or not ref.get("uid"):
            # The PV controller has unbound it.
            raise BindingError(f'ClaimRef got reset for pv "{volume.name}"')
        return is_claim_fully_bound(claim)

    def _is_provisioned(self, decided: PersistentVolumeClaim, node: Node) -> bool:
        try:
            claim = self.claims.get_api(decided.key)
        except NotFound as error:
            raise NotFound(f"failed to check provisioning pvc: {error}") from error
        if _is_newer(decided, claim):
            return False
        if not claim.annotations:
            raise BindingError(f'selectedNode annotation reset for PVC "{claim.name}"')
        if claim.selected_node != node.name:
            # This is how the provisioner reports a failure.
            text = self.rules.provisioning_failed.format(
                name=claim.name, has=claim.selected_node, node=node.name
            )
            raise BindingError(text)
        if claim.volume_name:
            try:
                volume = self.volumes.get_api(claim.volume_name)
            except NotFound:
                # The watch may not have delivered it yet. If it was deleted, the claim becomes
                # Lost.
                return False
            self._require_reachable(volume, node, "")
        return is_claim_fully_bound(claim)

    def _require_reachable(self, volume: PersistentVolume, node: Node, prefix: str) -> None:
        plugin = self._migrated_plugin(volume, node.name)
        fault = plugin and translation_fault(plugin, volume.spec, volume.labels)
        if fault:
            raise BindingError(f"{prefix}could not translate pv: {fault}")
        conflict = self._node_conflict(volume, node)
        if conflict is not None:
            raise BindingError(
                f'pv "{volume.name}" node affinity doesn\'t match node "{node.name}": {conflict}'
            )

    # Reach

    def _node_conflict(self, volume: PersistentVolume, node: Node) -> str | None:
        """Why *volume* cannot be reached from *node*, or None."""
        affinity = self.effective_affinity(volume, node.name)
        if affinity is None or affinity.matches(node.labels, ""):
            return None
        return self.rules.out_of_reach

    def effective_affinity(self, volume: PersistentVolume, node_name: str) -> NodeSelector | None:
        """The node affinity that counts on a node, where the volume may be served by CSI."""
        affinity = self.volumes.index.affinity_of(volume)
        plugin = self._migrated_plugin(volume, node_name)
        return affinity if plugin is None else translated_affinity(volume, affinity, plugin)

    def _migrated_plugin(self, volume: PersistentVolume, node_name: str) -> str | None:
        """The in-tree plugin whose place a CSI driver takes for *volume* on the node, or None."""
        plugin = in_tree_plugin_of(volume)
        if plugin is None or not self.migration.is_enabled(plugin):
            return None
        is_migrated = is_migrated_on_node(plugin, self.listers.csi_node(node_name))
        return plugin if is_migrated else None


def written_versions(volumes: PodVolumes) -> tuple[WrittenVersion, ...]:
    """The objects of *volumes* with their versions, as a step has them."""
    bound = (("volume", one.volume) for one in volumes.static_bindings or ())
    provisioned = (("claim", claim) for claim in volumes.dynamic_provisions or ())
    return tuple(
        WrittenVersion(kind, one.key, one.resource_version) for kind, one in (*bound, *provisioned)
    )


def _is_claimed_by(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    ref = volume.claim_ref or {}
    return f"{ref.get('namespace')}/{ref.get('name')}" == claim.key


def _is_newer(one: ApiObject, other: ApiObject) -> bool:
    return int(one.resource_version or 0) > int(other.resource_version or 0)
