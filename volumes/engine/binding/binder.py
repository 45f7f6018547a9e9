"""The scheduler's volume binder: from a pod's claims to bound volumes, in four stages.

    get_pod_claims     the claims by what has to happen to them: bound, delayed, immediate
    find_pod_volumes   for a node: what to bind and what to provision there, or why it cannot be
    assume_pod_volumes the decision is laid over the caches, so that the next pod sees it
    bind_pod_volumes   it is written to the API server, and the PV controller waited for

A write that fails leaves what was written before it; what was not yet written is taken off the
caches again. Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go (until 1.20
pkg/controller/volume/scheduling/scheduler_binder.go).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from kscope.sim.errors import ApiError, NotFound, SimError
from kscope.sim.kernel.loop import EventLoop, Timer
from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import (
    EMPTY,
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
    claim_of,
    quantity,
)
from kscope.sim.objects.selectors import LabelSelector, NodeSelector
from volumes.engine.binding.assume_cache import ClaimAssumeCache, VolumeAssumeCache
from volumes.engine.matching.matching import explain_candidates, wanted_of
from volumes.engine.migration import (
    NO_MIGRATION,
    Migration,
    in_tree_plugin_of,
    is_migrated_on_node,
    translated_affinity,
)
from volumes.engine.phases import (
    NO_PROVISIONER,
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    is_claim_fully_bound,
)
from volumes.engine.ports import Told, VolumeApi
from volumes.engine.pv_controller.provisioner import matches_topologies, ownership_fault
from volumes.engine.pv_controller.writer import ControllerError, bind_volume_to_claim
from volumes.engine.translation import translation_fault

POLL_INTERVAL: Final = 1 * SECOND
DEFAULT_BIND_TIMEOUT: Final = 600 * SECOND
UNBOUND_IMMEDIATE: Final = "pod has unbound immediate PersistentVolumeClaims"

_SHOWN_CANDIDATES: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class BinderRules:
    """In what the binder differs from version to version: its texts, and a few answers."""

    node_conflict: str
    bind_conflict: str = "node(s) didn't find available persistent volumes to bind"
    not_enough_space: str = "node(s) did not have enough free storage"
    volume_not_found: str = (
        "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    )
    # Before 1.20 a bound claim whose volume is unknown was an error of the whole attempt.
    missing_volume_is_error: bool = False
    checks_capacity: bool = True
    # Before 1.21 capacity alone counted, since then maximumVolumeSize first.
    knows_maximum_size: bool = True
    error_prefix: str = "binding volumes: "
    out_of_reach: str = "no matching NodeSelectorTerms"
    timed_out: str = "context deadline exceeded"
    provisioning_failed: str = 'provisioning failed for PVC "{name}"'
    pod_gone: str = 'pod does not exist any more: pod "{name}" not found'
    # v1.11 leaves out of a decision what the volumes say already.
    only_changes: bool = False


V1_16: Final = BinderRules(
    node_conflict="node(s) had volume node affinity conflict",
    missing_volume_is_error=True,
    checks_capacity=False,
    error_prefix="",
    out_of_reach="No matching NodeSelectorTerms",
    timed_out="timed out waiting for the condition",
    provisioning_failed='selectedNode annotation value "{has}" not set to scheduled node "{node}"',
    pod_gone='pod "{key}" does not exist any more',
)
V1_11: Final = replace(V1_16, only_changes=True)
V1_20: Final = BinderRules(
    node_conflict="node(s) had volume node affinity conflict",
    volume_not_found="pvc(s) bound to non-existent pv(s)",
    knows_maximum_size=False,
    timed_out="timed out waiting for the condition",
)
V1_34: Final = BinderRules(node_conflict="node(s) didn't match PersistentVolume's node affinity")


class BindingError(SimError):
    """Binding cannot go on and the pod has to be scheduled again; the text is upstream's."""


@dataclass(slots=True)
class Binding:
    """A volume chosen for a claim. Upstream: BindingInfo."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


@dataclass(slots=True)
class PodClaims:
    """A pod's claims by what has to happen to them. Upstream: PodVolumeClaims.

    `immediate` are those that the PV controller has yet to bind, and those that name a volume.
    """

    bound: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    delayed: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])
    immediate: list[PersistentVolumeClaim] = field(default_factory=list[PersistentVolumeClaim])


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

    def storage_class(self, name: str) -> StorageClass | None:
        """The class, or None."""
        ...

    def node(self, name: str) -> Node | None:
        """The node, or None."""
        ...

    def pod(self, key: str) -> Pod | None:
        """The pod, or None once it is deleted."""
        ...

    def csi_node(self, name: str) -> ApiObject | None:
        """The CSINode of a node, or None."""
        ...

    def csi_driver(self, name: str) -> ApiObject | None:
        """The CSIDriver, or None."""
        ...

    def storage_capacities(self) -> Iterable[ApiObject]:
        """All CSIStorageCapacity objects."""
        ...


class VolumeBinder:
    """Finds, assumes and binds volumes for pods. Upstream: volumeBinder."""

    def __init__(
        self,
        volumes: VolumeAssumeCache,
        claims: ClaimAssumeCache,
        listers: BinderListers,
        api: VolumeApi,
        *,
        rules: BinderRules = V1_34,
        migration: Migration = NO_MIGRATION,
    ) -> None:
        self.volumes = volumes
        self.claims = claims
        self.listers = listers
        self.api = api
        self.rules = rules
        self.migration = migration

    # Claims

    def get_pod_claims(self, pod: Pod) -> PodClaims:
        """The pod's claims, sorted out. Upstream: GetPodVolumeClaims().

        Raises NotFound for a claim that does not exist, BindingError for one that is not the
        pod's.
        """
        sorted_out = PodClaims()
        for claim in self._claims_of(pod):
            if is_claim_fully_bound(claim):
                sorted_out.bound.append(claim)
            elif not claim.volume_name and self._is_delayed(claim):
                sorted_out.delayed.append(claim)
            else:
                sorted_out.immediate.append(claim)
        return sorted_out

    def _claims_of(self, pod: Pod) -> Iterable[PersistentVolumeClaim]:
        for volume in pod.volumes:
            name, is_own = claim_of(pod.name, volume)
            if not name:
                continue
            claim = self._claim(f"{pod.namespace}/{name}")
            fault = ownership_fault(claim, pod) if is_own else ""
            if fault:
                raise BindingError(fault)
            yield claim

    def _claim(self, key: str) -> PersistentVolumeClaim:
        claim = self.claims.find(key)
        if claim is None:
            raise NotFound(
                f'error getting PVC "{key}": could not find {self.claims.DESCRIPTION} "{key}"'
            )
        return claim

    def _is_delayed(self, claim: PersistentVolumeClaim) -> bool:
        name = claim_class(claim)
        storage_class = self.listers.storage_class(name) if name else None
        if storage_class is None:
            return False
        mode = storage_class.raw.get("volumeBindingMode")
        if mode is None:
            raise ControllerError(f'VolumeBindingMode not set for StorageClass "{name}"')
        return mode == WAIT_FOR_FIRST_CONSUMER

    def are_pod_volumes_bound(self, pod: Pod) -> bool:
        """Whether nothing has to be bound for the pod. Upstream: arePodVolumesBound()."""
        try:
            return all(map(is_claim_fully_bound, self._claims_of(pod)))
        except SimError:
            return False

    # Find

    def find_pod_volumes(
        self, pod: Pod, claims: PodClaims, node: Node
    ) -> tuple[PodVolumes, list[str]]:
        """What to bind and provision for *pod* on *node*, and the reasons why the node is no good.

        Volumes found are given even when another claim's failed. Raises SimError when the question
        cannot be answered. Upstream: FindPodVolumes().
        """
        found = PodVolumes()
        rules = self.rules
        reasons: list[str] = []
        reachable, exist = self._check_bound_claims(claims.bound, node)
        if not reachable:
            reasons.append(rules.node_conflict)
        if claims.delayed:
            satisfied, enough = self._find_unbound(claims.delayed, node, found)
            if not satisfied:
                reasons.append(rules.bind_conflict)
            if not enough:
                reasons.append(rules.not_enough_space)
        if not exist:
            reasons.append(rules.volume_not_found)
        return found, reasons

    def _check_bound_claims(
        self, claims: list[PersistentVolumeClaim], node: Node
    ) -> tuple[bool, bool]:
        """Whether all bound volumes can be reached from *node*, and whether they exist."""
        for claim in claims:
            volume = self.volumes.find(claim.volume_name)
            if volume is None:
                if self.rules.missing_volume_is_error:
                    # Raises.
                    self.volumes.get(claim.volume_name)
                return True, False
            if self._node_conflict(volume, node) is not None:
                return False, True
        return True, True

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

    def _find_unbound(
        self, claims: list[PersistentVolumeClaim], node: Node, found: PodVolumes
    ) -> tuple[bool, bool]:
        to_match: list[PersistentVolumeClaim] = []
        to_provision: list[PersistentVolumeClaim] = []
        for claim in claims:
            selected = claim.annotations.get(SELECTED_NODE)
            if selected is None:
                to_match.append(claim)
            elif selected != node.name:
                # It is being provisioned for another node.
                return False, True
            else:
                to_provision.append(claim)
        bindings, unmatched = self._find_matching_volumes(to_match, node)
        found.static_bindings = bindings or None
        to_provision += unmatched
        if not to_provision:
            return True, True
        satisfied, enough, provisions = self._check_volume_provisions(to_provision, node)
        found.dynamic_provisions = provisions or None
        return satisfied, enough

    def _find_matching_volumes(
        self, claims: list[PersistentVolumeClaim], node: Node
    ) -> tuple[list[Binding], list[PersistentVolumeClaim]]:
        """Volumes for the claims, smallest claim first, and the claims that found none."""
        bindings: list[Binding] = []
        unmatched: list[PersistentVolumeClaim] = []
        chosen: dict[str, None] = {}
        for claim in sorted(claims, key=_request_of):
            volume = self.volumes.index.find_for_node(claim, node, chosen)
            if volume is None:
                unmatched.append(claim)
            else:
                chosen[volume.name] = None
                bindings.append(Binding(volume, claim))
        return bindings, unmatched

    def _check_volume_provisions(
        self, claims: list[PersistentVolumeClaim], node: Node
    ) -> tuple[bool, bool, list[PersistentVolumeClaim]]:
        """Whether the claims can be provisioned at *node*, whether there is room for them there."""
        provisions: list[PersistentVolumeClaim] = []
        for claim in claims:
            name = claim_class(claim)
            if not name:
                raise BindingError(f'no class for claim "{claim.key}"')
            storage_class = self.listers.storage_class(name)
            if storage_class is None:
                raise NotFound(f'failed to find storage class "{name}"')
            if self.provision_fault(storage_class, node) is not None:
                return False, True, []
            if not self.has_enough_capacity(claim, storage_class, node):
                return True, False, []
            provisions.append(claim)
        return True, True, provisions

    def provision_fault(self, storage_class: StorageClass, node: Node) -> str | None:
        """Why the class cannot provision at *node*, leaving capacity aside; None when it can."""
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return f"class {storage_class.name} does not provision volumes"
        if not matches_topologies(storage_class.raw.get("allowedTopologies"), node.labels):
            return f"class {storage_class.name} does not allow the topology of {node.name}"
        return None

    def has_enough_capacity(
        self, claim: PersistentVolumeClaim, storage_class: StorageClass, node: Node
    ) -> bool:
        """Whether the class's driver reports room for the claim where *node* can reach it.

        True where nobody keeps account. Upstream: hasEnoughCapacity().
        """
        if not self.rules.checks_capacity or not requests_storage(claim):
            return True
        driver = self.listers.csi_driver(storage_class.provisioner)
        if driver is None or not driver.spec.get("storageCapacity"):
            return True
        return any(
            capacity.raw.get("storageClassName") == storage_class.name
            and self._holds(capacity, claim.request_bytes)
            and _has_access(node, capacity)
            for capacity in self.listers.storage_capacities()
        )

    def _holds(self, capacity: ApiObject, size: int) -> bool:
        limit = volume_limit(capacity, knows_maximum_size=self.rules.knows_maximum_size)
        return limit is not None and limit >= size

    # Assume

    def assume_pod_volumes(self, pod: Pod, node_name: str, volumes: PodVolumes) -> bool:
        """Lay the decision over the caches; True when there was nothing left to bind.

        *volumes* then holds the objects as they are to be written. Raises SimError, having taken
        everything off again, when a cache has a newer object. Upstream: AssumePodVolumes().
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

    def revert_assumed_pod_volumes(self, volumes: PodVolumes) -> None:
        """Take the decision off the caches again."""
        self._restore(volumes.static_bindings or [], volumes.dynamic_provisions or [])

    def _restore(self, bindings: list[Binding], provisions: list[PersistentVolumeClaim]) -> None:
        for binding in bindings:
            self.volumes.restore(binding.volume.name)
        for claim in provisions:
            self.claims.restore(claim.key)

    # Bind

    def bind_api_update(self, pod: Pod, volumes: PodVolumes) -> None:
        """Write what was assumed: the volumes' claimRefs, then the claims' selected nodes.

        *volumes* then holds what the API server answered. Raises ApiError at the first write that
        fails: what is written stays, and what is not is taken off the caches. Upstream:
        bindAPIUpdate().
        """
        bindings, provisions = self._decided(pod, volumes)
        written_bindings = written_provisions = 0
        try:
            for binding in bindings:
                told = Told(
                    "VolumePreBound",
                    f"claimRef names {binding.claim.key}",
                    {"pod": pod.key, "claim": binding.claim.key},
                )
                binding.volume = self.api.update_volume(binding.volume, told)
                written_bindings += 1
            for place, claim in enumerate(provisions):
                told = Told(
                    "ClaimNodeSelected",
                    f"to be provisioned for {claim.selected_node}",
                    {"pod": pod.key, "node": claim.selected_node},
                )
                provisions[place] = self.api.update_claim(claim, told)
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

        Looks at what the API server last told, not at what is assumed. Raises SimError when the pod
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
            # By this the provisioner says that it failed.
            text = self.rules.provisioning_failed.format(
                name=claim.name, has=claim.selected_node, node=node.name
            )
            raise BindingError(text)
        if claim.volume_name:
            try:
                volume = self.volumes.get_api(claim.volume_name)
            except NotFound:
                # Perhaps it has not been heard of yet; if it is gone, the claim will be Lost.
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

    def bind_pod_volumes(
        self,
        loop: EventLoop,
        pod: Pod,
        node_name: str,
        volumes: PodVolumes,
        done: Callable[[str | None], None],
        timeout: int = DEFAULT_BIND_TIMEOUT,
    ) -> "PodBinding":
        """Write the decision now and wait for it to come true, looking every second.

        *done*, a bound method, is called once: with None, or with why it failed. Upstream:
        BindPodVolumes().
        """
        binding = PodBinding(loop, self, pod, node_name, volumes, done, timeout)
        binding.start()
        return binding

    # Explain

    def explain(self, claims: PodClaims, node: Node) -> list[dict[str, Any]]:
        """For each claim that *node* cannot serve, the volume, rule and numbers in the way."""
        told: list[dict[str, Any]] = []
        for claim in claims.bound:
            volume = self.volumes.find(claim.volume_name)
            if volume is None:
                told.append({"claim": claim.key, "volume": claim.volume_name, "why": "missing"})
            elif self._node_conflict(volume, node) is not None:
                needs = str(self.effective_affinity(volume, node.name))
                told.append(
                    {"claim": claim.key, "volume": volume.name, "why": "affinity", "needs": needs}
                )
        chosen: dict[str, None] = {}
        for claim in sorted(claims.delayed, key=_request_of):
            if claim.selected_node not in ("", node.name):
                selected = {"claim": claim.key, "why": "selected-node", "node": claim.selected_node}
                told.append(selected)
                continue
            volume = self.volumes.index.find_for_node(claim, node, chosen)
            if volume is not None and not claim.selected_node:
                chosen[volume.name] = None
                continue
            told += self._explain_unmatched(claim, node, chosen)
        return told

    def _explain_unmatched(
        self, claim: PersistentVolumeClaim, node: Node, chosen: dict[str, None]
    ) -> list[dict[str, Any]]:
        storage_class = self.listers.storage_class(claim_class(claim))
        if storage_class is None:
            fault: str | None = f"class {claim_class(claim)} does not exist"
        else:
            fault = self.provision_fault(storage_class, node)
            if fault is None and not self.has_enough_capacity(claim, storage_class, node):
                fault = f"no reported capacity of {quantity.format_bytes(claim.request_bytes)}"
        if fault is None:
            return []
        verdicts = explain_candidates(claim, self.volumes.index, node, chosen, True)
        return [
            {
                "claim": claim.key,
                "why": "no-volume",
                "provisioning": fault,
                "volumes": len(verdicts),
                "candidates": [verdict.to_dict() for verdict in verdicts[:_SHOWN_CANDIDATES]],
            }
        ]


class PodBinding:
    """One pod's volumes being bound. Upstream: the wait in BindPodVolumes()."""

    __slots__ = (
        "_binder",
        "_deadline",
        "_done",
        "_loop",
        "_timer",
        "_timeout",
        "node_name",
        "pod",
        "volumes",
    )

    def __init__(
        self,
        loop: EventLoop,
        binder: VolumeBinder,
        pod: Pod,
        node_name: str,
        volumes: PodVolumes,
        done: Callable[[str | None], None],
        timeout: int,
    ) -> None:
        self._loop = loop
        self._binder = binder
        self.pod = pod
        self.node_name = node_name
        self.volumes = volumes
        self._done = done
        self._timeout = timeout
        self._deadline = loop.now + timeout
        self._timer: Timer | None = None

    def start(self) -> None:
        """Write, then look for the first time in a second."""
        try:
            self._binder.bind_api_update(self.pod, self.volumes)
        except SimError as error:
            self._done(str(error))
            return
        self._wait()

    def cancel(self) -> None:
        """Stop waiting; *done* is not called."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        at = min(self._loop.now + POLL_INTERVAL, self._deadline)
        self._timer = self._loop.call_at(at, self._poll)

    def _poll(self) -> None:
        prefix = self._binder.rules.error_prefix
        try:
            bound = self._binder.check_bindings(self.pod, self.node_name, self.volumes)
        except SimError as error:
            self._done(f"{prefix}{error}")
            return
        if bound:
            self._done(None)
        elif self._loop.now >= self._deadline:
            self._done(f"{prefix}{self._binder.rules.timed_out}")
        else:
            self._wait()


class PodBindingCache:
    """Until 1.19: pod → node → what was decided for it, from predicate to bind.

    Upstream: scheduler_binder_cache.go.
    """

    __slots__ = ("_decisions",)

    def __init__(self) -> None:
        self._decisions: dict[str, dict[str, PodVolumes]] = {}

    def update(self, pod: str, node: str, volumes: PodVolumes) -> None:
        """Remember the decision for *pod* on *node*, in place of an earlier one."""
        self._decisions.setdefault(pod, {})[node] = volumes

    def get(self, pod: str, node: str) -> PodVolumes | None:
        """The decision for *pod* on *node*, or None."""
        return self._decisions.get(pod, {}).get(node)

    def has(self, pod: str) -> bool:
        """Whether anything is remembered of *pod*; not so once it was deleted."""
        return pod in self._decisions

    def delete(self, pod: str) -> None:
        """Forget *pod*: it was bound, or deleted."""
        self._decisions.pop(pod, None)


def requests_storage(claim: PersistentVolumeClaim) -> bool:
    """Whether the claim says how much it wants."""
    return "storage" in ((claim.spec.get("resources") or EMPTY).get("requests") or EMPTY)


def volume_limit(capacity: ApiObject, *, knows_maximum_size: bool = True) -> int | None:
    """How large a volume a CSIStorageCapacity has room for, in bytes; None where it does not say.

    Upstream: volumeLimit().
    """
    limit = capacity.raw.get("maximumVolumeSize") if knows_maximum_size else None
    if limit is None:
        limit = capacity.raw.get("capacity")
    return None if limit is None else quantity.value(limit)


def _request_of(claim: PersistentVolumeClaim) -> int:
    # Upstream compares the quantities, not their bytes.
    return wanted_of(claim).size


def _has_access(node: Node, capacity: ApiObject) -> bool:
    topology = capacity.raw.get("nodeTopology")
    return topology is not None and LabelSelector.parse(topology).matches(node.labels)


def _is_newer(one: ApiObject, other: ApiObject) -> bool:
    return int(one.resource_version or 0) > int(other.resource_version or 0)
